//! The behaviours that the suites of tokio's timers and of its `DelayQueue` check, in our words and
//! for each driver. `table.txt` lists the test for each behaviour.
//!
//! A behaviour is a function that takes a [`Scene`](scene::Scene), which hides the driver. The
//! macro `behaviours` makes a test of it for each driver, so a failure has the driver in its name:
//! `sleep::thread::an_earlier_deadline_counts`.

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

/// Makes the tests of the behaviours that are listed. Behaviours of the second list advance the
/// clock by more than a test can wait for, or compare times exactly. They do not run on the driver
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
