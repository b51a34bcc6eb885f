//! Numbers of one to ten bytes: each byte holds seven bits, the lowest first, and a bit that says
//! whether more bytes follow (LEB128). Signed numbers are mapped to unsigned numbers in the order
//! 0, -1, 1, -2, ...

/// Appends a number.
#[inline]
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a signed number.
#[inline]
pub(crate) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, unsigned(number));
}

/// Returns the unsigned number that encodes a signed number.
#[inline]
pub(crate) const fn unsigned(number: i64) -> u64 {
    (number as u64) << 1 ^ (number >> 63) as u64
}

/// Returns the signed number that an unsigned number encodes.
#[inline]
pub(crate) const fn signed(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Removes a number from the front of the bytes. Returns `None` if the number is cut off, or has
/// more than 64 bits.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Removes a signed number from the front of the bytes.
#[inline]
pub(crate) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    take(bytes).map(signed)
}

/// Removes a number of a smaller type from the front of the bytes.
#[inline]
pub(crate) fn take_as<N: TryFrom<u64>>(bytes: &mut &[u8]) -> Option<N> {
    N::try_from(take(bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_power_of_two_and_its_neighbours_come_back() {
        for bit in 0..64 {
            for number in [(1u64 << bit) - 1, 1 << bit, (1u64 << bit).wrapping_add(1), u64::MAX >> bit] {
                let mut bytes = Vec::new();
                put(&mut bytes, number);
                put_signed(&mut bytes, number as i64);
                put_signed(&mut bytes, (number as i64).wrapping_neg());
                let mut left = &bytes[..];
                assert_eq!(take(&mut left), Some(number));
                assert_eq!(take_signed(&mut left), Some(number as i64));
                assert_eq!(take_signed(&mut left), Some((number as i64).wrapping_neg()));
                assert!(left.is_empty());
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_too_large_is_no_number() {
        assert_eq!(take(&mut &[][..]), None);
        assert_eq!(take(&mut &[0x80, 0x80][..]), None);
        assert_eq!(take(&mut &[0xff; 10][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..]), None);
        assert_eq!(take_as::<u8>(&mut &[0x80, 2][..]), None);
    }
}
