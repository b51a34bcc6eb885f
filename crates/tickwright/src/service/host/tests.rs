//! The alarm is set for the second timer: by whichever structure, and not by its array.

use core::time::Duration;

use tickwright_core::{HeadChange, Inserted, Key, Pending, Reject, Tick, Violation};

use crate::clock::VirtualHost;
use crate::service::structure::Queue;
use crate::service::{Service, Settings, Site, Structure, Timing};

/// A binary heap whose "second" is the second cell of its array, as it was in Xenomai for six
/// years. What it is asked else, a true queue answers.
struct SecondCell {
    truth: Box<dyn Queue>,
    cells: Vec<Pending<Key>>,
}

impl SecondCell {
    fn push(&mut self, cell: Pending<Key>) {
        self.cells.push(cell);
        let mut at = self.cells.len() - 1;
        while at > 0 && self.cells[at].expiry < self.cells[(at - 1) / 2].expiry {
            self.cells.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// Those that are pending still, heaped anew.
    fn sweep(&mut self) {
        for cell in core::mem::take(&mut self.cells) {
            if let Some(expiry) = self.truth.expiry(cell.key) {
                self.push(Pending { expiry, ..cell });
            }
        }
    }
}

impl Queue for SecondCell {
    fn insert(&mut self, deadline: Tick, slot: u32) -> Result<Inserted<Key>, Reject> {
        let inserted = self.truth.insert(deadline, slot)?;
        self.push(Pending { key: inserted.key, expiry: deadline });
        Ok(inserted)
    }

    fn remove(&mut self, key: Key) -> bool {
        let was = self.truth.remove(key);
        self.sweep();
        was
    }

    fn reschedule(&mut self, key: Key, deadline: Tick) -> HeadChange {
        let change = self.truth.reschedule(key, deadline);
        self.sweep();
        change
    }

    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(u32, Tick)> {
        let popped = self.truth.pop(now, moves);
        self.sweep();
        popped
    }

    fn touch(&mut self, now: Tick) {
        self.truth.touch(now);
    }

    fn next_expiry(&self) -> Option<Tick> {
        self.truth.next_expiry()
    }

    fn next_wake(&self) -> Option<Tick> {
        self.truth.next_wake()
    }

    fn peek(&self) -> Option<Pending<Key>> {
        self.truth.peek()
    }

    fn second(&self) -> Option<Pending<Key>> {
        self.cells.get(1).copied()
    }

    fn expiry(&self, key: Key) -> Option<Tick> {
        self.truth.expiry(key)
    }

    fn len(&self) -> usize {
        self.truth.len()
    }

    fn clear(&mut self) {
        self.truth.clear();
        self.cells.clear();
    }

    fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        self.truth.reserve(additional)
    }

    fn heap_bytes(&self) -> usize {
        self.truth.heap_bytes()
    }

    fn check(&self) -> Result<(), Violation> {
        self.truth.check()
    }
}

/// Every order of the delays: the first is the host's, and while urgent work runs the alarm is for
/// the earliest of the rest.
fn programs_the_second(make: &dyn Fn() -> Service<()>, delays: [u64; 4]) -> Result<(), String> {
    let mut order = [0, 1, 2, 3];
    // All 24, by Heap's method without recursion.
    let (mut turns, mut at) = ([0; 4], 0);
    loop {
        let mut service = make();
        for which in order {
            let timing = Timing::after(Duration::from_millis(delays[which]));
            let id = service.add(timing, &Site::here("x"), which, ()).unwrap();
            if which == 0 {
                service.set_host(id).unwrap();
            }
        }
        // What the second is, a queue without the host says: wheels may be late, each in its own
        // way.
        let mut without = make();
        for which in order.into_iter().filter(|which| *which > 0) {
            without
                .add(Timing::after(Duration::from_millis(delays[which])), &Site::here("x"), 0, ())
                .unwrap();
        }
        service.begin_urgent();
        if service.next_wake() != without.next_wake() {
            return Err(format!("{order:?}: {:?}, not {:?}", service.next_wake(), without.next_wake()));
        }
        service.end_urgent();
        while at < 4 && turns[at] >= at {
            turns[at] = 0;
            at += 1;
        }
        if at == 4 {
            return Ok(());
        }
        order.swap(if at % 2 == 0 { 0 } else { turns[at] }, at);
        turns[at] += 1;
        at = 0;
    }
}

/// One where the smaller child is in the left cell or the right, equals, and one where the host
/// does not head the queue.
const DELAYS: [[u64; 4]; 4] = [[10, 20, 30, 40], [10, 10, 20, 30], [30, 20, 20, 20], [20, 10, 40, 30]];

#[test]
fn the_second_is_the_second_in_every_structure() {
    for structure in Structure::all() {
        let machine = VirtualHost::new();
        let make = || Service::new(Settings::new().clock(machine.monotonic()).structure(structure));
        for delays in DELAYS {
            assert_eq!(programs_the_second(&make, delays), Ok(()), "{structure} {delays:?}");
        }
    }
}

#[test]
fn the_second_cell_of_an_array_is_found_out() {
    let machine = VirtualHost::new();
    let make = || {
        let mut service = Service::new(
            Settings::new().clock(machine.monotonic()).structure("heap2".parse::<Structure>().unwrap()),
        );
        let truth = core::mem::replace(&mut service.queue, Structure::default().build().unwrap());
        service.queue = Box::new(SecondCell { truth, cells: Vec::new() });
        service
    };
    let found = programs_the_second(&make, DELAYS[0]);
    assert!(found.is_err_and(|what| what.contains("Some(30000000), not Some(20000000)")));
}
