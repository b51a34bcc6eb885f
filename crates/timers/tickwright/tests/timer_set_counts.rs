//! Tests of what a timer set reports: the number of passes, the size of its memory, and a lack of
//! memory.

use core::time::Duration;

use tickwright::scheduler::{
    Boxed, Next, Plain, Refusal, Scheduler, Settings, Site, Structure, TimerSet, Timing,
};
use tickwright::time::VirtualHost;

#[test]
fn each_pass_counts_once() {
    let host = VirtualHost::new();
    let mut set = TimerSet::<()>::new(Settings::new().clock(host.monotonic()));
    for passes in 1..4 {
        set.begin_pass();
        assert_eq!(set.statistics().passes, passes);
    }
}

#[test]
fn memory_grows_with_the_timers() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let empty = set.heap_bytes();
    for _ in 0..1000 {
        set.add(Timing::after(Duration::from_secs(1)), &Site::here("x"), [0_u64; 4]).unwrap();
    }
    let full = set.heap_bytes();
    assert!(full >= empty + 1000 * 32, "{empty} bytes empty, {full} with 1000 payloads of 32");
}

/// With a plain callback that has 8 bytes of data, the set takes 48 bytes per timer, and the
/// structure takes at most 24 bytes. The exception is `fixed-delay`, which reserves a record of 24
/// bytes and a heap entry of 16 bytes for each timer.
#[test]
fn a_timer_takes_at_most_72_bytes() {
    for structure in Structure::all() {
        let bytes = |capacity| {
            let settings = Settings::new().structure(structure).capacity(capacity);
            Scheduler::<Plain<u64>>::try_new(settings).unwrap().heap_bytes()
        };
        let each = (bytes(100_000) - bytes(0)) as f64 / 1e5;
        let most = if structure.to_string() == "fixed-delay" { 88.5 } else { 72.5 };
        assert!((60.0..most).contains(&each), "{structure}: {each}");
    }
}

#[test]
fn room_that_there_is_not_is_refused() {
    let host = VirtualHost::new();
    let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    assert_eq!(scheduler.reserve(usize::MAX), Err(Refusal::Full));
    assert_eq!(scheduler.reserve(10), Ok(()));
    // The scheduler still works.
    scheduler.add(Duration::ZERO, Boxed::new(|_| Next::Done)).unwrap();
    assert_eq!(scheduler.run_queue(), Ok(1));
}
