use super::*;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Old {
    size: usize,
    a: u64,
}

/// The struct in the version after `Old`, which is the library's version.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ours {
    size: usize,
    a: u64,
    b: u64,
}

/// The struct in the version after `Ours`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct New {
    size: usize,
    a: u64,
    b: u64,
    c: u64,
}

// SAFETY: 1. The struct is `repr(C)`, and the size comes first. 2. Its fields are numbers.
unsafe impl Growing for Ours {
    const DEFAULT: Self = Self { size: size_of::<Self>(), a: 7, b: 8 };
    const LEAST: usize = size_of::<Old>();
}

fn old() -> Old {
    Old { size: size_of::<Old>(), a: 1 }
}

fn new(c: u64) -> New {
    New { size: size_of::<New>(), a: 1, b: 2, c }
}

#[test]
fn an_older_program_gets_defaults_for_what_it_does_not_have() {
    // SAFETY: the struct has as many bytes as its size says.
    let read = unsafe { read::<Ours>(core::ptr::from_ref(&old()).cast()) };
    assert_eq!(read.map(|ours| (ours.a, ours.b)), Ok((1, 8)));
}

#[test]
fn a_newer_program_is_served_unless_it_asks_for_what_is_not_known() {
    // SAFETY: the struct has as many bytes as its size says.
    let served = unsafe { read::<Ours>(core::ptr::from_ref(&new(0)).cast()) };
    assert_eq!(served.map(|ours| (ours.a, ours.b)), Ok((1, 2)));
    // SAFETY: the struct has as many bytes as its size says.
    let refused = unsafe { read::<Ours>(core::ptr::from_ref(&new(1 << 40)).cast()) };
    assert_eq!(refused, Err(code::TOO_NEW));
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for size in [0, 1, size_of::<Old>() - 1, MOST + 1, usize::MAX] {
        let wrong = Ours { size, ..Ours::DEFAULT };
        // SAFETY: the size is refused before anything else is read.
        assert_eq!(unsafe { read(&raw const wrong) }, Err(code::INVALID), "{size}");
        // SAFETY: as above.
        assert_eq!(unsafe { room(&raw const wrong) }, Err(code::INVALID), "{size}");
        let mut fresh = Ours::DEFAULT;
        // SAFETY: as above.
        assert_eq!(unsafe { initialize(&raw mut fresh, size) }, code::INVALID, "{size}");
    }
    // SAFETY: null is refused.
    assert_eq!(unsafe { read::<Ours>(core::ptr::null()) }, Err(code::INVALID));
    // SAFETY: null has no room.
    assert_eq!(unsafe { room::<Ours>(core::ptr::null()) }, Ok(0));
}

#[test]
fn nothing_is_written_behind_what_the_caller_has() {
    let mut small = [old(), Old { size: 11, a: 12 }];
    let place: *mut Ours = small.as_mut_ptr().cast();
    // SAFETY: the size may be read.
    let bytes = unsafe { room(place) }.unwrap();
    // SAFETY: that many bytes may be written.
    unsafe { fill(place, bytes, Ours::DEFAULT) };
    assert_eq!(small, [Old { size: size_of::<Old>(), a: 7 }, Old { size: 11, a: 12 }]);

    let mut large = new(3);
    let place: *mut Ours = (&raw mut large).cast();
    // SAFETY: the size may be read.
    let bytes = unsafe { room(place) }.unwrap();
    // SAFETY: that many bytes may be written.
    unsafe { fill(place, bytes, Ours::DEFAULT) };
    assert_eq!(large, New { size: size_of::<Ours>(), a: 7, b: 8, c: 3 });
}

#[test]
fn initializing_sets_defaults_and_zeros() {
    let mut large = new(3);
    // SAFETY: that many bytes may be written.
    assert_eq!(unsafe { initialize::<Ours>((&raw mut large).cast(), size_of::<New>()) }, 0);
    assert_eq!(large, New { size: size_of::<New>(), a: 7, b: 8, c: 0 });
}

/// If the size is not a multiple of the alignment, the caller has not set it, because no struct has
/// such a size.
#[test]
fn a_size_that_no_struct_has_is_refused() {
    for size in [size_of::<Ours>() + 1, size_of::<Ours>() - 1, 33, MOST - 3] {
        let ours = Ours { size, ..Ours::DEFAULT };
        // SAFETY: the size is refused before another field is read.
        assert_eq!(unsafe { read::<Ours>(&raw const ours) }.map(|ours| ours.a), Err(code::INVALID));
        // SAFETY: only the size is read.
        assert_eq!(unsafe { room::<Ours>(&raw const ours) }, Err(code::INVALID));
    }
}
