//! Clause 17 for every family in both storages: with payloads whose drop panics, and with closures
//! that inspect their arguments.

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::rc::Rc;

use tickwright_core::{
    Expired, Family, HookQueue, Pending, SlabQueue, Timer, for_each_family, for_each_slab_only_family,
};

/// A payload that counts drops, and panics in the drop that the test chooses.
#[derive(Debug)]
struct Bomb {
    value: u64,
    armed: Cell<bool>,
    drops: Rc<Cell<usize>>,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
        if self.armed.get() {
            panic!("bomb {}", self.value);
        }
    }
}

const MANY: u64 = 20;

fn bombs(armed: u64) -> (Vec<Bomb>, Rc<Cell<usize>>) {
    let drops = Rc::new(Cell::new(0));
    let bomb = |value| Bomb { value, armed: Cell::new(value == armed), drops: Rc::clone(&drops) };
    ((0..MANY).map(bomb).collect(), drops)
}

fn fill<F: Family>(armed: u64) -> (SlabQueue<F, Bomb>, Rc<Cell<usize>>) {
    let (bombs, drops) = bombs(armed);
    let mut queue = SlabQueue::new();
    for bomb in bombs {
        queue.insert_at(10 + bomb.value * 7 % 5, bomb, 0).expect("room");
    }
    (queue, drops)
}

/// Catches a panic. A panic that the test plans prints nothing to the terminal.
fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

fn clear_with_a_bomb<F: Family>() {
    let (mut queue, drops) = fill::<F>(7);
    assert!(panics(|| queue.clear()), "{}", F::ID);
    assert_eq!(queue.check(), Ok(()), "{}", F::ID);
    assert_eq!((queue.len(), drops.get()), (0, MANY as usize), "{}: all are out, each dropped once", F::ID);
    let (mut spare, _) = bombs(u64::MAX);
    queue.insert_at(3, spare.remove(0), 0).expect("it goes on");
    assert_eq!(queue.pop_expired(9).map(|timer| timer.value.value), Some(0), "{}", F::ID);
}

fn drop_with_a_bomb<F: Family>() {
    let (queue, drops) = fill::<F>(7);
    assert!(panics(move || drop(queue)), "{}", F::ID);
    assert_eq!(drops.get(), MANY as usize, "{}: none is leaked", F::ID);
}

fn sink_with_a_bomb<F: Family>() {
    for armed in 0..MANY {
        let (mut queue, drops) = fill::<F>(armed);
        // The sink drops each delivered payload, and this drop panics.
        assert!(panics(|| _ = queue.advance(99, drop::<Expired<_, Bomb>>)), "{}", F::ID);
        assert_eq!(queue.check(), Ok(()), "{}", F::ID);
        assert_eq!(queue.len() + drops.get(), MANY as usize, "{}", F::ID);
        queue.advance(99, drop::<Expired<_, Bomb>>);
        assert!(queue.is_empty(), "{}", F::ID);
        assert_eq!(drops.get(), MANY as usize, "{}", F::ID);
    }
}

fn removed_bomb<F: Family>() {
    let (mut queue, drops) = fill::<F>(u64::MAX);
    let (mut bomb, _) = bombs(0);
    let key = queue.insert_at(11, bomb.remove(0), 0).expect("room");
    assert!(panics(|| drop(queue.remove(key))), "{}", F::ID);
    assert_eq!(queue.check(), Ok(()), "{}", F::ID);
    assert!(queue.remove(key).is_err(), "{}: it is out", F::ID);
    assert_eq!((queue.len(), drops.get()), (MANY as usize, 0), "{}", F::ID);
}

fn retain_closure<F: Family>() {
    let (mut queue, drops) = fill::<F>(u64::MAX);
    let mut asked = 0;
    let removes_two = |_: Pending<_>, _: &mut Bomb| {
        asked += 1;
        assert!(asked < 3, "as planned");
        false
    };
    assert!(panics(|| queue.retain(removes_two)), "{}", F::ID);
    assert_eq!(queue.check(), Ok(()), "{}", F::ID);
    assert_eq!((queue.len(), drops.get()), (MANY as usize - 2, 2), "{}: the others stay", F::ID);
}

fn retain_with_a_bomb<F: Family>() {
    let (mut queue, drops) = fill::<F>(7);
    assert!(panics(|| queue.retain(|_, _| false)), "{}", F::ID);
    assert_eq!(queue.check(), Ok(()), "{}", F::ID);
    assert_eq!(queue.len() + drops.get(), MANY as usize, "{}: none is lost, none dropped twice", F::ID);
    queue.retain(|_, _| false);
    assert_eq!((queue.len(), drops.get()), (0, MANY as usize), "{}", F::ID);
}

fn rearm_closure<F: Family>() {
    let (mut queue, _) = fill::<F>(u64::MAX);
    let head = queue.peek();
    assert!(panics(|| _ = queue.pop_and_reinsert(99, |_, _| panic!("as planned"))), "{}", F::ID);
    assert_eq!(queue.check(), Ok(()), "{}", F::ID);
    assert_eq!((queue.peek(), queue.now()), (head, 99), "{}: nothing has moved but the clock", F::ID);
    // The closure sees the payload of the head, and its expiry.
    let mut seen = None;
    let rearmed = queue.pop_and_reinsert(99, |expiry, bomb| {
        seen = Some((expiry, bomb.value));
        expiry + 100
    });
    let head = head.expect("twenty are pending");
    assert_eq!(rearmed.map(|timer| (timer.key, timer.expiry)), Some((head.key, head.expiry)), "{}", F::ID);
    assert_eq!(seen, queue.get(head.key).map(|bomb| (head.expiry, bomb.value)), "{}", F::ID);
    // The expiry equals the expiry of a new insert, which in an exact queue is the deadline that
    // the closure returned.
    let mut fresh: SlabQueue<F, ()> = SlabQueue::new();
    let _ = fresh.pop_expired(99);
    fresh.insert_at(head.expiry + 100, (), 0).expect("room");
    assert_eq!(queue.expiry(head.key), fresh.next_expiry(), "{}", F::ID);
}

/// In a hook queue, a delivered node belongs to its owner again, even while the sink still runs.
fn hook_sink<F: Family>() {
    let nodes: Vec<Timer<F, u64>> = (0..MANY).map(Timer::new).collect();
    let other: Timer<F, u64> = Timer::new(0);
    let mut queue: HookQueue<'_, F, u64> = HookQueue::new();
    let mut second: HookQueue<'_, F, u64> = HookQueue::new();
    second.insert_at(1, &other, 0).expect("room");
    for node in &nodes {
        queue.insert_at(10 + node.payload * 7 % 5, node, 0).expect("room");
    }
    let mut seen = 0;
    let panicked = panics(|| {
        queue.advance(12, |timer| {
            assert!(!timer.value.is_linked(), "{}: it is still linked in its sink", F::ID);
            second.insert_at(timer.expiry + 50, timer.value, 0).expect("another queue takes it");
            assert_eq!(second.check(), Ok(()), "{}", F::ID);
            seen += 1;
            assert!(seen < 5, "as planned");
        });
    });
    assert!(panicked, "{}", F::ID);
    assert_eq!((queue.check(), second.check()), (Ok(()), Ok(())), "{}", F::ID);
    assert_eq!((queue.len(), second.len()), (MANY as usize - 5, 6), "{}", F::ID);
    drop(queue);
    assert_eq!(nodes.iter().filter(|node| node.is_linked()).count(), 5, "{}: the rest is free", F::ID);
    second.clear();
    assert!(!nodes.iter().any(Timer::is_linked) && !other.is_linked(), "{}", F::ID);
}

fn hook_rearm_closure<F: Family>() {
    let nodes: Vec<Timer<F, u64>> = (0..MANY).map(Timer::new).collect();
    let mut queue: HookQueue<'_, F, u64> = HookQueue::new();
    for node in &nodes {
        queue.insert_at(10 + node.payload * 7 % 5, node, 0).expect("room");
    }
    let head = queue.peek();
    assert!(panics(|| _ = queue.pop_and_reinsert(99, |_, _| panic!("as planned"))), "{}", F::ID);
    assert_eq!(queue.check(), Ok(()), "{}", F::ID);
    assert_eq!((queue.peek(), queue.len()), (head, MANY as usize), "{}", F::ID);
    let rearmed = queue.pop_and_reinsert(99, |expiry, node| {
        assert!(node.is_linked(), "{}: its key stays valid", F::ID);
        expiry
    });
    assert_eq!(rearmed.map(|timer| timer.key), head.map(|head| head.key), "{}", F::ID);
}

/// Defines one test that runs a generic function for every family.
macro_rules! test_families {
    ([$test:ident $run:ident] $($id:literal => $family:ty;)+) => {
        #[test]
        fn $test() {
            $($run::<$family>();)+
        }
    };
}

for_each_family!(test_families [a_clear_survives_a_payload_that_panics clear_with_a_bomb]);
for_each_family!(test_families [a_dropped_queue_drops_every_payload drop_with_a_bomb]);
for_each_family!(test_families [an_advance_survives_a_sink_that_panics sink_with_a_bomb]);
for_each_family!(test_families [a_removed_payload_may_panic removed_bomb]);
for_each_family!(test_families [a_rearm_closure_may_panic rearm_closure]);
for_each_family!(test_families [a_retain_closure_may_panic retain_closure]);
for_each_family!(test_families [a_payload_may_panic_in_retain retain_with_a_bomb]);
for_each_family!(test_families [a_delivered_node_is_free_in_its_sink hook_sink]);
for_each_family!(test_families [a_rearm_closure_may_panic_under_hooks hook_rearm_closure]);

mod slab_only {
    use super::*;

    for_each_slab_only_family!(test_families [a_clear_survives_a_payload_that_panics clear_with_a_bomb]);
    for_each_slab_only_family!(test_families [a_dropped_queue_drops_every_payload drop_with_a_bomb]);
    for_each_slab_only_family!(test_families [an_advance_survives_a_sink_that_panics sink_with_a_bomb]);
    for_each_slab_only_family!(test_families [a_removed_payload_may_panic removed_bomb]);
    for_each_slab_only_family!(test_families [a_rearm_closure_may_panic rearm_closure]);
    for_each_slab_only_family!(test_families [a_retain_closure_may_panic retain_closure]);
    for_each_slab_only_family!(test_families [a_payload_may_panic_in_retain retain_with_a_bomb]);
}
