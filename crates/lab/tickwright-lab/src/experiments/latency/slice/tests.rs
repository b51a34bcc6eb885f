use super::*;

/// A host that is late by `delays` at its first wake-ups, and punctual after them. The flag of each
/// delay says whether the process is stopped during it.
struct Script {
    now: u64,
    delays: std::collections::VecDeque<(u64, bool)>,
    stopped: bool,
    /// The reading of the clock at which the process is stopped, and the duration of the stop in
    /// ns.
    at_reading: Option<(u64, u64)>,
    readings: u64,
}

impl Script {
    fn new(delays: &[(u64, bool)]) -> Self {
        Self {
            now: 5_000,
            delays: delays.iter().copied().collect(),
            stopped: false,
            at_reading: None,
            readings: 0,
        }
    }
}

impl Host for Script {
    fn now(&mut self) -> u64 {
        self.readings += 1;
        if let Some((_, stop)) = self.at_reading.take_if(|(reading, _)| *reading == self.readings) {
            self.now += stop;
            self.stopped = true;
        }
        self.now
    }

    fn wait(&mut self, at: u64) {
        let (delay, stopped) = self.delays.pop_front().unwrap_or_default();
        self.now = self.now.max(at) + delay;
        self.stopped |= stopped;
    }

    fn was_stopped(&mut self) -> bool {
        core::mem::take(&mut self.stopped)
    }
}

const US: u64 = 1000;
const MS: u64 = 1000 * US;
const SECOND: u64 = 1000 * MS;

fn seen(id: &str, turn: Turn, delays: &[(u64, bool)]) -> Seen {
    let mut seen = Seen::new(turn.points);
    let mut host = Script::new(delays);
    let drive = Drive { turn, host: &mut host, seen: &mut seen, stop: &|| false };
    drive.run(registry::find(id).unwrap()).unwrap();
    seen
}

fn turn(points: u64) -> Turn {
    Turn { period: MS, points, host_period: 0 }
}

#[test]
fn lateness_is_counted_from_the_grid_and_does_not_add_up() {
    for id in ["list/hook", "heap2/hook", "rb/hook", "rb-cached/hook", "list/slab"] {
        let seen = seen(id, turn(4), &[(7, false), (0, false), (30, false)]);
        assert_eq!(seen.lateness, [7, 0, 30, 0], "{id}");
        assert_eq!((seen.overruns, seen.gaps.len(), seen.wakes), (0, 0, 4));
    }
}

#[test]
fn a_missed_period_is_an_overrun_and_a_sample_of_its_own() {
    let seen = seen("rb/hook", turn(5), &[(0, false), (2 * MS + 5, false)]);
    assert_eq!(seen.lateness, [0, 2 * MS + 5, MS + 5, 5, 0]);
    assert_eq!(seen.overruns, 2);
}

#[test]
fn a_gap_is_overruns_and_no_sample() {
    let seen = seen("heap2/hook", turn(3000), &[(3, false), (2 * SECOND, false)]);
    assert_eq!(seen.lateness.len() as u64 + seen.overruns, 3000);
    assert_eq!(seen.gaps, [Gap { ns: 2 * SECOND, periods: 2001, stopped: false }]);
    assert!(seen.lateness.iter().all(|ns| *ns <= 3), "the gap is in no sample");
}

#[test]
fn a_stop_is_a_gap_however_short() {
    let seen = seen("list/hook", turn(10), &[(0, false), (3 * MS, true)]);
    assert_eq!(seen.gaps, [Gap { ns: 3 * MS, periods: 4, stopped: true }]);
    assert_eq!((seen.lateness.len(), seen.overruns), (6, 4));
}

#[test]
fn a_stop_between_the_look_and_the_owner_is_a_gap_too() {
    let (mut seen, mut host) = (Seen::new(10), Script::new(&[]));
    // Reading 1 is the origin, and each period has two readings. At reading 7, the owner of the
    // third period's timer reads the clock.
    host.at_reading = Some((7, 5 * MS / 2));
    let drive = Drive { turn: turn(10), host: &mut host, seen: &mut seen, stop: &|| false };
    drive.run(registry::find("list/hook").unwrap()).unwrap();
    let gaps: Vec<_> = seen.gaps.iter().map(|gap| (gap.ns, gap.periods, gap.stopped)).collect();
    assert_eq!(gaps, [(5 * MS / 2, 1, true), (3 * MS / 2, 2, true)]);
    assert_eq!((seen.lateness, seen.overruns), (vec![0; 7], 3));
}

#[test]
fn a_stop_that_misses_nothing_is_a_sample() {
    let seen = seen("list/hook", turn(3), &[(0, false), (5, true)]);
    assert_eq!((seen.lateness, seen.overruns), (vec![0, 5, 0], 0));
}

#[test]
fn the_host_tick_comes_between_and_is_no_sample() {
    let turn = Turn { period: MS, points: 10, host_period: 2 * MS };
    for id in ["list/hook", "heap2/hook", "rb/hook", "rb-cached/hook"] {
        let seen = seen(id, turn, &[]);
        assert_eq!((seen.lateness.len(), seen.host_ticks, seen.overruns), (10, 5, 0), "{id}");
        assert_eq!(seen.wakes, 15);
    }
}

#[test]
fn a_host_tick_that_comes_late_with_a_period_delays_nothing() {
    let turn = Turn { period: MS, points: 4, host_period: MS };
    let seen = seen("rb-cached/hook", turn, &[(0, false), (MS, false)]);
    assert_eq!(seen.lateness[..2], [0, MS / 2]);
    assert_eq!(seen.overruns, 0);
}

#[test]
fn what_is_asked_to_stop_stops() {
    let mut seen = Seen::new(4);
    let mut host = Script::new(&[]);
    let drive = Drive { turn: turn(4), host: &mut host, seen: &mut seen, stop: &|| true };
    drive.run(registry::find("list/hook").unwrap()).unwrap();
    assert_eq!(seen.wakes, 0);
}

#[test]
fn a_long_period_is_waited_for_in_steps() {
    let seen = seen("list/hook", Turn { period: SECOND, points: 1, host_period: 0 }, &[]);
    assert_eq!((seen.wakes, seen.lateness), (4, vec![0]));
}
