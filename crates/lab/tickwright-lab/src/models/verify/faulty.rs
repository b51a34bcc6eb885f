//! The oracle with one mistake. Tests use this oracle to check the code that judges structures.

use super::oracle::Oracle;
use crate::structures::candidate::{BenchQueue, Timed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// A removed timer stays pending.
    KeepsRemoved,
    /// The first insert is forgotten.
    LosesFirst,
    /// A moved timer keeps its deadline.
    IgnoresMoves,
    /// The first delivery names another timer. All later answers are right.
    MisnamesFirst,
    /// The queue asks to be woken five ticks early, once for each head.
    WakesEarly,
    /// Deadlines are rounded up to multiples of eight. A granular structure is allowed to round
    /// deadlines up.
    Eights,
}

pub(crate) struct Faulty {
    oracle: Oracle,
    fault: Fault,
    has_inserted: bool,
    has_delivered: bool,
    /// The tick up to which the queue was advanced.
    now: u64,
}

impl Faulty {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { oracle: Oracle::default(), fault, has_inserted: false, has_delivered: false, now: 0 }
    }

    fn deadline(&self, deadline: u64) -> u64 {
        if self.fault == Fault::Eights { deadline.next_multiple_of(8) } else { deadline }
    }
}

impl Timed for Faulty {}

impl BenchQueue for Faulty {
    fn insert(&mut self, id: u32, deadline: u64) {
        if self.has_inserted || self.fault != Fault::LosesFirst {
            self.oracle.insert(id, self.deadline(deadline));
        }
        self.has_inserted = true;
    }

    fn remove(&mut self, id: u32) {
        if self.fault != Fault::KeepsRemoved {
            self.oracle.remove(id);
        }
    }

    fn reschedule(&mut self, id: u32, deadline: u64) {
        if self.fault != Fault::IgnoresMoves {
            self.oracle.reschedule(id, self.deadline(deadline));
        }
    }

    fn head(&mut self) -> Option<u64> {
        self.oracle.head()
    }

    fn second(&mut self) -> Option<u64> {
        self.oracle.second()
    }

    fn wake(&mut self) -> Option<u64> {
        let head = self.oracle.head()?;
        let early = head.saturating_sub(5);
        Some(if self.fault == Fault::WakesEarly && early > self.now { early } else { head })
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.now = now;
        let (id, expiry) = self.oracle.pop_expired(now)?;
        let misnames = self.fault == Fault::MisnamesFirst && !self.has_delivered;
        self.has_delivered = true;
        Some((if misnames { id + 1 } else { id }, expiry))
    }
}
