//! Tests in which a thread of a runtime forks: which thread exists in the child, what the child can
//! do, and how it ends.
#![cfg(unix)]

mod common;

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::process::Output;
use std::time::Instant;

use common::start;
use tickwright_threads::{Attributes, Model, Runtime, ThreadLocal, this_thread};

const PLAIN: Attributes = Attributes::new();

type Made = fn() -> Model;

const MODELS: [(&str, Made); 6] = [
    ("one-to-one", common::one_to_one),
    ("own stacks", common::own_stacks),
    ("fresh stacks", common::fresh_stacks),
    ("m:n", common::two_workers),
    ("as ngpt", common::as_ngpt),
    ("portable", common::portable),
];

/// Runs only one test of this file, in a separate process.
fn alone(test: &str) -> Output {
    common::this_program()
        .args([&format!("alone::{test}"), "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap()
}

fn passes_alone(test: &str) {
    let output = alone(test);
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_child_parks_sleeps_and_has_its_values() {
    passes_alone("a_child_parks_sleeps_and_has_its_values");
}

#[test]
fn a_child_ends_with_a_code() {
    passes_alone("a_child_ends_with_a_code");
}

#[test]
fn a_child_starts_a_runtime_while_others_end() {
    passes_alone("a_child_starts_a_runtime_while_others_end");
}

#[test]
fn a_child_writes_its_buffers_and_runs_handlers_of_exit() {
    let output = alone("a_child_writes_its_buffers_and_runs_handlers_of_exit");
    let said = String::from_utf8_lossy(&output.stdout);
    for (name, _) in MODELS {
        assert!(said.contains(&format!("{name}: buffered")), "{name}: {said}");
        assert!(said.contains(&format!("{name}: handler")), "{name}: {said}");
    }
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

mod alone {
    use super::*;

    /// Describes where each thread of the child waits: the number and arguments of its system call,
    /// for example the address of a futex. Also lists the mappings that contain such addresses.
    fn where_it_hangs(child: libc::pid_t) -> String {
        let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
        let tasks = std::fs::read_dir(format!("/proc/{child}/task")).into_iter().flatten().flatten();
        let tasks = tasks.map(|task| {
            let at = task.path().display().to_string();
            format!("{at}: {}{}", read(format!("{at}/comm")), read(format!("{at}/syscall")))
        });
        tasks.collect::<String>() + &read(format!("/proc/{child}/maps"))
    }

    /// Waits for a child to end. Returns its exit code, or 1000 plus the number of the signal that
    /// ended it. A child that hangs is killed.
    fn wait_for(child: libc::pid_t) -> usize {
        let began = Instant::now();
        let mut status = 0;
        loop {
            // SAFETY: 1. `child` is our child, and `status` may be written.
            if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
                break;
            }
            if began.elapsed() > Duration::from_secs(60) {
                eprintln!("the child hangs:\n{}", where_it_hangs(child));
                // SAFETY: 1. `child` is our child, and nobody has waited for it yet.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let code =
            if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1000 + libc::WTERMSIG(status) };
        usize::try_from(code).unwrap()
    }

    /// Returns a body that forks. In the child the body runs `inside`, and in the parent it returns
    /// how the child ended.
    fn forking(inside: impl FnOnce() -> usize + Send + 'static) -> impl FnOnce() -> usize + Send + 'static {
        || {
            // SAFETY: 1. The child makes only calls that this library allows in forked children,
            // and ends.
            match unsafe { libc::fork() } {
                0 => inside(),
                child => wait_for(child),
            }
        }
    }

    fn in_a_child(runtime: &Runtime, inside: impl FnOnce() -> usize + Send + 'static) -> usize {
        let id = runtime.create(&PLAIN, forking(inside)).unwrap();
        runtime.join(id).unwrap()
    }

    fn end(code: c_int) -> usize {
        // SAFETY: 1. Ends the child.
        unsafe { libc::_exit(code) }
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_child_parks_sleeps_and_has_its_values() {
        for (name, model) in MODELS {
            let runtime = start(model());
            // The threads fork as soon as they begin, when their creator can still hold locks.
            for _ in 0..100 {
                let code = in_a_child(&runtime, || {
                    this_thread::park_timeout(Duration::from_micros(100));
                    this_thread::sleep(Duration::from_micros(100));
                    end(7)
                });
                assert_eq!(code, 7, "{name}");
            }
            let code = in_a_child(&runtime, || {
                let nobody = this_thread::current().is_none() && this_thread::handle().is_none();
                end(if nobody { 7 } else { 1 })
            });
            assert_eq!(code, 7, "{name}: in a child no runtime knows the caller");
            let value = std::sync::Arc::new(ThreadLocal::new(|| AtomicUsize::new(1)));
            let id = runtime.create(&PLAIN, move || {
                value.with(|own| own.store(5, Ordering::Relaxed));
                forking(move || end(value.with(|own| own.load(Ordering::Relaxed)) as c_int))()
            });
            assert_eq!(runtime.join(id.unwrap()).unwrap(), 5, "{name}: its own values");
        }
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_child_ends_with_a_code() {
        std::panic::set_hook(Box::new(|_| {}));
        for (name, model) in MODELS {
            let runtime = start(model());
            assert_eq!(in_a_child(&runtime, || 3), 0, "{name}");
            assert_eq!(in_a_child(&runtime, || panic!("in the child")), 101, "{name}");
            assert_eq!(runtime.run(|| 4).unwrap(), 4, "{name}: the parent goes on");
        }
    }

    /// If this library has allocated the stacks of detached threads, the stacks are added to a list
    /// that all runtimes share.
    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_child_starts_a_runtime_while_others_end() {
        let stop = std::sync::Arc::new(common::Gate::default());
        let stopped = std::sync::Arc::clone(&stop);
        let busy = std::thread::spawn(move || {
            while !stopped.is_open() {
                let runtime = start(common::own_stacks());
                let handle = runtime.handle();
                let body = move || {
                    drop(runtime);
                    0
                };
                handle.create(&PLAIN.detached(true), body).unwrap();
            }
        });
        let runtime = start(common::one_to_one());
        for _ in 0..200 {
            let code = in_a_child(&runtime, || {
                let own = start(common::own_stacks());
                let id = own.create(&PLAIN, || 7).unwrap();
                let value = own.join(id).unwrap();
                drop(own);
                end(value as c_int)
            });
            if code != 7 {
                stop.open();
            }
            assert_eq!(code, 7);
        }
        stop.open();
        busy.join().unwrap();
    }

    static MODEL: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn handler() {
        if let Some((name, _)) = MODELS.get(MODEL.load(Ordering::Relaxed).wrapping_sub(1)) {
            println!("{name}: handler");
        }
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_child_writes_its_buffers_and_runs_handlers_of_exit() {
        // SAFETY: 1. The function exists for ever.
        unsafe { libc::atexit(handler) };
        for (number, (name, model)) in MODELS.into_iter().enumerate() {
            let runtime = start(model());
            let code = in_a_child(&runtime, move || {
                MODEL.store(number + 1, Ordering::Relaxed);
                let text = std::ffi::CString::new(format!("{name}: buffered")).unwrap();
                // SAFETY: 1. The text ends with a zero byte. It stays in the C library's buffer,
                // because standard output is a pipe.
                unsafe { libc::puts(text.as_ptr()) };
                0
            });
            assert_eq!(code, 0, "{name}");
        }
    }
}
