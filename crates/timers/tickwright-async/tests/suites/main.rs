//! Tests of the behaviors that the test suites of tokio's timers and of its `DelayQueue` check. The
//! tests are our own, and run with each driver. `table.txt` lists the test for each behavior.
//!
//! A behavior is a function with a [`Scene`](scene::Scene) as argument, which hides the driver. The
//! macro `behaviours` defines a test of the behavior for each driver, so the name of a failed test
//! contains the driver, for example `sleep::thread::an_earlier_deadline_counts`.

#[path = "../common/mod.rs"]
mod common;
mod delay_queue;
mod interval;
mod pause;
mod runtime;
mod scene;
mod sleep;
mod table;
mod timeout;

/// Defines the tests of the listed behaviors. The behaviors of the second list advance the clock by
/// more time than a test can wait, or compare times exactly. They are not tested with the driver
/// thread.
macro_rules! behaviours {
    (every_driver: $($any:ident),+; virtual_time: $($moved:ident),*) => {
        mod test_clock {
            $(#[test] fn $any() { crate::scene::play(crate::scene::Kind::TestClock, super::$any); })+
            $(#[test] fn $moved() { crate::scene::play(crate::scene::Kind::TestClock, super::$moved); })*
        }
        mod driven {
            $(#[test] fn $any() { crate::scene::play(crate::scene::Kind::Driven, super::$any); })+
            $(#[test] fn $moved() { crate::scene::play(crate::scene::Kind::Driven, super::$moved); })*
        }
        #[cfg(feature = "tokio")]
        mod on_tokio {
            $(#[test] fn $any() { crate::scene::play(crate::scene::Kind::Tokio, super::$any); })+
            $(#[test] fn $moved() { crate::scene::play(crate::scene::Kind::Tokio, super::$moved); })*
        }
        mod thread {
            $(#[test] fn $any() { crate::scene::play(crate::scene::Kind::Thread, super::$any); })+
        }
    };
}
use behaviours;
