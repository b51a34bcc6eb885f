//! Advancing a shard: one due timer after the other is taken under the lock, and fired without it.

use core::fmt;

use tickwright_core::{Advance, Tick};

use super::base::{Base, Taken};
use super::timer::{Firing, SharedTimer};
use super::variant::Variant;
use crate::sync::{lock, this_thread};

/// Why a shard was not advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdvanceError {
    /// A pass over it is under way, on another thread or in the caller's own callback.
    Busy,
    /// There is no shard of that number.
    NoSuchShard,
}

impl fmt::Display for AdvanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => {
                "the shard is being advanced already: leave it to that pass, or advance again after it"
            }
            Self::NoSuchShard => "there is no shard of that number: they count from 0 to Shards::len() - 1",
        })
    }
}

impl core::error::Error for AdvanceError {}

/// What a pass has in hand. Dropped by a panic it leaves a shard that can be used: the callback has ended, the next advance
/// fires what is left.
struct Pass<'a, V: Variant> {
    base: &'a Base<V>,
    shard: usize,
    now: Tick,
    /// Fires now. The shard names it as running, so it must live.
    current: Option<SharedTimer<V>>,
    /// Has fired. Let go of with no lock held, and with no taken timer before its callback: it may be the last handle, and then its
    /// callback's own drop runs.
    previous: Option<SharedTimer<V>>,
    /// A callback runs, with no lock held: only then there is something to end.
    unlocked: bool,
}

impl<V: Variant> Pass<'_, V> {
    fn fire(&mut self, Taken { timer, deadline, expiry }: Taken<V>) {
        let timer = self.current.insert(timer);
        timer.node.callback.fire(&Firing { timer, deadline, expiry, now: self.now, shard: self.shard });
        self.previous = None;
    }
}

impl<V: Variant> Drop for Pass<'_, V> {
    fn drop(&mut self) {
        if self.unlocked {
            let mut state = lock(&self.base.state);
            if let Some(timer) = &self.current {
                state.finish(self.base, &timer.node);
            }
            state.expiring = false;
            state.ring_anew();
        }
    }
}

/// Moves the clock of a shard and fires what is due, at most `budget` timers fired or moved.
pub(super) fn advance<V: Variant>(
    base: &Base<V>,
    shard: usize,
    now: Tick,
    budget: usize,
) -> Result<Advance, AdvanceError> {
    let mut state = lock(&base.state);
    if state.expiring {
        return Err(AdvanceError::Busy);
    }
    state.forward(base, now);
    let now = state.now;
    let (mut left, mut delivered) = (budget, 0);
    let mut pass = Pass { base, shard, now, current: None, previous: None, unlocked: false };
    let thread = this_thread();
    // At the end of time there is no next tick to leave at: there a pass ends with as many as it began with.
    let most = if now == Tick::MAX { state.len() } else { usize::MAX };
    while delivered < most
        && let Some(taken) = state.take(&mut left, thread)
    {
        left -= 1;
        delivered += 1;
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
    let complete = state.is_done();
    state.ring_anew();
    drop(state);
    Ok(Advance { delivered, moved: budget - left - delivered, complete })
}
