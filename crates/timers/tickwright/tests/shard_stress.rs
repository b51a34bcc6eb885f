//! A stress test with many threads, many timers and real atomics. In every schedule the counts must
//! add up: each timer that was started has fired, was cancelled, or is still pending.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use tickwright::shard::{ArmError, Busy, Linux, Shards, SharedFiring, SharedTimer, Was, WheelGeometry};
use tickwright::structures::Geometry;

const SHARDS: usize = 2;
/// The number of threads that advance shards. Two of them advance shard 0.
const OWNERS: usize = 3;
const TIMERS: usize = 24;
const WORKERS: u64 = 3;
const OPERATIONS: u64 = if cfg!(miri) { 200 } else { 60_000 };
/// The workers do not stop before this number of passes over all shards, even if there are few
/// processors.
const PASSES: u64 = OPERATIONS / 10;

/// A small generator of random numbers. Its quality does not matter, because the schedule of the
/// threads is random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The counts of one timer's events.
#[derive(Default)]
struct Book {
    started: AtomicU64,
    fired: AtomicU64,
    withdrawn: AtomicU64,
    running: AtomicBool,
}

struct Books<G: WheelGeometry> {
    shards: Shards<G>,
    timers: Vec<(SharedTimer<G>, Arc<Book>)>,
    calls: AtomicU64,
    started: AtomicU64,
    pending: AtomicU64,
}

fn open<G: WheelGeometry>() -> Books<G> {
    let shards: Shards<G> = Shards::with_geometry(SHARDS, 0);
    let timers = (0..TIMERS).map(|number| {
        let book = Arc::new(Book::default());
        let noted = book.clone();
        let fire = move |firing: &SharedFiring<'_, G>| {
            assert!(!noted.running.swap(true, Ordering::AcqRel), "two callbacks of one timer at once");
            assert!(firing.deadline() <= firing.now(), "early");
            assert!(firing.expiry() <= firing.now());
            noted.fired.fetch_add(1, Ordering::Relaxed);
            noted.running.store(false, Ordering::Release);
        };
        let timer = if number % 5 == 4 {
            shards.shard(number % SHARDS).unwrap().deferrable_timer(fire)
        } else {
            shards.shard(number % SHARDS).unwrap().timer(fire)
        };
        (timer, book)
    });
    let timers = timers.collect();
    Books { shards, timers, calls: AtomicU64::new(0), started: AtomicU64::new(0), pending: AtomicU64::new(0) }
}

impl<G: WheelGeometry> Books<G> {
    /// Returns a random delay. All levels occur, shorter delays are more frequent, and some delays
    /// are beyond the last level.
    fn delay(random: &mut Random) -> u64 {
        let bits = random.below(34);
        random.below(2 << bits)
    }

    fn step(&self, random: &mut Random) {
        let (timer, book) = &self.timers[random.below(TIMERS as u64) as usize];
        let now = self.shards.shard(timer.shard()).unwrap().now();
        let deadline = match random.below(4) {
            // A deadline near the current deadline, with which the timer can often stay in its
            // bucket.
            0 | 1 => timer.deadline().unwrap_or(now).saturating_add(random.below(9)).saturating_sub(4),
            2 => now + Self::delay(random),
            _ => now.saturating_sub(random.below(3)),
        };
        let armed = match random.below(12) {
            0 => timer.add(deadline).map(|()| Some(Was::Idle)),
            1 => timer.add_on(random.below(2) as usize, deadline).map(|()| Some(Was::Idle)),
            2 => timer.modify_on(random.below(2) as usize, deadline).map(Some),
            3 => timer.reduce(deadline).map(Some),
            4 => timer.modify_pending(deadline).map(|was| was.is_pending().then_some(was)),
            5 => {
                book.withdrawn.fetch_add(u64::from(timer.cancel().is_pending()), Ordering::Relaxed);
                return;
            }
            6 => {
                let pending = timer.cancel_sync().unwrap().is_pending();
                book.withdrawn.fetch_add(u64::from(pending), Ordering::Relaxed);
                return;
            }
            7 if random.below(50) == 0 => {
                let _ = self.shards.shard(0).unwrap().drain_to(1);
                return;
            }
            _ => timer.modify(deadline).map(Some),
        };
        self.calls.fetch_add(1, Ordering::Relaxed);
        match armed {
            Ok(Some(Was::Idle)) => {
                book.started.fetch_add(1, Ordering::Relaxed);
                self.started.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Some(Was::Pending)) => {
                self.pending.fetch_add(1, Ordering::Relaxed);
            }
            Ok(None) | Err(ArmError::AlreadyPending) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn run(&self) {
        let begin = &Barrier::new(WORKERS as usize + OWNERS);
        let (done, passes) = (&AtomicU64::new(0), &AtomicU64::new(0));
        thread::scope(|scope| {
            for worker in 0..WORKERS {
                scope.spawn(move || {
                    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ worker);
                    begin.wait();
                    let mut steps = 0;
                    while steps < OPERATIONS || passes.load(Ordering::Relaxed) < PASSES {
                        self.step(&mut random);
                        steps += 1;
                        // Without this, a thread would run thousands of steps before any other
                        // thread runs if there are few processors.
                        if random.below(8) == 0 {
                            thread::yield_now();
                        }
                    }
                    done.fetch_add(1, Ordering::Release);
                });
            }
            for owner in 0..OWNERS {
                scope.spawn(move || {
                    let shard = owner % SHARDS;
                    let mut random = Random(0xD1B5_4A32_D192_ED03 ^ owner as u64);
                    begin.wait();
                    while done.load(Ordering::Acquire) < WORKERS {
                        // Some passes advance the clock by almost nothing, some by a second, and
                        // some by a month.
                        let stride = 1 << [0, 3, 6, 12, 22][random.below(5) as usize];
                        let now = self.shards.shard(shard).unwrap().now() + random.below(stride);
                        let budget = if random.below(4) == 0 { 1 } else { usize::MAX };
                        let pass = self.shards.shard(shard).unwrap().advance_within(now, budget);
                        assert!(matches!(pass, Ok(_) | Err(Busy)));
                        passes.fetch_add(1, Ordering::Relaxed);
                        thread::yield_now();
                        if random.below(64) == 0 {
                            assert_eq!(self.shards.check(), Ok(()));
                        }
                    }
                });
            }
        });
    }

    fn balance(&self) {
        assert_eq!(self.shards.check(), Ok(()));
        let mut pending = 0;
        for (timer, book) in &self.timers {
            let gone = book.fired.load(Ordering::Relaxed) + book.withdrawn.load(Ordering::Relaxed);
            let here = u64::from(timer.is_pending());
            pending += here as usize;
            assert_eq!(book.started.load(Ordering::Relaxed), gone + here, "lost or doubled: {timer:?}");
        }
        let counted: usize = (0..SHARDS).map(|shard| self.shards.shard(shard).unwrap().pending()).sum();
        assert_eq!(counted, pending);

        let statistics = self.shards.statistics();
        assert_eq!(statistics.calls(), self.calls.load(Ordering::Relaxed), "{statistics:?}");
        assert_eq!(statistics.started, self.started.load(Ordering::Relaxed), "{statistics:?}");
        assert!(statistics.matched + statistics.requeued <= self.pending.load(Ordering::Relaxed));

        let fired: u64 = self.timers.iter().map(|(_, book)| book.fired.load(Ordering::Relaxed)).sum();
        assert!(fired > PASSES / 10, "{fired}: the owners did not get far");
        let withdrawn: u64 = self.timers.iter().map(|(_, book)| book.withdrawn.load(Ordering::Relaxed)).sum();
        let counted = (statistics.pending, statistics.cancelled, statistics.lateness.count());
        assert_eq!(counted, (pending, withdrawn, fired));
        assert!((pending..=self.timers.len() * SHARDS).contains(&statistics.high_water), "{statistics:?}");

        // Every timer that is still pending fires exactly once.
        for shard in 0..SHARDS {
            assert!(self.shards.shard(shard).unwrap().advance_within(u64::MAX, usize::MAX).unwrap().complete);
            assert_eq!(
                (self.shards.shard(shard).unwrap().pending(), self.shards.shard(shard).unwrap().next_wake()),
                (0, None)
            );
        }
        for (_, book) in &self.timers {
            let gone = book.fired.load(Ordering::Relaxed) + book.withdrawn.load(Ordering::Relaxed);
            assert_eq!(book.started.load(Ordering::Relaxed), gone);
        }
    }
}

fn the_books_balance<G: WheelGeometry>() -> Books<G> {
    let books = open::<G>();
    books.run();
    books.balance();
    books
}

/// The test runs more threads than the counters have stripes. Later threads take over the stripes
/// of threads that have ended.
#[test]
fn matches_are_counted_exactly() {
    let shards = Shards::new(1);
    let timer = shards.shard(0).unwrap().timer(|_| {});
    timer.add(1_000_000).unwrap();
    let (rounds, threads, each) = (3, 100, if cfg!(miri) { 10 } else { 10_000 });
    for _ in 0..rounds {
        let begin = Barrier::new(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    begin.wait();
                    for _ in 0..each {
                        assert_eq!(timer.modify(1_000_000), Ok(Was::Pending));
                    }
                });
            }
        });
    }
    let statistics = shards.statistics();
    let slow = statistics.requeued;
    assert_eq!(statistics.matched + slow, rounds * threads as u64 * each);
    assert_eq!((statistics.started, statistics.lost_races), (1, slow));
    assert_eq!(statistics.locks, 1 + slow);
}

#[test]
fn the_books_balance_with_linux_geometry() {
    let books = the_books_balance::<Linux>();
    assert!(books.shards.statistics().matched > 0, "the path under test was walked");
}

#[test]
fn the_books_balance_with_few_levels() {
    the_books_balance::<Geometry<64, 3, 2>>();
}
