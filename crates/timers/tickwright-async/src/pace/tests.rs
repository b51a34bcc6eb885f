use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::AtomicBool;
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;

use tickwright::time::VirtualHost;

use super::*;
use crate::{Sleep, TimerSettings, Timers};

/// A pass each so many ns, each with so many due ticks. Returns after how many passes the driver
/// rests; `None`: never.
fn rests_after(every: u64, ticks: u64) -> Option<u64> {
    let mut load = Load::default();
    (1..=20_000).find(|pass| load.note((1 << 40) + pass * every, ticks, 300_000))
}

#[test]
fn a_thousand_timers_in_a_second_do_not_make_the_driver_rest() {
    assert_eq!(rests_after(1_000_000, 1), None, "spread over the second");
    assert_eq!(rests_after(16_000_000, 16), None, "in groups");
    assert_eq!(rests_after(1_000_000_000, 1), None, "all at once: they are one tick");
    assert_eq!(rests_after(600_000, 1), None, "1,667 in a second");
}

#[test]
fn many_ticks_make_the_driver_rest_within_a_window() {
    // The first pass ends the window before.
    assert_eq!(rests_after(100_000, 1), Some(65), "10,000 in a second: after 6.5 ms");
    assert_eq!(rests_after(10_000, 1), Some(65));
    assert_eq!(rests_after(300_000, 30), Some(4), "100,000 in a second");
}

#[test]
fn the_driver_rests_while_there_is_load_and_no_longer() {
    let (mut load, mut now) = (Load::default(), 1 << 40);
    let mut pass = |every: u64, ticks: u64| {
        now += every;
        load.note(now, ticks, 300_000)
    };
    while !pass(100_000, 1) {}
    // 10,000 in a second, of which a pass finds three.
    assert!((0..1000).all(|_| pass(300_000, 3)));
    // Then a thousand in a second: the window of the load ends, and then one of its own.
    let more = (0..).take_while(|_| pass(1_000_000, 1)).count() as u64;
    assert!(more <= 2 * WINDOW / 1_000_000 + 1, "{more}");
    while !pass(100_000, 1) {}
    assert!(!pass(1_000_000_000, 64), "a long silence ends the load at once");
}

#[test]
fn a_long_rest_goes_on_though_each_finds_one_tick() {
    let (mut load, mut now) = (Load::default(), 1 << 40);
    let mut pass = |every: u64| {
        now += every;
        load.note(now, 1, 1_000_000)
    };
    while !pass(100_000) {}
    assert!((0..1000).all(|_| pass(1_000_000)), "tasks of a pass have their next tick in common");
    assert!((0..1000).any(|_| !pass(5_000_000)));
}

/// What a waker noted: the index of its sleep.
struct Note {
    at: usize,
    woken: Arc<Mutex<Vec<usize>>>,
    panics: AtomicBool,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        lock(&self.woken).push(self.at);
        assert!(!self.panics.load(Ordering::Relaxed), "a waker that panics");
    }
}

/// Sleeps, and a driver whose clock goes to the end of each sleep of the driver.
struct Scene {
    host: VirtualHost,
    timers: Timers,
    sleeps: Vec<(Pin<Box<Sleep>>, Arc<Note>)>,
    woken: Arc<Mutex<Vec<usize>>>,
    load: Load,
    /// How late each sleep was woken, in ns.
    late: Vec<u64>,
    turns: usize,
    panics: usize,
}

impl Scene {
    /// A sleep that ends after each of these times.
    fn new(gather: Duration, spans: impl Iterator<Item = Duration>) -> Self {
        let host = VirtualHost::new();
        let timers = TimerSettings::new().clock(Arc::new(host.monotonic())).gather(gather).shards(1);
        let timers = timers.driven(|| {});
        let woken = Arc::<Mutex<Vec<usize>>>::default();
        let sleeps = spans.enumerate().map(|(at, span)| {
            let note = Note { at, woken: Arc::clone(&woken), panics: AtomicBool::new(false) };
            (Box::pin(timers.sleep(span)), Arc::new(note))
        });
        let mut scene = Self {
            sleeps: sleeps.collect(),
            host,
            timers,
            woken,
            load: Load::default(),
            late: Vec::new(),
            turns: 0,
            panics: 0,
        };
        (0..scene.sleeps.len()).for_each(|at| assert!(!scene.poll(at), "{at}"));
        scene
    }

    fn poll(&mut self, at: usize) -> bool {
        let (sleep, note) = &mut self.sleeps[at];
        let waker = Waker::from(Arc::clone(note));
        sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
    }

    /// Notes how late the woken sleeps are. With `polls`, an executor polls them.
    fn look(&mut self, polls: bool) {
        let now = self.timers.core.time.now();
        loop {
            let woken = core::mem::take(&mut *lock(&self.woken));
            if woken.is_empty() {
                return;
            }
            for at in woken {
                self.late.push(now.checked_sub(self.sleeps[at].0.nanos()).expect("a timer is not early"));
                // Each poll begins a turn of the executor, as far as its budget is concerned.
                crate::coop::begin_turn();
                assert!(!polls || self.poll(at), "{at}");
            }
        }
    }

    /// Drives until nothing is left.
    fn drive(&mut self, polls: bool) -> &mut Self {
        let core = Arc::clone(&self.timers.core);
        let mut next = core.time.start(core.next());
        while next < u64::MAX {
            self.host.advance(Duration::from_nanos(next.saturating_sub(core.time.now())));
            let (fired, at) = core.turn(&mut self.load);
            self.look(polls);
            let ended = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| fired.end()));
            self.panics += usize::from(ended.is_err());
            (next, self.turns) = (at, self.turns + 1);
        }
        assert_eq!(self.late.len(), self.sleeps.len(), "each is woken once");
        self
    }

    fn worst(&self) -> Duration {
        Duration::from_nanos(self.late.iter().copied().max().unwrap_or(0))
    }
}

const GATHER: Duration = Duration::from_micros(300);
const RESOLUTION: Duration = Duration::from_nanos(1 << 14);

/// So many sleeps that end in a second.
fn in_a_second(n: u32) -> impl Iterator<Item = Duration> {
    (1..=n).map(move |at| Duration::from_secs(1) * at / n)
}

#[test]
fn few_timers_are_as_late_as_their_resolution() {
    let mut scene = Scene::new(GATHER, in_a_second(1000));
    assert!(scene.drive(true).worst() <= RESOLUTION, "{:?}", scene.worst());
    assert_eq!(scene.turns, 1000, "each has a wake-up of its own");
}

#[test]
fn many_timers_are_gathered_and_their_lateness_is_bounded() {
    // They are in step with no rest.
    let mut scene = Scene::new(GATHER, in_a_second(10_007));
    scene.drive(true);
    assert!(scene.worst() <= RESOLUTION + GATHER, "{:?}", scene.worst());
    assert!(scene.worst() > RESOLUTION);
    assert!((3000..3500).contains(&scene.turns), "a second has 3,333 rests: {}", scene.turns);
    scene.late.sort_unstable();
    assert!(scene.late[5000] < 200_000, "half of them are earlier: {}", scene.late[5000]);
}

#[test]
fn what_no_task_calls_the_driver_calls_after_one_more_rest() {
    let mut scene = Scene::new(GATHER, in_a_second(10_000));
    scene.drive(false);
    assert!(scene.worst() <= RESOLUTION + 2 * GATHER, "{:?}", scene.worst());
    assert!(scene.worst() > RESOLUTION + GATHER, "it was handed over");
}

#[test]
fn nothing_is_gathered_if_the_settings_say_so() {
    let mut scene = Scene::new(Duration::ZERO, in_a_second(10_000));
    assert!(scene.drive(true).worst() <= RESOLUTION, "{:?}", scene.worst());
    assert_eq!(scene.turns, 10_000);
}

#[test]
fn the_driver_reports_a_waker_that_panics_in_the_poll_of_another_task() {
    let mut scene = Scene::new(GATHER, in_a_second(10_000));
    // The second of a batch, long after the beginning of the load.
    for at in (5000..5100).filter(|at| at % 3 == 1) {
        scene.sleeps[at].1.panics.store(true, Ordering::Relaxed);
    }
    scene.drive(true);
    assert!((10..=33).contains(&scene.panics), "the driver reports the first of each pass: {}", scene.panics);
}
