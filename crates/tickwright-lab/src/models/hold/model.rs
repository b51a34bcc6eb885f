//! The timed loops.

use core::hint::black_box;

use crate::models::verify::Witness;
use crate::structures::candidate::BenchQueue;

/// As a driver does it: ask when, wait (not here), take what is due, arm it anew.
#[inline(never)]
pub(crate) fn hold<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop() else { break };
        witness.delivered(id, expiry, expiry);
        queue.insert(id, expiry.saturating_add(*delay));
    }
}

/// The same in one step.
#[inline(never)]
pub(crate) fn rearm<Q: BenchQueue, W: Witness>(queue: &mut Q, delays: &[u64], witness: &mut W) {
    for delay in delays {
        let Some((id, expiry)) = queue.pop_and_reinsert(*delay) else { break };
        witness.delivered(id, expiry, expiry);
    }
}

/// The head alone.
#[inline(never)]
pub(crate) fn head<Q: BenchQueue, W: Witness>(queue: &mut Q, count: usize, witness: &mut W) {
    for _ in 0..count {
        // Opaque, or the compiler would ask once.
        let head = black_box(&mut *queue).head();
        witness.read(head);
    }
}
