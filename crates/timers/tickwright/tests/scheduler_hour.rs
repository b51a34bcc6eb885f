//! Runs 100,000 random operations in an hour of virtual time. Every exact structure must produce
//! the same log.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tickwright::scheduler::{
    Callback, Cancelled, Firing, Missed, Next, Scheduler, Settings, Site, Structure, TimerId, Timing,
};
use tickwright::time::{Instant, VirtualHost};

/// The test has its own random generator, so that the sequence of operations never changes
/// (xorshift64*, Vigna 2016).
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Ran { number: u64, due: u64, now: u64, overruns: u64 },
    Cancelled { number: u64, found: &'static str },
    Started { number: u64, ok: bool },
    Dropped { number: u64 },
}

type Log = Arc<Mutex<Vec<Event>>>;

struct Script {
    number: u64,
    random: Random,
    log: Log,
}

impl Callback for Script {
    fn call(&mut self, firing: &Firing<'_, Self>) -> Next {
        let event = Event::Ran {
            number: self.number,
            due: firing.due.as_nanos(),
            now: firing.now.as_nanos(),
            overruns: firing.overruns,
        };
        self.log.lock().unwrap().push(event);
        match self.random.below(10) {
            0 => Next::Again,
            1 => Next::After(Duration::from_micros(self.random.below(3_000_000))),
            2 => Next::After(Duration::ZERO),
            3 => {
                firing.scheduler().cancel(firing.id);
                Next::Again
            }
            4 => {
                let after = Timing::after(Duration::from_micros(self.random.below(500_000)));
                let _ = firing.scheduler().start(firing.id, after);
                Next::Done
            }
            _ => Next::Done,
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.log.lock().unwrap().push(Event::Dropped { number: self.number });
    }
}

const STEPS: u64 = if cfg!(miri) { 500 } else { 100_000 };
const HOUR: u64 = 3_600_000_000_000;

fn timing(random: &mut Random) -> Timing {
    // Many deadlines are equal, and a few are far.
    let ms = match random.below(10) {
        0 => 0,
        1..6 => random.below(200),
        6..9 => random.below(60_000),
        _ => random.below(10_000_000),
    };
    let after = Timing::after(Duration::from_millis(ms));
    match random.below(8) {
        0 => after.every(Duration::from_millis(1 + random.below(5_000))).missed(Missed::Skip),
        1 => after.every(Duration::from_millis(1 + random.below(5_000))).missed(Missed::Burst),
        2 => after.every(Duration::from_millis(1 + random.below(5_000))).missed(Missed::Delay),
        3 => after.slack(Duration::from_millis(random.below(100))),
        _ => after,
    }
}

fn name<C>(found: &Cancelled<C>) -> &'static str {
    match found {
        Cancelled::Removed(_) => "removed",
        Cancelled::Disarmed => "disarmed",
        Cancelled::Idle => "idle",
        Cancelled::Running { .. } => "running",
        Cancelled::Finished { .. } => "finished",
        Cancelled::NotFound => "not found",
    }
}

fn hour(structure: Structure, tick: Duration) -> Vec<Event> {
    let log = Log::default();
    let host = VirtualHost::new();
    let settings = Settings::new().clock(host.monotonic()).structure(structure).tick(tick);
    let scheduler = Scheduler::new(settings);
    let mut random = Random(42);
    let mut ids: Vec<(u64, TimerId)> = Vec::new();
    for step in 0..STEPS {
        match random.below(10) {
            0..4 => {
                let script =
                    Script { number: step, random: Random(step.wrapping_mul(77) | 1), log: Arc::clone(&log) };
                let site = Site::here("script");
                let added = if random.below(8) == 0 {
                    scheduler.keep(&site, script)
                } else {
                    scheduler.timer(timing(&mut random)).origin(site).add(script)
                };
                ids.push((step, added.unwrap()));
            }
            4..6 if !ids.is_empty() => {
                let at = random.below(ids.len() as u64) as usize;
                let (number, id) = ids[at];
                let found = match random.below(4) {
                    0 => scheduler.try_cancel(id),
                    1 => scheduler.cancel_sync(id).unwrap(),
                    2 => scheduler.shutdown_timer(id),
                    _ => scheduler.cancel(id),
                };
                log.lock().unwrap().push(Event::Cancelled { number, found: name(&found) });
                if matches!(found, Cancelled::NotFound) {
                    ids.swap_remove(at);
                }
            }
            6..8 if !ids.is_empty() => {
                let (number, id) = ids[random.below(ids.len() as u64) as usize];
                let ok = scheduler.start(id, timing(&mut random)).is_ok();
                log.lock().unwrap().push(Event::Started { number, ok });
            }
            _ => {
                // Two of ten steps advance the clock. Their average length is chosen so that the
                // whole run takes an hour.
                host.advance(Duration::from_nanos(random.below(11 * HOUR / STEPS)));
                let _ = scheduler.run_queue_within(1 + random.below(50) as usize).unwrap();
            }
        }
        if step % 5_000 == 0 {
            assert_eq!(scheduler.check(), Ok(()), "{structure}");
        }
    }
    assert!(scheduler.now() >= Instant::from_nanos(HOUR), "it was {:?}", scheduler.now());
    assert_eq!(scheduler.check(), Ok(()));
    drop(scheduler.shutdown().unwrap());
    drop(scheduler);
    core::mem::take(&mut *log.lock().unwrap())
}

#[test]
fn every_exact_structure_gives_the_same_log() {
    for tick in [Duration::from_nanos(1), Duration::from_millis(1)] {
        let mut exact = Structure::all().into_iter().filter(Structure::is_exact);
        let first = exact.next().unwrap();
        let expected = hour(first, tick);
        let ran = expected.iter().filter(|event| matches!(event, Event::Ran { .. })).count();
        assert!(ran as u64 > STEPS / 4, "{ran} callbacks");
        for structure in exact {
            let log = hour(structure, tick);
            let differs = log.iter().zip(&expected).position(|(got, wanted)| got != wanted);
            if let Some(at) = differs {
                panic!("{structure} and {first}, event {at}: {:?}, {:?}", log[at], expected[at]);
            }
            assert_eq!(log.len(), expected.len(), "{structure}");
        }
    }
}
