//! Makes random operations on a timer set. After each operation, the test runs the set's own check,
//! and checks the set's counts and its alarm.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tickwright::scheduler::{
    Cancelled, Due, Missed, Next, Settings, Site, State, Structure, TimerSet, Timing, When,
};
use tickwright::time::{Alarm, Instant, VirtualHost};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % n
    }
}

#[derive(Default)]
struct Bell(Mutex<Option<Instant>>);

impl Alarm for Bell {
    fn set(&self, at: Option<Instant>) {
        *self.0.lock().unwrap() = at;
    }
}

const SECOND: u64 = 1_000_000_000;
const EPOCH: u64 = 1_700_000_000 * SECOND;

fn timing(random: &mut Random, now: Instant) -> Timing {
    let span = match random.below(4) {
        0 => 0,
        1 => random.below(5_000_000),
        2 => random.below(SECOND),
        _ => random.below(100 * SECOND),
    };
    let span = Duration::from_nanos(span);
    let at = now + span - Duration::from_secs(1);
    let when = match random.below(4) {
        0 => When::At(at),
        1 => When::Wall(Duration::from_nanos(EPOCH + at.as_nanos())),
        _ => When::After(span),
    };
    let missed = [Missed::Burst, Missed::Skip, Missed::Delay, Missed::Collapse, Missed::Persist]
        [random.below(5) as usize];
    let timing = Timing::at(when).missed(missed);
    let timing =
        if random.below(2) == 0 { timing.every(Duration::from_nanos(random.below(SECOND))) } else { timing };
    if random.below(4) == 0 { timing.slack(Duration::from_nanos(random.below(SECOND))) } else { timing }
}

fn run(structure: Structure, seed: u64, tick: Duration) {
    let mut random = Random(seed);
    let host = VirtualHost::starting_at(Instant::ZERO, EPOCH as i64);
    let mut set =
        TimerSet::new(Settings::new().clock(host.real_time()).structure(structure).tick(tick).int_ids());
    let bell = Arc::new(Bell::default());
    set.set_alarm(Some(bell.clone()));
    let (mut ids, mut running): (Vec<_>, Vec<Due<u64>>) = (Vec::new(), Vec::new());
    for step in 0..4_000u64 {
        let now = set.now();
        match random.below(12) {
            0..3 => ids.push(set.add(timing(&mut random, now), &Site::here("a"), step).unwrap()),
            3 => ids.push(set.keep(&Site::here("k"), step).unwrap()),
            4..6 if !ids.is_empty() => {
                let at = ids[random.below(ids.len() as u64) as usize];
                let _ = set.start(at, timing(&mut random, now));
            }
            6 if !ids.is_empty() => {
                let at = random.below(ids.len() as u64) as usize;
                if set.cancel(ids[at]) == Cancelled::NotFound {
                    ids.swap_remove(at);
                }
            }
            7 if !ids.is_empty() => {
                let at = random.below(ids.len() as u64) as usize;
                let _ = set.shutdown(ids.swap_remove(at));
            }
            8 if random.below(4) == 0 => {
                let by = random.below(20 * SECOND) as i64 - 10 * SECOND as i64;
                host.step_wall(if random.below(3) == 0 { by / 20_000 } else { by });
                let _ = set.timeout();
            }
            9 if random.below(2000) == 0 => {
                let _ = set.clear();
            }
            10 | 11 => {
                host.advance(Duration::from_nanos(random.below(SECOND)));
                set.begin_pass();
                let (mut taken, budget) = (0, 1 + random.below(40));
                while taken < budget {
                    let Some(due) = set.take() else { break };
                    taken += 1;
                    assert!(due.due <= due.now, "{structure} {seed}: early {:?} {:?}", due.due, due.now);
                    running.push(due);
                    while running.len() > random.below(3) as usize {
                        let due = running.swap_remove(random.below(running.len() as u64) as usize);
                        let next = match random.below(4) {
                            0 => Next::Done,
                            1 => Next::After(Duration::from_nanos(random.below(SECOND))),
                            _ => Next::Again,
                        };
                        if random.below(10) == 0 {
                            let _ = set.cancel(due.id);
                        }
                        let _ = set.finish(due.id, due.payload, next);
                    }
                    assert!(taken < 100_000, "{structure} {seed}: a pass without end");
                }
                set.end_pass();
            }
            _ => {}
        }
        assert_eq!(set.check(), Ok(()), "{structure} {seed} {step}");
        let pending = set.iter().filter(|info| info.state == State::Pending).count();
        let statistics = set.statistics();
        assert_eq!((statistics.pending, statistics.timers), (pending, set.iter().count()));
        let (set, next) = (*bell.0.lock().unwrap(), set.next_wake());
        if let Some(next) = next {
            assert!(
                set.is_some_and(|set| set <= next),
                "{structure} {seed} {step}: alarm {set:?}, next {next:?}"
            );
        }
    }
}

#[test]
fn random_operations_keep_counts_and_alarm() {
    for structure in Structure::all() {
        for seed in 1..4 {
            run(structure, seed * 7919, Duration::from_nanos(1));
            run(structure, seed * 104_729, Duration::from_millis(1));
        }
    }
}
