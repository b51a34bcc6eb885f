//! Advances a shard: takes each due timer under the lock, and runs its callback without the lock.

use tickwright_core::{Advance, Tick};
use tickwright_nodes::error_texts;

use super::geometry::WheelGeometry;
use super::node::{Base, Locked, SharedFiring, SharedTimer, Taken};
use crate::sync::{lock, this_thread};

/// The text of [`Busy`].
pub(super) const BUSY: &str =
    "the shard is being advanced already: leave it to that pass, or try again after it";

/// The error that a pass over the shard is already in progress, either on another thread or around
/// the callback that makes the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Busy;

error_texts! { Busy: Self => BUSY }

/// The state of a pass in progress. If a callback panics, the drop of this value ends the callback.
/// The shard stays usable, and the next advance fires the other due timers.
struct Pass<'a, G: WheelGeometry> {
    base: &'a Base<G>,
    shard: usize,
    now: Tick,
    /// The timer that fires now. The shard has a pointer to it as its running timer, so it must
    /// stay alive.
    current: Option<SharedTimer<G>>,
    /// The timer that fired last. If this is its last handle, dropping the handle drops the
    /// callback, which runs user code. Therefore the handle is dropped with no lock held, and never
    /// between taking a timer and running its callback.
    previous: Option<SharedTimer<G>>,
    /// The expiry of the timers that fired last, and how many of them are not counted yet. They
    /// are counted together, because most timers of a pass have the same expiry.
    batch: (Tick, u64),
    /// Whether a callback is running, with no lock held. Only in this case, the drop of this value
    /// ends a callback.
    unlocked: bool,
}

impl<G: WheelGeometry> Pass<'_, G> {
    fn fire(&mut self, Taken { timer, deadline, expiry }: Taken<G>) {
        let timer = self.current.insert(timer);
        (timer.node.callback)(&SharedFiring { timer, deadline, expiry, now: self.now, shard: self.shard });
        self.previous = None;
    }

    /// Counts the timers of the batch, with their lateness.
    #[inline(never)]
    fn count_batch(&mut self, state: &mut Locked<G>) {
        let (expiry, timers) = core::mem::replace(&mut self.batch, (self.now, 0));
        let late_ns = (self.now - expiry).saturating_mul(state.outside.ticks.nanoseconds());
        state.statistics.lateness.note_all(late_ns, timers);
    }
}

impl<G: WheelGeometry> Drop for Pass<'_, G> {
    fn drop(&mut self) {
        if self.unlocked {
            let mut state = lock(&self.base.state);
            self.count_batch(&mut state);
            if let Some(timer) = &self.current {
                state.finish(self.base, &timer.node);
            }
            state.expiring = false;
            state.set_alarm();
        }
    }
}

/// Advances the clock of a shard and fires due timers. It fires or moves at most `budget` timers.
///
/// The time of the pass is fixed. Arms during the pass can advance the shard's clock further.
/// Timers that become due at such a later time are left to the next pass.
pub(super) fn advance<G: WheelGeometry>(
    base: &Base<G>,
    shard: usize,
    now: Tick,
    budget: usize,
) -> Result<Advance, Busy> {
    let mut state = lock(&base.state);
    if state.expiring {
        return Err(Busy);
    }
    state.forward(base, now);
    let now = state.now;
    let (mut left, mut delivered) = (budget, 0);
    let batch = (now, 0);
    let mut pass = Pass { base, shard, now, current: None, previous: None, batch, unlocked: false };
    let thread = this_thread();
    // No tick follows `Tick::MAX`, so timers that are armed during a pass at that tick cannot be
    // left to a later tick. Therefore at `Tick::MAX` a pass fires at most as many timers as were
    // pending when it began.
    let most = if now == Tick::MAX { state.len() } else { usize::MAX };
    while delivered < most
        && let Some(taken) = state.take(now, &mut left, thread)
    {
        left -= 1;
        delivered += 1;
        if taken.expiry != pass.batch.0 {
            pass.count_batch(&mut state);
            pass.batch.0 = taken.expiry;
        }
        pass.batch.1 += 1;
        state.expiring = true;
        drop(state);
        pass.unlocked = true;
        pass.fire(taken);
        state = lock(&base.state);
        pass.unlocked = false;
        if let Some(timer) = pass.current.take() {
            state.finish(base, &timer.node);
            pass.previous = Some(timer);
        }
    }
    state.expiring = false;
    pass.count_batch(&mut state);
    let complete = state.is_done(now);
    state.set_alarm();
    drop(state);
    Ok(Advance { delivered, moved: budget - left - delivered, complete })
}
