//! A thread that advances a shard.

use std::io;

use super::{Alarm, DriverPanicked, DriverThread, InTicks, Parker};
use crate::clock::{Clock, Ticks};
use crate::shard::{ArmError, LockFree, Shards, Variant};
use crate::sync::Arc;

/// A thread that sleeps until something is due on a shard, and runs its callbacks: one for each shard that needs one.
///
/// Between two looks at the clock, those of the driver and of arms under the lock, the shard's time stands still. A re-arm in place that shortens a
/// time-out judges by it: say what time it is ([`SharedTimer::modify_at`](crate::shard::SharedTimer::modify_at)) where that matters.
///
/// It sets the shard's clock and alarm, and takes both away at its end; it keeps the shards alive until then. Panics of callbacks are
/// contained and reported; the timers after one fire at once.
///
/// ```
/// use std::sync::Arc;
/// use tickwright::clock::{Ticks, VirtualHost};
/// use tickwright::driver::ShardDriver;
/// use tickwright::shard::{Firing, Shards};
///
/// let host = VirtualHost::new();
/// let shards: Arc<Shards> = Arc::new(Shards::new(1));
/// let driver = ShardDriver::spawn(&shards, 0, host.monotonic(), Ticks::MILLISECOND)?;
/// let timer = shards.timer(0, |firing: &Firing<'_>| println!("at {} ms", firing.now()))?;
///
/// // In 20.5 ms: rounded up.
/// timer.modify(driver.ticks().deadline(20_500_000))?;
/// host.advance(21_000_000);
/// driver.settle();
/// assert!(timer.is_pending(), "its bucket ends later");
/// host.advance(1_000_000);
/// driver.settle();
/// assert!(!timer.is_pending());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardDriver<K: Clock + 'static, V: Variant = LockFree> {
    shards: Arc<Shards<V>>,
    shard: usize,
    ticks: Ticks,
    thread: DriverThread<K>,
    outside: Outside,
}

/// What it has given to the shard.
struct Outside {
    alarm: Arc<dyn Alarm>,
    clock: Arc<dyn Clock>,
}

impl core::fmt::Debug for Outside {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}

impl<K: Clock + Clone + 'static, V: Variant> ShardDriver<K, V> {
    /// Starts the thread for a shard whose ticks are so long, tick 0 at the clock's 0. One driver a shard: a second one takes the alarm away
    /// from the first.
    ///
    /// # Errors
    /// Of kind `InvalidInput`, with [`ArmError::NoSuchShard`]. What the system says when it has no thread to give.
    pub fn spawn(shards: &Arc<Shards<V>>, shard: usize, clock: K, ticks: Ticks) -> io::Result<Self> {
        if shard >= shards.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, ArmError::NoSuchShard));
        }
        let parker = Parker::new(clock.clone());
        let run = {
            let (shards, parker) = (Arc::clone(shards), Arc::clone(&parker));
            move || {
                // Busy: somebody else's pass, and its end sets the alarm.
                let _ = shards.advance(shard, ticks.now(parker.clock().now()), usize::MAX);
            }
        };
        let thread = DriverThread::spawn(&format!("shard {shard}"), Arc::clone(&parker), run)?;
        let outside =
            Outside { alarm: Arc::new(InTicks(parker, ticks)), clock: Arc::new(InTicks(clock, ticks)) };
        // There is such a shard.
        let _ = shards.set_clock(shard, Some(Arc::clone(&outside.clock)));
        let _ = shards.set_alarm(shard, Some(Arc::clone(&outside.alarm)));
        Ok(Self { shards: Arc::clone(shards), shard, ticks, thread, outside })
    }
}

impl<K: Clock + 'static, V: Variant> ShardDriver<K, V> {
    /// The shards.
    pub fn shards(&self) -> &Arc<Shards<V>> {
        &self.shards
    }

    /// The number of its shard.
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// How long a tick of its shard is.
    pub fn ticks(&self) -> Ticks {
        self.ticks
    }

    /// The thread: its runs, wake-ups and panics.
    pub fn thread(&self) -> &DriverThread<K> {
        &self.thread
    }

    /// Waits until all that is due has fired: [`Parker::settle`].
    pub fn settle(&self) -> bool {
        self.thread.settle()
    }

    /// Stops the thread and waits until it has ended, unless this is that thread. What is pending stays so.
    ///
    /// # Errors
    /// [`DriverPanicked`]: how often a callback panicked.
    pub fn join(mut self) -> Result<(), DriverPanicked> {
        self.thread.end();
        self.thread.panics().map_or(Ok(()), Err)
    }
}

impl<K: Clock + 'static, V: Variant> Drop for ShardDriver<K, V> {
    fn drop(&mut self) {
        // A second driver may have set its own.
        self.shards.take_away(self.shard, &self.outside.alarm, &self.outside.clock);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
