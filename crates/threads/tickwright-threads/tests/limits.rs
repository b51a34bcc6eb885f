//! Tests that wrong requests, exhausted resources, and errors in the middle of a call have a
//! defined result.
#![cfg(unix)]

mod common;

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;

use common::{Doorkeeper, start};
use tickwright::time::{Instant, VirtualHost};
use tickwright_threads::sync::unbounded;
use tickwright_threads::{
    Attributes, CreateError, JoinError, Knobs, LEAST_STACK, ManyToMany, Model, OneToOne, Place, RegistryKind,
    Runtime, RuntimeError, this_thread,
};

const PLAIN: Attributes = Attributes::new();

fn many() -> ManyToMany {
    ManyToMany::new().workers(1)
}

fn refused(model: Model) -> RuntimeError {
    Runtime::new(model).expect_err("refused")
}

#[test]
fn workers_structures_and_stacks_that_there_are_not() {
    for workers in [0, 256, usize::MAX] {
        let error = refused(Model::ManyToMany(ManyToMany::new().workers(workers)));
        assert!(matches!(error, RuntimeError::Workers(asked) if asked == workers), "{error}");
    }
    let error = refused(Model::ManyToMany(many().sleepers("bogus")));
    assert!(error.to_string().contains("\"bogus\""), "{error}");
    for stack in [0, LEAST_STACK - 1, usize::MAX] {
        let error = refused(Model::ManyToMany(many().stack(stack)));
        assert!(
            matches!(error, RuntimeError::Attributes(CreateError::Stack { asked }) if asked == stack),
            "{error}"
        );
        refused(Model::OneToOne(OneToOne::new().stack(stack)));
    }
}

#[test]
fn every_structure_serves_sleepers() {
    macro_rules! ids { ([] $($id:literal => $family:ty;)+) => { [$($id),+] }; }
    for id in tickwright_core::for_each_family!(ids []) {
        let runtime = start(Model::ManyToMany(many().sleepers(id)));
        let ids: Vec<_> = (0..20)
            .map(|i| {
                runtime
                    .create(&PLAIN, move || {
                        let at = this_thread::now() + Duration::from_nanos(10_000 * (20 - i));
                        this_thread::sleep_until(at);
                        usize::from(this_thread::now() >= at)
                    })
                    .unwrap()
            })
            .collect();
        assert!(ids.into_iter().all(|thread| runtime.join(thread).unwrap() == 1), "{id}");
    }
}

#[test]
fn each_knob_by_itself() {
    let ours = Knobs::ours();
    let each = [
        Knobs { global_queue: true, ..ours },
        Knobs { sigmask_per_switch: true, ..ours },
        Knobs { pipe_wake: true, ..ours },
        Knobs::ngpt(),
    ];
    let settings = [many(), many().guard(0), many().keep(0), many().guard(0).keep(0)];
    let each = settings.iter().flat_map(|settings| each.map(|knobs| settings.clone().knobs(knobs)));
    for (settings, dictionary) in each.zip(RegistryKind::ALL.into_iter().cycle()) {
        let settings = settings.workers(2).dictionary(dictionary.1);
        let what = format!("{settings:?}");
        let runtime = start(Model::ManyToMany(settings));
        let handle = runtime.handle();
        let sum = runtime.run(move || {
            let ids: Vec<_> = (0..50)
                .map(|i| {
                    let place = if i % 3 == 0 { Place::Spread } else { Place::Near };
                    let body = move || {
                        this_thread::yield_now();
                        i
                    };
                    handle.create(&PLAIN.place(place), body).unwrap()
                })
                .collect();
            ids.into_iter().map(|id| handle.join(id).unwrap()).sum::<usize>()
        });
        assert_eq!(sum.unwrap(), 49 * 25, "{what}");
        assert_eq!(runtime.live(), 0);
    }
}

/// Threads are created up to the bound on stacks. The next creation returns an error. The created
/// threads can be joined, and afterwards a creation succeeds again.
fn out_of_stacks(settings: ManyToMany, inside: bool) {
    let runtime = start(Model::ManyToMany(settings.most_stacks(20)));
    let handle = runtime.handle();
    let body = move || {
        for _ in 0..3 {
            let door = Doorkeeper::new();
            let dropped = Arc::new(AtomicUsize::new(0));
            let mut created = Vec::new();
            let error = loop {
                let (gate, held) = (door.gate(), Arc::clone(&dropped));
                match handle.create(&PLAIN, move || {
                    let _held = &held;
                    gate.wait();
                    1
                }) {
                    Ok(id) => created.push(id),
                    Err(error) => break error,
                }
            };
            assert!(matches!(error, CreateError::OutOfStacks { have: 20, error: None }), "{error}");
            assert_eq!(error.errno(), libc::EAGAIN);
            assert!((15..=20).contains(&created.len()), "{}", created.len());
            assert_eq!(Arc::strong_count(&dropped), created.len() + 1, "the refused body was dropped");
            drop(door);
            for id in created {
                assert_eq!(handle.join(id).unwrap(), 1);
            }
        }
    };
    if inside {
        runtime.run(body).unwrap();
    } else {
        body();
    }
}

#[test]
fn stacks_run_out_in_the_middle() {
    for inside in [true, false] {
        out_of_stacks(many(), inside);
        out_of_stacks(many().keep(0), inside);
    }
}

/// If threads of one worker have ended, creators on other workers can use their stacks, and threads
/// with stacks of other sizes can use their room.
#[test]
fn stacks_that_nobody_uses_are_there_for_all() {
    const MOST: usize = 8;
    let runtime = start(Model::ManyToMany(ManyToMany::new().workers(2).most_stacks(MOST)));
    let all = |handle: &tickwright_threads::RuntimeHandle, most: usize, attributes: &Attributes| {
        let door = Doorkeeper::new();
        let ids: Vec<_> = (0..most)
            .map(|_| {
                let gate = door.gate();
                let body = move || {
                    gate.wait();
                    1
                };
                handle.create(attributes, body).unwrap()
            })
            .collect();
        drop(door);
        ids.into_iter().map(|id| handle.join(id).unwrap()).sum::<usize>()
    };
    let large = Attributes::new().stack(256 << 10);
    for _ in 0..3 {
        let handle = runtime.handle();
        // The creator itself uses one of the stacks.
        assert_eq!(runtime.run(move || all(&handle, MOST - 1, &PLAIN)).unwrap(), MOST - 1);
        assert_eq!(all(&runtime, MOST, &PLAIN), MOST);
        assert_eq!(all(&runtime, MOST, &large), MOST);
    }
}

/// A creator reserves a stack for its new thread. Another worker takes that thread, and begins it
/// on one of its own stacks. While the creator keeps its worker busy, creators on other workers
/// must be able to use the reserved stack.
#[test]
fn a_stack_reserved_for_a_thread_that_was_taken_is_there_for_all() {
    let runtime = start(Model::ManyToMany(ManyToMany::new().workers(2).most_stacks(3)));
    let handle = runtime.handle();
    // These values are dropped before the runtime, even if the test fails.
    let (door, begun) = (Doorkeeper::new(), Doorkeeper::new());
    let (taken, at, seen) = (door.gate(), door.gate(), begun.gate());
    let creator = runtime.create(&PLAIN, move || {
        let body = move || {
            seen.open();
            taken.wait();
            1
        };
        let id = handle.create(&PLAIN, body).unwrap();
        // This loop does not yield, so only the other worker can begin the thread.
        while !at.is_open() {
            core::hint::spin_loop();
        }
        handle.join(id).unwrap()
    });
    begun.gate().wait();
    let third = runtime.create(&PLAIN, || 2);
    let refused = third.as_ref().err().map(ToString::to_string);
    drop(door);
    assert_eq!(refused, None, "two of three stacks are used");
    assert_eq!(runtime.join(third.unwrap()).unwrap(), 2);
    assert_eq!(runtime.join(creator.unwrap()).unwrap(), 1);
}

#[test]
fn what_the_platform_refuses_is_named() {
    let error = std::io::Error::from_raw_os_error;
    let refused = CreateError::StackRefused { stack: 16384, guard: 4096, error: error(libc::EINVAL) };
    assert_eq!(refused.errno(), libc::EINVAL);
    assert!(refused.to_string().contains("16384 bytes with a guard of 4096"), "{refused}");
    let bound = CreateError::MapCount { have: 65_530, most: 65_530 };
    assert_eq!(bound.errno(), libc::EAGAIN);
    assert!(bound.to_string().contains("raise vm.max_map_count"), "{bound}");
    let none = CreateError::NoStack { error: error(libc::ENOMEM) };
    assert_eq!(none.errno(), libc::EAGAIN);
}

/// The same test, but the platform runs out of memory. It runs in a separate process with a limit
/// on the address space.
#[test]
fn the_platform_runs_out_in_the_middle() {
    if !is_child("platform") {
        assert_eq!(child("the_platform_runs_out_in_the_middle", "platform").status.code(), Some(0));
        return;
    }
    for model in [Model::ManyToMany(many().stack(1 << 20)), Model::OneToOne(OneToOne::new().stack(64 << 20))]
    {
        let runtime = start(model);
        let door = Doorkeeper::new();
        // The test allocates its own memory before the limit is set.
        let mut created = Vec::with_capacity(4096);
        let before = limit_address_space(2 << 30);
        let error = loop {
            let gate = door.gate();
            match runtime.create(&PLAIN, move || {
                gate.wait();
                1
            }) {
                Ok(id) => created.push(id),
                Err(error) => break error,
            }
        };
        let count = created.len();
        drop(door);
        let ended = created.into_iter().all(|id| matches!(runtime.join(id), Ok(1)));
        let live = runtime.live();
        restore_address_space(before);
        // The platform has refused memory either for the stack, or for the few bytes of a thread's
        // other data.
        let expected = if matches!(error, CreateError::OutOfMemory) { libc::ENOMEM } else { libc::EAGAIN };
        assert_eq!(error.errno(), expected, "{error}");
        assert!(!error.to_string().contains("ulimit -u"), "threads are not what ran out: {error}");
        assert!((11..4096).contains(&count), "{count}");
        assert!(ended && live == 0, "{live}");
    }
    std::process::exit(0);
}

fn limit_address_space(bytes: libc::rlim_t) -> libc::rlimit {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: 1. `before` may be written.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut before) }, 0);
    restore_address_space(libc::rlimit { rlim_cur: bytes, ..before });
    before
}

fn restore_address_space(limit: libc::rlimit) {
    // SAFETY: 1. The limit may be read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

fn is_child(part: &str) -> bool {
    std::env::var("TICKWRIGHT_PART").is_ok_and(|set| set == part)
}

/// Runs one test of this file in a separate process.
fn child(test: &str, part: &str) -> std::process::Output {
    common::this_program()
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("TICKWRIGHT_PART", part)
        .output()
        .unwrap()
}

#[inline(never)]
fn deeper(depth: usize) -> usize {
    let room = core::hint::black_box([depth; 64]);
    if depth == usize::MAX { 0 } else { deeper(depth + 1) + room[depth % 64] }
}

#[test]
fn an_overflow_names_the_thread() {
    if is_child("overflow") {
        let runtime = start(Model::ManyToMany(many()));
        let id = runtime.create(&PLAIN.name("deep one"), || deeper(0)).unwrap();
        let _ = runtime.join(id);
        unreachable!("overflowed");
    }
    let output = child("an_overflow_names_the_thread", "overflow");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{said}");
    assert!(
        said.contains("thread 'deep one' ") && said.contains("overflowed its stack of 65536 bytes"),
        "{said}"
    );
}

/// A fault that is not an overflow is passed to the handler that was set before.
#[test]
fn another_fault_is_passed_on() {
    if is_child("fault") {
        let runtime = start(Model::ManyToMany(many()));
        let id = runtime.create(&PLAIN, || {
            // SAFETY: none. The fault is what the test needs.
            unsafe { core::ptr::without_provenance::<usize>(8).read_volatile() }
        });
        let _ = runtime.join(id.unwrap());
        unreachable!("faulted");
    }
    let output = child("another_fault_is_passed_on", "fault");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("overflowed"));
}

/// The only thread in the child is the thread that forked, which belongs to no runtime there. When
/// that thread ends, the child ends, too.
#[test]
fn a_thread_forks() {
    if is_child("fork") {
        let runtime = start(Model::ManyToMany(ManyToMany::new().workers(2)));
        let handle = runtime.handle();
        let waiting = runtime.create(&PLAIN, || {
            this_thread::park();
            5
        });
        let waiting = waiting.unwrap();
        let code = runtime.run(move || {
            // SAFETY: 1. The child uses this library as documented, and nothing that other threads
            // may have locked.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                let create = handle.create(&PLAIN, || 0);
                let forked = matches!(create, Err(CreateError::Forked));
                let gone = matches!(handle.join(waiting), Err(JoinError::NoSuchThread));
                this_thread::yield_now();
                let nobody = this_thread::current().is_none();
                if !(forked && gone && nobody) {
                    // SAFETY: 1. Ends the child.
                    unsafe { libc::_exit(7) };
                }
                // The child ends like a process whose last thread ends.
                return 0;
            }
            let mut status = 0;
            // SAFETY: 1. `pid` is our child, and `status` may be written.
            unsafe { libc::waitpid(pid, &raw mut status, 0) };
            // The parent's thread continues normally.
            this_thread::yield_now();
            handle.unpark(waiting).unwrap();
            assert_eq!(handle.join(waiting).unwrap(), 5);
            status
        });
        std::process::exit(code.unwrap());
    }
    let output = child("a_thread_forks", "fork");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A thread that never yields keeps its worker busy. Other workers begin the threads that wait to
/// begin at this worker, and the threads on other workers continue.
#[test]
fn a_spinning_thread_keeps_its_worker_alone() {
    let runtime = start(Model::ManyToMany(ManyToMany::new().workers(2)));
    let handle = runtime.handle();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let inner = handle.clone();
    let spinner = runtime
        .create(&PLAIN, move || {
            // This creation is on the spinner's own worker.
            let id = inner.create(&PLAIN, || 8).unwrap();
            while !stopped.load(Ordering::SeqCst) {
                core::hint::spin_loop();
            }
            inner.join(id).unwrap()
        })
        .unwrap();
    while handle.live() > 1 || handle.try_join(spinner).is_ok() {
        std::thread::yield_now();
    }
    stop.store(true, Ordering::SeqCst);
    assert_eq!(runtime.join(spinner).unwrap(), 8);
}

#[test]
fn who_yields_lets_all_others_go_on() {
    let runtime = start(Model::ManyToMany(many()));
    let handle = runtime.handle();
    let counts = runtime.run(move || {
        let counts: Arc<Vec<AtomicUsize>> = Arc::new((0..10).map(|_| AtomicUsize::new(0)).collect());
        let ids: Vec<_> = (0..10)
            .map(|i| {
                let counts = Arc::clone(&counts);
                let body = move || {
                    // Each thread counts until the first one has counted to 100.
                    while counts[0].load(Ordering::Relaxed) < 100 {
                        counts[i].fetch_add(1, Ordering::Relaxed);
                        this_thread::yield_now();
                    }
                    0
                };
                handle.create(&PLAIN, body).unwrap()
            })
            .collect();
        for id in ids {
            handle.join(id).unwrap();
        }
        counts.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>()
    });
    let counts = counts.unwrap();
    assert!(counts.iter().all(|count| (98..=102).contains(count)), "{counts:?}");
}

/// Threads that have begun continue to run while each new thread creates another thread.
#[test]
fn new_threads_do_not_starve_others() {
    let runtime = start(Model::ManyToMany(many()));
    let handle = runtime.handle();
    let switches = runtime.run(move || {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let inner = handle.clone();
        fn again(handle: &tickwright_threads::RuntimeHandle, done: &Arc<AtomicBool>) -> usize {
            if !done.load(Ordering::Relaxed) {
                let (inner, seen) = (handle.clone(), Arc::clone(done));
                drop(handle.create(&PLAIN.detached(true), move || again(&inner, &seen)));
            }
            0
        }
        for _ in 0..40 {
            again(&inner, &seen);
        }
        let mut switches = 0;
        while switches < 100 {
            this_thread::yield_now();
            switches += 1;
        }
        done.store(true, Ordering::Relaxed);
        switches
    });
    assert_eq!(switches.unwrap(), 100);
}

#[test]
fn time_by_command() {
    for model in [
        |clock| Model::OneToOne(OneToOne::new().clock(clock)),
        |clock| Model::ManyToMany(many().clock(clock)),
        |clock| Model::ManyToMany(many().clock(clock).knobs(Knobs::ngpt())),
    ] {
        let host = VirtualHost::new();
        let runtime = start(model(host.monotonic()));
        let (tell, told) = unbounded();
        let sleeper = runtime
            .create(&PLAIN, move || {
                for at in [1_000_000, 5_000_000, 3_600_000_000_000] {
                    this_thread::sleep_until(Instant::from_nanos(at));
                    tell.send(this_thread::now()).unwrap();
                }
                3
            })
            .unwrap();
        assert!(matches!(runtime.join_until(sleeper, Instant::ZERO), Err(JoinError::TimedOut)));
        host.advance(Duration::from_nanos(999_999));
        assert!(told.try_recv().is_err());
        host.advance(Duration::from_nanos(1_025));
        assert_eq!(told.recv(), Ok(Instant::from_nanos(1_001_024)));
        host.advance(Duration::from_millis(4));
        assert_eq!(told.recv(), Ok(Instant::from_nanos(5_001_024)));
        // A thread of the runtime joins another thread with a time limit, which the clock reaches.
        let handle = runtime.handle();
        let joiner = runtime.create(&PLAIN, move || {
            usize::from(matches!(
                handle.join_until(sleeper, Instant::from_nanos(6_000_000)),
                Err(JoinError::TimedOut)
            ))
        });
        host.advance(Duration::from_millis(1));
        assert_eq!(runtime.join(joiner.unwrap()).unwrap(), 1);
        host.advance(Duration::from_secs(3600));
        assert_eq!(runtime.join_timeout(sleeper, Duration::from_secs(1)).unwrap(), 3);
    }
}

#[test]
fn a_runtime_that_ends_waits_for_its_threads() {
    for model in [common::one_to_one(), common::two_workers(), common::as_ngpt()] {
        let runtime = start(model);
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let (ended, handle) = (Arc::clone(&ended), runtime.handle());
            runtime
                .create(&PLAIN, move || {
                    this_thread::sleep(Duration::from_micros(100));
                    // Threads of the runtime can create threads even while the runtime closes.
                    let last = Arc::clone(&ended);
                    let body = move || {
                        this_thread::yield_now();
                        last.fetch_add(1, Ordering::SeqCst)
                    };
                    drop(handle.create(&PLAIN.detached(true), body));
                    ended.fetch_add(1, Ordering::SeqCst)
                })
                .unwrap();
        }
        drop(runtime);
        assert_eq!(ended.load(Ordering::SeqCst), 20);
    }
}

#[test]
fn a_runtime_dropped_by_its_own_thread() {
    for model in [common::one_to_one(), common::two_workers(), common::as_ngpt()] {
        let runtime = start(model);
        let handle = runtime.handle();
        let (tell, told) = std::sync::mpsc::channel();
        handle
            .create(&PLAIN, move || {
                drop(runtime);
                tell.send(this_thread::current()).unwrap();
                0
            })
            .unwrap();
        assert!(told.recv().unwrap().is_some(), "it goes on");
        while !matches!(handle.create(&PLAIN, || 0), Err(CreateError::Closed)) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn thousands_alive_together() {
    let runtime = start(Model::ManyToMany(ManyToMany::new().workers(2).stack(LEAST_STACK).guard(0)));
    let handle = runtime.handle();
    let begun = runtime.run(move || {
        let begun = Arc::new(AtomicUsize::new(0));
        let ids: Vec<_> = (0..5000)
            .map(|_| {
                let begun = Arc::clone(&begun);
                let body = move || {
                    begun.fetch_add(1, Ordering::Relaxed);
                    this_thread::park();
                    1
                };
                handle.create(&PLAIN, body).unwrap()
            })
            .collect();
        while begun.load(Ordering::Relaxed) < 5000 {
            this_thread::yield_now();
        }
        assert_eq!(handle.live(), 5001);
        ids.iter().for_each(|&id| handle.unpark(id).unwrap());
        ids.into_iter().map(|id| handle.join(id).unwrap()).sum::<usize>()
    });
    assert_eq!(begun.unwrap(), 5000);
}

/// Two threads on different workers wake each other alternately.
#[test]
fn ping_pong_across_workers() {
    let runtime = start(Model::ManyToMany(ManyToMany::new().workers(2)));
    let turn = Arc::new(AtomicUsize::new(0));
    let handle = runtime.handle();
    let (tell, told) = unbounded();
    let (there, mine) = (Arc::clone(&turn), handle.clone());
    let first = handle
        .create(&PLAIN.place(Place::Spread), move || {
            let other = told.recv().unwrap();
            for i in 0..500 {
                while there.load(Ordering::SeqCst) != 2 * i {
                    this_thread::park();
                }
                there.store(2 * i + 1, Ordering::SeqCst);
                mine.unpark(other).unwrap();
            }
            0
        })
        .unwrap();
    let second = handle.clone();
    let other = handle
        .create(&PLAIN.place(Place::Spread), move || {
            for i in 0..500 {
                while turn.load(Ordering::SeqCst) != 2 * i + 1 {
                    this_thread::park();
                }
                turn.store(2 * i + 2, Ordering::SeqCst);
                // The last wake-up can find that the other thread has already ended.
                drop(second.unpark(first));
            }
            0
        })
        .unwrap();
    tell.send(other).unwrap();
    assert_eq!(runtime.join(first).unwrap() + runtime.join(other).unwrap(), 0);
}

/// A runtime treats the ids of another runtime's threads as stale, whatever the models of the two
/// runtimes are.
#[test]
fn ids_of_another_runtime_name_no_thread() {
    let models: [fn() -> Model; 3] = [common::one_to_one, common::own_stacks, common::one_worker];
    for (first, second) in models.iter().flat_map(|first| models.iter().map(move |second| (first, second))) {
        let (one, other) = (start(first()), start(second()));
        let gone = other.run(|| this_thread::current().unwrap()).unwrap();
        let door = Doorkeeper::new();
        let own: Vec<_> = [&one, &other]
            .map(|runtime| {
                let gate = door.gate();
                let body = move || {
                    gate.wait();
                    1
                };
                runtime.create(&PLAIN, body).unwrap()
            })
            .into();
        for foreign in [own[1], gone] {
            assert_ne!(own[0], foreign);
            assert!(matches!(one.unpark(foreign), Err(JoinError::NoSuchThread)));
            assert!(matches!(one.try_join(foreign), Err(JoinError::NoSuchThread)));
            assert!(matches!(one.join(foreign), Err(JoinError::NoSuchThread)));
            assert!(matches!(one.detach(foreign), Err(JoinError::NoSuchThread)));
            assert!(one.name(foreign).is_none() && !one.is_registered(foreign));
        }
        drop(door);
        assert_eq!(one.join(own[0]).unwrap() + other.join(own[1]).unwrap(), 2);
    }
}
