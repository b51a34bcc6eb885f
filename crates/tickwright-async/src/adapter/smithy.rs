//! The clients for AWS: `SharedAsyncSleep::new(timers)`.

use core::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};

use crate::timers::Timers;

/// For the configuration of a client: `.sleep_impl(SharedAsyncSleep::new(timers))`.
impl AsyncSleep for Timers {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(Self::sleep(self, duration))
    }
}
