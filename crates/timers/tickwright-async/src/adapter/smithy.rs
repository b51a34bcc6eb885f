//! The adapter for the AWS clients: `SharedAsyncSleep::new(timers)`.

use core::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};

use crate::timers::Timers;

/// For the configuration of a client: `.sleep_impl(SharedAsyncSleep::new(timers))`. The client then
/// uses these timers for its retries and time-outs, under any executor.
///
/// ```
/// use core::time::Duration;
/// use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep};
/// use tickwright_async::TestClock;
///
/// // A program passes `Timers::new()?`. With this clock a test of retries takes no time.
/// let clock = TestClock::new();
/// let shared = SharedAsyncSleep::new(clock.timers());
/// // What the client does between two attempts:
/// let start = clock.timers().now();
/// clock.block_on(async { shared.sleep(Duration::from_secs(20)).await });
/// assert_eq!(clock.timers().now() - start, Duration::from_secs(20));
/// ```
impl AsyncSleep for Timers {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(Self::sleep(self, duration))
    }
}
