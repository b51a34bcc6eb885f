use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use tickwright::time::VirtualHost;

use super::*;
use crate::{Sleep, TimerSettings, Timers, sync::lock};

/// Simulates a driver that wakes every `every` ns and then fires `timers` timers. Returns the
/// number of wake-ups before the driver rests, or `None` if it never rests.
fn rests_after(every: u64, timers: u64) -> Option<u64> {
    let mut load = Load::default();
    (1..=20_000).find(|at| load.note((1 << 40) + at * every, timers))
}

#[test]
fn few_wake_ups_do_not_make_the_driver_rest() {
    assert_eq!(rests_after(1_000_000, 1), None, "a thousand in a second");
    assert_eq!(rests_after(500_000, 1), None, "2,000 in a second");
    assert_eq!(rests_after(500_000, 1000), None, "whatever each fires");
    assert_eq!(rests_after(20_000, 0), None, "or if none fires");
}

#[test]
fn many_wake_ups_make_the_driver_rest() {
    // The first wake-up comes after a long time without timers.
    assert_eq!(rests_after(100_000, 1), Some(1251), "10,000 in a second: after 125 ms");
    assert_eq!(rests_after(20_000, 30), Some(1043), "50,000 in a second: after 21 ms");
    assert_eq!(rests_after(400_000, 1), Some(5001), "2,500 in a second: after 2 s");
}

#[test]
fn a_thousand_timers_in_a_second_do_not_make_the_driver_rest_in_any_grouping() {
    for (group, gap) in [(1, 0), (16, 20), (64, 16), (100, 50), (500, 16), (1000, 16), (1000, 500)] {
        let mut load = Load::default();
        for at in 0..20_000 {
            let due = at / group * group * 1_000_000 + at % group * gap * 1_000;
            assert!(!load.note((1 << 40) + due, 1), "groups of {group}, {gap} us apart: {at}");
        }
    }
}

#[test]
fn the_driver_rests_while_there_is_load_and_no_longer() {
    let (mut load, mut now) = (Load::default(), 1 << 40);
    let mut pass = |every: u64, timers: u64| {
        now += every;
        load.note(now, timers)
    };
    while !pass(100_000, 1) {}
    // With 10,000 timers per second, each pass fires three timers.
    assert!((0..1000).all(|_| pass(300_000, 3)));
    // The timers of one pass are armed for the same next tick, so each pass fires the timers of one
    // tick.
    assert!((0..1000).all(|_| pass(1_000_000, 10)));
    assert!((0..100).all(|_| pass(10_000_000, 100)), "the longest rest");
    let more = (0..).take_while(|_| pass(1_000_000, 1)).count();
    assert!((990..=1000).contains(&more), "a thousand in a second end it in a second: {more}");
    while !pass(100_000, 1) {}
    assert!(!pass(500_500_000, 1), "half a second of silence ends it at once");
}

/// A waker that notes the index of its sleep.
struct Note {
    at: usize,
    woken: Arc<Mutex<Vec<usize>>>,
    /// When the waker is called, it drops these timers.
    last: Mutex<Option<Timers>>,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        // This lock represents a lock that a task holds while it polls and that a waker takes.
        self.woken.try_lock().expect("no poll calls the waker of another task").push(self.at);
        drop(lock(&self.last).take());
    }
}

/// Simulates sleeps and a driver. The clock is moved to the end of each sleep of the driver.
struct Scene {
    host: VirtualHost,
    timers: Timers,
    sleeps: Vec<(Pin<Box<Sleep>>, Arc<Note>)>,
    woken: Arc<Mutex<Vec<usize>>>,
    load: Load,
    /// How late each sleep was woken, in ns.
    late: Vec<u64>,
    turns: usize,
}

impl Scene {
    /// Creates a scene with one sleep for each of these times.
    fn new(gather: Duration, spans: impl Iterator<Item = Duration>) -> Self {
        let host = VirtualHost::new();
        let timers = TimerSettings::new().clock(Arc::new(host.monotonic())).gather(gather).shards(1);
        let timers = timers.driven(|| {});
        let woken = Arc::<Mutex<Vec<usize>>>::default();
        let mut scene = Self {
            sleeps: Vec::new(),
            host,
            timers,
            woken,
            load: Load::default(),
            late: Vec::new(),
            turns: 0,
        };
        scene.add(spans);
        scene
    }

    /// Adds one sleep for each of these times.
    fn add(&mut self, spans: impl Iterator<Item = Duration>) {
        for span in spans {
            let at = self.sleeps.len();
            let note = Note { at, woken: Arc::clone(&self.woken), last: Mutex::new(None) };
            self.sleeps.push((Box::pin(self.timers.sleep(span)), Arc::new(note)));
            assert!(!self.poll(at), "{at}");
        }
    }

    fn poll(&mut self, at: usize) -> bool {
        let (sleep, note) = &mut self.sleeps[at];
        let _held = lock(&self.woken);
        let waker = Waker::from(Arc::clone(note));
        sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
    }

    /// Notes how late the woken sleeps are, and polls them.
    fn look(&mut self) {
        let now = self.timers.core.time.now();
        loop {
            let woken = core::mem::take(&mut *lock(&self.woken));
            if woken.is_empty() {
                return;
            }
            for at in woken {
                self.late.push(now.checked_sub(self.sleeps[at].0.nanos()).expect("a timer is not early"));
                // Each poll is treated as the beginning of a new turn, so that the budget is full.
                crate::coop::begin_turn();
                assert!(self.poll(at), "{at}");
            }
        }
    }

    /// Runs the driver until no sleep is left.
    fn drive(&mut self) -> &mut Self {
        let core = Arc::clone(&self.timers.core);
        let mut next = core.time.start(core.next());
        while next < u64::MAX {
            self.host.advance(Duration::from_nanos(next.saturating_sub(core.time.now())));
            let (fired, at) = core.turn(&mut self.load);
            fired.end();
            self.look();
            (next, self.turns) = (at, self.turns + 1);
        }
        assert_eq!(self.late.len(), self.sleeps.len(), "each is woken once");
        self
    }

    fn worst(&self) -> Duration {
        Duration::from_nanos(self.late.iter().copied().max().unwrap_or(0))
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const GATHER: Duration = Duration::from_micros(300);
/// The longest time that can be set, as documented.
const LONGEST: Duration = ms(10);
const RESOLUTION: Duration = Duration::from_nanos(1 << 14);

/// The durations of `n` sleeps that end within a second.
fn in_a_second(n: u32) -> impl Iterator<Item = Duration> {
    (1..=n).map(move |at| Duration::from_secs(1) * at / n)
}

#[test]
fn few_timers_are_as_late_as_their_resolution() {
    let mut scene = Scene::new(GATHER, in_a_second(1000));
    assert!(scene.drive().worst() <= RESOLUTION, "{:?}", scene.worst());
    assert_eq!(scene.turns, 1000, "each has a wake-up of its own");
}

#[test]
fn many_timers_are_gathered_and_their_lateness_is_bounded() {
    // The ends of these sleeps do not coincide with the ends of rests.
    let mut scene = Scene::new(GATHER, in_a_second(10_007));
    scene.drive();
    assert!(scene.worst() <= RESOLUTION + GATHER, "{:?}", scene.worst());
    assert!(scene.worst() > RESOLUTION);
    // There are 1,251 wake-ups in the first 125 ms, and then 2,917 rests in the other 875 ms.
    assert!((4100..4200).contains(&scene.turns), "{}", scene.turns);
    scene.late.sort_unstable();
    assert!(scene.late[5000] < 200_000, "half of them are earlier: {}", scene.late[5000]);
}

#[test]
fn nothing_is_gathered_if_the_settings_say_so() {
    let mut scene = Scene::new(Duration::ZERO, in_a_second(10_000));
    assert!(scene.drive().worst() <= RESOLUTION, "{:?}", scene.worst());
    assert_eq!(scene.turns, 10_000);
}

#[test]
fn groups_of_a_thousand_timers_in_a_second_are_as_late_as_their_resolution() {
    let groups = (0..3000_u64).map(|at| ms(1 + at / 100 * 100) + Duration::from_micros(at % 100 * 50));
    let mut scene = Scene::new(GATHER, groups);
    assert!(scene.drive().worst() <= RESOLUTION, "{:?}", scene.worst());
}

#[test]
fn a_rest_has_an_end_however_long_it_should_be() {
    for gather in [Duration::MAX, ms(10), ms(20)] {
        let mut scene = Scene::new(gather, in_a_second(10_000));
        assert!(scene.drive().worst() <= RESOLUTION + LONGEST, "{gather:?}: {:?}", scene.worst());
        assert!(scene.worst() > RESOLUTION);
        // First there is a time without timers. Then there are pairs of timers that are due within
        // the length of a rest.
        scene.sleeps.clear();
        scene.late.clear();
        scene.add((0..12).map(|at| ms(600 + at / 2 * 500 + at % 2 * 3)));
        assert!(scene.drive().worst() <= RESOLUTION, "{gather:?}: {:?}", scene.worst());
    }
}

#[test]
fn timers_that_only_move_or_are_vacant_do_not_make_the_driver_rest() {
    let mut scene = Scene::new(GATHER, in_a_second(10_000));
    let minute = Duration::from_secs(60);
    scene.sleeps.iter_mut().for_each(|(sleep, _)| sleep.reset_after(minute));
    let mut vacant: Vec<_> = in_a_second(1000).map(|span| Box::pin(scene.timers.sleep(span))).collect();
    for sleep in &mut vacant {
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    drop(vacant);
    scene.add((1..=500).map(|at| ms(2 * at) + Duration::from_micros(7)));
    assert!(scene.drive().worst() <= RESOLUTION, "{:?}", scene.worst());
}

#[test]
fn a_pass_calls_each_waker_though_one_drops_the_last_handle() {
    let mut scene = Scene::new(GATHER, in_a_second(10_000));
    scene.drive();
    let before = scene.sleeps.len();
    scene.add((0..8).map(|_| ms(1)));
    let Scene { host, timers, sleeps, mut load, woken, .. } = scene;
    let core = Arc::clone(&timers.core);
    *lock(&sleeps[before].1.last) = Some(timers);
    host.advance(ms(2));
    assert_eq!(core.turn(&mut load).0.end(), 8);
    assert_eq!(core.handles.load(Ordering::Relaxed), 0);
    assert_eq!(lock(&woken).len(), 8, "nobody would look again");
}
