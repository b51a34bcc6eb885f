//! Tests of the host tick: it is deferred while urgent work runs, comes last among the timers of
//! its tick, and can be late but is never lost.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tickwright::scheduler::{
    Cancelled, Missed, Next, Plain, Refusal, Scheduler, Settings, Site, Structure, TimerId, TimerSet, Timing,
    When,
};
use tickwright::time::{Alarm, Instant, VirtualHost};

const MS: u64 = 1_000_000;

/// Returns the instant `ms` milliseconds after the clock's origin.
fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

struct Machine {
    host: VirtualHost,
    set: TimerSet<&'static str>,
    tick: TimerId,
}

/// Creates a set with a host tick on a grid of 10 ms.
fn machine(structure: Structure, missed: Missed) -> Machine {
    let host = VirtualHost::new();
    let settings = Settings::new().clock(host.monotonic()).structure(structure).tick(ms(1));
    let mut set = TimerSet::new(settings);
    let grid = Timing::after(ms(10)).every(ms(10)).missed(missed);
    let tick = set.add(grid, &Site::here("tick"), "tick").unwrap();
    set.set_host(tick).unwrap();
    Machine { host, set, tick }
}

impl Machine {
    fn add(&mut self, delay: u64, what: &'static str) -> TimerId {
        self.set.add(Timing::after(ms(delay)), &Site::here(what), what).unwrap()
    }

    fn advance(&self, ms: u64) {
        self.host.advance(Duration::from_millis(ms));
    }

    /// Runs one pass. Returns the timers that ran, each with its overruns.
    fn pass(&mut self) -> Vec<(&'static str, u64)> {
        let mut ran = Vec::new();
        self.set.begin_pass();
        while let Some(due) = self.set.take() {
            ran.push((due.payload, due.overruns));
            let next = if due.id == self.tick { Next::Again } else { Next::Done };
            self.set.finish(due.id, due.payload, next);
            assert_eq!(self.set.check(), Ok(()));
        }
        self.set.end_pass();
        ran
    }

    fn counts(&self) -> (u64, u64, u64, u128) {
        let host = self.set.host().unwrap();
        (host.runs, host.deferred, host.late, host.latest.as_millis())
    }
}

fn exact() -> impl Iterator<Item = Structure> {
    Structure::all().into_iter().filter(Structure::is_exact)
}

#[test]
fn deferred_while_urgent_work_runs_and_delivered_late() {
    for structure in exact() {
        let mut m = machine(structure, Missed::Skip);
        m.add(15, "motor");
        m.set.begin_urgent();
        assert_eq!(m.set.next_wake(), Some(at_ms(15)), "{structure}");
        m.advance(16);
        assert_eq!(m.pass(), [("motor", 0)], "{structure}");
        assert!(m.set.host().unwrap().waits);
        assert_eq!(m.set.statistics().pending, 1, "it is pending all the time");
        assert_eq!(m.set.next_wake(), None, "nobody is to be woken for it");
        assert_eq!(m.set.timeout(), None);
        m.set.end_urgent();
        assert_eq!(m.set.timeout(), Some(Duration::ZERO), "at once");
        assert_eq!(m.pass(), [("tick", 0)], "{structure}");
        assert_eq!(m.counts(), (1, 1, 1, 6));
        assert_eq!(m.set.next_wake(), Some(at_ms(20)), "on the grid");
    }
}

/// This also covers the wheels, whose timers can be late anyway.
#[test]
fn no_structure_loses_it() {
    for structure in Structure::all() {
        let mut m = machine(structure, Missed::Skip);
        m.add(15, "motor");
        m.set.begin_urgent();
        m.advance(500);
        assert_eq!(m.pass(), [("motor", 0)], "{structure}");
        m.set.end_urgent();
        let ran = m.pass();
        assert_eq!(ran, [("tick", 49)], "{structure}: 10 to 500");
    }
}

#[test]
fn alone_it_leaves_no_alarm_and_comes_when_the_mark_is_cleared() {
    for structure in Structure::all() {
        let mut m = machine(structure, Missed::Skip);
        m.set.begin_urgent();
        assert_eq!((m.set.next_wake(), m.set.timeout()), (None, None), "{structure}");
        m.advance(25);
        assert!(m.set.host().unwrap().waits, "{structure}");
        m.set.end_urgent();
        assert_eq!(m.set.timeout(), Some(Duration::ZERO), "{structure}: no pass was needed to see it");
        assert_eq!(m.pass(), [("tick", 1)], "{structure}");
        assert_eq!(m.counts().1, 1, "{structure}");
    }
}

#[test]
fn urgent_work_before_it_is_due_defers_nothing() {
    let mut m = machine(Structure::default(), Missed::Skip);
    m.set.begin_urgent();
    m.advance(5);
    m.set.end_urgent();
    m.advance(5);
    assert_eq!(m.pass(), [("tick", 0)]);
    assert_eq!(m.counts(), (1, 0, 0, 0));
}

#[test]
fn of_those_due_in_its_tick_it_runs_last_in_whichever_order_they_were_armed() {
    for structure in exact() {
        let mut m = machine(structure, Missed::Skip);
        m.add(10, "after");
        m.add(11, "later");
        m.advance(20);
        assert_eq!(m.pass(), [("after", 0), ("tick", 1), ("later", 0)], "{structure}: armed first");
        // The host tick is armed again for 30. Some of these timers are armed before that, and the
        // others after it.
        m.add(10, "x");
        m.add(10, "y");
        m.advance(10);
        assert_eq!(m.pass(), [("x", 0), ("y", 0), ("tick", 0)], "{structure}: among them");
    }
}

#[test]
fn urgent_calls_nest_and_an_end_without_a_beginning_is_nothing() {
    let mut m = machine(Structure::default(), Missed::Skip);
    m.set.end_urgent();
    assert!(!m.set.is_urgent());
    m.set.begin_urgent();
    m.set.begin_urgent();
    m.advance(10);
    m.set.end_urgent();
    assert_eq!((m.set.is_urgent(), m.pass()), (true, vec![]));
    m.set.end_urgent();
    assert_eq!(m.pass(), [("tick", 0)]);
}

#[test]
fn cancelled_while_deferred_it_is_gone() {
    for structure in Structure::all() {
        let mut m = machine(structure, Missed::Skip);
        m.set.begin_urgent();
        m.advance(30);
        assert_eq!(m.pass(), [], "{structure}");
        let tick = m.tick;
        assert_eq!(m.set.cancel(tick), Cancelled::Removed("tick"), "{structure}");
        assert_eq!((m.set.check(), m.set.host()), (Ok(()), None), "{structure}");
        m.set.end_urgent();
        assert_eq!((m.set.timeout(), m.pass()), (None, vec![]), "{structure}");
        // The set has no host tick now, so another timer can become the host tick.
        let next = m.add(10, "tick");
        assert_eq!(m.set.set_host(next), Ok(()), "{structure}");
    }
}

#[test]
fn one_that_is_kept_and_cancelled_while_deferred_can_be_armed_again() {
    let mut m = machine(Structure::default(), Missed::Skip);
    let tick = m.tick;
    let _ = m.set.cancel(tick);
    m.tick = m.set.keep(&Site::here("kept"), "tick").unwrap();
    let tick = m.tick;
    m.set.set_host(tick).unwrap();
    m.set.start(tick, Timing::after(ms(10))).unwrap();
    m.set.begin_urgent();
    m.advance(30);
    assert_eq!(m.pass(), []);
    assert_eq!(m.set.cancel(tick), Cancelled::Disarmed);
    m.set.start(tick, Timing::after(ms(10))).unwrap();
    m.set.end_urgent();
    assert_eq!(m.pass(), []);
    m.advance(10);
    assert_eq!(m.pass(), [("tick", 0)], "it is the host tick still");
    assert_eq!(m.counts(), (1, 1, 0, 0), "the deferred one never ran");
}

#[test]
fn given_another_time_while_deferred_it_goes_by_that() {
    for structure in exact() {
        let mut m = machine(structure, Missed::Skip);
        m.set.begin_urgent();
        m.advance(12);
        assert_eq!(m.pass(), []);
        let tick = m.tick;
        m.set.start(tick, Timing::after(ms(20)).every(ms(10))).unwrap();
        assert_eq!(m.set.check(), Ok(()));
        m.set.end_urgent();
        assert_eq!((m.set.next_wake(), m.pass()), (Some(at_ms(32)), vec![]), "{structure}");
        m.advance(20);
        assert_eq!(m.pass(), [("tick", 0)], "{structure}");
    }
}

#[test]
fn armed_anew_from_its_own_callback() {
    for structure in exact() {
        let mut m = machine(structure, Missed::Skip);
        m.set.begin_urgent();
        m.advance(25);
        assert_eq!(m.pass(), []);
        m.set.end_urgent();
        m.set.begin_pass();
        let due = m.set.take().unwrap();
        // The callback arms the host tick for the current time, and then urgent work begins. The
        // host tick therefore does not run again in this pass, and must wait in the next pass.
        m.set.start(due.id, Timing::at(When::At(Instant::ZERO)).every(ms(10)).missed(Missed::Skip)).unwrap();
        m.set.begin_urgent();
        m.set.finish(due.id, due.payload, Next::Done);
        assert_eq!(m.set.take(), None, "{structure}");
        assert_eq!(m.pass(), [], "{structure}");
        m.set.end_urgent();
        assert_eq!(m.pass(), [("tick", 2)], "{structure}: 0, 10, 20");
        assert_eq!(m.set.next_wake(), Some(at_ms(30)), "{structure}");
    }
}

/// Urgent work ends at 47. The host tick has a grid of 10, and has been deferred since 10.
#[test]
fn a_long_deferral_counts_by_the_policy() {
    for structure in exact() {
        let told = |missed| {
            let mut m = machine(structure, missed);
            m.set.begin_urgent();
            for _ in 0..47 {
                m.advance(1);
                assert_eq!(m.pass(), []);
            }
            m.set.end_urgent();
            let mut ran = Vec::new();
            // A timer that is armed for the past during a pass runs in the next pass.
            for _ in 0..6 {
                ran.extend(m.pass());
            }
            assert_eq!(m.set.statistics().overruns, ran.iter().map(|(_, overruns)| overruns).sum::<u64>());
            (ran.into_iter().map(|(_, overruns)| overruns).collect::<Vec<_>>(), m.set.next_wake())
        };
        assert_eq!(told(Missed::Skip), (vec![3], Some(at_ms(50))), "{structure}");
        assert_eq!(told(Missed::Burst), (vec![0, 0, 0, 0], Some(at_ms(50))), "{structure}");
        assert_eq!(told(Missed::Delay), (vec![3], Some(at_ms(57))), "{structure}");
        assert_eq!(told(Missed::Collapse), (vec![3, 0], Some(at_ms(57))), "{structure}");
    }
}

#[test]
fn there_is_one() {
    let mut m = machine(Structure::default(), Missed::Skip);
    let (tick, other) = (m.tick, m.add(5, "other"));
    assert_eq!(m.set.set_host(tick), Ok(()));
    assert_eq!(m.set.set_host(other), Err(Refusal::HostTaken));
    let _ = m.set.cancel(other);
    assert_eq!(m.set.set_host(other), Err(Refusal::NotFound));
}

#[derive(Default)]
struct Bell(Mutex<Option<Instant>>);

impl Alarm for Bell {
    fn set(&self, at: Option<Instant>) {
        *self.0.lock().unwrap() = at;
    }
}

#[test]
fn the_alarm_is_set_for_the_second_and_back() {
    for structure in exact() {
        let mut m = machine(structure, Missed::Skip);
        let bell = Arc::new(Bell::default());
        let rings = || bell.0.lock().unwrap().map(|at| at.as_nanos() / MS);
        m.set.set_alarm(Some(bell.clone()));
        assert_eq!(rings(), Some(10));
        m.set.begin_urgent();
        assert_eq!(rings(), None, "{structure}");
        m.add(40, "c");
        m.add(20, "b");
        assert_eq!(rings(), Some(20), "{structure}");
        let tick = m.tick;
        m.set.start(tick, Timing::after(ms(5))).unwrap();
        assert_eq!(rings(), Some(20), "{structure}: not for the host tick");
        m.set.end_urgent();
        assert_eq!(rings(), Some(5), "{structure}");
    }
}

#[test]
fn one_by_the_wall_is_filed_anew_while_it_waits() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
    let id = set.add(Timing::at(When::Wall(ms(10))), &Site::here("tick"), ()).unwrap();
    set.set_host(id).unwrap();
    set.begin_urgent();
    host.advance(Duration::from_millis(12));
    set.begin_pass();
    assert_eq!(set.take(), None);
    host.step_wall(-20 * MS as i64);
    set.begin_pass();
    assert_eq!((set.take(), set.check()), (None, Ok(())));
    set.end_urgent();
    assert_eq!(set.timeout(), Some(ms(18)), "10 by a wall that shows -8");
    host.advance(Duration::from_millis(18));
    set.begin_pass();
    assert!(set.take().is_some());
}

#[test]
fn a_guard_holds_the_host_tick_of_a_scheduler_back() {
    let host = VirtualHost::new();
    let mut scheduler: Scheduler<Plain<()>> = Scheduler::new(Settings::new().clock(host.monotonic()));
    let tick = scheduler.add(ms(10), Plain::new((), |(), _| Next::Done)).unwrap();
    scheduler.set_host(tick).unwrap();
    let (one, two) = (scheduler.urgent(), scheduler.urgent());
    host.advance(Duration::from_millis(15));
    drop(one);
    assert_eq!((scheduler.run_queue().unwrap(), scheduler.timeout_of_loop()), (0, None));
    drop(two);
    assert_eq!(scheduler.host().map(|host| (host.waits, host.deferred)), Some((true, 1)));
    assert_eq!((scheduler.timeout(), scheduler.run_queue().unwrap()), (Some(Duration::ZERO), 1));
    assert_eq!(scheduler.host(), None);
}

proptest! {
    /// Whatever happens in between, the number of runs plus the number of overruns is the number of
    /// periods that have passed. The host tick never makes other timers late.
    #[test]
    fn never_lost(
        structure in 0usize..6,
        steps in prop::collection::vec((0u8..5, 0u64..25), 1..60),
    ) {
        let mut m = machine(exact().nth(structure).unwrap(), Missed::Skip);
        let (mut now, mut told, mut urgent) = (0, 0, 0u32);
        for (step, amount) in steps {
            match step {
                0 => { m.set.begin_urgent(); urgent += 1; }
                1 => { m.set.end_urgent(); urgent = urgent.saturating_sub(1); }
                2 => { m.add(amount, "other"); }
                _ => { m.advance(amount); now += amount; }
            }
            let before = m.set.statistics().pending;
            let ran = m.pass();
            let ticks: u64 = ran.iter().filter(|(who, _)| *who == "tick").map(|(_, overruns)| overruns + 1).sum();
            prop_assert!(urgent == 0 || ticks == 0);
            told += ticks;
            if urgent == 0 {
                prop_assert_eq!(told, now / 10);
            }
            let others = ran.iter().filter(|(who, _)| *who == "other").count();
            prop_assert_eq!(m.set.statistics().pending, before - others);
            prop_assert!(m.set.next_wake().is_none_or(|next| next > at_ms(now)));
        }
        let host = m.set.host().unwrap();
        prop_assert_eq!(host.deferred, host.late + u64::from(host.waits && host.deferred > host.late));
    }
}
