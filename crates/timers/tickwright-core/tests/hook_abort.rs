//! Tests that dropping a pinned timer or object while it is linked aborts the process. Each case
//! runs in a child process of the same test binary.
#![cfg(not(target_family = "wasm"))]

use std::process::{Command, Output};

use core::cmp::Ordering;

use tickwright_collections::{Dictionary, HookDict, KeyOrder, Link, Membership, Position};
use tickwright_core::{HookQueue, SortedList, Timer};

const CASE: &str = "TICKWRIGHT_ABORT_CASE";

/// Runs `case` of [`child`] in a child process. If an emulated system cannot start programs by
/// itself, `TICKWRIGHT_EMULATOR` names the emulator that must start the child.
fn run(case: &str) -> Output {
    let emulator = std::env::var("TICKWRIGHT_EMULATOR").unwrap_or_default();
    let mut words = emulator.split_whitespace().map(Into::into).chain([std::env::current_exe().unwrap()]);
    Command::new(words.next().unwrap())
        .args(words)
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .output()
        .unwrap()
}

/// In the test process this function does nothing. In a child process, it drops a pending pinned
/// timer and must not return.
#[test]
fn child() {
    let Ok(case) = std::env::var(CASE) else { return };
    if let Some(case) = case.strip_prefix("dictionary ") {
        return object(case);
    }
    let mut queue: HookQueue<'static, SortedList, &str> = HookQueue::new();
    let timer = Box::pin(Timer::new("payload"));
    // SAFETY: the key is not used; that the timer is dropped while pending is what is tested.
    let _ = unsafe { queue.insert_pinned(10, timer.as_ref()) }.unwrap();
    match case.as_str() {
        "dropped" => drop(timer),
        "caught" => drop(std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| drop(timer)))),
        "unwinding" => {
            let _ = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
                let _dropped_by_the_panic = timer;
                panic!("first");
            }));
        }
        "forgotten" => {
            core::mem::forget(queue);
            drop(timer);
        }
        "control" => {
            drop(queue);
            drop(timer);
        }
        _ => unreachable!(),
    }
    println!("survived");
}

struct Object {
    key: u32,
    links: [Link; 2],
}

struct Second;

impl KeyOrder<Object> for Second {
    type Key<'k> = u32;

    fn key<'k>(&'k self, object: &'k Object) -> u32 {
        object.key
    }

    fn compare(&self, a: &u32, b: &u32) -> Ordering {
        a.cmp(b)
    }
}

impl Membership<Object> for Second {
    fn link<'t>(&self, object: &'t Object) -> &'t Link {
        &object.links[1]
    }
}

/// Does what [`child`] does, with an object in a dictionary.
fn object(case: &str) {
    let mut dictionary: HookDict<'static, Second, Object> = HookDict::new(Second);
    let object = Box::pin(Object { key: 1, links: [Link::new(), Link::new()] });
    // SAFETY: 1. the entry is not used after the object is gone; 2. the object drops its links. The
    // test is that an object is dropped while linked.
    unsafe { dictionary.insert_pinned(Position::Last, object.as_ref()) }.unwrap();
    match case {
        "forgotten" => core::mem::forget(dictionary),
        "cleared" => dictionary.clear(),
        _ => {}
    }
    drop(object);
    println!("survived");
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no processes")]
fn dropping_a_pinned_object_in_a_dictionary_aborts() {
    for case in ["dictionary dropped", "dictionary forgotten"] {
        let output = run(case);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!stdout.contains("survived") && !output.status.success(), "{case}: the process went on");
        assert!(
            stderr.contains("a pinned object was dropped while it was in a dictionary"),
            "{case}: {stderr}"
        );
    }
    assert!(String::from_utf8_lossy(&run("dictionary cleared").stdout).contains("survived"));
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no processes")]
fn dropping_a_pending_pinned_timer_aborts() {
    for case in ["dropped", "caught", "unwinding", "forgotten"] {
        let output = run(case);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!stdout.contains("survived"), "{case}: the process went on");
        assert!(stderr.contains("a pinned timer was dropped while it was pending"), "{case}: {stderr}");
        assert!(!output.status.success(), "{case}");
        #[cfg(unix)]
        {
            use std::os::unix::process::ExitStatusExt;
            assert!(output.status.signal().is_some(), "{case}: it must die by a signal, not by an exit code");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no processes")]
fn a_child_that_unlinks_first_survives() {
    let output = run("control");
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("survived"));
}
