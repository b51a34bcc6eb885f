//! Tests, in every family, the misuse that hook storage detects, and the state after such misuse.
#![cfg(feature = "alloc")] // the list of families names growing heaps

#[macro_use]
mod common;

use core::hash::{BuildHasher, BuildHasherDefault};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use std::hash::DefaultHasher;

use common::due;
use tickwright_core::{Family, HookQueue, KeyError, Reject, Timer, TimerRef, for_each_family};

/// The number of rounds of each loop. The number is smaller under Miri, because Miri interprets
/// each step.
const ROUNDS: u64 = if cfg!(miri) { 60 } else { 5_000 };

type Queue<'a, F> = HookQueue<'a, F, u32>;

fn a_key_equals_itself_alone<F: Family>() {
    let timers: [Timer<F, u32>; 2] = core::array::from_fn(|_| Timer::new(7));
    let [one, other] = [&timers[0], &timers[1]].map(TimerRef::from);
    let hash = |key: TimerRef<'_, F, u32>| BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
    assert!(one == TimerRef::from(&timers[0]) && one != other);
    assert!(hash(one) == hash(one) && hash(one) != hash(other));
    assert_eq!(format!("{one:?}"), format!("ByRef({:p})", &raw const timers[0]));
}

fn linked_twice_is_refused<F: Family>() {
    let timer = Timer::<F, u32>::new(7);
    let mut queue = Queue::new();
    queue.insert_at(10, &timer, 0).unwrap();
    let refused = queue.insert_at(20, &timer, 0).unwrap_err();
    assert_eq!((refused.reason, refused.value.payload), (Reject::AlreadyLinked, 7));
    assert_eq!(
        (queue.len(), queue.next_expiry()),
        (1, Some(due::<F>(0, 10))),
        "the refused insert changed the queue"
    );
    assert_eq!(queue.check(), Ok(()));
}

fn another_queues_node_is_refused<F: Family>() {
    let (timer, other) = (Timer::<F, u32>::new(7), Timer::new(8));
    let (mut first, mut second) = (Queue::new(), Queue::new());
    let key = first.insert_at(10, &timer, 0).unwrap();
    assert_eq!(
        second.remove(key).unwrap_err(),
        KeyError::WrongQueue,
        "before the second queue has an identity"
    );
    second.insert_at(1, &other, 0).unwrap();

    assert_eq!(second.insert_at(5, &timer, 0).unwrap_err().reason, Reject::WrongQueue);
    assert_eq!(second.remove(key).unwrap_err(), KeyError::WrongQueue);
    assert_eq!(second.reschedule_at(key, 0, 0).unwrap_err(), KeyError::WrongQueue);
    assert_eq!(second.expiry(&timer), None);
    assert_eq!((second.check(), second.len()), (Ok(()), 1));

    let expiry = due::<F>(0, 10);
    assert_eq!((first.check(), first.expiry(&timer)), (Ok(()), Some(expiry)), "still pending where it was");
    assert_eq!(first.pop_expired(expiry).map(|t| (t.key, t.expiry)), Some((key, expiry)));
    second.insert_at(5, &timer, 0).unwrap();
    assert_eq!(first.remove(key).unwrap_err(), KeyError::WrongQueue, "now it is the second's");
}

fn assert_stale<'a, F: Family>(queue: &mut Queue<'a, F>, key: TimerRef<'a, F, u32>) {
    assert_eq!(queue.remove(key).unwrap_err(), KeyError::Stale);
    assert_eq!(queue.reschedule_at(key, 1, 0).unwrap_err(), KeyError::Stale);
    assert_eq!(queue.expiry(key.get()), None);
    assert!(!key.is_linked());
}

fn a_node_is_stale_while_it_is_not_linked<F: Family>() {
    let timer = Timer::<F, u32>::new(7);
    let key = TimerRef::from(&timer);
    let mut queue = Queue::new();
    assert_stale(&mut queue, key);
    queue.insert_at(3, &timer, 0).unwrap();
    assert!(timer.is_linked());
    queue.remove(key).unwrap();
    assert_stale(&mut queue, key);
    queue.insert_at(3, &timer, 0).unwrap();
    queue.pop_expired(due::<F>(0, 3)).unwrap();
    assert_stale(&mut queue, key);
    queue.insert_at(3, &timer, 0).unwrap();
    queue.clear();
    assert_stale(&mut queue, key);
}

fn a_dropped_queue_unlinks<F: Family>() {
    let timers: [Timer<F, u32>; 6] = core::array::from_fn(|_| Timer::new(0));
    let mut queue = Queue::new();
    for (timer, deadline) in timers.iter().zip([5, 1, 4, 1, 3, u64::MAX]) {
        queue.insert_at(deadline, timer, 0).unwrap();
    }
    drop(queue);
    let mut next = Queue::new();
    for timer in &timers {
        assert!(!timer.is_linked());
        next.insert_at(1, timer, 0).unwrap();
    }
    assert_eq!(next.check(), Ok(()));
}

fn a_forgotten_queue_leaves_its_nodes_refusing<F: Family>() {
    let mut timers: [Timer<F, u32>; 3] = core::array::from_fn(|_| Timer::new(0));
    let mut queue = Queue::new();
    for timer in &timers {
        queue.insert_at(1, timer, 0).unwrap();
    }
    core::mem::forget(queue);
    let mut next = Queue::new();
    for timer in &timers {
        assert!(timer.is_linked());
        assert_eq!(next.insert_at(1, timer, 0).unwrap_err().reason, Reject::WrongQueue);
        assert_eq!(next.remove(TimerRef::from(timer)).unwrap_err(), KeyError::WrongQueue);
    }
    drop(next);
    // No code follows links of a node that is not pending, so such nodes can be moved, changed and
    // dropped.
    timers[0].payload = 9;
    timers.swap(0, 2);
    assert_eq!(timers.map(Timer::into_payload), [0, 0, 9]);
}

fn one_node_serves_thousands_of_times<F: Family>() {
    let (timer, bystander) = (Timer::<F, u32>::new(1), Timer::new(2));
    let mut queue = Queue::new();
    queue.insert_at(u64::MAX, &bystander, 0).unwrap();
    for round in 0..ROUNDS {
        let key = queue.insert_at(round, &timer, 0).unwrap();
        match round % 3 {
            0 => {
                let expiry = queue.expiry(&timer).unwrap();
                assert_eq!(queue.pop_expired(expiry).map(|t| t.key), Some(key));
            }
            1 => assert_eq!(queue.remove(key).map(|timer| timer.payload), Ok(1)),
            _ => {
                queue.reschedule_at(key, round + 1, 0).unwrap();
                let expiry = queue.expiry(&timer).unwrap();
                assert_eq!(queue.pop_expired(expiry).map(|t| (t.key, t.expiry)), Some((key, expiry)));
            }
        }
    }
    assert_eq!((queue.check(), queue.len()), (Ok(()), 1));
}

fn a_pinned_node_lives_its_life<F: Family>() {
    let mut queue: HookQueue<'static, F, u32> = HookQueue::new();
    let mut other = HookQueue::new();
    let timers: Vec<_> = (0..4).map(|value| Box::pin(Timer::<F, u32>::new(value))).collect();
    for (timer, deadline) in timers.iter().zip([40, 10, 30, 20]) {
        // SAFETY: no reference that a queue hands out is used after the vector has freed the
        // timers.
        let key = unsafe { queue.insert_pinned_at(deadline, timer.as_ref(), 0) }.unwrap();
        assert_eq!(key.payload, timer.payload);
        // SAFETY: as above; the insert is refused.
        let twice = unsafe { queue.insert_pinned_at(1, timer.as_ref(), 0) }.unwrap_err();
        // SAFETY: as above; it is refused.
        let elsewhere = unsafe { other.insert_pinned_at(1, timer.as_ref(), 0) }.unwrap_err();
        assert_eq!((twice, elsewhere), (Reject::AlreadyLinked, Reject::WrongQueue));
    }
    assert_eq!(queue.check(), Ok(()));
    let removed = queue.second().unwrap().key;
    assert_eq!(queue.remove(removed).map(|timer| timer.payload), Ok(3));
    queue.reschedule_at(queue.peek().unwrap().key, 35, 0).unwrap();
    let third = due::<F>(0, 30);
    let rearm = |expiry, timer: &&Timer<F, u32>| expiry + 100 + u64::from(timer.payload);
    let rearmed = queue.pop_and_reinsert(third, rearm).unwrap();
    assert_eq!((rearmed.expiry, rearmed.key.payload), (third, 2));
    let mut seen = Vec::new();
    let advanced = queue.advance(u64::MAX, |fired| seen.push((fired.value.payload, fired.expiry)));
    assert_eq!(advanced, 3);
    let again = due::<F>(third, third + 102);
    assert_eq!(seen, [(1, due::<F>(0, 35)), (0, due::<F>(0, 40)), (2, again)]);
    drop(timers);
}

/// Tests the typical use of pinned timers: a struct with a timer is freed when its timer has fired.
fn a_pinned_node_may_be_freed_once_it_is_delivered<F: Family>() {
    let mut queue: HookQueue<'static, F, u32> = HookQueue::new();
    let mut owners: Vec<_> = (0..3).map(|value| Some(Box::pin(Timer::<F, u32>::new(value)))).collect();
    for owner in owners.iter().flatten() {
        // SAFETY: the loop below frees a timer only after its delivery has returned, and then uses
        // no reference to it.
        let _ = unsafe { queue.insert_pinned_at(1_005, owner.as_ref(), 1_000) }.unwrap();
    }
    assert_eq!((queue.now(), queue.next_expiry()), (1_000, Some(due::<F>(1_000, 1_005))));
    while let Some(expired) = queue.pop_expired(due::<F>(1_000, 1_005)) {
        let at = expired.value.payload as usize;
        drop(owners[at].take());
        assert_eq!(queue.check(), Ok(()));
    }
    assert!(owners.iter().all(Option::is_none));
}

fn a_pinned_queue_that_is_dropped_lets_its_nodes_go<F: Family>() {
    let timer = Box::pin(Timer::<F, u32>::new(1));
    let mut queue: HookQueue<'static, F, u32> = HookQueue::new();
    // SAFETY: the key is not used after the timer is gone.
    let _ = unsafe { queue.insert_pinned_at(1, timer.as_ref(), 0) }.unwrap();
    drop(queue);
    assert!(!timer.is_linked());
    drop(timer);
}

/// Repeatedly claims the free nodes of `timers` for a queue, and delivers them.
fn contend<F: Family>(timers: &[Timer<F, u32>], seed: u64, taken: &AtomicUsize) {
    let mut queue = Queue::new();
    let rounds = if cfg!(miri) { 3 } else { 200 };
    for round in 0..rounds {
        let mut mine = 0;
        for (at, timer) in timers.iter().enumerate() {
            match queue.insert_at((seed * 31 + at as u64 * 7 + round) % 11, timer, 0) {
                Ok(_) => mine += 1,
                Err(refused) => assert_eq!(refused.reason, Reject::WrongQueue),
            }
        }
        assert_eq!((queue.len(), queue.check()), (mine, Ok(())));
        let delivered = queue.advance(u64::MAX, |_| ());
        assert_eq!(delivered, mine);
        taken.fetch_add(mine, Relaxed);
    }
}

/// Two threads claim the same nodes, each for its own queue. No node ends up in both queues or in
/// neither.
fn queues_race_for_nodes<F: Family>() {
    if cfg!(target_family = "wasm") {
        return; // There are no threads.
    }
    let timers: [Timer<F, u32>; 8] = core::array::from_fn(|_| Timer::new(0));
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| contend::<F>(&timers, 1, &taken));
        scope.spawn(|| contend::<F>(&timers, 2, &taken));
    });
    assert!(timers.iter().all(|timer| !timer.is_linked()));
    assert!(taken.into_inner() >= timers.len(), "a claim fails only where the rival has made it");
}

/// One thread fills a queue and another thread drains it, while further threads read its nodes.
fn a_queue_moves_between_threads<F: Family>() {
    if cfg!(target_family = "wasm") {
        return; // There are no threads.
    }
    let timers: [Timer<F, u32>; 8] = core::array::from_fn(|at| Timer::new(at as u32));
    let mut queue = Queue::new();
    for (timer, deadline) in timers.iter().zip([3, 9, 4, 1, 5, 9, 2, 6]) {
        queue.insert_at(deadline, timer, 0).unwrap();
    }
    let drained = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| while timers.iter().any(Timer::is_linked) && !drained.load(Relaxed) {});
        let order = scope.spawn(move || {
            let mut order = Vec::new();
            let _ = queue.advance(u64::MAX, |fired| order.push(fired.value.payload));
            order
        });
        let order = order.join();
        drained.store(true, Relaxed);
        assert_eq!(order.unwrap(), [3, 6, 0, 2, 4, 7, 1, 5]);
    });
    assert!(!timers.iter().any(Timer::is_linked));
}

/// After a panic in a sink, a re-arm closure or a drop, the queue passes `check()`.
fn a_panic_in_user_code_leaves_a_whole_queue<F: Family>() {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;
    if cfg!(not(panic = "unwind")) {
        return; // A panic cannot be caught here.
    }
    let timers: [Timer<F, u32>; 4] = core::array::from_fn(|at| Timer::new(at as u32));
    let mut queue = Queue::new();
    for timer in &timers {
        queue.insert_at(1, timer, 0).unwrap();
    }
    let rearm = catch_unwind(AssertUnwindSafe(|| {
        queue.pop_and_reinsert(5, |_, _| std::panic::resume_unwind(Box::new(1)))
    }));
    assert!(rearm.is_err());
    assert_eq!((queue.check(), queue.len(), queue.now()), (Ok(()), 4, 5));
    let sink = catch_unwind(AssertUnwindSafe(|| {
        queue.advance(6, |fired| {
            if fired.value.payload == 1 {
                std::panic::resume_unwind(Box::new(1));
            }
        })
    }));
    assert!(sink.is_err());
    assert_eq!((queue.check(), queue.len(), queue.now()), (Ok(()), 2, 6));
    assert!(!timers[0].is_linked() && !timers[1].is_linked(), "the one the sink was given is delivered");
    assert_eq!(queue.pop_expired(6).map(|t| t.value.payload), Some(2));
}

/// If `pop_expired_within` is called until its budget is used up, the calls together deliver and
/// move as many timers as a single `advance_within`. Between the calls, other operations can use
/// the queue.
fn steps_are_an_advance<F: Family>() {
    let deadlines = [3, 3, 70, 70, 70, 4100, 1, 90, 5000];
    for budget in 0..30 {
        let timers: [[Timer<F, u32>; 9]; 2] =
            [(); 2].map(|()| core::array::from_fn(|at| Timer::new(at as u32)));
        let mut queues = [Queue::new(), Queue::new()];
        for (queue, timers) in queues.iter_mut().zip(&timers) {
            for (timer, deadline) in timers.iter().zip(deadlines) {
                queue.insert_at(deadline, timer, 0).unwrap();
            }
        }
        let [one, steps] = &mut queues;
        for now in [80, 80, 9000, 9000, 9000] {
            let (mut whole, mut single, mut left) = (Vec::new(), Vec::new(), budget);
            let did =
                one.advance_within(now, budget, |fired| whole.push((fired.value.payload, fired.expiry)));
            while let Some(fired) = steps.pop_expired_within(now, &mut left) {
                assert_eq!(steps.check(), Ok(()));
                single.push((fired.key.payload, fired.expiry));
            }
            assert_eq!(single, whole);
            assert_eq!(budget - left, did.delivered + did.moved);
            assert_eq!(steps.now(), now);
        }
    }
}

/// A tick before `now` counts as `now`, also in `pop_expired_within`.
fn time_does_not_run_back_in_steps<F: Family>() {
    let timer = Timer::<F, u32>::new(7);
    let mut queue = Queue::new();
    let mut unlimited = usize::MAX;
    assert!(queue.pop_expired_within(1_000, &mut unlimited).is_none());
    assert!(queue.pop_expired_within(400, &mut unlimited).is_none());
    assert_eq!(queue.now(), 1_000);
    queue.insert_at(700, &timer, 0).unwrap();
    let expired = queue.pop_expired_within(5, &mut unlimited).unwrap();
    assert_eq!((expired.deadline, expired.expiry, queue.now()), (1_000, 1_000, 1_000));
    assert_eq!(queue.check(), Ok(()));
}

for_each_family! { suite [
    time_does_not_run_back_in_steps
    steps_are_an_advance
    a_key_equals_itself_alone
    linked_twice_is_refused
    another_queues_node_is_refused
    a_node_is_stale_while_it_is_not_linked
    a_dropped_queue_unlinks
    a_forgotten_queue_leaves_its_nodes_refusing
    one_node_serves_thousands_of_times
    a_pinned_node_lives_its_life
    a_pinned_node_may_be_freed_once_it_is_delivered
    a_pinned_queue_that_is_dropped_lets_its_nodes_go
    queues_race_for_nodes
    a_queue_moves_between_threads
    a_panic_in_user_code_leaves_a_whole_queue
] }
