//! A heap that fills the place of a removed timer with its last timer, and sifts that timer only
//! down. If that timer is earlier than its new parent, the heap loses its order. A heap of delays
//! in a widely used runtime had this fault in 2025. The suite finds the fault with the clause on
//! order.

use core::cell::Cell;

use tickwright_testkit::clauses::{self, Tools, Verdict};
use tickwright_testkit::subject::{Fired, Full, Make, Offers, Stale, Subject};

thread_local! {
    /// Whether the heaps that this thread makes from now on also sift up after a removal.
    static BOTH_WAYS: Cell<bool> = const { Cell::new(false) };
}

/// A binary heap of (expiry, arrival, value). All values differ, so they serve as keys.
struct OneWayHeap {
    heap: Vec<(u64, u64, u32)>,
    now: u64,
    arrivals: u64,
    both_ways: bool,
}

impl OneWayHeap {
    fn up(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, mut at: usize) {
        let first_child = |at| 2 * at + 1;
        while let Some(child) = (first_child(at)..first_child(at) + 2)
            .filter(|&child| child < self.heap.len())
            .min_by_key(|&child| self.heap[child])
            && self.heap[child] < self.heap[at]
        {
            self.heap.swap(at, child);
            at = child;
        }
    }

    fn take(&mut self, at: usize) -> (u64, u32) {
        let (expiry, _, value) = self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.down(at);
            if self.both_ways {
                self.up(at);
            }
        }
        (expiry, value)
    }
}

impl Subject for OneWayHeap {
    type Key = u32;

    fn now(&self) -> u64 {
        self.now
    }

    fn len(&self) -> usize {
        self.heap.len()
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(u32, bool), Full> {
        self.arrivals += 1;
        self.heap.push((deadline.max(self.now), self.arrivals, value));
        self.up(self.heap.len() - 1);
        Ok((value, self.heap[0].2 == value))
    }

    fn remove(&mut self, key: u32) -> Result<(u32, bool), Stale> {
        let at = self.heap.iter().position(|timer| timer.2 == key).ok_or(Stale)?;
        Ok((self.take(at).1, at == 0))
    }

    fn tell(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    fn pop_expired(&mut self, now: u64) -> Option<Fired> {
        self.tell(now);
        self.heap.first().filter(|timer| timer.0 <= self.now)?;
        let (expiry, value) = self.take(0);
        Some(Fired::new(value, expiry))
    }

    fn next_wake(&mut self) -> Option<u64> {
        self.heap.first().map(|timer| timer.0)
    }
}

struct Factory;

impl Make for Factory {
    type Arena = ();
    type Subject<'a> = OneWayHeap;
    const OFFERS: Offers =
        Offers { stale_keys: true, pop: true, tell: true, next_wake: true, ..Offers::NONE };
    const EXACT: bool = true;

    fn name() -> String {
        "a heap that sifts one way".into()
    }

    fn arena(_: usize) {}

    fn make((): &(), _: usize) -> OneWayHeap {
        OneWayHeap { heap: Vec::new(), now: 0, arrivals: 0, both_ways: BOTH_WAYS.get() }
    }
}

#[test]
fn a_heap_that_sifts_one_way_is_found_by_the_clause_on_order() {
    let verdict = || clauses::order::<Factory>(&Tools::default());
    assert!(verdict().is_broken(), "{}", verdict());
    BOTH_WAYS.set(true);
    assert_eq!(verdict(), Verdict::Kept);
}
