//! Tests in which threads of one runtime end another runtime, or join its threads. An M:N thread
//! that waits for this does not block its worker. The other threads of its worker continue, even if
//! the awaited thread waits for them. Each case runs in a separate process, which an alarm ends if
//! it hangs.
#![cfg(unix)]

mod common;

use core::cell::RefCell;
use core::time::Duration;

use common::start;
use tickwright_threads::{Attributes, Model, Runtime, RuntimeHandle, ThreadId, this_thread};

const PLAIN: Attributes = Attributes::new();

type Made = fn() -> Model;

const KERNEL: [(&str, Made); 3] = [
    ("one-to-one", common::one_to_one),
    ("own stacks", common::own_stacks),
    ("fresh stacks", common::fresh_stacks),
];

const WORKERS: [(&str, Made); 2] = [("m:n", common::one_worker), ("portable", portable)];

fn portable() -> Model {
    Model::ManyToMany(tickwright_threads::ManyToMany::new().workers(1).portable(true))
}

/// Runs the second half of a test in a separate process.
fn in_a_process(test: &str, inside: fn(&Runtime, Runtime)) {
    if std::env::var_os("TICKWRIGHT_PART").is_some() {
        for (_, worker) in WORKERS {
            for (_, kernel) in KERNEL {
                // SAFETY: 1. The argument is a number of seconds.
                unsafe { libc::alarm(60) };
                let runtime = start(worker());
                inside(&runtime, start(kernel()));
            }
        }
        std::process::exit(0);
    }
    let output = common::this_program()
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("TICKWRIGHT_PART", "child")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Creates a thread that ends only after it was unparked.
fn parked(handle: &RuntimeHandle) -> ThreadId {
    let body = || {
        this_thread::park();
        this_thread::sleep(Duration::from_millis(1));
        7
    };
    handle.create(&PLAIN, body).unwrap()
}

#[test]
fn a_runtime_is_dropped_while_its_thread_waits_for_the_worker() {
    in_a_process("a_runtime_is_dropped_while_its_thread_waits_for_the_worker", |runtime, kernel| {
        let handle = runtime.handle();
        runtime
            .run(move || {
                let other = parked(&handle);
                let own = handle.clone();
                kernel
                    .create(&PLAIN, move || {
                        own.unpark(other).unwrap();
                        own.join(other).unwrap()
                    })
                    .unwrap();
                drop(kernel);
            })
            .unwrap();
    });
}

struct Joins(RuntimeHandle, ThreadId);

impl Drop for Joins {
    fn drop(&mut self) {
        self.0.unpark(self.1).unwrap();
        assert_eq!(self.0.join(self.1).unwrap(), 7);
    }
}

thread_local! {
    static JOINS: RefCell<Option<Joins>> = const { RefCell::new(None) };
}

/// Starts a thread that joins another thread in the destructor of a thread-local variable.
fn joins_at_its_end(handle: &RuntimeHandle, kernel: &Runtime) -> ThreadId {
    let joins = Joins(handle.clone(), parked(handle));
    let body = move || {
        JOINS.with_borrow_mut(|place| *place = Some(joins));
        3
    };
    kernel.create(&PLAIN, body).unwrap()
}

#[test]
fn a_thread_is_joined_while_its_destructor_waits_for_the_worker() {
    in_a_process("a_thread_is_joined_while_its_destructor_waits_for_the_worker", |runtime, kernel| {
        let handle = runtime.handle();
        runtime
            .run(move || {
                let id = joins_at_its_end(&handle, &kernel);
                assert_eq!(kernel.join(id).unwrap(), 3);
                let id = joins_at_its_end(&handle, &kernel);
                while kernel.try_join(id).is_err() {
                    this_thread::yield_now();
                }
            })
            .unwrap();
    });
}

#[test]
fn a_runtime_is_dropped_while_a_destructor_waits_for_the_worker() {
    in_a_process("a_runtime_is_dropped_while_a_destructor_waits_for_the_worker", |runtime, kernel| {
        let handle = runtime.handle();
        runtime
            .run(move || {
                let left = joins_at_its_end(&handle, &kernel);
                let detached = joins_at_its_end(&handle, &kernel);
                kernel.detach(detached).unwrap();
                drop(kernel);
                let _ = left;
            })
            .unwrap();
        // The destructor of a detached thread can still be waiting for a join.
        while runtime.live() > 0 {
            std::thread::yield_now();
        }
    });
}
