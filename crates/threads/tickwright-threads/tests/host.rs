//! Tests of the resources that a runtime takes from the host and gives back. Each test runs in a
//! separate process, because other tests would change the numbers.
#![cfg(target_os = "linux")]
#![cfg(unix)]

mod common;

use core::ffi::CStr;
use std::fs;

use tickwright_threads::{Attributes, Model, Runtime, this_thread};

const PLAIN: Attributes = Attributes::new();

type Made = fn() -> Model;

const MODELS: [(&str, Made); 5] = [
    ("one-to-one", common::one_to_one),
    ("own stacks", common::own_stacks),
    ("fresh stacks", common::fresh_stacks),
    ("m:n", common::two_workers),
    ("as ngpt", common::as_ngpt),
];

/// Runs only one test of this file, in a separate process.
fn alone(test: &str) {
    let output = common::this_program()
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        // glibc's allocator maps more memory if threads allocate at the same time.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the number of mappings and the number of descriptors.
fn taken() -> (usize, usize) {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    (maps.lines().count(), fs::read_dir("/proc/self/fd").unwrap().count())
}

fn come_and_go(model: Model, threads: usize) {
    let runtime = common::start(model);
    for i in 0..threads {
        let detached = i % 10 == 0;
        let id = runtime.create(&PLAIN.detached(detached), move || i).unwrap();
        if i % 10 == 1 {
            runtime.detach(id).unwrap();
        } else if !detached {
            assert_eq!(runtime.join(id).unwrap(), i);
        }
    }
}

#[test]
fn ten_thousand_threads_leave_nothing() {
    alone("alone::ten_thousand_threads_leave_nothing");
}

#[test]
fn what_the_host_does_not_give_is_refused_and_all_else_goes_on() {
    alone("alone::what_the_host_does_not_give_is_refused_and_all_else_goes_on");
}

#[test]
fn a_forked_child_has_no_threads() {
    alone("alone::a_forked_child_has_no_threads");
}

#[test]
fn a_thread_that_forks() {
    alone("alone::a_thread_that_forks");
}

mod alone {
    use super::*;

    #[test]
    #[ignore = "runs in a process of its own"]
    fn ten_thousand_threads_leave_nothing() {
        for (name, model) in MODELS {
            // The first threads fill the platform's own cache of stacks.
            come_and_go(model(), 200);
            let before = taken();
            come_and_go(model(), 10_000);
            let after = taken();
            assert_eq!(before.1, after.1, "{name}: descriptors");
            assert!(after.0 <= before.0 + 8, "{name}: {} mappings were {}", after.0, before.0);
        }
    }

    /// Sets the limit of the process's address space, in bytes. Returns the old limit.
    fn limit(bytes: libc::rlim_t) -> libc::rlim_t {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: 1. `limit` may be written.
        unsafe {
            libc::getrlimit(libc::RLIMIT_AS, &raw mut limit);
        }
        let before = limit.rlim_cur;
        limit.rlim_cur = bytes.min(limit.rlim_max);
        // SAFETY: 1. Filled.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
        before
    }

    /// Returns the size of the address space that is in use, in bytes.
    fn in_use() -> libc::rlim_t {
        let pages = fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').next().unwrap().parse::<libc::rlim_t>().unwrap() * 4096
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn what_the_host_does_not_give_is_refused_and_all_else_goes_on() {
        for (name, model) in MODELS {
            come_and_go(model(), 200);
            let before = taken();
            let runtime = common::start(model());
            let before_limit = limit(in_use() + (600 << 20));
            let door = std::sync::Arc::new(common::Gate::default());
            let mut ids = Vec::new();
            let error = loop {
                let behind = std::sync::Arc::clone(&door);
                let body = move || {
                    behind.wait();
                    1
                };
                match runtime.create(&PLAIN.stack(64 << 20), body) {
                    Ok(id) => ids.push(id),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.errno(), libc::EAGAIN, "{name}: {error}");
            assert_eq!(std::sync::Arc::strong_count(&door), ids.len() + 1, "{name}: the body was dropped");
            assert!((4..10).contains(&ids.len()), "{name}: {}", ids.len());
            assert_eq!(runtime.live(), ids.len(), "{name}");
            // A smaller stack still fits.
            let small = runtime.create(&PLAIN.stack(64 << 10), || 2).unwrap();
            assert_eq!(runtime.join(small).unwrap(), 2, "{name}");
            door.open();
            for id in ids {
                assert_eq!(runtime.join(id).unwrap(), 1, "{name}");
            }
            limit(before_limit);
            drop(runtime);
            assert!(taken().0 <= before.0 + 8, "{name}: {} mappings were {}", taken().0, before.0);
        }
    }

    /// Runs `inside` in a child, and returns the child's exit code.
    fn in_a_child(inside: impl FnOnce() -> Result<(), &'static CStr>) -> i32 {
        // SAFETY: 1. The child makes only calls that this library and the C library allow in forked
        // children.
        match unsafe { libc::fork() } {
            0 => {
                let code = match inside() {
                    Ok(()) => 7,
                    Err(what) => {
                        // SAFETY: 1. The text ends with a zero byte.
                        unsafe {
                            libc::puts(what.as_ptr());
                        }
                        1
                    }
                };
                // SAFETY: 1. The call ends the child, without the parent's clean-up.
                unsafe { libc::_exit(code) }
            }
            child => wait_for(child),
        }
    }

    fn wait_for(child: libc::pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: 1. `child` is our child, and `status` may be written.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status), "{status}");
        libc::WEXITSTATUS(status)
    }

    fn yes(condition: bool, what: &'static CStr) -> Result<(), &'static CStr> {
        if condition { Ok(()) } else { Err(what) }
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_forked_child_has_no_threads() {
        for (name, model) in MODELS {
            let mut runtime = Some(common::start(model()));
            let (tell, told) = std::sync::mpsc::channel::<()>();
            let own = runtime.as_ref().unwrap();
            let waits = own.create(&PLAIN, move || usize::from(told.recv().is_ok())).unwrap();
            let ended = own.create(&PLAIN, || 2).unwrap();
            let code = in_a_child(|| {
                let theirs = runtime.take().ok_or(c"no runtime")?;
                let created = theirs.create(&PLAIN, || 0);
                yes(created.is_err_and(|error| error.errno() == libc::ESHUTDOWN), c"it created")?;
                for id in [waits, ended] {
                    let joined = theirs.join(id);
                    yes(joined.is_err_and(|error| error.errno() == libc::ESRCH), c"it joined")?;
                }
                yes(theirs.detach(waits).is_err(), c"it detached")?;
                yes(theirs.live() == 0 && theirs.threads().is_empty(), c"there are some")?;
                yes(!theirs.is_registered(waits), c"it is there")?;
                drop(theirs);
                // The child can start a runtime of its own.
                let new = Runtime::new(model()).map_err(|_| c"no new one")?;
                let id = new.create(&PLAIN, || 3).map_err(|_| c"not created")?;
                yes(new.join(id).is_ok_and(|value| value == 3), c"not joined")
            });
            assert_eq!(code, 7, "{name}");
            // In the parent, all threads still exist.
            let runtime = runtime.unwrap();
            tell.send(()).unwrap();
            assert_eq!(runtime.join(waits).unwrap(), 1, "{name}");
            assert_eq!(runtime.join(ended).unwrap(), 2, "{name}");
            let id = runtime.create(&PLAIN, || 4).unwrap();
            assert_eq!(runtime.join(id).unwrap(), 4, "{name}");
        }
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_thread_that_forks() {
        for (name, model) in MODELS {
            let runtime = common::start(model());
            let handle = runtime.handle();
            let forks = runtime
                .create(&PLAIN, move || {
                    // SAFETY: 1. The child creates nothing, and ends.
                    let child = unsafe { libc::fork() };
                    if child == 0 {
                        let created = handle.create(&PLAIN, || 0);
                        assert!(this_thread::handle().is_none() && created.is_err());
                        return 0;
                    }
                    child as usize
                })
                .unwrap();
            let child = runtime.join(forks).unwrap();
            assert_eq!(wait_for(child as libc::pid_t), 0, "{name}: with the end of its only thread");
            let id = runtime.create(&PLAIN, || 1).unwrap();
            assert_eq!(runtime.join(id).unwrap(), 1, "{name}");
        }
    }
}
