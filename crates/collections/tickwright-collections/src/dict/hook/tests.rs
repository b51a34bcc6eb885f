//! Tests that need private access: owner words that are deliberately broken, links in unusual
//! places, and identities that the test chooses.

use core::sync::atomic::{AtomicU32, Ordering};
use std::vec::Vec;

use super::*;
use crate::Avl;

#[derive(Debug)]
struct Object<B: Balance> {
    key: u32,
    links: [Link<B>; 2],
}

impl<B: Balance> Object<B> {
    fn new(key: u32) -> Self {
        Self { key, links: [Link::new(), Link::new()] }
    }
}

/// An order that uses the link with a chosen number. The number `OUTSIDE` stands for a link that is
/// not in an object.
struct InOrder<'s, B: Balance> {
    which: AtomicU32,
    outside: &'s Link<B>,
}

const OUTSIDE: u32 = 2;

impl<B: Balance> KeyOrder<Object<B>> for InOrder<'static, B> {
    type Key<'k> = u32;

    fn key<'k>(&'k self, object: &'k Object<B>) -> u32 {
        object.key
    }

    fn compare(&self, a: &u32, b: &u32) -> core::cmp::Ordering {
        a.cmp(b)
    }
}

impl<B: Balance> Membership<Object<B>, B> for InOrder<'static, B> {
    fn link<'t>(&self, object: &'t Object<B>) -> &'t Link<B> {
        match self.which.load(Ordering::Relaxed) {
            OUTSIDE => self.outside,
            which => &object.links[which as usize],
        }
    }
}

static ASTRAY: [Link<RedBlack>; 1] = [Link::new()];

fn dictionary<'a>(which: u32) -> HookDict<'a, InOrder<'static, RedBlack>, Object<RedBlack>> {
    HookDict::new(InOrder { which: AtomicU32::new(which), outside: &ASTRAY[0] })
}

#[test]
fn check_names_a_wrong_owner_and_a_wrong_count() {
    let objects: Vec<_> = (0..5).map(Object::new).collect();
    let mut dictionary = dictionary(0);
    for object in &objects {
        dictionary.insert(object).unwrap();
    }
    assert_eq!(dictionary.check(), Ok(()));
    for object in &objects {
        for wrong in [0, dictionary.id + 1] {
            // SAFETY: 1. only `check` runs until the owner word is right again.
            let right = unsafe { object.links[0].0.set_owner(wrong) };
            assert_eq!(dictionary.check(), Err(Violation::Owner));
            // SAFETY: 1. as above.
            unsafe { object.links[0].0.set_owner(right) };
        }
    }
    for len in [4, 6] {
        dictionary.len = len;
        assert_eq!(dictionary.check(), Err(Violation::Count));
    }
    dictionary.len = 5;
    assert_eq!(dictionary.check(), Ok(()));
}

#[test]
fn a_link_that_is_not_where_the_others_are_is_refused() {
    let objects: Vec<_> = (0..3).map(Object::new).collect();
    let mut dictionary = dictionary(OUTSIDE);
    let refused = dictionary.insert(&objects[0]).unwrap_err();
    assert_eq!(refused.reason, DictError::WrongLink, "outside of the object");

    dictionary.order().which.store(1, Ordering::Relaxed);
    let entry = dictionary.insert(&objects[0]).unwrap();
    for wrong in [0, OUTSIDE] {
        dictionary.order().which.store(wrong, Ordering::Relaxed);
        assert_eq!(dictionary.insert(&objects[1]).unwrap_err().reason, DictError::WrongLink);
        assert_eq!(dictionary.remove(entry).unwrap_err(), DictError::WrongLink);
        assert_eq!(dictionary.next(entry), Err(DictError::WrongLink));
    }
    dictionary.order().which.store(1, Ordering::Relaxed);
    assert_eq!(dictionary.remove(entry).map(|object| object.key), Ok(0));
    assert!(objects.iter().all(|object| object.links.iter().all(|link| !link.is_linked())));
}

#[test]
fn given_identities_tell_dictionaries_apart() {
    let objects: Vec<_> = (0..2).map(Object::<Avl>::new).collect();
    static NOWHERE: Link<Avl> = Link::new();
    let order = || InOrder { which: AtomicU32::new(0), outside: &NOWHERE };
    let id = |below: u32| NonZeroU32::MIN.saturating_add(u32::MAX - 1 - below);
    // SAFETY: 1. identities count from 1, and no other dictionary of this test binary reaches this
    // one; 2. the lower bits are not 0.
    let mut one = unsafe { HookDict::<_, _, Avl>::with_identity(order(), id(0)) };
    // SAFETY: as above, with the identity below it.
    let mut other = unsafe { HookDict::<_, _, Avl>::with_identity(order(), id(1)) };
    one.insert(&objects[0]).unwrap();
    other.insert(&objects[1]).unwrap();
    assert_eq!((one.id, other.id), (PINNED - 1, PINNED - 2));
    assert_eq!(other.insert(&objects[0]).unwrap_err().reason, DictError::WrongDictionary);
    assert_eq!(one.remove((&objects[1]).into()).unwrap_err(), DictError::WrongDictionary);
}
