//! Checks the events of a schedule against the eight guarantees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::store::{Change, Store};
use super::world::MARGIN;
use crate::statement::{Answer, Cancelled, Firing, Statement, Waiting};

/// The number of a guarantee, and the event that broke it.
pub(crate) type Verdict = Result<(), (u8, String)>;

#[derive(Default)]
pub(crate) struct Judge {
    /// Due times by seq.
    dues: BTreeMap<i64, i64>,
    /// The seq with which the current life of an id began.
    born: BTreeMap<Arc<str>, i64>,
    /// Timers that were promised and whose delivery has not begun.
    promised: BTreeSet<i64>,
    /// Timers that need not begin, because they have begun, or were replaced or cancelled.
    settled: BTreeSet<i64>,
    /// (seq, fence, attempt) of each delivery.
    pairs: BTreeSet<(i64, i64, i64)>,
    /// The last claim of each seq: (fence, attempt).
    last: BTreeMap<i64, (i64, i64)>,
    /// Firings that the caller released: (seq, fence, attempt).
    released: BTreeSet<(i64, i64, i64)>,
    /// For each id, the seqs whose delivery must not begin.
    removed: BTreeMap<Arc<str>, Vec<(i64, i64)>>,
    /// Cancels that were committed but have not returned yet.
    cancels: BTreeMap<Arc<str>, (i64, i64)>,
    /// The time since which a seq waits, by the engine's clock.
    since: BTreeMap<i64, i64>,
    /// The longest time that a timer is allowed to wait now, or `None` while no guarantee holds.
    pub(crate) bound: Option<i64>,
    now: i64,
    /// The latest time that the engine's clock has shown. The clock may be set back.
    latest: i64,
    pub(crate) begun: u64,
    pub(crate) repeated: u64,
}

impl Judge {
    pub(crate) fn clock(&mut self, now: i64) {
        self.now = now;
        self.latest = self.latest.max(now);
    }

    /// Records a committed transaction. The shard's epoch is now `epoch`.
    pub(crate) fn committed(&mut self, changes: Vec<Change>, epoch: i64) -> Verdict {
        let mut seen = None;
        for change in changes {
            match change {
                Change::Put { old, row: Waiting { id, due, seq } } => {
                    self.waits_since(seq, due);
                    match old {
                        Some(old) => self.supersede(old),
                        None => drop(self.born.insert(id, seq)),
                    }
                }
                Change::Cancelled { id, seq, answer } => {
                    self.supersede(seq);
                    if answer == Cancelled::Removed {
                        let born = self.born.get(&id).copied().unwrap_or(0);
                        self.cancels.insert(id, (born, seq));
                    }
                }
                Change::Turn(Statement::Settle { epoch: by, .. } | Statement::Claim { epoch: by, .. }, _)
                    if by != epoch =>
                {
                    return Err((5, format!("epoch {by} wrote in epoch {epoch}")));
                }
                Change::Turn(Statement::Look, Answer::Shard(shard)) => seen = Some(shard),
                Change::Turn(Statement::Acquire { owner }, _) => {
                    let shard = seen.as_ref().expect("a turn looks first");
                    let early = shard.early.map_or(i64::MAX, |back| back + MARGIN);
                    if *shard.owner != *owner && shard.announced.lease.min(early) >= self.latest {
                        return Err((3, "a takeover before the end of the lease".into()));
                    }
                }
                Change::Turn(Statement::Settle { answers, .. }, Answer::Rows(rows)) => {
                    for Waiting { id, due, seq } in rows {
                        let old = answers.iter().find(|answer| answer.id == id).map(|answer| answer.seq);
                        self.waits_since(seq, due);
                        if let Some(old) = old.filter(|old| *old != seq) {
                            self.born.entry(id).or_insert(seq);
                            self.supersede(old);
                            self.promised.insert(seq);
                        }
                    }
                }
                Change::Turn(Statement::Orphan, Answer::Rows(rows)) => {
                    for Waiting { seq, .. } in rows {
                        self.since.insert(seq, self.now);
                    }
                }
                Change::Turn(_, Answer::Claimed(firings)) => {
                    for Firing { id, due, seq, fence, attempt, .. } in firings {
                        self.is_in_time(&Waiting { id, due, seq })?;
                        self.claimed(seq, (fence, attempt))?;
                    }
                }
                Change::Turn(..) => {}
            }
        }
        Ok(())
    }

    fn waits_since(&mut self, seq: i64, due: i64) {
        self.dues.insert(seq, due);
        self.since.insert(seq, self.now);
    }

    /// Checks that no timer that waits or was just claimed has waited for too long.
    pub(crate) fn is_in_time(&self, row: &Waiting) -> Verdict {
        let Waiting { id, due, seq } = row;
        let late = self.now - self.since.get(seq).map_or(*due, |since| *due.max(since));
        match self.bound {
            Some(bound) if late > bound => Err((6, format!("{id} waits {late} us after {due}"))),
            _ => Ok(()),
        }
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

    /// Records that an add or a replace returned.
    pub(crate) fn promised(&mut self, seq: i64) {
        if !self.settled.contains(&seq) {
            self.promised.insert(seq);
        }
    }

    /// Records that a cancel returned `Removed`.
    pub(crate) fn removed(&mut self, id: &Arc<str>) {
        if let Some(seqs) = self.cancels.remove(id) {
            self.removed.entry(id.clone()).or_default().push(seqs);
        }
    }

    pub(crate) fn released(&mut self, firing: &Firing) {
        self.released.insert((firing.seq, firing.fence, firing.attempt));
    }

    /// Records that a delivery begins in a process that, by its own knowledge, holds the firing.
    pub(crate) fn begins(&mut self, firing: &Firing, is_held: bool) -> Verdict {
        let Firing { id, seq, fence, attempt, .. } = firing;
        self.begun += 1;
        if !is_held {
            return Err((5, format!("{id} begins after its lease, which its process knows")));
        }
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

    /// Checks at the end that every timer was delivered and removed.
    pub(crate) fn end(&self, store: &mut Store<'_>) -> Verdict {
        if let Some(seq) = self.promised.first() {
            return Err((1, format!("seq {seq} never began")));
        }
        match store.left() {
            (Some((seq, id, state)), _) => {
                let guarantee = if self.last.contains_key(&seq) && state == 1 { 7 } else { 3 };
                Err((guarantee, format!("{id} stays in state {state}")))
            }
            (None, 0) => Ok(()),
            (None, early) => Err((7, format!("{early} early rows stay"))),
        }
    }
}
