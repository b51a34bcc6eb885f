//! A wrong queue fails the run, and the error names the first wrong event.

use super::*;
use crate::structures::baseline::btree_map::StdBTreeMap;
use crate::structures::candidate::{BenchQueue, Candidate, Timed};

const LOSES: u8 = 0;
const EARLY: u8 = 1;
const DISORDER: u8 = 2;
const TWICE: u8 = 3;
const UNKNOWN: u8 = 4;
const WRONG_SECOND: u8 = 5;
const FORGETS_STOP: u8 = 6;

/// A queue that uses the standard library's map, with one fault at the 500th call of the faulty
/// operation.
struct Faulty<const FAULT: u8> {
    right: StdBTreeMap,
    calls: u32,
}

impl<const FAULT: u8> Faulty<FAULT> {
    fn now_wrong(&mut self, fault: u8) -> bool {
        self.calls += u32::from(FAULT == fault);
        FAULT == fault && self.calls == 500
    }
}

impl<const FAULT: u8> Candidate for Faulty<FAULT> {
    type Arena = ();
    type Queue<'a> = Self;

    fn arena(_: usize) {}

    fn queue((): &(), capacity: usize) -> Self {
        Self { right: StdBTreeMap::queue(&(), capacity), calls: 0 }
    }
}

impl<const FAULT: u8> Timed for Faulty<FAULT> {}

impl<const FAULT: u8> BenchQueue for Faulty<FAULT> {
    fn insert(&mut self, id: u32, deadline: u64) {
        // Filling the queue makes the first 501 inserts.
        if self.now_wrong(LOSES) {
            return;
        }
        self.right.insert(id, deadline);
    }

    fn remove(&mut self, id: u32) {
        if !self.now_wrong(FORGETS_STOP) {
            self.right.remove(id);
        }
    }

    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.right.reschedule(id, deadline);
    }

    fn head(&mut self) -> Option<u64> {
        self.right.head()
    }

    fn look_at_head(&mut self) -> Option<u64> {
        if self.now_wrong(EARLY) { Some(0) } else { self.right.head() }
    }

    fn second(&mut self) -> Option<u64> {
        let second = self.right.second();
        if FAULT == WRONG_SECOND { second.map(|expiry| expiry + 1) } else { second }
    }

    fn take_head(&mut self, now: u64) -> Option<(u32, u64)> {
        let wrong = [DISORDER, TWICE, UNKNOWN].into_iter().any(|fault| self.now_wrong(fault));
        match FAULT {
            EARLY if self.calls == 500 => self.right.pop(),
            DISORDER if wrong => {
                let first = self.right.pop()?;
                let later = self.right.pop();
                self.right.insert(first.0, first.1);
                later
            }
            TWICE if wrong => {
                let (id, expiry) = self.right.pop()?;
                self.right.insert(1000 - id, expiry);
                Some((id, expiry))
            }
            UNKNOWN if wrong => self.right.pop().map(|(_, expiry)| (5000, expiry)),
            _ => self.right.pop_expired(now),
        }
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.right.pop_expired(now)
    }
}

fn first_difference<const FAULT: u8>() -> String {
    let (_, _, verdict) = judged::<Faulty<FAULT>, _>(SECOND, &mut Virtual::default());
    verdict.expect_err("the queue is wrong").to_string()
}

#[test]
fn each_fault_is_named() {
    for (difference, words) in [
        (first_difference::<LOSES>(), "expected the head due at"),
        (first_difference::<EARLY>(), "expected nothing due by"),
        (first_difference::<DISORDER>(), "found timer"),
        (first_difference::<TWICE>(), "expected"),
        (first_difference::<UNKNOWN>(), "found timer 5000"),
        (first_difference::<WRONG_SECOND>(), "expected the second due at"),
        (first_difference::<FORGETS_STOP>(), "expected"),
    ] {
        assert!(difference.contains(words), "{words}: {difference}");
    }
}

/// A machine whose 100th wake-up is 100 ms late.
#[derive(Default)]
struct Stalling {
    on_time: Virtual,
    wakes: u32,
}

impl Machine for Stalling {
    fn start(&mut self, now: u64) {
        self.on_time.start(now);
    }

    fn now(&mut self) -> u64 {
        self.on_time.now()
    }

    fn sleep_until(&mut self, tick: u64) {
        self.wakes += 1;
        self.on_time.sleep_until(if self.wakes == 100 { tick + SECOND / 10 } else { tick });
    }
}

#[test]
fn overruns_are_the_whole_periods_missed() {
    let (slice, events, verdict) = judged::<StdBTreeMap, _>(SECOND, &mut Stalling::default());
    let verified = verdict.expect("a late machine is not a wrong queue");
    assert!(slice.agrees_with(&verified));
    // In a gap of 100 ms, each of 500 timers passes 2.4 points of its grid on average but ticks
    // only once, and the host tick passes 42 points.
    assert!((650..900).contains(&verified.overruns), "{}", verified.overruns);

    let work = Workload::new(&params());
    let missed = events.iter().position(|event| matches!(event, Event::Ticked { overruns: 1.., .. }));
    let mut tampered = events.clone();
    if let Event::Ticked { overruns, .. } = &mut tampered[missed.expect("some were missed")] {
        *overruns -= 1;
    }
    let difference = Oracle::filled(&work, Ties::Fifo).verify(&tampered).expect_err("one is missing");
    assert_eq!(Some(difference.event), missed);
    assert!(difference.to_string().contains("overruns of timer"), "{difference}");
}

#[test]
fn a_clock_that_goes_back_is_named() {
    let work = Workload::new(&params());
    let events = [Event::Woke { now: 5 }, Event::Woke { now: 4 }];
    let difference = Oracle::filled(&work, Ties::Fifo).verify(&events).expect_err("it went back");
    assert_eq!(difference.to_string(), "event 1, at tick 5: expected a clock at 5 or later, found 4");
}

#[test]
fn equals_may_come_in_any_order_where_none_is_promised() {
    let params = Params { timers: 4, host_tick_ns: None, ..params() };
    let work = Workload::new(&params);
    let (armed, idle): (Vec<u32>, Vec<u32>) = (0..4).partition(|id| work.timers()[*id as usize].armed);
    let [a, b] = idle[..] else { panic!("half of four are idle") };
    let mut events: Vec<_> = armed.iter().map(|id| Event::Stopped { id: *id }).collect();
    events.extend([a, b].map(|id| Event::Started { id, expiry: 9 }));
    events.push(Event::Woke { now: 9 });
    events.extend([b, a].map(|id| Event::Ticked { id, expiry: 9, overruns: 0 }));
    let verify = |ties| Oracle::filled(&work, ties).verify(&events);
    assert!(verify(Ties::Fifo).is_err());
    assert_eq!(verify(Ties::AnyOrder).map(|verified| verified.ticks), Ok(2));
}
