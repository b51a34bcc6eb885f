//! Between clocks and alarms in nanoseconds and those in ticks.

use std::sync::Weak;

use super::Alarm;
use crate::clock::{Clock, Ticks, Watcher};

/// A clock or an alarm, in ticks: for [shards](crate::shard), whose ticks may be of any length.
///
/// `now` rounds down, and an alarm goes off when its tick begins. So the timers that it goes off
/// for are due.
#[derive(Clone, Copy, Debug)]
pub struct InTicks<T>(pub T, pub Ticks);

impl<K: Clock> Clock for InTicks<K> {
    fn now(&self) -> u64 {
        self.1.now(self.0.now())
    }

    fn watch(&self, watcher: &Weak<dyn Watcher>) -> bool {
        self.0.watch(watcher)
    }
}

impl<A: Alarm> Alarm for InTicks<A> {
    /// A tick that begins after the clock's end never does: no alarm.
    fn set(&self, at: Option<u64>) {
        let Self(alarm, ticks) = self;
        alarm.set(at.filter(|&tick| ticks.now(ticks.start(tick)) == tick).map(|tick| ticks.start(tick)));
    }

    fn is_orphaned(&self) -> bool {
        self.0.is_orphaned()
    }
}
