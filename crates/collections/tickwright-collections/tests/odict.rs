//! Tests dictionaries through the public API. The tests cover objects in two dictionaries, misuse,
//! and orders that panic or contradict themselves.
#![cfg(feature = "alloc")]

use core::cell::{Cell, RefCell};
use core::cmp::Ordering;
use core::hash::{BuildHasher, BuildHasherDefault};
use core::ops::Bound;
use core::panic::AssertUnwindSafe;
use std::hash::DefaultHasher;
use std::panic::catch_unwind;
use std::rc::Rc;

use tickwright_collections::{
    Avl, BPlusDict, Balance, By, DictError, Dictionary, HookDict, KeyOrder, Link, Membership, ObjectRef,
    Position, RedBlack, Seek, SlabDict,
};
use tickwright_nodes::Violation;

const SEEKS: [Seek; 6] = [Seek::Equal, Seek::LastEqual, Seek::Geq, Seek::Gt, Seek::Leq, Seek::Lt];

#[derive(Debug)]
struct Object<B: Balance> {
    key: Cell<u32>,
    link: Link<B>,
    other: Link<B>,
}

impl<B: Balance> Object<B> {
    fn new(key: u32) -> Self {
        Self { key: Cell::new(key), link: Link::new(), other: Link::new() }
    }
}

/// The way in which an order misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Sane,
    /// Panics at the call with this number, counted from 0.
    Panics(u32),
    /// Returns a random order.
    Contradicts,
}

struct Moody {
    mood: Cell<Mood>,
    calls: Cell<u32>,
    random: Cell<u64>,
    other: bool,
}

impl Moody {
    fn sane(other: bool) -> Self {
        Self { mood: Cell::new(Mood::Sane), calls: Cell::new(0), random: Cell::new(88_172_645), other }
    }

    fn become_(&self, mood: Mood) {
        self.mood.set(mood);
        self.calls.set(0);
    }

    fn call(&self) {
        let call = self.calls.replace(self.calls.get() + 1);
        if self.mood.get() == Mood::Panics(call) {
            std::panic::resume_unwind(Box::new("the user's code panics"));
        }
    }
}

impl<B: Balance> KeyOrder<Object<B>> for Moody {
    type Key<'k> = u32;

    fn key<'k>(&'k self, object: &'k Object<B>) -> u32 {
        self.call();
        object.key.get()
    }

    fn compare(&self, a: &u32, b: &u32) -> Ordering {
        self.call();
        if self.mood.get() == Mood::Contradicts {
            let mut x = self.random.get();
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            self.random.set(x);
            return [Ordering::Less, Ordering::Equal, Ordering::Greater][(x % 3) as usize];
        }
        a.cmp(b)
    }
}

impl<B: Balance> Membership<Object<B>, B> for Moody {
    fn link<'t>(&self, object: &'t Object<B>) -> &'t Link<B> {
        self.call();
        if self.other { &object.other } else { &object.link }
    }
}

type Hook<'a, B> = HookDict<'a, Moody, Object<B>, B>;
type Slab<B> = SlabDict<Moody, Object<B>, B>;

fn hook<'a, B: Balance>(other: bool) -> Hook<'a, B> {
    HookDict::balanced(Moody::sane(other))
}

fn slab<B: Balance>() -> Slab<B> {
    SlabDict::balanced(Moody::sane(false))
}

fn objects<B: Balance>(n: u32) -> Vec<Object<B>> {
    (0..n).map(|n| Object::new(n * 7 % 10)).collect()
}

fn keys<B: Balance, D: Dictionary<Object = Object<B>>>(dictionary: &D) -> Vec<u32> {
    dictionary.iter().map(|entry| dictionary.get(entry).unwrap().key.get()).collect()
}

fn an_entry_equals_itself_alone<B: Balance>() {
    let objects = objects::<B>(2);
    let [one, other] = [&objects[0], &objects[1]].map(ObjectRef::from);
    let hash = |entry: ObjectRef<'_, _>| BuildHasherDefault::<DefaultHasher>::default().hash_one(entry);
    assert!(one == ObjectRef::from(&objects[0]) && one != other);
    assert!(hash(one) == hash(one) && hash(one) != hash(other));
    assert_eq!(format!("{one:?}"), format!("ByRef({:p})", &raw const objects[0]));
}

fn an_object_is_in_two_dictionaries<B: Balance>() {
    let objects = objects::<B>(30);
    let (mut one, mut two) = (hook::<B>(false), hook::<B>(true));
    for object in &objects {
        one.insert(object).unwrap();
        two.insert(object).unwrap();
    }
    for (at, object) in objects.iter().enumerate() {
        let dictionary = if at % 2 == 0 { &mut one } else { &mut two };
        dictionary.remove(object.into()).unwrap();
        assert_eq!((one.check(), two.check()), (Ok(()), Ok(())));
    }
    assert_eq!((one.len(), two.len()), (15, 15));
    drop(one);
    assert!(objects.iter().all(|object| !object.link.is_linked()));
    assert_eq!(two.check(), Ok(()));
}

fn misuse_of_hooks_is_refused<B: Balance>() {
    let objects = objects::<B>(4);
    let (mut one, mut two) = (hook(false), hook(false));
    let entry = one.insert(&objects[0]).unwrap();
    two.insert(&objects[1]).unwrap();
    let there = (&objects[1]).into();
    let absent = (&objects[2]).into();

    assert_eq!(one.insert(&objects[0]).unwrap_err().reason, DictError::AlreadyLinked);
    assert_eq!(one.append(&objects[1]).unwrap_err().reason, DictError::WrongDictionary);
    for (wrong, reason) in [(there, DictError::WrongDictionary), (absent, DictError::Stale)] {
        let refused = one.insert_near(Some(wrong), &objects[3]).unwrap_err();
        assert_eq!(refused.reason, reason);
        assert!(core::ptr::eq(refused.value, &raw const objects[3]) && !objects[3].link.is_linked());
        assert_eq!(one.remove(wrong).unwrap_err(), reason);
        assert_eq!(one.rekeyed(wrong), Err(reason));
        assert_eq!(one.next(wrong), Err(reason));
        assert_eq!(one.prev(wrong), Err(reason));
        assert_eq!(one.get(wrong).unwrap_err(), reason);
        assert!(SEEKS.iter().all(|&seek| one.seek(seek, &1, Some(wrong)) == Err(reason)));
    }
    assert!(one.remove(entry).is_ok());
    assert_eq!(one.remove(entry).unwrap_err(), DictError::Stale);
    two.insert(&objects[0]).unwrap();
    assert_eq!(one.remove(entry).unwrap_err(), DictError::WrongDictionary);
    assert_eq!((one.len(), two.len(), one.check(), two.check()), (0, 2, Ok(()), Ok(())));
}

fn misuse_of_slabs_is_refused<B: Balance>() {
    let (mut one, mut two) = (slab::<B>(), slab::<B>());
    let removed = one.insert(Object::new(1)).unwrap();
    one.remove(removed).unwrap();
    let entry = one.insert(Object::new(2)).unwrap();
    let there = two.insert(Object::new(2)).unwrap();
    for (wrong, reason) in [(there, DictError::WrongDictionary), (removed, DictError::Stale)] {
        let refused = one.insert_near(Some(wrong), Object::new(3)).unwrap_err();
        assert_eq!((refused.reason, refused.value.key.get()), (reason, 3));
        assert_eq!(one.remove(wrong).unwrap_err(), reason);
        assert_eq!(one.rekeyed(wrong), Err(reason));
        assert_eq!(one.next(wrong), Err(reason));
        assert_eq!(one.prev(wrong), Err(reason));
        assert_eq!(one.get(wrong).unwrap_err(), reason);
        assert_eq!(one.get_mut(wrong).unwrap_err(), reason);
        assert_eq!(one.update(wrong, |_| unreachable!()), Err(reason));
        assert!(SEEKS.iter().all(|&seek| one.seek(seek, &1, Some(wrong)) == Err(reason)));
    }
    assert_eq!((one.len(), one.first(), one.check()), (1, Some(entry), Ok(())));
}

fn a_full_slab_hands_the_object_back<B: Balance>() {
    let mut dictionary = Slab::<B>::bounded(Moody::sane(false), 2).unwrap();
    let room = dictionary.heap_bytes();
    let first = dictionary.append(Object::new(5)).unwrap();
    dictionary.append(Object::new(6)).unwrap();
    for _ in 0..2 {
        let refused = dictionary.insert(Object::new(7)).unwrap_err();
        assert_eq!((refused.reason, refused.value.key.get()), (DictError::Full, 7));
        assert_eq!(dictionary.append(Object::new(7)).unwrap_err().reason, DictError::Full);
        assert_eq!(dictionary.prepend(Object::new(1)).unwrap_err().reason, DictError::Full);
    }
    assert_eq!((keys(&dictionary), dictionary.check()), (vec![5, 6], Ok(())));
    dictionary.remove(first).unwrap();
    dictionary.prepend(Object::new(1)).unwrap();
    assert_eq!((keys(&dictionary), dictionary.heap_bytes()), (vec![1, 6], room));
}

/// Runs operation number `op`. Each operation that calls the user's code has a number.
fn provoke<B: Balance, D>(dictionary: &mut D, op: u32, value: D::Value)
where
    D: Dictionary<Object = Object<B>, Order = Moody>,
{
    let middle = dictionary.iter().nth(dictionary.len() / 2);
    match op {
        0 => drop(dictionary.insert(value).map_err(DictError::from)),
        1 => drop(dictionary.insert_near(middle, value).map_err(DictError::from)),
        2 => drop(dictionary.append(value).map_err(DictError::from)),
        3 => drop(dictionary.prepend(value).map_err(DictError::from)),
        4 => drop(dictionary.first().map(|entry| dictionary.rekeyed(entry))),
        5 => drop(middle.map(|entry| dictionary.rekeyed(entry))),
        6 => drop(middle.map(|entry| dictionary.remove(entry).map(|_| ()))),
        7 => drop(dictionary.check()),
        8 => assert!(dictionary.range(Bound::Included(&3), Bound::Excluded(&7)).count() <= dictionary.len()),
        seek => drop(dictionary.seek(SEEKS[seek as usize % 6], &4, middle.filter(|_| seek % 2 == 0))),
    }
}

const PROVOCATIONS: u32 = 21;

fn a_panic_in_user_code_leaves_a_whole_dictionary<B: Balance>() {
    if cfg!(not(panic = "unwind")) {
        return; // A panic cannot be caught here.
    }
    for op in 0..PROVOCATIONS {
        let mut panics = 0;
        for call in 0..60 {
            let objects = objects::<B>(12);
            let (mut hooked, mut owned) = (hook(false), slab::<B>());
            for object in &objects[1..] {
                hooked.insert(object).unwrap();
                owned.insert(Object::new(object.key.get())).unwrap();
            }
            if op == 4 {
                // The new key forces the entry to move.
                hooked.first().unwrap().key.set(8);
                owned.get(owned.first().unwrap()).unwrap().key.set(8);
            }
            let before = keys(&hooked);
            hooked.order().become_(Mood::Panics(call));
            owned.order().become_(Mood::Panics(call));
            let one = catch_unwind(AssertUnwindSafe(|| provoke(&mut hooked, op, &objects[0])));
            let two = catch_unwind(AssertUnwindSafe(|| provoke(&mut owned, op, Object::new(0))));
            hooked.order().become_(Mood::Sane);
            owned.order().become_(Mood::Sane);
            if one.is_err() {
                assert_eq!(keys(&hooked), before);
                assert!(!objects[0].link.is_linked());
            }
            if two.is_err() {
                assert_eq!(keys(&owned), before);
            }
            panics += u32::from(one.is_err());
            if op == 4 {
                for dictionary in [hooked.check(), owned.check()] {
                    assert!(matches!(dictionary, Ok(()) | Err(Violation::Order)), "the key did change");
                }
                hooked.rekeyed(hooked.iter().next().unwrap()).unwrap();
                owned.rekeyed(owned.iter().next().unwrap()).unwrap();
            }
            assert_eq!((hooked.check(), owned.check()), (Ok(()), Ok(())), "op {op}, call {call}");
        }
        assert!(panics > 0, "op {op} calls no user code");
    }
}

/// Returns whether `check` found nothing, or nothing except a wrong order.
fn whole(checked: Result<(), Violation>) -> bool {
    matches!(checked, Ok(()) | Err(Violation::Order))
}

fn an_order_that_contradicts_itself_is_contained<B: Balance>() {
    let rounds = if cfg!(miri) { 2 } else { 60 };
    let objects = objects::<B>(40);
    let mut hooked = hook(false);
    let mut owned = slab::<B>();
    hooked.order().become_(Mood::Contradicts);
    owned.order().become_(Mood::Contradicts);
    for round in 0..rounds {
        for (at, object) in objects.iter().enumerate() {
            let op = (round + u32::try_from(at).unwrap()) % PROVOCATIONS;
            provoke(&mut hooked, op, object);
            provoke(&mut owned, op, Object::new(object.key.get()));
            let linked = objects.iter().filter(|object| object.link.is_linked()).count();
            assert_eq!((hooked.len(), hooked.iter().count()), (linked, linked));
            assert_eq!(owned.iter().count(), owned.len());
            assert!(whole(hooked.check()) && whole(owned.check()));
        }
    }
    assert!(hooked.len() > 5 && owned.len() > 5);
    hooked.order().become_(Mood::Sane);
    owned.order().become_(Mood::Sane);
    while let Some(last) = hooked.last() {
        hooked.remove(last).unwrap();
        assert!(whole(hooked.check()));
    }
    while let Some(first) = owned.first() {
        owned.remove(first).unwrap();
        assert!(whole(owned.check()));
    }
}

fn a_key_that_changed_in_secret_is_named_and_mended<B: Balance>() {
    let objects = objects::<B>(10);
    let mut dictionary = hook(false);
    for object in &objects {
        dictionary.insert(object).unwrap();
    }
    let fifth = dictionary.iter().nth(5).unwrap();
    fifth.key.set(100);
    assert_eq!(dictionary.check(), Err(Violation::Order));
    for key in 0..12 {
        for seek in SEEKS {
            dictionary.seek(seek, &key, Some(fifth)).unwrap();
        }
    }
    assert_eq!(dictionary.rekeyed(fifth), Ok(true));
    assert_eq!((dictionary.check(), dictionary.last()), (Ok(()), Some(fifth)));
    assert_eq!(dictionary.rekeyed(fifth), Ok(false));
}

fn a_pinned_object_lives_its_life<B: Balance>() {
    let mut dictionary: Hook<'static, B> = hook(true);
    let mut boxes: Vec<_> = (0..6).map(|n| Box::pin(Object::<B>::new(n))).collect();
    for (at, object) in boxes.iter().enumerate() {
        let position = match at {
            0 => Position::First,
            1 => Position::Last,
            _ => Position::Sorted(dictionary.last()),
        };
        // SAFETY: 1. no entry is used after its object is gone: the object is removed first; 2. the
        // object drops its links.
        unsafe { dictionary.insert_pinned(position, object.as_ref()) }.unwrap();
    }
    // SAFETY: as above.
    let again = unsafe { dictionary.insert_pinned(Position::Last, boxes[5].as_ref()) };
    assert_eq!(again, Err(DictError::AlreadyLinked));
    while let Some(first) = dictionary.first() {
        let key = dictionary.remove(first).unwrap().key.get();
        boxes.retain(|object| object.key.get() != key);
        assert_eq!(dictionary.check(), Ok(()));
    }
    assert!(boxes.is_empty());
}

fn a_forgotten_dictionary_leaves_its_links_refusing<B: Balance>() {
    let object = Object::<B>::new(1);
    let mut forgotten = hook(false);
    forgotten.insert(&object).unwrap();
    core::mem::forget(forgotten);
    assert!(object.link.is_linked());
    let mut other = hook(false);
    assert_eq!(other.insert(&object).unwrap_err().reason, DictError::WrongDictionary);
}

macro_rules! for_each_balance {
    ($($test:ident)+) => {
        mod red_black {
            $(#[test] fn $test() { super::$test::<super::RedBlack>(); })+
        }
        mod avl {
            $(#[test] fn $test() { super::$test::<super::Avl>(); })+
        }
    };
}

for_each_balance! {
    an_entry_equals_itself_alone an_object_is_in_two_dictionaries misuse_of_hooks_is_refused misuse_of_slabs_is_refused
    a_full_slab_hands_the_object_back a_panic_in_user_code_leaves_a_whole_dictionary
    an_order_that_contradicts_itself_is_contained a_key_that_changed_in_secret_is_named_and_mended
    a_pinned_object_lives_its_life a_forgotten_dictionary_leaves_its_links_refusing
}

/// Orders objects by descending address, as HelenOS does for its threads. The key is a number, so a
/// search needs no object.
#[test]
fn objects_by_address_in_reverse() {
    struct Place {
        link: Link,
    }
    struct Downwards;
    impl KeyOrder<Place> for Downwards {
        type Key<'k> = usize;

        fn key<'k>(&'k self, object: &'k Place) -> usize {
            core::ptr::from_ref(object).addr()
        }

        fn compare(&self, a: &usize, b: &usize) -> Ordering {
            b.cmp(a)
        }
    }
    impl Membership<Place> for Downwards {
        fn link<'t>(&self, object: &'t Place) -> &'t Link {
            &object.link
        }
    }
    let places = [const { Place { link: Link::new() } }; 20];
    let mut dictionary = HookDict::new(Downwards);
    for at in [3, 11, 0, 19, 7, 8] {
        dictionary.insert(&places[at]).unwrap();
    }
    let address = |at: usize| core::ptr::from_ref(&places[at]).addr();
    assert_eq!(dictionary.find(&address(7)), Some((&places[7]).into()));
    assert_eq!(dictionary.find(&address(9)), None);
    assert_eq!(dictionary.find_geq(&(address(9) + 1)), Some((&places[8]).into()), "the next one below");
    assert_eq!(dictionary.first(), Some((&places[19]).into()));
}

#[test]
#[cfg_attr(not(panic = "unwind"), ignore = "catches a panic")]
fn clear_drops_every_object_also_when_one_panics() {
    struct Loud(u32, Rc<RefCell<Vec<u32>>>);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
            if self.0 == 2 {
                std::panic::resume_unwind(Box::new("a drop panics"));
            }
        }
    }
    let dropped = Rc::new(RefCell::new(Vec::new()));
    let mut dictionary = SlabDict::new(By(|object: &Loud| object.0));
    let entry = dictionary.insert(Loud(0, dropped.clone())).unwrap();
    for n in 1..5 {
        dictionary.insert(Loud(n, dropped.clone())).unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| dictionary.clear())).is_err());
    assert_eq!(*dropped.borrow(), [0, 1, 2, 3, 4]);
    assert_eq!((dictionary.len(), dictionary.first(), dictionary.check()), (0, None, Ok(())));
    assert_eq!(dictionary.get(entry).err(), Some(DictError::Stale));
    dictionary.insert(Loud(9, dropped)).unwrap();
    assert_eq!(dictionary.check(), Ok(()));
}

#[test]
fn ranges_with_bounds_that_exclude_each_other_are_empty() {
    let mut dictionary = SlabDict::new(By(|&n: &u32| n));
    for n in [1, 3, 3, 5] {
        dictionary.insert(n).unwrap();
    }
    for (from, to) in [
        (Bound::Included(&4), Bound::Included(&2)),
        (Bound::Excluded(&3), Bound::Excluded(&3)),
        (Bound::Included(&3), Bound::Excluded(&3)),
        (Bound::Excluded(&3), Bound::Included(&3)),
        (Bound::Excluded(&5), Bound::Unbounded),
        (Bound::Unbounded, Bound::Excluded(&1)),
        (Bound::Included(&2), Bound::Excluded(&3)),
    ] {
        assert_eq!(dictionary.range(from, to).count(), 0, "{from:?} {to:?}");
        assert_eq!(dictionary.range(from, to).rev().count(), 0);
    }
}

/// An object is inserted into a dictionary. While this dictionary compares keys, its order inserts
/// the same object into a second dictionary.
#[test]
fn an_order_that_links_its_object_elsewhere_is_refused() {
    struct Item {
        key: u32,
        link: Link,
    }
    struct Plain;
    impl KeyOrder<Item> for Plain {
        type Key<'k> = u32;

        fn key<'k>(&'k self, item: &'k Item) -> u32 {
            item.key
        }

        fn compare(&self, a: &u32, b: &u32) -> Ordering {
            a.cmp(b)
        }
    }
    impl Membership<Item> for Plain {
        fn link<'t>(&self, item: &'t Item) -> &'t Link {
            &item.link
        }
    }
    struct Thief<'a> {
        other: RefCell<HookDict<'a, Plain, Item>>,
        prey: Cell<Option<&'a Item>>,
    }
    impl KeyOrder<Item> for Thief<'_> {
        type Key<'k>
            = u32
        where
            Self: 'k;

        fn key<'k>(&'k self, item: &'k Item) -> u32 {
            item.key
        }

        fn compare(&self, a: &u32, b: &u32) -> Ordering {
            if let Some(prey) = self.prey.take() {
                self.other.borrow_mut().insert(prey).unwrap();
            }
            a.cmp(b)
        }
    }
    impl Membership<Item> for Thief<'_> {
        fn link<'t>(&self, item: &'t Item) -> &'t Link {
            &item.link
        }
    }
    let items = [1, 2, 3].map(|key| Item { key, link: Link::new() });
    let other = RefCell::new(HookDict::new(Plain));
    let mut one = HookDict::new(Thief { other, prey: Cell::new(None) });
    one.insert(&items[0]).unwrap();
    for offer in [HookDict::insert, HookDict::append] {
        one.order().prey.set(Some(&items[1]));
        assert_eq!(offer(&mut one, &items[1]).unwrap_err().reason, DictError::WrongDictionary);
        assert_eq!((one.len(), one.check()), (1, Ok(())));
        assert_eq!((one.order().other.borrow().len(), one.order().other.borrow().check()), (1, Ok(())));
        one.order().other.borrow_mut().remove((&items[1]).into()).unwrap();
    }
    one.insert(&items[1]).unwrap();
    assert_eq!(one.check(), Ok(()));
}

/// Inserts, removes and moves entries at random places, in nodes of full width, with as many
/// entries as the pool was created for.
#[test]
fn a_pool_of_the_size_advised_refuses_nothing() {
    type Pooled = BPlusDict<By<fn(&u64) -> u64>, u64>;
    let mut state = 88_172_645_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for entries in [1, 2, 29, 30, 31, 32, 61, 225, 450, 451, 1057, 7000] {
        for order in 0..3 {
            let key: fn(&u64) -> u64 = |&key| key;
            let mut dictionary = Pooled::pooled(By(key), Pooled::nodes_for(entries)).unwrap();
            let spread = |n: u64| match order {
                0 => n << 32,
                1 => !n << 32,
                _ => n.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            };
            // Inserts twice as many entries as the pool of the next dictionary is created for, and
            // removes every second entry, so that nodes are as empty as possible.
            let mut live = Vec::new();
            for n in 0..2 * entries as u64 {
                if live.len() == entries {
                    assert!(dictionary.remove(live.swap_remove(n as usize / 2 % entries)).is_ok());
                }
                live.push(dictionary.insert(spread(n)).expect("the pool is large enough"));
            }
            for _ in 0..300 {
                let (entry, key) = (live[random() as usize % entries], random());
                let moved = dictionary.update(entry, |object| *object = key);
                assert!(moved.is_ok(), "{entries} entries, order {order}: {moved:?}");
            }
            assert_eq!((dictionary.len(), dictionary.check()), (entries, Ok(())));
        }
    }
}
