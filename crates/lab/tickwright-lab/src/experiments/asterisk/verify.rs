//! A check in virtual time: every scheduler must run the timers of a script in sorted order.

use core::cell::{Cell, RefCell};
use core::time::Duration;

use tickwright::scheduler::{Cancelled, Firing, Next, Plain, Scheduler, Settings, Structure};
use tickwright::time::{Instant, VirtualHost};

use super::column::{Column, Then};
use super::sample::Delays;
use super::then::{Context, Heap, List, Order};
use crate::error::LabError;

/// A script of adds with pauses between them. Afterwards every third timer is deleted, and the
/// remaining timers run.
#[derive(Debug)]
struct Script {
    /// The pause before each add, in ms.
    pauses: Vec<u32>,
    /// The delay of each add, in ms. The delays have few distinct values, so many timers are due at
    /// the same time.
    delays: Vec<u32>,
}

/// One run: the index of the add, and its due time in µs.
type Event = (usize, u64);

impl Script {
    fn new(n: usize, seed: u64) -> Self {
        let mut drawn = Delays::drawn(2 * n, seed);
        let range = u32::try_from(n / 2).unwrap_or(u32::MAX).max(1);
        let pauses = (0..n).map(|_| u32::from(drawn.next().is_multiple_of(16))).collect();
        Self { pauses, delays: (0..n).map(|_| drawn.next() % range).collect() }
    }

    fn deleted(at: usize) -> bool {
        at.is_multiple_of(3)
    }

    /// Returns the expected events, which are computed only by sorting.
    fn expected(&self) -> Vec<Event> {
        let mut now = 0;
        let mut events: Vec<Event> = Vec::new();
        for (at, (pause, delay)) in self.pauses.iter().zip(&self.delays).enumerate() {
            now += u64::from(*pause);
            events.push((at, (now + u64::from(*delay)) * 1000));
        }
        events.retain(|(at, _)| !Self::deleted(*at));
        events.sort_by_key(|(_, when)| *when);
        events
    }

    /// Adds all timers, with pauses between them. Then deletes every third timer once.
    fn play<Id: Copy>(
        &self,
        pause: impl Fn(u32),
        add: impl Fn(usize, u32) -> Result<Id, String>,
        delete: impl Fn(Id) -> bool,
    ) -> Result<(), String> {
        let mut ids = Vec::new();
        for (at, (before, delay)) in self.pauses.iter().zip(&self.delays).enumerate() {
            pause(*before);
            ids.push(add(at, *delay)?);
        }
        let mut deleted = ids.iter().enumerate().filter(|(at, _)| Self::deleted(*at));
        match deleted.find(|(_, id)| !delete(**id) || delete(**id)) {
            Some((at, _)) => Err(format!("the {at}th was not deleted once")),
            None => Ok(()),
        }
    }

    /// Returns the events of a scheduler of 2009. Events with equal times can be in any order.
    fn then<O: Order>(&self) -> Result<Vec<Event>, String> {
        let now = Cell::new(0);
        let context = Context::<O, _>::new(|ahead| now.get() + ahead);
        self.play(
            |pause| now.set(now.get() + u64::from(pause) * 1000),
            |at, delay| Ok(context.add(delay, |_| 0, at)),
            |id| context.del(id),
        )?;
        let events: Vec<Event> = core::iter::from_fn(|| context.pop()).collect();
        let ordered = events.is_sorted_by_key(|(_, when)| *when);
        if ordered { Ok(events) } else { Err("not in the order of time".into()) }
    }

    fn ours(&self, structure: Structure) -> Result<Vec<Event>, String> {
        let host = VirtualHost::new();
        let mut scheduler = Scheduler::new(Settings::new().structure(structure).clock(host.monotonic()));
        let ms = |ms: u32| Duration::from_millis(u64::from(ms));
        RAN.take();
        self.play(
            |pause| host.advance(ms(pause)),
            |at, delay| {
                let added = scheduler.add(ms(delay), Plain::new(at, note));
                added.map_err(|refused| refused.to_string())
            },
            |id| matches!(scheduler.cancel(id), Cancelled::Removed(_)),
        )?;
        while let Some(wait) = scheduler.timeout() {
            host.advance(wait);
            scheduler.run_queue().map_err(|error| error.to_string())?;
        }
        scheduler.check().map_err(|violation| violation.to_string())?;
        let ran = RAN.take();
        self.in_time(&ran, structure)?;
        Ok(ran.iter().map(|ran| (ran.at, ran.due_us)).collect())
    }

    /// Checks that each timer ran when it was due, or as late as the structure allows.
    fn in_time(&self, ran: &[Ran], structure: Structure) -> Result<(), String> {
        let tick = structure.default_tick();
        // No timer runs before all timers are added.
        let begun = self.pauses.iter().map(|pause| u64::from(*pause) * 1000).sum::<u64>();
        for &Ran { at, due_us, ran_us } in ran {
            let delay = Duration::from_millis(u64::from(self.delays.get(at).copied().unwrap_or(0)));
            let ticks = tick.now(Instant::ZERO + delay);
            // One tick is added, because the queue's clock can be one tick late.
            let late = tick.start(structure.lateness(ticks)).as_nanos() / 1000;
            let most = late + if structure.is_exact() { 0 } else { 1000 };
            if ran_us < due_us.max(begun) || ran_us - due_us.max(begun) > most {
                return Err(format!("the {at}th was due at {due_us} us and ran at {ran_us} us"));
            }
        }
        Ok(())
    }
}

/// One run of our scheduler.
#[derive(Debug, Clone, Copy)]
struct Ran {
    at: usize,
    due_us: u64,
    ran_us: u64,
}

thread_local! {
    /// The runs of callbacks on this thread. These callbacks have the same type as the callbacks of
    /// the timed runs, so that the scheduler is compiled once. This type has no room for a log, so
    /// the log is here.
    static RAN: RefCell<Vec<Ran>> = const { RefCell::new(Vec::new()) };
}

/// A callback that records its run.
fn note(at: &mut usize, firing: &Firing<'_, Plain<usize>>) -> Next {
    let us = |at: Instant| at.as_nanos() / 1000;
    let ran = Ran { at: *at, due_us: us(firing.due), ran_us: us(firing.now) };
    RAN.with_borrow_mut(|all| all.push(ran));
    Next::Done
}

/// Runs a script of `n` adds on each column. Returns the number of correct events.
///
/// # Errors
/// If an event is wrong. The error describes the first wrong event.
pub(crate) fn run(columns: &[Column], n: usize, seed: u64) -> Result<usize, LabError> {
    let script = Script::new(n, seed);
    let expected = script.expected();
    for &column in columns {
        verify(&script, &expected, column)
            .map_err(|wrong| LabError::failed(format!("{}, in virtual time: {wrong}", column.name())))?;
    }
    Ok(expected.len() * columns.len())
}

fn verify(script: &Script, expected: &[Event], column: Column) -> Result<(), String> {
    let events = match column {
        Column::Then(Then::List) => script.then::<List>()?,
        Column::Then(Then::Heap) => script.then::<Heap>()?,
        Column::Ours(structure) if structure.is_exact() => {
            return compare(script.ours(structure)?, expected);
        }
        Column::Ours(structure) => script.ours(structure)?,
    };
    compare(sorted(events), &sorted(expected.to_vec()))
}

fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|(at, when)| (*when, *at));
    events
}

fn compare(got: Vec<Event>, expected: &[Event]) -> Result<(), String> {
    let differs = got.iter().zip(expected).position(|(got, expected)| got != expected);
    match differs {
        Some(at) => Err(format!("event {at} is {:?}, expected {:?}", got[at], expected[at])),
        None if got.len() != expected.len() => {
            Err(format!("{} events, expected {}", got.len(), expected.len()))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
