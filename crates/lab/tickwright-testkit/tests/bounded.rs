//! Tests clause 13 when the structure itself is full: families that have their own bound, in each
//! storage, and slots inside a queue.

use tickwright_core::{BoundedHeap, HookQueue, Reject, SortedList, Timer, TinyWheel};
use tickwright_testkit::machine::{Event, run_within};
use tickwright_testkit::ours::{Hook, Inline, Slab};
use tickwright_testkit::script::{Op, decode, noise};
use tickwright_testkit::subject::Make;

fn scripts() -> impl Iterator<Item = Vec<Op>> {
    (0..60).map(|seed| decode(&noise(seed, 600)))
}

fn agrees_with_a_bounded_oracle<M: Make>(most: usize) {
    let mut refused = 0;
    for script in scripts() {
        match run_within::<M>(&script, most) {
            Ok(log) => refused += log.iter().filter(|event| matches!(event, Event::Refused(_))).count(),
            Err(mismatch) => panic!("{} of {most}: {mismatch}\n{script:#?}", M::name()),
        }
    }
    assert!(refused > 100, "{} of {most} was full only {refused} times", M::name());
}

#[test]
fn bounded_heaps_agree_with_a_bounded_oracle() {
    agrees_with_a_bounded_oracle::<Slab<BoundedHeap<2, 1>>>(1);
    agrees_with_a_bounded_oracle::<Slab<BoundedHeap<2, 3>>>(3);
    agrees_with_a_bounded_oracle::<Slab<BoundedHeap<4, 4>>>(4);
    agrees_with_a_bounded_oracle::<Slab<BoundedHeap<4, 6>>>(6);
    agrees_with_a_bounded_oracle::<Hook<BoundedHeap<2, 1>>>(1);
    agrees_with_a_bounded_oracle::<Hook<BoundedHeap<2, 6>>>(6);
    agrees_with_a_bounded_oracle::<Hook<BoundedHeap<4, 3>>>(3);
    agrees_with_a_bounded_oracle::<Hook<BoundedHeap<4, 5>>>(5);
}

#[test]
fn slots_inside_a_queue_agree_with_a_bounded_oracle() {
    agrees_with_a_bounded_oracle::<Inline<SortedList, 1>>(1);
    agrees_with_a_bounded_oracle::<Inline<SortedList, 6>>(6);
    agrees_with_a_bounded_oracle::<Inline<TinyWheel, 5>>(5);
    agrees_with_a_bounded_oracle::<Inline<BoundedHeap<4, 4>, 4>>(4);
    agrees_with_a_bounded_oracle::<Inline<BoundedHeap<4, 3>, 8>>(3);
}

#[test]
fn a_full_heap_hands_the_node_back() {
    let nodes: [Timer<BoundedHeap<4, 3>, u32>; 4] = core::array::from_fn(|at| Timer::new(at as u32));
    let mut queue: HookQueue<'_, BoundedHeap<4, 3>, u32> = HookQueue::new();
    assert_eq!(queue.reserve(4), Err(Reject::Full));
    assert_eq!(queue.reserve(3), Ok(()));
    for node in &nodes[..3] {
        queue.insert(5, node).expect("room");
    }
    let rejected = queue.insert(1, &nodes[3]).map(drop).expect_err("it is full");
    assert_eq!(rejected.reason, Reject::Full);
    assert!(core::ptr::eq(rejected.value, &raw const nodes[3]) && !nodes[3].is_linked());
    assert_eq!(queue.check(), Ok(()));
    assert_eq!(queue.pop_expired(5).map(|timer| timer.value.payload), Some(0));
    queue.insert(1, &nodes[3]).expect("there is room again");
    let left: Vec<u32> =
        core::iter::from_fn(|| queue.pop_expired(5)).map(|timer| timer.value.payload).collect();
    assert_eq!(left, [1, 2, 3], "expiry 5 for a past deadline, behind its equals");
}
