//! Tests with programs that do unexpected things. Each test once found a bug in the library.
#![cfg(unix)]

mod common;

use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, mpsc};

use common::Gate;
use tickwright::time::{Clock, Instant};
use tickwright_threads::{
    Attributes, JoinError, Knobs, ManyToMany, Model, Runtime, RuntimeHandle, ThreadId, ThreadLocal, io,
    this_thread,
};

for_each_model!(
    a_joiner_that_gave_up_is_not_woken_for_another,
    a_payload_that_panics_when_dropped,
    values_that_make_themselves_for_ever,
    a_runtime_that_its_own_thread_drops,
    a_thread_variable_that_creates_when_it_is_dropped,
    a_thread_variable_that_joins_its_own_thread,
    a_descriptor_that_is_ready_when_other_work_comes,
);

const PLAIN: Attributes = Attributes::new();

/// A thread of the runtime joins another thread with a time limit, and gives up. Then a thread that
/// belongs to no runtime joins the other thread.
fn a_joiner_that_gave_up_is_not_woken_for_another(runtime: &Runtime) {
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let id = runtime
        .create(&PLAIN, move || {
            behind.wait();
            42
        })
        .unwrap();
    let handle = runtime.handle();
    let gave_up = runtime
        .run(move || matches!(handle.join_timeout(id, Duration::from_micros(20)), Err(JoinError::TimedOut)))
        .unwrap();
    assert!(gave_up);
    let handle = runtime.handle();
    let joined = std::thread::spawn(move || handle.join(id).unwrap());
    while matches!(runtime.try_join(id), Err(JoinError::Busy)) {
        this_thread::yield_now();
    }
    // The joiner has claimed the thread, and will soon wait.
    std::thread::yield_now();
    gate.open();
    assert_eq!(joined.join().unwrap(), 42);
}

/// A value whose drop panics. The payload of the panic is another such value.
struct Bomb(usize, Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
        if self.0 > 0 {
            std::panic::resume_unwind(Box::new(Bomb(self.0 - 1, Arc::clone(&self.1))));
        }
    }
}

fn a_payload_that_panics_when_dropped(runtime: &Runtime) {
    let drops = Arc::new(AtomicUsize::new(0));
    let waits = runtime
        .create(&PLAIN, || {
            this_thread::park();
            7
        })
        .unwrap();
    for _ in 0..4 {
        let drops = Arc::clone(&drops);
        runtime
            .create(&PLAIN.detached(true), move || std::panic::resume_unwind(Box::new(Bomb(2, drops))))
            .unwrap();
    }
    while drops.load(Ordering::SeqCst) < 8 {
        this_thread::yield_now();
    }
    let local = Arc::new(ThreadLocal::new(|| RefCell::new(None)));
    let held = Arc::clone(&drops);
    let id = runtime
        .create(&PLAIN, move || {
            local.with(|value| *value.borrow_mut() = Some(Bomb(2, held)));
            5
        })
        .unwrap();
    assert_eq!(runtime.join(id).unwrap(), 5);
    runtime.unpark(waits).unwrap();
    assert_eq!(runtime.join(waits).unwrap(), 7);
}

struct Phoenix(Arc<ThreadLocal<RefCell<Option<Phoenix>>>>, Arc<AtomicUsize>);

impl Drop for Phoenix {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
        let next = Self(Arc::clone(&self.0), Arc::clone(&self.1));
        self.0.with(|value| *value.borrow_mut() = Some(next));
    }
}

fn rise(drops: &Arc<AtomicUsize>) -> impl FnOnce() -> usize + Send + 'static {
    let drops = Arc::clone(drops);
    move || {
        let local = Arc::new(ThreadLocal::new(|| RefCell::new(None)));
        let first = Phoenix(Arc::clone(&local), drops);
        local.with(|value| *value.borrow_mut() = Some(first));
        3
    }
}

fn values_that_make_themselves_for_ever(runtime: &Runtime) {
    let drops = Arc::new(AtomicUsize::new(0));
    let id = runtime.create(&PLAIN, rise(&drops)).unwrap();
    assert_eq!(runtime.join(id).unwrap(), 3);
    assert_eq!(drops.load(Ordering::SeqCst), tickwright_threads::DROP_ROUNDS);
    // The same test on a thread that belongs to no runtime.
    let drops = Arc::new(AtomicUsize::new(0));
    assert_eq!(std::thread::spawn(rise(&drops)).join().unwrap(), 3);
    assert_eq!(drops.load(Ordering::SeqCst), tickwright_threads::DROP_ROUNDS);
}

fn a_runtime_that_its_own_thread_drops(runtime: &Runtime) {
    for model in [common::own_stacks(), common::fresh_stacks(), common::one_worker(), common::as_ngpt()] {
        for detached in [false, true] {
            let own = common::start(model.clone());
            let slot = Arc::new(Mutex::new(None));
            let (inner, left) = (Arc::clone(&slot), Arc::new(()));
            let (gate, held) = (Arc::new(Gate::default()), Arc::clone(&left));
            let behind = Arc::clone(&gate);
            own.create(&PLAIN.detached(detached), move || {
                behind.wait();
                drop(inner.lock().unwrap().take());
                let _held = held;
                0
            })
            .unwrap();
            *slot.lock().unwrap() = Some(own);
            gate.open();
            while Arc::strong_count(&left) > 1 {
                this_thread::yield_now();
            }
        }
    }
    // The last thread frees the runtime's resources, and ends a moment later.
    for _ in 0..64 {
        let id = runtime.create(&PLAIN, || 1).unwrap();
        assert_eq!(runtime.join(id).unwrap(), 1);
    }
}

type OnExit = RefCell<Option<Box<dyn FnOnce()>>>;

struct Exit(OnExit);

impl Drop for Exit {
    fn drop(&mut self) {
        if let Some(last) = self.0.take() {
            last();
        }
    }
}

thread_local!(static EXIT: Exit = const { Exit(RefCell::new(None)) });

fn a_thread_variable_that_creates_when_it_is_dropped(_: &Runtime) {
    for model in [common::own_stacks(), common::fresh_stacks(), common::one_to_one()] {
        let own = common::start(model);
        let (handle, ended) = (own.handle(), mpsc::channel());
        let tell = ended.0;
        own.create(&PLAIN.detached(true), move || {
            EXIT.with(|exit| *exit.0.borrow_mut() = Some(Box::new(move || create_one(&handle, &tell))));
            0
        })
        .unwrap();
        assert_eq!(ended.1.recv(), Ok(11));
    }
}

fn create_one(handle: &RuntimeHandle, tell: &mpsc::Sender<usize>) {
    let mark = [7_u8; 256];
    let id = handle
        .create(&PLAIN, || {
            let noise = [9_u8; 4096];
            core::hint::black_box(&noise);
            11
        })
        .unwrap();
    let value = handle.join(id).unwrap();
    assert!(core::hint::black_box(&mark).iter().all(|&byte| byte == 7));
    tell.send(value).unwrap();
}

fn a_thread_variable_that_joins_its_own_thread(_: &Runtime) {
    for model in [common::own_stacks(), common::fresh_stacks(), common::one_to_one()] {
        let own = common::start(model);
        let (handle, ended) = (own.handle(), mpsc::channel());
        let tell = ended.0;
        own.create(&PLAIN, move || {
            let me: ThreadId = this_thread::current().unwrap();
            let last = move || {
                let value = handle.join(me).unwrap();
                create_one(&handle, &tell);
                tell.send(value).unwrap();
            };
            EXIT.with(|exit| *exit.0.borrow_mut() = Some(Box::new(last)));
            5
        })
        .unwrap();
        assert_eq!((ended.1.recv(), ended.1.recv()), (Ok(11), Ok(5)));
    }
}

/// A worker sleeps until a descriptor is ready, and gets other work at the moment when the
/// descriptor becomes ready.
fn a_descriptor_that_is_ready_when_other_work_comes(runtime: &Runtime) {
    for _ in 0..200 {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let reader = runtime
            .create(&PLAIN, move || {
                io::readable(&ours).unwrap();
                1
            })
            .unwrap();
        let sleeper = runtime
            .create(&PLAIN, || {
                this_thread::park();
                2
            })
            .unwrap();
        // By the end of this loop the worker usually sleeps.
        let started = std::time::Instant::now();
        while started.elapsed() < Duration::from_micros(100) {
            std::thread::yield_now();
        }
        theirs.write_all(b"x").unwrap();
        runtime.unpark(sleeper).unwrap();
        assert_eq!(runtime.join(sleeper).unwrap(), 2);
        assert_eq!(runtime.join(reader).unwrap(), 1);
    }
}

/// The start of a runtime waits for the runtime's kernel threads. That wait must not consume a
/// wake-up of the caller.
#[test]
fn an_unpark_before_a_runtime_starts_is_kept() {
    for model in [common::one_to_one(), common::two_workers()] {
        // The test is repeated, because the start does not wait every time.
        for _ in 0..20 {
            std::thread::current().unpark();
            let runtime = common::start(model.clone());
            std::thread::park();
            drop(runtime);
        }
    }
}

/// A thread is created on the worker of a thread that never yields. The other worker, which sleeps,
/// must begin it.
#[test]
fn a_new_thread_behind_one_that_spins() {
    for model in [common::two_workers(), common::as_ngpt()] {
        let runtime = common::start(model);
        for _ in 0..20 {
            let (stop, spins) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
            let (until, runs) = (Arc::clone(&stop), Arc::clone(&spins));
            let spinner = runtime
                .create(&PLAIN, move || {
                    runs.open();
                    while !until.is_open() {
                        core::hint::spin_loop();
                    }
                    0
                })
                .unwrap();
            spins.wait();
            // This is longer than the search of a worker without work.
            let now = std::time::Instant::now();
            while now.elapsed() < Duration::from_millis(2) {
                std::thread::yield_now();
            }
            // The new threads are created alternately on the spinner's worker and on the other
            // worker.
            let behind = runtime.create(&PLAIN, || 4).unwrap();
            assert_eq!(runtime.join(behind).unwrap(), 4);
            stop.open();
            runtime.join(spinner).unwrap();
        }
    }
}

/// A thread of one runtime waits for a thread of another runtime.
#[test]
fn a_join_across_models_blocks_no_worker() {
    let (kernel, many) = (common::start(common::one_to_one()), common::start(common::one_worker()));
    let gate = Arc::new(Gate::default());
    let (behind, opens) = (Arc::clone(&gate), Arc::clone(&gate));
    let waits = kernel
        .create(&PLAIN, move || {
            behind.wait();
            1
        })
        .unwrap();
    let handle = kernel.handle();
    let joiner = many.create(&PLAIN, move || handle.join(waits).unwrap()).unwrap();
    let opener = many
        .create(&PLAIN, move || {
            opens.open();
            2
        })
        .unwrap();
    assert_eq!(many.join(opener).unwrap(), 2);
    assert_eq!(many.join(joiner).unwrap(), 1);
}

/// A clock that can be set. It notifies no thread, so a sleeper must read it often.
#[derive(Debug)]
struct Set(Arc<AtomicU64>);

impl Clock for Set {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::SeqCst))
    }

    fn longest_sleep(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

#[test]
fn a_clock_that_is_set_ends_sleeps() {
    let ours = Knobs::ours();
    for knobs in [ours, Knobs { pipe_wake: true, ..ours }] {
        for descriptor in [false, true] {
            let time = Arc::new(AtomicU64::new(1));
            let settings = ManyToMany::new().workers(1).knobs(knobs).clock(Set(Arc::clone(&time)));
            let runtime = common::start(Model::ManyToMany(settings));
            let (ours, theirs) = UnixStream::pair().unwrap();
            let reader = runtime.create(&PLAIN, move || {
                if descriptor {
                    io::readable(&ours).unwrap();
                }
                1
            });
            let sleeper = runtime.create(&PLAIN, || {
                this_thread::sleep_until(Instant::ZERO + Duration::from_secs(3600));
                2
            });
            let started = std::time::Instant::now();
            while started.elapsed() < Duration::from_millis(5) {
                std::thread::yield_now();
            }
            time.store(3_600_000_000_001, Ordering::SeqCst);
            assert_eq!(runtime.join(sleeper.unwrap()).unwrap(), 2);
            drop(theirs);
            assert_eq!(runtime.join(reader.unwrap()).unwrap(), 1);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_platform_knows_the_names_of_its_threads() {
    let runtime = common::start(common::one_to_one());
    let named = runtime.spawn(&PLAIN.name("a name of more than 15 bytes"), || {
        std::fs::read_to_string("/proc/thread-self/comm").unwrap()
    });
    assert_eq!(named.unwrap().join().unwrap(), "a name of more \n");
}

/// Runs `body` in a child process. Returns the result of `body`, or 0 if it does not end.
fn in_a_child(body: impl FnOnce() -> i32) -> i32 {
    let mut status = 0;
    // SAFETY: 1. The child runs `body` on this thread alone, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: 1. The argument is a number of seconds.
        unsafe { libc::alarm(20) };
        let answer = body();
        // SAFETY: 1. Ends the child.
        unsafe { libc::_exit(answer) };
    }
    // SAFETY: 1. `child` is our child, and `status` may be written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 0 }
}

#[test]
fn in_a_forked_child_nobody_is_waited_for() {
    for model in [common::one_to_one(), common::own_stacks(), common::two_workers()] {
        let runtime = common::start(model);
        let gate = Arc::new(Gate::default());
        let behind = Arc::clone(&gate);
        let id = runtime
            .create(&PLAIN, move || {
                behind.wait();
                1
            })
            .unwrap();
        let answer = in_a_child(|| {
            let joined = runtime.join(id).map_or_else(|error| error.errno(), |_| 0);
            let created = runtime.create(&PLAIN, || 1).map_or_else(|error| error.errno(), |_| 0);
            i32::from(joined == libc::ESRCH) + 2 * i32::from(created == libc::ESHUTDOWN)
        });
        assert_eq!(answer, 3);
        gate.open();
        assert_eq!(runtime.join(id).unwrap(), 1);
    }
}

/// A value whose drop calls the runtime and then panics.
struct Asks(RuntimeHandle);

impl Drop for Asks {
    fn drop(&mut self) {
        let names = self.0.threads().into_iter().filter_map(|id| self.0.name(id)).count();
        std::panic::resume_unwind(Box::new(names));
    }
}

#[test]
fn a_body_that_is_dropped_instead_of_run_may_ask_and_panic() {
    let answer = in_a_child(|| {
        let runtime = common::start(common::own_stacks());
        let asks = Asks(runtime.handle());
        let least = libc::rlimit { rlim_cur: 1 << 30, rlim_max: 1 << 30 };
        // SAFETY: 1. The call sets a limit for this child alone.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const least) };
        let large = PLAIN.stack(1 << 30).name("large");
        let created = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            runtime.create(&large, move || {
                let _asks = asks;
                0
            })
        }));
        let panicked = created.is_err_and(|payload| payload.downcast_ref() == Some(&0_usize));
        1 + i32::from(panicked) + 2 * i32::from(runtime.live() == 0)
    });
    assert_eq!(answer, 4);
}
