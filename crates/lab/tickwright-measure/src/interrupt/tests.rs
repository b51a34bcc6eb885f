//! Tests signals that arrive while handlers are installed.

use std::process::Command;

use super::*;

/// The part of the test that runs in the child process: SIGTERM arrives before any action is
/// registered, and again between two registrations.
#[test]
#[ignore = "run by signals_during_the_installation_are_noted_whole, in a process of its own"]
fn told_while_it_registers() {
    let asked = Asked::default();
    let tell = || signal_hook::low_level::raise(SIGTERM).unwrap();
    held_back(|| {
        tell();
        flag::register_usize(SIGTERM, Arc::clone(&asked.signal), 15).unwrap();
        tell();
        flag::register(SIGTERM, Arc::clone(&asked.stop)).unwrap();
        assert!(!asked.stop.load(Ordering::Relaxed), "it is delivered afterwards");
    });
    assert!(asked.stop.load(Ordering::Relaxed));
    assert_eq!(asked.signal.load(Ordering::Relaxed), 15);
}

#[test]
fn signals_during_the_installation_are_noted_whole() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["told_while_it_registers", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
