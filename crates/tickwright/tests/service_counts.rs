//! What a service says of itself: passes, memory, and room that there is not.

use core::time::Duration;

use tickwright::clock::VirtualHost;
use tickwright::scheduler::{Boxed, Next, Scheduler};
use tickwright::service::{Refusal, Service, Settings, Site, Timing};

#[test]
fn each_pass_counts_once() {
    let host = VirtualHost::new();
    let mut service = Service::<()>::new(Settings::new().clock(host.monotonic()));
    for passes in 1..4 {
        service.begin_pass();
        assert_eq!(service.statistics().passes, passes);
    }
}

#[test]
fn memory_grows_with_the_timers() {
    let host = VirtualHost::new();
    let mut service = Service::new(Settings::new().clock(host.monotonic()));
    let empty = service.heap_bytes();
    for _ in 0..1000 {
        service.add(Timing::after(Duration::from_secs(1)), &Site::here("x"), 0, [0_u64; 4]).unwrap();
    }
    let full = service.heap_bytes();
    assert!(full >= empty + 1000 * 32, "{empty} bytes empty, {full} with 1000 payloads of 32");
}

#[test]
fn room_that_there_is_not_is_refused() {
    let host = VirtualHost::new();
    let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    assert_eq!(scheduler.reserve(usize::MAX), Err(Refusal::Full));
    assert_eq!(scheduler.reserve(10), Ok(()));
    // It is as it was.
    scheduler.add(Duration::ZERO, Boxed::new(|_| Next::Done)).unwrap();
    assert_eq!(scheduler.run_queue(), Ok(1));
}
