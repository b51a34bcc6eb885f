//! Reads what happened, and knows the eight guarantees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tickwright_durable::{Cancelled, Firing};

use super::store::{Change, Tables};

/// A guarantee by its number, and what broke it.
pub(crate) type Verdict = Result<(), (u8, String)>;

#[derive(Default)]
pub(crate) struct Judge {
    /// Due times by seq.
    dues: BTreeMap<i64, i64>,
    /// Where the present life of an id began.
    born: BTreeMap<Arc<str>, i64>,
    /// What was promised and has not begun.
    promised: BTreeSet<i64>,
    /// What has begun, or was replaced or cancelled: it need not begin.
    settled: BTreeSet<i64>,
    /// (seq, fence, attempt) of each delivery.
    pairs: BTreeSet<(i64, i64, i64)>,
    /// The last claim of each seq: (fence, attempt).
    last: BTreeMap<i64, (i64, i64)>,
    /// What the caller released: (seq, fence, attempt).
    released: BTreeSet<(i64, i64, i64)>,
    /// For an id: seqs of which no delivery may begin.
    removed: BTreeMap<Arc<str>, Vec<(i64, i64)>>,
    /// Cancels that were committed, until they return.
    cancels: BTreeMap<Arc<str>, (i64, i64)>,
    /// The latest time that the engine's clock has shown.
    latest: i64,
    pub(crate) begun: u64,
    pub(crate) repeated: u64,
}

impl Judge {
    pub(crate) fn clock(&mut self, now: i64) {
        self.latest = self.latest.max(now);
    }

    pub(crate) fn committed(&mut self, changes: Vec<Change>, epoch: i64) -> Verdict {
        for change in changes {
            match change {
                Change::Added { id, seq, due } => {
                    self.dues.insert(seq, due);
                    self.born.insert(id, seq);
                }
                Change::Replaced { old, seq, due } => {
                    self.dues.insert(seq, due);
                    self.supersede(old);
                }
                Change::Again { old, id, seq, due } => {
                    self.dues.insert(seq, due);
                    self.born.entry(id).or_insert(seq);
                    self.supersede(old);
                    self.promised.insert(seq);
                }
                Change::Cancelled { id, seq, answer } => {
                    self.supersede(seq);
                    if answer == Cancelled::Removed {
                        let born = self.born.get(&id).copied().unwrap_or(0);
                        self.cancels.insert(id, (born, seq));
                    }
                }
                Change::ByOwner { epoch: by } if by != epoch => {
                    return Err((5, format!("epoch {by} wrote in epoch {epoch}")));
                }
                Change::ByOwner { .. } => {}
                Change::Claimed { seq, fence, attempt } => self.claimed(seq, (fence, attempt))?,
                Change::Acquired { was_over } if !was_over => {
                    return Err((3, "a takeover before the end of the lease".into()));
                }
                Change::Acquired { .. } => {}
            }
        }
        Ok(())
    }

    fn claimed(&mut self, seq: i64, pair: (i64, i64)) -> Verdict {
        let Some(last) = self.last.insert(seq, pair) else { return Ok(()) };
        self.repeated += 1;
        if last >= pair {
            return Err((3, format!("seq {seq}: claim {pair:?} after {last:?}")));
        }
        if last.0 == pair.0 && !self.released.contains(&(seq, last.0, last.1)) {
            return Err((3, format!("seq {seq} repeats within epoch {}", pair.0)));
        }
        Ok(())
    }

    fn supersede(&mut self, seq: i64) {
        self.settled.insert(seq);
        self.promised.remove(&seq);
    }

    /// An add or a replace returned.
    pub(crate) fn promised(&mut self, seq: i64) {
        if !self.settled.contains(&seq) {
            self.promised.insert(seq);
        }
    }

    /// A cancel returned `Removed`.
    pub(crate) fn removed(&mut self, id: &Arc<str>) {
        if let Some(seqs) = self.cancels.remove(id) {
            self.removed.entry(id.clone()).or_default().push(seqs);
        }
    }

    pub(crate) fn released(&mut self, firing: &Firing) {
        self.released.insert((firing.seq, firing.fence, firing.attempt));
    }

    /// A delivery begins.
    pub(crate) fn begins(&mut self, firing: &Firing) -> Verdict {
        let Firing { id, seq, fence, attempt, .. } = firing;
        self.begun += 1;
        let due = self.dues.get(seq).copied().unwrap_or(firing.due);
        if self.latest < due {
            return Err((2, format!("{id} is {} us early", due - self.latest)));
        }
        if !self.pairs.insert((*seq, *fence, *attempt)) {
            return Err((3, format!("{id}: {:?} begins twice", (fence, attempt))));
        }
        if self.removed.get(id).is_some_and(|seqs| seqs.iter().any(|(a, b)| (a..=b).contains(&seq))) {
            return Err((4, format!("{id} begins after Removed")));
        }
        self.supersede(*seq);
        Ok(())
    }

    /// What waits has not waited for too long.
    pub(crate) fn waits(&self, tables: &Tables, now: i64, bound: i64) -> Verdict {
        for (id, row) in &tables.timers {
            let late = now - row.due.max(row.since);
            if !row.is_running && late > bound {
                return Err((6, format!("{id} waits {late} us after {}", row.due)));
            }
        }
        Ok(())
    }

    /// The end: everything is delivered and gone.
    pub(crate) fn end(&self, tables: &Tables) -> Verdict {
        if let Some(seq) = self.promised.first() {
            return Err((1, format!("seq {seq} never began")));
        }
        if let Some((id, row)) = tables.timers.first_key_value() {
            let guarantee = if self.last.contains_key(&row.seq) && row.is_running { 7 } else { 3 };
            return Err((guarantee, format!("{id} stays: {row:?}")));
        }
        if !tables.early.is_empty() {
            return Err((7, format!("early rows stay: {:?}", tables.early)));
        }
        Ok(())
    }
}
