//! The ordered dictionary, which is a `HookDict` of links in the caller's structs, with the
//! caller's key getter and comparator.
//!
//! ```text
//!   tw_odlink  | body: Link | mark |      tw_odict  | state | HookDict |
//! ```
//! Like the mark of a [`timer`](crate::timer), the mark of a link says that the body is a link, and
//! at which address it was initialized. If the mark is 0, the body is not a link yet. The state
//! distinguishes a dictionary from other memory. While the caller's functions run, the dictionary
//! is lent.

use core::cell::Cell;
use core::cmp::Ordering;
use core::ffi::{c_char, c_int, c_void};
use core::pin::Pin;

use tickwright_boundary::answer::{self, usable};
use tickwright_boundary::state::{Lendable, lend, state};
use tickwright_boundary::{code, exported};
use tickwright_collections::{
    DictError, Dictionary, HookDict, KeyOrder, Link, Membership, ObjectRef, Position, RedBlack, Seek,
};

use crate::contract::lendable;

/// A link in a struct of the caller.
#[repr(C)]
#[derive(Debug)]
pub struct tw_odlink {
    body: [u64; 7],
    mark: u64,
}

/// The Rust type of the link in a body.
type Node = Link<RedBlack>;

const _: () = assert!(size_of::<Node>() <= 7 * 8 && align_of::<Node>() <= align_of::<tw_odlink>());

/// A pattern that memory rarely contains by chance.
const PATTERN: u64 = 0x6f64_6963_746b_6e6c;

fn mark(link: *const tw_odlink) -> u64 {
    (link.addr() as u64).rotate_left(16) ^ PATTERN
}

/// Returns whether a body is a link that was initialized at this address. If the result is `false`,
/// the body is not a link yet, or is a copy of a link that was in no dictionary.
///
/// # Errors
/// [`code::INVALID`] if the body cannot be a link, or is a copy of a link that was in a dictionary.
fn made(link: *const tw_odlink) -> Result<bool, c_int> {
    usable(link)?;
    // SAFETY: 1. not null and aligned; 2. readable, by the header's contract.
    let found = unsafe { (*link).mark };
    if found == 0 || found == mark(link) {
        return Ok(found != 0);
    }
    // The body is a copy of a link, or rubbish. A copy is fine unless the original was linked when
    // it was copied. Rubbish that looks linked is refused.
    // SAFETY: 1. Aligned and large enough, readable by the header's contract. 2. Any bytes are
    // pointers that may be null, a color and an atomic number. Only the atomic number is read.
    let linked = Node::is_linked(unsafe { &*link.cast::<Node>() });
    if linked { Err(code::INVALID) } else { Ok(false) }
}

/// Returns the node in an initialized link.
///
/// # Safety
/// [`made`] has returned `true` for the link.
unsafe fn node(link: *const tw_odlink) -> &'static Node {
    // `of` later computes the caller's pointer from the address. Because the provenance is exposed
    // here, that pointer can access the caller's whole struct.
    let _ = link.expose_provenance();
    // SAFETY: 1. Initialized, aligned and not null, as `made` has seen. 2. It lives for as long as
    // it is linked and for the rest of this call, by the header's contract. No reference outlives
    // both.
    unsafe { &*link.cast::<Node>() }
}

/// Returns a link that the caller wants to insert. If the body was not a link yet, it becomes one.
fn offered(link: *mut tw_odlink) -> Result<Pin<&'static Node>, c_int> {
    if !made(link)? {
        // SAFETY: 1. aligned, large enough, writable by the header's contract; 2. no dictionary
        // points at the link, since it is in none.
        unsafe { link.cast::<Node>().write(Link::new()) };
        // SAFETY: as above.
        unsafe { (*link).mark = mark(link) };
    }
    // SAFETY: the link was made before, or just now.
    let node = unsafe { node(link) };
    // SAFETY: it stays where it is while it is linked, by the header's contract.
    Ok(unsafe { Pin::new_unchecked(node) })
}

type Entry = ObjectRef<'static, Node>;

/// Returns a link that the caller claims to be in a dictionary.
fn known(link: *const tw_odlink) -> Result<Entry, c_int> {
    if !made(link)? {
        return Err(code::ABSENT);
    }
    // SAFETY: the link was made: `made` has just returned true.
    Ok(ObjectRef::from(unsafe { node(link) }))
}

/// Returns the caller's pointer to a node.
fn of(node: &Node) -> *mut tw_odlink {
    core::ptr::with_exposed_provenance_mut(core::ptr::from_ref(node).addr())
}

/// Returns a pointer to the key in the struct that contains a link.
pub type tw_key_fn =
    Option<unsafe extern "C-unwind" fn(link: *const tw_odlink, user: *mut c_void) -> *const c_void>;

/// Compares two keys. The result is below 0 if the first key comes before the second, and above 0
/// if the first key comes after the second.
pub type tw_key_compare_fn =
    Option<unsafe extern "C-unwind" fn(a: *const c_void, b: *const c_void, user: *mut c_void) -> c_int>;

/// The order of the links, which the caller's functions define.
struct ByCaller {
    key: unsafe extern "C-unwind" fn(*const tw_odlink, *mut c_void) -> *const c_void,
    compare: unsafe extern "C-unwind" fn(*const c_void, *const c_void, *mut c_void) -> c_int,
    user: *mut c_void,
}

impl KeyOrder<Node> for ByCaller {
    type Key<'k> = *const c_void;

    fn key<'k>(&'k self, node: &'k Node) -> *const c_void {
        // SAFETY: the caller's function, called as the header says.
        unsafe { (self.key)(of(node), self.user) }
    }

    fn compare(&self, a: &*const c_void, b: &*const c_void) -> Ordering {
        // SAFETY: the caller's function, called as the header says.
        unsafe { (self.compare)(*a, *b, self.user) }.cmp(&0)
    }
}

impl Membership<Node> for ByCaller {
    fn link<'t>(&self, node: &'t Node) -> &'t Link {
        node
    }
}

type Dict = HookDict<'static, ByCaller, Node>;

/// A dictionary in the caller's memory.
#[repr(C)]
#[derive(Debug)]
pub struct tw_odict {
    state: Cell<u64>,
    body: [u64; 11],
}

/// The contents of a dictionary's memory.
#[repr(C)]
struct Made {
    state: Cell<u64>,
    dictionary: Dict,
}

const _: () =
    assert!(size_of::<Made>() <= size_of::<tw_odict>() && align_of::<Made>() <= align_of::<tw_odict>());

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows the state mutably.
unsafe impl Lendable for tw_odict {
    const READY: u64 = 0x7469_636b_6f64_6963;
    const LENT: u64 = 0x7469_636b_6f72_6472;
}

/// Calls `inside` with a dictionary. During this call the dictionary refuses calls from the
/// caller's functions.
fn with<R>(odict: *const tw_odict, inside: impl FnOnce(&mut Dict) -> Result<R, c_int>) -> Result<R, c_int> {
    let now = lendable(odict)?;
    // SAFETY: 1. `tw_odict_init` has put a `Made` here: the state says so. 2. The reference is the
    // only one: the state has just said that there was none, and refuses another.
    lend(odict, now, || inside(unsafe { &mut (*odict.cast_mut().cast::<Made>()).dictionary }))
}

fn refused(error: DictError) -> c_int {
    match error {
        DictError::Full => code::FULL,
        DictError::AlreadyLinked => code::ALREADY,
        DictError::WrongDictionary => code::ELSEWHERE,
        DictError::Stale => code::ABSENT,
        DictError::OutOfOrder => code::OUT_OF_ORDER,
        DictError::NoIdentity => code::EXHAUSTED,
        _ => code::INVALID,
    }
}

/// Searches a dictionary. Writes the found link and returns 1, or returns 0 if no link is found.
///
/// # Safety
/// `found` is null or writable.
unsafe fn search(
    odict: *const tw_odict,
    found: *mut *mut tw_odlink,
    search: impl FnOnce(&mut Dict) -> Result<Option<Entry>, c_int>,
) -> c_int {
    let link = || Ok(with(odict, search)?.map(|entry| of(entry.get())));
    // SAFETY: the caller of this function promises this.
    unsafe { answer::found(found, link) }
}

fn clear(odict: *mut tw_odict) -> Result<c_int, c_int> {
    with(odict, |dictionary| {
        dictionary.clear();
        Ok(0)
    })
}

fn insert(odict: *mut tw_odict, link: *mut tw_odlink, position: Position<Entry>) -> Result<c_int, c_int> {
    with(odict, |dictionary| {
        let node = offered(link)?;
        // SAFETY: 1. The references that the dictionary hands out end in this file, before the call
        // returns. 2. The caller gets pointers.
        unsafe { dictionary.insert_pinned(position, node) }.map_err(refused)?;
        Ok(0)
    })
}

/// Returns the link that the caller has passed as a hint, if there is one.
fn hinted(hint: *const tw_odlink) -> Result<Option<Entry>, c_int> {
    if hint.is_null() { Ok(None) } else { known(hint).map(Some) }
}

/// The number of a kind of search.
pub type tw_odict_how = c_int;

/// The kinds of search, with their names and numbers in C.
pub const SEEKS: [(&str, c_int, Seek); 6] = [
    ("TW_ODICT_EQ", 1, Seek::Equal),
    ("TW_ODICT_EQ_LAST", 2, Seek::LastEqual),
    ("TW_ODICT_GEQ", 3, Seek::Geq),
    ("TW_ODICT_GT", 4, Seek::Gt),
    ("TW_ODICT_LEQ", 5, Seek::Leq),
    ("TW_ODICT_LT", 6, Seek::Lt),
];

exported!(
    /// Initializes a link that is in no dictionary, whatever the memory contained before.
    fn tw_odlink_init(link: *mut tw_odlink) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::fresh(link, tw_odlink { body: [0; 7], mark: 0 }) }
    }

    /// Returns whether a link is in a dictionary.
    fn tw_odlink_is_linked(link: *const tw_odlink) -> c_int {
        answer::code(|| match known(link) {
            Ok(node) => Ok(c_int::from(node.is_linked())),
            Err(code::ABSENT) => Ok(0),
            Err(code) => Err(code),
        })
    }

    /// Initializes an empty dictionary.
    fn tw_odict_init(
        odict: *mut tw_odict,
        key: tw_key_fn,
        compare: tw_key_compare_fn,
        user: *mut c_void,
    ) -> c_int {
        answer::code(|| {
            usable(odict)?;
            let order =
                ByCaller { key: key.ok_or(code::INVALID)?, compare: compare.ok_or(code::INVALID)?, user };
            let state = Cell::new(state(tw_odict::READY, odict));
            // SAFETY: the memory is aligned and large enough, and writable by the header's
            // contract.
            unsafe { odict.cast::<Made>().write(Made { state, dictionary: HookDict::new(order) }) };
            Ok(0)
        })
    }

    /// Destroys a dictionary.
    fn tw_odict_destroy(odict: *mut tw_odict) -> c_int {
        answer::code(|| {
            clear(odict)?;
            // Nothing else needs a drop: the dictionary has no memory but the caller's.
            // SAFETY: the pointer is to a dictionary, as `clear` has verified.
            unsafe { &*odict }.state.set(0);
            Ok(0)
        })
    }

    /// Inserts a link after all links with an equal key.
    fn tw_odict_insert(odict: *mut tw_odict, link: *mut tw_odlink, hint: *const tw_odlink) -> c_int {
        answer::code(|| insert(odict, link, Position::Sorted(hinted(hint)?)))
    }

    /// Inserts a link after all other links.
    fn tw_odict_append(odict: *mut tw_odict, link: *mut tw_odlink) -> c_int {
        answer::code(|| insert(odict, link, Position::Last))
    }

    /// Inserts a link before all other links.
    fn tw_odict_prepend(odict: *mut tw_odict, link: *mut tw_odlink) -> c_int {
        answer::code(|| insert(odict, link, Position::First))
    }

    /// Removes a link.
    fn tw_odict_remove(odict: *mut tw_odict, link: *mut tw_odlink) -> c_int {
        answer::code(|| with(odict, |dictionary| dictionary.remove(known(link)?).map(|_| 0).map_err(refused)))
    }

    /// Moves a link whose key has changed to the position at which an insert would place it.
    fn tw_odict_key_update(odict: *mut tw_odict, link: *mut tw_odlink) -> c_int {
        answer::code(|| {
            with(odict, |dictionary| dictionary.rekeyed(known(link)?).map(c_int::from).map_err(refused))
        })
    }

    /// Searches for a link by its key.
    fn tw_odict_find(
        odict: *const tw_odict,
        how: tw_odict_how,
        key: *const c_void,
        hint: *const tw_odlink,
        found: *mut *mut tw_odlink,
    ) -> c_int {
        let Some(&(_, _, seek)) = SEEKS.iter().find(|(_, number, _)| *number == how) else {
            return code::INVALID;
        };
        let seek = |dictionary: &mut Dict| dictionary.seek(seek, &key, hinted(hint)?).map_err(refused);
        // SAFETY: the header's contract.
        unsafe { search(odict, found, seek) }
    }

    /// Finds the first link.
    fn tw_odict_first(odict: *const tw_odict, found: *mut *mut tw_odlink) -> c_int {
        // SAFETY: the header's contract.
        unsafe { search(odict, found, |dictionary| Ok(dictionary.first())) }
    }

    /// Finds the last link.
    fn tw_odict_last(odict: *const tw_odict, found: *mut *mut tw_odlink) -> c_int {
        // SAFETY: the header's contract.
        unsafe { search(odict, found, |dictionary| Ok(dictionary.last())) }
    }

    /// Finds the link after another link.
    fn tw_odict_next(odict: *const tw_odict, link: *const tw_odlink, found: *mut *mut tw_odlink) -> c_int {
        // SAFETY: the header's contract.
        unsafe { search(odict, found, |dictionary| dictionary.next(known(link)?).map_err(refused)) }
    }

    /// Finds the link before another link.
    fn tw_odict_prev(odict: *const tw_odict, link: *const tw_odlink, found: *mut *mut tw_odlink) -> c_int {
        // SAFETY: the header's contract.
        unsafe { search(odict, found, |dictionary| dictionary.prev(known(link)?).map_err(refused)) }
    }

    /// Returns the number of links.
    fn tw_odict_len(odict: *const tw_odict) -> isize {
        answer::count(|| with(odict, |dictionary| Ok(dictionary.len())))
    }

    /// Removes every link.
    fn tw_odict_clear(odict: *mut tw_odict) -> c_int {
        answer::code(|| clear(odict))
    }

    /// Checks the structure of the dictionary.
    fn tw_odict_check(odict: *const tw_odict, text: *mut c_char, bytes: usize) -> c_int {
        let check = || with(odict, |dictionary| Ok(dictionary.check()));
        // SAFETY: the header's contract.
        unsafe { answer::verdict(text, bytes, check) }
    }
);
