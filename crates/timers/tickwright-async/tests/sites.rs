//! Tests of the report of where live timers were created.

mod common;

use std::pin::pin;

use common::ms;
use tickwright_async::{TestClock, sleep, timeout};

#[test]
fn live_timers_are_counted_by_their_sites() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let _entered = timers.enter();
    let mut three: Vec<_> = (0..3).map(|_| Box::pin(timers.sleep(ms(5)))).collect();
    let line = line!() - 1;
    let mut one = pin!(sleep(ms(7)));
    let mut given = pin!(timeout(ms(9), core::future::pending::<()>()));
    assert_eq!(timers.sites(), [], "none is armed");
    three.iter_mut().for_each(|sleep| assert!(!clock.is_ready(sleep.as_mut())));
    assert!(!clock.is_ready(one.as_mut()) && !clock.is_ready(given.as_mut()));
    let sites: Vec<_> = timers.sites().iter().map(|(site, count)| (site.line(), *count)).collect();
    assert_eq!(sites, [(line, 3), (line + 2, 1), (line + 3, 1)]);
    assert!(timers.sites()[0].0.file().ends_with("sites.rs"));
    clock.advance(ms(5));
    assert_eq!(timers.sites().len(), 2);
}
