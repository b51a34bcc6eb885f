//! Tests of the adapter for the sleep trait of the AWS clients.

mod common;

use std::pin::pin;

use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep};
use common::ms;
use tickwright_async::TestClock;

#[test]
fn a_sleep_of_a_client_is_ours() {
    let clock = TestClock::new();
    let shared = SharedAsyncSleep::new(clock.timers());
    let mut sleep = pin!(shared.sleep(ms(5)));
    assert!(!clock.is_ready(sleep.as_mut()));
    clock.advance(ms(4));
    assert!(!clock.is_ready(sleep.as_mut()));
    clock.advance(ms(1));
    assert!(clock.is_ready(sleep));
}
