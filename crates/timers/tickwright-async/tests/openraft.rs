//! Tests that a runtime for openraft can use this crate's timers, because our futures meet the
//! bounds on timers in openraft's trait `AsyncRuntime`. DESIGN.md explains why there is no adapter.

mod common;

use core::fmt::{Debug, Display};
use core::future::{Future, pending};
use core::time::Duration;

use common::ms;
use tickwright_async::{Elapsed, Instant, TestClock};

/// The part of `AsyncRuntime` about time, as in openraft 0.9 and 0.10. It is copied, because
/// openraft has many dependencies. In openraft, the instant is also an associated type of the
/// trait.
trait Time {
    type Sleep: Future<Output = ()> + Send + Sync;
    type TimeoutError: Debug + Display + Send;
    type Timeout<R, F: Future<Output = R> + Send>: Future<Output = Result<R, Self::TimeoutError>> + Send;

    fn sleep(duration: Duration) -> Self::Sleep;
    fn sleep_until(deadline: Instant) -> Self::Sleep;
    fn timeout<R, F: Future<Output = R> + Send>(duration: Duration, future: F) -> Self::Timeout<R, F>;
    fn timeout_at<R, F: Future<Output = R> + Send>(deadline: Instant, future: F) -> Self::Timeout<R, F>;
}

struct Ours;

impl Time for Ours {
    type Sleep = tickwright_async::Sleep;
    type TimeoutError = Elapsed;
    type Timeout<R, F: Future<Output = R> + Send> = tickwright_async::Timeout<F>;

    fn sleep(duration: Duration) -> Self::Sleep {
        tickwright_async::sleep(duration)
    }

    fn sleep_until(deadline: Instant) -> Self::Sleep {
        tickwright_async::sleep_until(deadline)
    }

    fn timeout<R, F: Future<Output = R> + Send>(duration: Duration, future: F) -> Self::Timeout<R, F> {
        tickwright_async::timeout(duration, future)
    }

    fn timeout_at<R, F: Future<Output = R> + Send>(deadline: Instant, future: F) -> Self::Timeout<R, F> {
        tickwright_async::timeout_at(deadline, future)
    }
}

#[test]
fn our_futures_meet_the_bounds_of_a_runtime_for_openraft() {
    let clock = TestClock::new();
    clock.block_on(async {
        let start = tickwright_async::now();
        Ours::sleep(ms(10)).await;
        Ours::sleep_until(start + ms(20)).await;
        assert!(Ours::timeout(ms(10), pending::<()>()).await.is_err());
        assert_eq!(Ours::timeout_at(start + ms(40), async { 7 }).await, Ok(7));
        assert_eq!(tickwright_async::now() - start, ms(30));
    });
}
