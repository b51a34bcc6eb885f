//! The adapter for hyper. Call `.timer(timers)` on hyper's builders for servers and clients.

use core::pin::Pin;
use core::time::Duration;
use std::time::Instant;

use hyper::rt;

use crate::sleep::Sleep;
use crate::timers::Timers;

/// For the builders of hyper and hyper-util, which have the methods `.timer(timers.clone())` and
/// `.pool_timer(timers)`.
///
/// hyper creates a sleep for the head of each request and drops the sleep when the head has
/// arrived. Such a sleep is armed only if the head has not arrived at the first poll, and it
/// usually reuses a timer that is already in a queue.
impl rt::Timer for Timers {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Self::sleep(self, duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Self::sleep_until(self, deadline))
    }

    fn now(&self) -> Instant {
        Self::now(self)
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(ours) => ours.get_mut().reset(deadline),
            // The sleep was created by another timer implementation.
            None => *sleep = rt::Timer::sleep_until(self, deadline),
        }
    }
}

impl rt::Sleep for Sleep {}
