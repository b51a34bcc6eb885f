//! Parses the arguments of a call, its result, and the times in both.

use super::line::{digits, find, seconds};
use crate::event::Ns;

/// The arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Args<'a> {
    list: [&'a [u8]; 7],
    count: usize,
    /// The text after the closing parenthesis, if there is one.
    pub(super) after: Option<&'a [u8]>,
}

impl<'a> Args<'a> {
    /// Splits the text after the opening parenthesis.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let mut args = Self::default();
        let (mut depth, mut from, mut at) = (0_u32, 0, 0);
        while let Some(&byte) = text.get(at) {
            match byte {
                b'"' => at = after_string(text, at),
                b'/' if text.get(at + 1) == Some(&b'*') => {
                    at += find(&text[at..], b"*/").map_or(text.len() - at, |end| end + 1);
                }
                // With `-y`, the angle brackets hold the path of a descriptor. The `>` of an arrow
                // in the path does not end it.
                b'<' if at > 0 && text[at - 1].is_ascii_digit() && text.get(at + 1) != Some(&b'<') => {
                    let is_end = |pair: &[u8]| pair[0] != b'-' && pair[1] == b'>';
                    let end = text[at..].windows(2).position(is_end);
                    at += end.map_or(text.len() - at, |end| end + 1);
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' if depth == 0 => {
                    args.push(&text[from..at]);
                    args.after = Some(&text[at + 1..]);
                    return args;
                }
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    args.push(&text[from..at]);
                    from = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        args.push(text.get(from..).unwrap_or(b""));
        args
    }

    fn push(&mut self, arg: &'a [u8]) {
        if self.count < self.list.len() {
            self.list[self.count] = arg.trim_ascii();
            self.count += 1;
        }
    }

    /// An argument; empty if it is missing.
    pub(super) fn get(&self, at: usize) -> &'a [u8] {
        self.list[at]
    }

    /// Returns an argument that is a descriptor or an id.
    pub(super) fn id(&self, at: usize) -> Option<i64> {
        let (number, rest) = digits(self.get(at))?;
        // `-y` and `-X verbose` add text after the number.
        let is_id = rest.is_empty() || rest.starts_with(b"<") || rest.starts_with(b" ");
        i64::try_from(number).ok().filter(|_| is_id)
    }
}

/// The position of the last byte of a string that begins at `at`.
fn after_string(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome<'a> {
    /// `None` for a question mark.
    pub(super) value: Option<i64>,
    /// The name of the error, such as `EINTR`, or empty.
    pub(super) error: &'a [u8],
    /// How long the call took (`-T`).
    pub(super) took: Option<Ns>,
}

impl<'a> Outcome<'a> {
    /// Parses the text after the closing parenthesis: ` = -1 EINTR (Interrupted ...) <0.01>`.
    pub(super) fn of(after: &'a [u8]) -> Option<Self> {
        let text = after.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
        let (value, rest) = match text.strip_prefix(b"?") {
            Some(rest) => (None, rest),
            None => {
                let (sign, number) = text.strip_prefix(b"-").map_or((1, text), |rest| (-1, rest));
                let (number, rest) = digits(number)?;
                (Some(sign * i64::try_from(number).unwrap_or(i64::MAX)), rest)
            }
        };
        let error = rest.trim_ascii_start();
        let length = error.iter().take_while(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_')).count();
        let took = text.strip_suffix(b">").and_then(|text| {
            let at = text.iter().rposition(|&byte| byte == b'<')?;
            seconds(&text[at + 1..])
        });
        Some(Self { value, error: &error[..length], took })
    }

    /// The value, if the call did not fail.
    pub(super) fn good(&self) -> Option<i64> {
        self.value.filter(|&value| value >= 0)
    }
}

/// Parses `{tv_sec=1, tv_nsec=2}` or `{1, 2}` into ns. `unit` is the unit of the second number.
pub(super) fn pair(text: &[u8], unit: i64) -> Option<Ns> {
    let mut two = [0; 2];
    numbers(text, &mut two)?;
    ns(two[0], two[1], unit)
}

/// Parses `{it_interval={0, 0}, it_value={1, 2}}` into interval and value, in ns.
pub(super) fn interval(text: &[u8], unit: i64) -> Option<(Ns, Ns)> {
    let mut four = [0; 4];
    numbers(text, &mut four)?;
    Some((ns(four[0], four[1], unit)?, ns(four[2], four[3], unit)?))
}

/// A time beyond the range of [`Ns`] becomes the greatest value: some programs wait for the longest
/// time that they can write.
fn ns(seconds: i64, parts: i64, unit: i64) -> Option<Ns> {
    let parts = parts.checked_mul(unit).filter(|parts| (0..1_000_000_000).contains(parts))?;
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(parts))
}

/// The numbers of a structure, in their order. `None`: there are more or fewer numbers, or other
/// values.
fn numbers(text: &[u8], to: &mut [i64]) -> Option<()> {
    let mut left = text.strip_prefix(b"{")?;
    let mut to = to.iter_mut();
    loop {
        left = match left.first() {
            None => return to.next().is_none().then_some(()),
            Some(b'0'..=b'9' | b'-') => {
                let (sign, number) = left.strip_prefix(b"-").map_or((1, left), |rest| (-1, rest));
                let (number, rest) = digits(number)?;
                if rest.first() == Some(&b'x') {
                    return None;
                }
                *to.next()? = sign * i64::try_from(number).unwrap_or(i64::MAX);
                rest
            }
            Some(b'a'..=b'z' | b'_' | b'=' | b',' | b' ' | b'{' | b'}') => &left[1..],
            // strace appends a comment: the same time, for people.
            Some(b'/') => &left[find(left, b"*/")? + 2..],
            Some(_) => return None,
        };
    }
}

/// Parses eight bytes, in the form `"\1\0\0\0\0\0\0\0"` of strace, as a number. `None`: strace did
/// not write the bytes, or an option changed their form.
pub(super) fn count(text: &[u8]) -> Option<u64> {
    let mut left = text.strip_prefix(b"\"")?;
    let mut bytes = [0; 8];
    for byte in &mut bytes {
        let (&first, rest) = left.split_first()?;
        left = rest;
        *byte = first;
        if first == b'\\' {
            let (&kind, rest) = left.split_first()?;
            left = rest;
            *byte = match kind {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'v' => 11,
                b'f' => 12,
                b'0'..=b'7' => {
                    let more = left.iter().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                    let (octal, rest) = left.split_at(more);
                    left = rest;
                    octal.iter().fold(u32::from(kind - b'0'), |sum, byte| sum * 8 + u32::from(byte - b'0'))
                        as u8
                }
                b'x' => {
                    let (hex, rest) = left.split_at_checked(2)?;
                    left = rest;
                    u8::from_str_radix(core::str::from_utf8(hex).ok()?, 16).ok()?
                }
                other => other,
            };
        }
    }
    (left == b"\"").then(|| u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_their_commas() {
        let text = br#"3<TCP:[1.2.3.4:5->6.7.8.9:10]>, "a,\")(", [{fd=3, events=A|B}], {1, 2} /* a, b) */, 0x1) = 4"#;
        let args = Args::of(text);
        assert_eq!(args.id(0), Some(3));
        assert_eq!(args.get(1), br#""a,\")(""#);
        assert_eq!(args.get(2), b"[{fd=3, events=A|B}]");
        assert_eq!((args.get(4), args.get(5), args.after), (&b"0x1"[..], &b""[..], Some(&b" = 4"[..])));
        // A slash alone begins no comment.
        let path = Args::of(b"/dev/null, 5) = 0");
        assert_eq!((path.get(0), path.id(1), path.after), (&b"/dev/null"[..], Some(5), Some(&b" = 0"[..])));
        assert_eq!(Args::of(b"[{fd=3, ev").after, None);
        assert_eq!(Args::of(b"\"abc\\").after, None);
        assert_eq!(Args::of(b"3<").after, None);
    }

    #[test]
    fn outcomes() {
        let of = |text: &'static [u8]| Outcome::of(text).map(|o| (o.value, o.error, o.took));
        assert_eq!(of(b" = 0 (Timeout) <0.002094>"), Some((Some(0), &b""[..], Some(2_094_000))));
        let out = (Some(-1), &b"ETIMEDOUT"[..], None);
        assert_eq!(of(b"             = -1 ETIMEDOUT (Connection timed out)"), Some(out));
        let stopped = (None, &b"ERESTARTNOHAND"[..], Some(500_000_000));
        assert_eq!(of(b" = ? ERESTARTNOHAND (To be restarted) <0.500000>"), Some(stopped));
        assert_eq!(of(b" = 3<anon_inode:[timerfd]>"), Some((Some(3), &b""[..], None)));
        assert_eq!(of(b" = ? <unavailable>"), Some((None, &b""[..], None)));
        assert_eq!((of(b""), of(b" ="), of(b" = x")), (None, None, None));
    }

    #[test]
    fn times_of_all_ages() {
        assert_eq!(pair(b"{tv_sec=1, tv_nsec=5}", 1), Some(1_000_000_005));
        assert_eq!(pair(b"{1, 5}", 1_000), Some(1_000_005_000));
        assert_eq!(pair(b"{tv_sec=1 /* 2001-01-01T00:00:00 */, tv_nsec=5}", 1), Some(1_000_000_005));
        assert_eq!(pair(b"{tv_sec=9223372036854775807, tv_nsec=5}", 1), Some(i64::MAX));
        for bad in [&b"0x7ffc"[..], b"{1}", b"{1, 2, 3}", b"{0x5, 1}", b"{1, -1}", b"{1, 1000000000}"] {
            assert_eq!(pair(bad, 1), None, "{}", String::from_utf8_lossy(bad));
        }
        let both = Some((2_000, 1_000_000_003));
        assert_eq!(interval(b"{it_interval={0, 2000}, it_value={1, 3}}", 1), both);
    }

    #[test]
    fn expirations_that_were_read() {
        assert_eq!(count(br#""\1\0\0\0\0\0\0\0""#), Some(1));
        assert_eq!(count(br#""\n\0\0\0\0\0\0\0""#), Some(10));
        assert_eq!(count(br#""A\1\0\0\0\0\0\0""#), Some(321));
        assert_eq!(count(br#""\17\2\0\0\0\0\0\0""#), Some(15 + 512));
        assert_eq!(count(br#""\377\0\0\0\0\0\0\0""#), Some(255));
        assert_eq!(count(br#""\x05\x00\x00\x00\x00\x00\x00\x00""#), Some(5));
        assert_eq!((count(b"0x5"), count(br#""\1\0"..."#), count(b"\"\\")), (None, None, None));
    }
}
