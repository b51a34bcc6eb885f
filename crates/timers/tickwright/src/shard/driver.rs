//! A thread that advances a shard. `time/driver_thread.rs` has its loop.

use std::io;
use std::sync::Weak;

use super::{Linux, Shards, WheelGeometry};
use crate::sync::Arc;
use crate::time::{Alarm, Clock, DriverPanicked, DriverThread, Parker, Ticks};

/// A thread that sleeps until a timer is due on a shard, and runs the shard's callbacks. Each shard
/// needs its own driver.
///
/// Each call that arms a timer reads the clock, so a delay counts from the time of the call however
/// long the driver sleeps. A re-arm in the same bucket can read a
/// [`SystemClock`](crate::time::SystemClock) without the lock. With another clock the re-arm takes
/// the lock, unless the caller passes the time to
/// [`SharedTimer::modify_at`](crate::shard::SharedTimer::modify_at).
///
/// The driver sets the shard's clock, alarm and length of a tick, and keeps the shards alive. When
/// the driver is dropped, it removes the clock and the alarm from the shard, but not the length of
/// the tick. It catches and reports panics of callbacks. If a callback panics, the remaining due
/// timers still fire at once.
///
/// ```
/// use core::time::Duration;
/// use std::sync::Arc;
/// use tickwright::shard::{ShardDriver, Shards};
/// use tickwright::time::{Clock, Ticks, VirtualHost};
///
/// let host = VirtualHost::new();
/// let shards = Arc::new(Shards::new(1));
/// let driver = ShardDriver::spawn(&shards, 0, host.monotonic(), Ticks::MILLISECOND)?;
/// let timer = shards.shard(0)?.timer(|firing| println!("at {} ms", firing.now()));
///
/// // In 20.5 ms: rounded up.
/// let at = host.monotonic().now() + Duration::from_micros(20_500);
/// timer.modify(driver.ticks().deadline(at))?;
/// host.advance(Duration::from_millis(21));
/// driver.settle();
/// assert!(timer.is_pending(), "its bucket ends later");
/// host.advance(Duration::from_millis(1));
/// driver.settle();
/// assert!(!timer.is_pending());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardDriver<K: Clock + 'static, G: WheelGeometry = Linux> {
    shards: Arc<Shards<G>>,
    shard: usize,
    ticks: Ticks,
    thread: DriverThread<K>,
    /// The alarm that this driver has set for the shard. The next field is the clock that it has
    /// set. Both can have been replaced since then.
    alarm: Weak<dyn Alarm>,
    clock: Weak<dyn Clock>,
}

impl<K: Clock + Clone + 'static, G: WheelGeometry> ShardDriver<K, G> {
    /// Starts the thread for a shard. `ticks` is the length of a tick, and tick 0 begins at the
    /// clock's origin. Start only one driver for each shard, because a second driver replaces the
    /// alarm of the first. A timer keeps its deadline in ticks when it moves to another shard, so
    /// use the same length of ticks for all shards.
    ///
    /// # Errors
    /// An error of kind `InvalidInput`, with [`NoSuchShard`](crate::shard::NoSuchShard), if there
    /// is no such shard. The error of the operating system if it cannot start a thread.
    pub fn spawn(shards: &Arc<Shards<G>>, shard: usize, clock: K, ticks: Ticks) -> io::Result<Self> {
        let number = shard;
        let shard = shards.shard(number).map_err(|no| io::Error::new(io::ErrorKind::InvalidInput, no))?;
        let parker = Parker::new(clock.clone());
        let run = {
            let (shards, parker) = (Arc::clone(shards), Arc::clone(&parker));
            move || {
                let now = ticks.now(parker.clock().now());
                // If the shard is busy, another pass is in progress, and its end sets the alarm.
                let _ = shards.shard(number).map(|shard| shard.advance_within(now, usize::MAX));
            }
        };
        let thread = DriverThread::spawn(&format!("shard {number}"), Arc::clone(&parker), run)?;
        let (alarm, clock): (Arc<dyn Alarm>, Arc<dyn Clock>) = (parker, Arc::new(clock));
        let (of_alarm, of_clock) = (Arc::downgrade(&alarm), Arc::downgrade(&clock));
        shard.set_clock(clock, ticks);
        shard.set_alarm(Some(alarm));
        let shards = Arc::clone(shards);
        Ok(Self { shards, shard: number, ticks, thread, alarm: of_alarm, clock: of_clock })
    }
}

impl<K: Clock + 'static, G: WheelGeometry> ShardDriver<K, G> {
    /// Returns the shards.
    pub fn shards(&self) -> &Arc<Shards<G>> {
        &self.shards
    }

    /// Returns the number of the driver's shard.
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// Returns the length of a tick of the driver's shard.
    pub fn ticks(&self) -> Ticks {
        self.ticks
    }

    /// Returns the driver's thread, which reports its runs, wake-ups and panics.
    pub fn thread(&self) -> &DriverThread<K> {
        &self.thread
    }

    /// Waits until every due timer has fired. See [`Parker::settle`].
    pub fn settle(&self) -> bool {
        self.thread.settle()
    }

    /// Stops the thread and waits until it has ended, unless the caller is that thread. Pending
    /// timers stay pending.
    ///
    /// # Errors
    /// [`DriverPanicked`], with the number of panics, if a callback panicked.
    pub fn stop(mut self) -> Result<(), DriverPanicked> {
        self.thread.end()
    }
}

impl<K: Clock + 'static, G: WheelGeometry> Drop for ShardDriver<K, G> {
    fn drop(&mut self) {
        // If a second driver has set another alarm and clock, the shard keeps them.
        let _ = self.shards.shard(self.shard).map(|shard| shard.take_away(&self.alarm, &self.clock));
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
