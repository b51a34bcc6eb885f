//! The lanes of `threads`. A short pass checks that each lane performs the operation that its name
//! states.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tickwright_threads::{Attributes, Place, RuntimeHandle, ThreadId, this_thread};

use super::create::{Maker, many};
use crate::clock::{Meter, OsClock};

/// A kind of operation that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    OneToOne,
    Many,
    Unguarded,
    Std,
    May,
    Tokio,
    Switch,
    Wake,
    WakeAcross,
    Futex,
    OneWorker,
    TwoWorkers,
}

/// A sample of switches has this many times as many operations as a sample of creations.
const SHARE: u64 = 10;

impl Lane {
    pub(crate) const ALL: [Self; 12] = [
        Self::OneToOne,
        Self::Many,
        Self::Unguarded,
        Self::Std,
        Self::May,
        Self::Tokio,
        Self::Switch,
        Self::Wake,
        Self::WakeAcross,
        Self::Futex,
        Self::OneWorker,
        Self::TwoWorkers,
    ];

    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::OneToOne => "create and join, one-to-one",
            Self::Many => "create and join, m:n",
            Self::Unguarded => "create and join, m:n without guards",
            Self::Std => "create and join, std::thread",
            Self::May => "create and join, may (stackful)",
            Self::Tokio => "spawn and await, tokio (not stackful)",
            Self::Switch => "switch: two yield to each other, m:n, one worker",
            Self::Wake => "unpark and park, there and back, m:n, one worker",
            Self::WakeAcross => "unpark and park, there and back, m:n, two workers",
            Self::Futex => "futex wake and wait, there and back, kernel threads",
            Self::OneWorker => "create and join, m:n, one worker, P = 1",
            Self::TwoWorkers => "create and join, m:n, two workers, P = 2",
        }
    }

    /// For a lane that creates threads, returns whose threads are created.
    fn creation(self) -> Option<Maker> {
        let many = |workers, guard, creators| Some(Maker::Many { workers, guard, creators });
        match self {
            Self::OneToOne => Some(Maker::OneToOne),
            Self::Many => many(None, true, 1),
            Self::Unguarded => many(None, false, 1),
            Self::Std => Some(Maker::Std),
            Self::May => Some(Maker::May),
            Self::Tokio => Some(Maker::Tokio),
            Self::OneWorker => many(Some(1), true, 1),
            Self::TwoWorkers => many(Some(2), true, 2),
            Self::Switch | Self::Wake | Self::WakeAcross | Self::Futex => None,
        }
    }

    /// Takes one sample. Returns the time in ns per operation.
    ///
    /// # Errors
    /// A description of the failure.
    pub(crate) fn sample(self, operations: u64, clock: OsClock) -> Result<f64, String> {
        if let Some(maker) = self.creation() {
            let starts = (operations / SHARE).max(1);
            return Ok(maker.create(starts, clock)? as f64 / starts as f64);
        }
        let rounds = u32::try_from(operations).unwrap_or(u32::MAX);
        let fewer = rounds.div_ceil(FEWER);
        let (ns, timed) = match self {
            // Each of the two threads yields `rounds` times.
            Self::Switch => (on_workers(1, move |handle| switches(handle, rounds, clock))? / 2.0, rounds),
            Self::Wake => (wakes(1, rounds, clock)?, rounds),
            Self::WakeAcross => (wakes(2, fewer, clock)?, fewer),
            _ => (futexes(fewer, clock)?, fewer),
        };
        Ok(ns / f64::from(timed))
    }

    /// Checks in a short pass that the lane performs the operation that its name states.
    ///
    /// # Errors
    /// A description of what is wrong.
    pub(crate) fn verify(self, clock: OsClock) -> Result<(), String> {
        match self.creation() {
            Some(_) => self.sample(1000, clock).map(|_| ()),
            None if self == Self::Switch => on_workers(1, alternates),
            None => self.sample(100, clock).map(|_| ()),
        }
    }
}

/// A wake across processors takes about `FEWER` times as long as a wake on one processor, so a
/// sample has only `1 / FEWER` of the usual number of wakes.
const FEWER: u32 = 10;

fn on_workers<R: Send + 'static>(
    workers: usize,
    body: impl FnOnce(&RuntimeHandle) -> Result<R, String> + Send + 'static,
) -> Result<R, String> {
    let runtime = many(Some(workers), true)?;
    let handle = runtime.handle();
    runtime.run(move || body(&handle)).map_err(|error| error.to_string())?
}

fn make(
    handle: &RuntimeHandle,
    place: Place,
    body: impl FnOnce() -> usize + Send + 'static,
) -> Result<ThreadId, String> {
    handle.create(&Attributes::new().place(place), body).map_err(|error| error.to_string())
}

fn join(handle: &RuntimeHandle, id: ThreadId) -> Result<usize, String> {
    handle.join(id).map_err(|error| error.to_string())
}

/// Lets two threads yield `rounds` times each. Returns the total time in ns.
fn switches(handle: &RuntimeHandle, rounds: u32, clock: OsClock) -> Result<f64, String> {
    let body = move || {
        for _ in 0..rounds {
            this_thread::yield_now();
        }
        1
    };
    let begun = clock.now();
    let (one, other) = (make(handle, Place::Near, body)?, make(handle, Place::Near, body)?);
    let both = join(handle, one)? + join(handle, other)?;
    let ns = clock.now() - begun;
    if both == 2 { Ok(ns as f64) } else { Err(format!("{both} of 2 threads came to their end")) }
}

/// Checks that each yield lets the other thread run.
fn alternates(handle: &RuntimeHandle) -> Result<(), String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let body = |name: usize| {
        let log = Arc::clone(&log);
        move || {
            for _ in 0..50 {
                log.lock().unwrap_or_else(PoisonError::into_inner).push(name);
                this_thread::yield_now();
            }
            0
        }
    };
    let (one, other) = (make(handle, Place::Near, body(0))?, make(handle, Place::Near, body(1))?);
    join(handle, one)?;
    join(handle, other)?;
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let turns = log.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if turns + 1 == log.len() { Ok(()) } else { Err(format!("of 100 yields {turns} let the other one run")) }
}

/// A game in which two threads throw a ball to each other. A throw unparks the other thread.
#[derive(Debug, Default)]
struct Game {
    /// The number of throws so far. Player 0 is next if the number is even, otherwise player 1.
    throws: AtomicU32,
    /// The ids of the players, once the players exist.
    ids: [AtomicU64; 2],
    /// The kernel threads on which the players run.
    kernel: Mutex<Vec<thread::ThreadId>>,
    begun: AtomicU64,
    ended: AtomicU64,
}

/// The number of attempts to place two threads on two workers.
const ATTEMPTS: u32 = 20;

/// Lets two threads unpark each other alternately, `rounds` times in each direction. Returns the
/// total time in ns.
fn wakes(workers: usize, rounds: u32, clock: OsClock) -> Result<f64, String> {
    on_workers(workers, move |handle| {
        for _ in 0..ATTEMPTS {
            let game = Arc::new(Game::default());
            let mut ids = Vec::new();
            for me in 0..2 {
                let (handle_of, game) = (handle.clone(), Arc::clone(&game));
                ids.push(make(handle, if workers == 1 { Place::Near } else { Place::Spread }, move || {
                    play(&handle_of, &game, me, rounds, clock)
                })?);
            }
            for (cell, id) in game.ids.iter().zip(&ids) {
                cell.store(id.to_bits(), Ordering::Release);
            }
            let mut throws = 0;
            for id in ids {
                throws += join(handle, id)?;
            }
            if throws != 2 * rounds as usize {
                return Err(format!("{throws} throws of {}", 2 * rounds));
            }
            let kernel = game.kernel.lock().unwrap_or_else(PoisonError::into_inner);
            let apart = kernel.first() != kernel.get(1);
            if apart == (workers > 1) {
                let ns = game.ended.load(Ordering::Relaxed) - game.begun.load(Ordering::Relaxed);
                return Ok(ns as f64);
            }
        }
        Err(format!("two threads were never on {workers} workers, in {ATTEMPTS} attempts"))
    })
}

fn play(handle: &RuntimeHandle, game: &Game, me: usize, rounds: u32, clock: OsClock) -> usize {
    let kernel = thread::current().id();
    game.kernel.lock().unwrap_or_else(PoisonError::into_inner).push(kernel);
    // Wait until both players run and the other player's id is known.
    let other = loop {
        let id = ThreadId::from_bits(game.ids[1 - me].load(Ordering::Acquire));
        let both = game.kernel.lock().unwrap_or_else(PoisonError::into_inner).len() == 2;
        match id.filter(|_| both) {
            Some(id) => break id,
            None => this_thread::yield_now(),
        }
    };
    let parity = u32::from(me == 1);
    if me == 0 {
        game.begun.store(clock.now(), Ordering::Relaxed);
    }
    for round in 0..rounds {
        let mine = 2 * round + parity;
        while game.throws.load(Ordering::Acquire) != mine {
            this_thread::park();
        }
        game.throws.store(mine + 1, Ordering::Release);
        // The other thread exists until both players have thrown for the last time. After that, no
        // thread needs to be woken.
        let _ = handle.unpark(other);
    }
    if me == 1 {
        game.ended.store(clock.now(), Ordering::Relaxed);
    }
    rounds as usize
}

/// As [`wakes`], but with two kernel threads and a futex. Returns the total time in ns.
#[cfg(target_os = "linux")]
fn futexes(rounds: u32, clock: OsClock) -> Result<f64, String> {
    use rustix::thread::futex;
    let throws = AtomicU32::new(0);
    let ready = std::sync::Barrier::new(2);
    let player = |parity: u32| {
        ready.wait();
        let begun = clock.now();
        for round in 0..rounds {
            let mine = 2 * round + parity;
            loop {
                let seen = throws.load(Ordering::Acquire);
                if seen == mine {
                    break;
                }
                // The thread was woken or interrupted, or the value changed meanwhile: read the
                // value again.
                let _ = futex::wait(&throws, futex::Flags::PRIVATE, seen, None);
            }
            throws.store(mine + 1, Ordering::Release);
            let _ = futex::wake(&throws, futex::Flags::PRIVATE, 1);
        }
        clock.now() - begun
    };
    let (first, second) = thread::scope(|scope| {
        let second = scope.spawn(|| player(1));
        (player(0), second.join())
    });
    let thrown = throws.load(Ordering::Relaxed);
    if thrown != 2 * rounds {
        return Err(format!("{thrown} throws of {}", 2 * rounds));
    }
    let second = second.map_err(|_| "a kernel thread panicked")?;
    Ok(first.max(second) as f64)
}

/// As [`wakes`], but with the platform's own park and unpark. Returns the total time in ns.
#[cfg(not(target_os = "linux"))]
fn futexes(rounds: u32, clock: OsClock) -> Result<f64, String> {
    let throws = AtomicU32::new(0);
    let begun = clock.now();
    let first = thread::current();
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            for round in 0..rounds {
                while throws.load(Ordering::Acquire) != 2 * round + 1 {
                    thread::park();
                }
                throws.store(2 * round + 2, Ordering::Release);
                first.unpark();
            }
        });
        for round in 0..rounds {
            while throws.load(Ordering::Acquire) != 2 * round {
                thread::park();
            }
            throws.store(2 * round + 1, Ordering::Release);
            second.thread().unpark();
        }
    });
    Ok((clock.now() - begun) as f64)
}
