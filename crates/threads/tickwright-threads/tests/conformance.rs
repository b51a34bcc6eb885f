//! Tests of the behavior of threads in every model. The test suites of glibc, GNU Pth and NGPT
//! require the same behavior, but these tests are not copied from them.

mod common;

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, mpsc};

use common::{Gate, linux};
use tickwright::time::Instant;
use tickwright_threads::{Attributes, JoinError, LEAST_STACK, Runtime, RuntimeHandle, ThreadId, this_thread};

for_each_model!(
    values_come_in_the_order_of_joins,
    a_value_of_any_type,
    ids_are_ones_own,
    joining_early_and_late,
    an_old_id_names_nobody,
    one_joins_once,
    detached_from_the_start,
    detached_while_running,
    detached_when_it_has_ended,
    detached_twice,
    joining_oneself,
    joining_in_a_circle,
    joining_in_a_larger_circle,
    a_timed_join,
    nested_factorial,
    hundred_yields,
    a_tree_of_threads,
    a_panic_is_the_joiners,
    names,
    stacks_are_ones_own,
    the_least_stack_in_a_loop,
    parked_and_told,
    told_before_it_parks,
    a_park_that_ends_by_itself,
    sleeping_is_never_short,
    the_registry_knows_who_runs,
    the_root_thread_is_joined_by_another,
    a_ring_as_in_the_benchmark,
    bad_attributes,
    handles_outlive_the_runtime,
);

const PLAIN: Attributes = Attributes::new();

fn errno(result: Result<usize, JoinError>) -> i32 {
    result.err().map_or(0, |error| error.errno())
}

/// Tries to join a thread until the thread has ended.
fn try_until_ended(runtime: &RuntimeHandle, id: ThreadId) -> Result<usize, JoinError> {
    loop {
        match runtime.try_join(id) {
            Err(JoinError::Busy) => this_thread::yield_now(),
            other => return other,
        }
    }
}

fn values_come_in_the_order_of_joins(runtime: &Runtime) {
    let ids: Vec<_> = (0..20).map(|i| runtime.create(&PLAIN, move || i + 1).unwrap()).collect();
    for (i, id) in ids.into_iter().enumerate() {
        assert_eq!(runtime.join(id).unwrap(), i + 1);
    }
}

fn a_value_of_any_type(runtime: &Runtime) {
    let thread = runtime.spawn(&PLAIN, || vec![1, 2, 3]).unwrap();
    assert_eq!(thread.join().unwrap(), [1, 2, 3]);
    assert_eq!(runtime.run(|| String::from("inside")).unwrap(), "inside");
}

fn ids_are_ones_own(runtime: &Runtime) {
    let (tell, told) = mpsc::channel();
    let ids: Vec<_> = (0..20)
        .map(|i| {
            let tell = tell.clone();
            runtime
                .create(&PLAIN, move || tell.send((i, this_thread::current().unwrap())).map_or(0, |()| i))
                .unwrap()
        })
        .collect();
    for (i, id) in told.iter().take(20) {
        assert_eq!(ids[i], id);
        assert_eq!(ThreadId::from_bits(id.to_bits()), Some(id));
    }
    for id in ids {
        runtime.join(id).unwrap();
    }
    assert_eq!(this_thread::current(), None);
}

fn joining_early_and_late(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            behind.wait();
            42
        })
        .unwrap();
    assert_eq!(errno(runtime.try_join(id)), linux::EBUSY);
    gate.open();
    assert_eq!(try_until_ended(runtime, id).unwrap(), 42);
}

fn an_old_id_names_nobody(runtime: &Runtime) {
    let old = runtime.create(&PLAIN, || 1).unwrap();
    assert_eq!(runtime.join(old).unwrap(), 1);
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let new = runtime
        .create(&PLAIN, move || {
            behind.wait();
            2
        })
        .unwrap();
    assert_ne!(old, new);
    assert_eq!(errno(runtime.join(old)), linux::ESRCH);
    assert_eq!(runtime.detach(old).unwrap_err().errno(), linux::ESRCH);
    assert_eq!(runtime.unpark(old).unwrap_err().errno(), linux::ESRCH);
    assert_eq!(runtime.name(old), None);
    let never = ThreadId::from_bits(u64::MAX - 1).unwrap();
    assert_eq!(errno(runtime.join(never)), linux::ESRCH);
    gate.open();
    assert_eq!(runtime.join(new).unwrap(), 2);
}

fn one_joins_once(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            behind.wait();
            7
        })
        .unwrap();
    let handle = runtime.handle();
    let first = runtime.create(&PLAIN, move || handle.join(id).unwrap()).unwrap();
    // Waits until the first joiner has claimed the thread.
    while runtime.try_join(id).is_err_and(|error| matches!(error, JoinError::Busy)) {
        this_thread::yield_now();
    }
    assert_eq!(errno(runtime.join(id)), linux::EINVAL);
    assert_eq!(runtime.detach(id).unwrap_err().errno(), linux::EINVAL);
    gate.open();
    assert_eq!(runtime.join(first).unwrap(), 7);
    assert_eq!(errno(runtime.join(id)), linux::ESRCH);
}

fn gone(runtime: &Runtime) {
    while runtime.live() > 0 {
        this_thread::yield_now();
    }
}

fn detached_from_the_start(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN.detached(true), move || {
            behind.wait();
            0
        })
        .unwrap();
    assert_eq!(errno(runtime.join(id)), linux::EINVAL);
    gate.open();
    gone(runtime);
    while runtime.join(id).is_err_and(|error| matches!(error, JoinError::NotJoinable)) {
        this_thread::yield_now();
    }
    assert_eq!(errno(runtime.join(id)), linux::ESRCH);
}

fn detached_while_running(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            behind.wait();
            0
        })
        .unwrap();
    runtime.detach(id).unwrap();
    assert_eq!(errno(runtime.join(id)), linux::EINVAL);
    gate.open();
    gone(runtime);
}

fn detached_when_it_has_ended(runtime: &Runtime) {
    let left = Arc::new(());
    let held = Arc::clone(&left);
    let id = runtime.create(&PLAIN, move || std::panic::resume_unwind(Box::new(held))).unwrap();
    gone(runtime);
    runtime.detach(id).unwrap();
    // The joiner has possibly not executed its last instructions yet.
    while runtime.join(id).is_err_and(|error| matches!(error, JoinError::NotJoinable)) {
        this_thread::yield_now();
    }
    assert_eq!(errno(runtime.join(id)), linux::ESRCH);
    while Arc::strong_count(&left) > 1 {
        this_thread::yield_now();
    }
}

fn detached_twice(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            behind.wait();
            0
        })
        .unwrap();
    runtime.detach(id).unwrap();
    assert_eq!(runtime.detach(id).unwrap_err().errno(), linux::EINVAL);
    gate.open();
}

fn joining_oneself(runtime: &Runtime) {
    let handle = runtime.handle();
    let id =
        runtime.create(&PLAIN, move || errno(handle.join(this_thread::current().unwrap())) as usize).unwrap();
    assert_eq!(runtime.join(id).unwrap(), linux::EDEADLK as usize);
}

/// Each thread of a ring joins the next thread. At least one join must report the circle, and all
/// threads must end.
fn circle(runtime: &Runtime, size: usize) {
    let ids = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ready = Arc::new(Gate::default());
    for i in 0..size {
        let (handle, all, ready) = (runtime.handle(), Arc::clone(&ids), Arc::clone(&ready));
        let id = runtime
            .create(&PLAIN, move || {
                ready.wait();
                let next = all.lock().unwrap()[(i + 1) % size];
                errno(handle.join(next)) as usize
            })
            .unwrap();
        ids.lock().unwrap().push(id);
    }
    ready.open();
    gone(runtime);
    // A thread whose join reported the circle has not joined the next thread, so that thread can
    // still be joined.
    let left: Vec<_> = ids.lock().unwrap().iter().map(|&id| runtime.join(id)).collect();
    let told = left.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(told >= 1, "{left:?}");
    assert!(left.iter().all(|outcome| matches!(outcome, Ok(_) | Err(JoinError::NoSuchThread))), "{left:?}");
}

fn joining_in_a_circle(runtime: &Runtime) {
    circle(runtime, 2);
}

fn joining_in_a_larger_circle(runtime: &Runtime) {
    circle(runtime, 7);
}

fn a_timed_join(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            behind.wait();
            42
        })
        .unwrap();
    assert_eq!(errno(runtime.join_until(id, Instant::ZERO)), linux::ETIMEDOUT);
    let soon = Duration::from_micros(50);
    assert_eq!(errno(runtime.join_timeout(id, soon)), linux::ETIMEDOUT);
    gate.open();
    assert_eq!(runtime.join_until(id, Instant::MAX).unwrap(), 42);
}

fn factorial(handle: &RuntimeHandle, n: usize) -> usize {
    if n <= 1 {
        return 1;
    }
    let inner = handle.clone();
    let id = handle.create(&PLAIN, move || factorial(&inner, n - 1)).unwrap();
    n * handle.join(id).unwrap()
}

fn nested_factorial(runtime: &Runtime) {
    let handle = runtime.handle();
    assert_eq!(factorial(runtime, 9), 362_880);
    assert_eq!(runtime.run(move || factorial(&handle, 9)).unwrap(), 362_880);
}

fn hundred_yields(runtime: &Runtime) {
    let id = runtime
        .create(&PLAIN.name("adder"), || {
            let mut sum = 123;
            for _ in 0..100 {
                sum += 10;
                this_thread::yield_now();
            }
            sum
        })
        .unwrap();
    assert_eq!(runtime.join(id).unwrap(), 1123);
}

fn tree(handle: &RuntimeHandle, depth: u32, breadth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let ids: Vec<_> = (0..breadth)
        .map(|_| {
            let inner = handle.clone();
            handle.create(&PLAIN, move || tree(&inner, depth - 1, breadth)).unwrap()
        })
        .collect();
    this_thread::yield_now();
    1 + ids.into_iter().map(|id| handle.join(id).unwrap()).sum::<usize>()
}

fn a_tree_of_threads(runtime: &Runtime) {
    let handle = runtime.handle();
    for _ in 0..5 {
        let inner = handle.clone();
        assert_eq!(runtime.run(move || tree(&inner, 3, 4)).unwrap(), 1 + 4 + 16 + 64);
    }
}

fn a_panic_is_the_joiners(runtime: &Runtime) {
    let id = runtime.create(&PLAIN, || std::panic::resume_unwind(Box::new("as told"))).unwrap();
    match runtime.join(id) {
        Err(JoinError::Panicked(payload)) => assert_eq!(payload.downcast_ref(), Some(&"as told")),
        other => panic!("{other:?}"),
    }
    assert_eq!(errno(runtime.join(id)), linux::ESRCH, "joined");
    // The new thread uses the same record.
    let id = runtime.create(&PLAIN, || 5).unwrap();
    assert_eq!(runtime.join(id).unwrap(), 5);
}

fn names(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN.name("a name that is longer than the platform's"), move || {
            behind.wait();
            0
        })
        .unwrap();
    assert_eq!(runtime.name(id).as_deref(), Some("a name that is longer than the platform's"));
    gate.open();
    runtime.join(id).unwrap();
    let id = runtime.create(&PLAIN, || 0).unwrap();
    // If NGPT's knobs are on, each thread has a name.
    let name = runtime.name(id);
    assert!(
        name.as_ref().is_none_or(|name| name.starts_with("unnamed.")),
        "its predecessor's is gone: {name:?}"
    );
    runtime.join(id).unwrap();
}

fn stacks_are_ones_own(runtime: &Runtime) {
    let look = || {
        let here = 0_u8;
        let at = core::ptr::from_ref(&here).addr();
        let stack = this_thread::stack().expect("known");
        assert!(stack.contains(&at), "{at:x} {stack:x?}");
        assert!(stack.len() >= 64 * 1024);
        at
    };
    let id = runtime.create(&PLAIN.stack(64 * 1024), look).unwrap();
    let at = runtime.join(id).unwrap();
    let here = 0_u8;
    assert!(at.abs_diff(core::ptr::from_ref(&here).addr()) > 4096);
}

fn the_least_stack_in_a_loop(runtime: &Runtime) {
    for i in 0..16 {
        let id = runtime.create(&PLAIN.stack(LEAST_STACK), move || i).unwrap();
        assert_eq!(runtime.join(id).unwrap(), i);
    }
}

fn parked_and_told(runtime: &Runtime) {
    let count = Arc::new(AtomicUsize::new(0));
    let behind = Arc::clone(&count);
    let id = runtime
        .create(&PLAIN, move || {
            let mut heard = 0;
            while behind.load(Ordering::SeqCst) < 10 {
                this_thread::park();
                heard += 1;
            }
            heard
        })
        .unwrap();
    for _ in 0..10 {
        count.fetch_add(1, Ordering::SeqCst);
        runtime.unpark(id).unwrap();
    }
    assert!(runtime.join(id).unwrap() <= 11);
}

fn told_before_it_parks(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            behind.wait();
            this_thread::park();
            1
        })
        .unwrap();
    runtime.unpark(id).unwrap();
    runtime.unpark(id).unwrap();
    gate.open();
    assert_eq!(runtime.join(id).unwrap(), 1);
}

fn a_park_that_ends_by_itself(runtime: &Runtime) {
    let id = runtime
        .create(&PLAIN, || {
            let until = this_thread::now() + Duration::from_micros(50);
            while this_thread::now() < until {
                this_thread::park_until(until);
            }
            this_thread::park_until(Instant::ZERO);
            3
        })
        .unwrap();
    assert_eq!(runtime.join(id).unwrap(), 3);
}

fn sleeping_is_never_short(runtime: &Runtime) {
    let id = runtime
        .create(&PLAIN, || {
            let until = this_thread::now() + Duration::from_micros(50);
            this_thread::sleep_until(until);
            usize::from(this_thread::now() >= until)
        })
        .unwrap();
    assert_eq!(runtime.join(id).unwrap(), 1);
}

fn the_registry_knows_who_runs(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let ids: Vec<_> = (0..5)
        .map(|_| {
            let behind = Arc::clone(&gate);
            runtime
                .create(&PLAIN, move || {
                    behind.wait();
                    let (own, me) = (this_thread::handle().unwrap(), this_thread::current().unwrap());
                    usize::from(own.is_registered(me))
                })
                .unwrap()
        })
        .collect();
    let mut registered = runtime.threads();
    registered.sort_unstable();
    let mut expected = ids.clone();
    expected.sort_unstable();
    assert_eq!((registered, runtime.live()), (expected, 5));
    gate.open();
    for id in ids {
        assert_eq!(runtime.join(id).unwrap(), 1);
        assert!(!runtime.is_registered(id));
    }
    assert_eq!((runtime.live(), runtime.threads()), (0, vec![]));
}

/// A thread creates another thread and ends, and the other thread joins it.
fn the_root_thread_is_joined_by_another(runtime: &Runtime) {
    let (tell, told) = mpsc::channel();
    let handle = runtime.handle();
    let inner = runtime.handle();
    runtime
        .create(&PLAIN, move || {
            let root = this_thread::current().unwrap();
            let joiner = inner.create(&PLAIN, move || handle.join(root).unwrap()).unwrap();
            tell.send(joiner).unwrap();
            42
        })
        .unwrap();
    let joiner = told.recv().unwrap();
    assert_eq!(runtime.join(joiner).unwrap(), 42);
}

fn a_ring_as_in_the_benchmark(runtime: &Runtime) {
    let ran = Arc::new(AtomicUsize::new(0));
    let toplevel: Vec<_> = (0..3)
        .map(|_| {
            let (handle, ran) = (runtime.handle(), Arc::clone(&ran));
            runtime
                .create(&PLAIN, move || {
                    let mut ring = [None; 10];
                    for i in 0..100 {
                        let slot = &mut ring[i % 10];
                        if let Some(id) = slot.take() {
                            handle.join(id).unwrap();
                        }
                        let ran = Arc::clone(&ran);
                        *slot =
                            Some(handle.create(&PLAIN, move || ran.fetch_add(1, Ordering::Relaxed)).unwrap());
                    }
                    ring.into_iter().flatten().map(|id| handle.join(id)).filter(Result::is_ok).count()
                })
                .unwrap()
        })
        .collect();
    for id in toplevel {
        assert_eq!(runtime.join(id).unwrap(), 10);
    }
    assert_eq!(ran.load(Ordering::Relaxed), 300);
}

fn bad_attributes(runtime: &Runtime) {
    for bytes in [0, 1, LEAST_STACK - 1, (1 << 30) + 1, usize::MAX] {
        let error = runtime.create(&PLAIN.stack(bytes), || 0).unwrap_err();
        assert_eq!(error.errno(), linux::EINVAL);
        assert!(
            error.to_string().contains(&format!("{bytes} bytes: ask for 16384 to 1073741824")),
            "{error}"
        );
    }
    assert_eq!(runtime.create(&PLAIN.guard(usize::MAX), || 0).unwrap_err().errno(), linux::EINVAL);
    for name in ["nul \0 within", &"x".repeat(256)] {
        assert_eq!(runtime.create(&PLAIN.name(name), || 0).unwrap_err().errno(), linux::EINVAL);
    }
    assert_eq!(runtime.live(), 0);
}

fn handles_outlive_the_runtime(runtime: &Runtime) {
    let other = common::start(common::one_to_one());
    let handle = other.handle();
    let id = other.create(&PLAIN, || 9).unwrap();
    drop(other);
    assert_eq!(handle.create(&PLAIN, || 0).unwrap_err().errno(), linux::ESHUTDOWN);
    assert_eq!(handle.join(id).unwrap(), 9, "nobody has joined it");
    assert_eq!(runtime.live(), 0);
}

/// Although a park can return spuriously, it must let other threads run: with one worker, the other
/// thread runs during the park.
#[test]
#[cfg(unix)]
fn a_park_leaves_the_worker_to_the_other_thread() {
    let runtime = common::start(common::one_worker());
    let handle = runtime.handle();
    let seen = runtime.run(move || {
        let me = this_thread::current().unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let (teller, telling) = (handle.clone(), Arc::clone(&told));
        let body = move || {
            telling.store(1, Ordering::SeqCst);
            teller.unpark(me).unwrap();
        };
        let other = handle.spawn(&PLAIN, body).unwrap();
        this_thread::park();
        let seen = told.load(Ordering::SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!(seen.unwrap(), 1);
}
