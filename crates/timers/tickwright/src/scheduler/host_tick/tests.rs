//! While the host tick is the head, the alarm is set for the second timer in every structure. A
//! wrong structure, which returns the second cell of its array as the second timer, fails the test.

use core::time::Duration;

use tickwright_core::{Key, Pending, Tick, Violation};

use crate::scheduler::queue::Queue;
use crate::scheduler::table::Table;
use crate::scheduler::timer::Entry;
use crate::scheduler::{Settings, Site, Structure, TimerSet, Timing};
use crate::time::VirtualHost;

/// A binary heap that takes the second cell of its array for the second timer, as Xenomai did for
/// six years. A correct queue does all other operations.
struct SecondCell {
    truth: Box<dyn Queue>,
    cells: Vec<Key>,
}

impl SecondCell {
    fn push(&mut self, cell: Key) {
        self.cells.push(cell);
        let mut at = self.cells.len() - 1;
        while at > 0 && self.truth.expiry(self.cells[at]) < self.truth.expiry(self.cells[(at - 1) / 2]) {
            self.cells.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// Rebuilds the heap from the cells that are still pending.
    fn sweep(&mut self) {
        for cell in core::mem::take(&mut self.cells) {
            if self.truth.expiry(cell).is_some() {
                self.push(cell);
            }
        }
    }
}

/// Methods that call the correct queue.
macro_rules! truth {
    ($(fn $name:ident(&self $(, $arg:ident: $of:ty)*) $(-> $out:ty)?;)+) => {
        $(fn $name(&self $(, $arg: $of)*) $(-> $out)? { self.truth.$name($($arg),*) })+
    };
    (mut $(fn $name:ident($($arg:ident: $of:ty),*) $(-> $out:ty)?;)+) => {
        $(fn $name(&mut self $(, $arg: $of)*) $(-> $out)? {
            let answer = self.truth.$name($($arg),*);
            self.sweep();
            answer
        })+
    };
}

impl Queue for SecondCell {
    truth! {
        fn heap_bytes(&self) -> usize;
        fn get(&self, key: Key) -> Option<&Entry>;
        fn next_key(&self, from: usize) -> Option<Key>;
        fn len(&self) -> usize;
        fn idle(&self) -> usize;
        fn expiry(&self, key: Key) -> Option<Tick>;
        fn next_expiry(&self) -> Option<Tick>;
        fn next_wake(&self) -> Option<Tick>;
        fn peek(&self) -> Option<Pending<Key>>;
        fn fetch_head(&self, now: Tick) -> Option<Key>;
        fn check(&self) -> Result<(), Violation>;
    }

    truth! { mut
        fn insert_idle(entry: Entry) -> Option<Key>;
        fn remove(key: Key) -> bool;
        fn disarm(key: Key);
        fn pop(now: Tick, moves: &mut usize) -> Option<(Key, Tick)>;
        fn update_now(now: Tick);
        fn reserve(additional: usize) -> Option<()>;
    }

    fn get_mut(&mut self, key: Key) -> Option<&mut Entry> {
        self.truth.get_mut(key)
    }

    fn insert(&mut self, deadline: Tick, entry: Entry) -> Option<Key> {
        let key = self.truth.insert(deadline, entry)?;
        self.push(key);
        Some(key)
    }

    fn arm(&mut self, key: Key, deadline: Tick) {
        self.cells.retain(|&cell| cell != key);
        self.truth.arm(key, deadline);
        self.push(key);
        self.sweep();
    }

    fn second(&self) -> Option<Pending<Key>> {
        let &key = self.cells.get(1)?;
        Some(Pending { key, expiry: self.expiry(key)? })
    }
}

/// Checks every order of the delays. The first delay is the host tick's. While urgent work runs,
/// the alarm must be set for the earliest other timer.
fn programs_the_second(make: &dyn Fn() -> TimerSet<()>, delays: [u64; 4]) -> Result<(), String> {
    let mut order = [0, 1, 2, 3];
    // Visits all 24 permutations, with Heap's algorithm without recursion.
    let (mut turns, mut at) = ([0; 4], 0);
    loop {
        let mut set = make();
        for which in order {
            let timing = Timing::after(Duration::from_millis(delays[which]));
            let id = set.add(timing, &Site::here("x"), ()).unwrap();
            if which == 0 {
                set.set_host(id).unwrap();
            }
        }
        // A second queue without the host tick gives the expected wake-up, because each wheel is
        // late by a different time.
        let mut without = make();
        for which in order.into_iter().filter(|which| *which > 0) {
            without.add(Timing::after(Duration::from_millis(delays[which])), &Site::here("x"), ()).unwrap();
        }
        set.begin_urgent();
        if set.next_wake() != without.next_wake() {
            return Err(format!("{order:?}: {:?}, not {:?}", set.next_wake(), without.next_wake()));
        }
        set.end_urgent();
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

/// In the first case, the order of the inserts decides whether the smaller child of a heap is the
/// left one or the right one. The other cases have equal delays, or a host tick that is not the
/// head of the queue.
const DELAYS: [[u64; 4]; 4] = [[10, 20, 30, 40], [10, 10, 20, 30], [30, 20, 20, 20], [20, 10, 40, 30]];

#[test]
fn the_second_is_the_second_in_every_structure() {
    for structure in Structure::all() {
        let machine = VirtualHost::new();
        let make = || TimerSet::new(Settings::new().clock(machine.monotonic()).structure(structure));
        for delays in DELAYS {
            assert_eq!(programs_the_second(&make, delays), Ok(()), "{structure} {delays:?}");
        }
    }
}

#[test]
fn the_second_cell_of_an_array_is_found_out() {
    let machine = VirtualHost::new();
    let make = || {
        let heap2 = "heap2".parse::<Structure>().unwrap();
        let mut set = TimerSet::new(Settings::new().clock(machine.monotonic()).structure(heap2));
        let truth = heap2.build().unwrap();
        set.table = Table::new(Box::new(SecondCell { truth, cells: Vec::new() }));
        set
    };
    let found = programs_the_second(&make, DELAYS[0]);
    assert!(
        found.is_err_and(|what| what.contains("Some(Instant(30000000 ns)), not Some(Instant(20000000 ns))"))
    );
}
