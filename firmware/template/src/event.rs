//! The structs of this program and their timers. A queue has one payload type. Here the payload is
//! an enum, so that timers in several kinds of structs, and several timers in one struct, can share
//! the queue.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use tickwright_mcu::{HookTimers, SortedList, Tick};

use crate::chip::Board;
use crate::journal;

/// A timer with an event. The timer is in a struct of this program, and the struct is in a static.
pub type Timer = tickwright_mcu::Timer<SortedList, Event>;

/// All pending timers. The alarm and the main program share them.
pub static TIMERS: HookTimers<Board, Event> = HookTimers::new();

/// The meaning of a timer's expiry, and the struct that it concerns.
pub enum Event {
    Blink(&'static Led),
    Sample(&'static Sensor),
    Idle(&'static Session),
    Limit(&'static Session),
}

pub struct Led {
    pub blink: Timer,
    pub on: AtomicBool,
}

pub struct Sensor {
    pub sample: Timer,
    pub samples: AtomicU32,
}

/// A session, which ends when no packet has come for a while, or at its limit.
pub struct Session {
    pub id: u32,
    pub idle: Timer,
    pub limit: Timer,
    pub over: AtomicBool,
}

pub static LED: Led = Led { blink: Timer::new(Event::Blink(&LED)), on: AtomicBool::new(false) };
pub static SENSOR: Sensor = Sensor { sample: Timer::new(Event::Sample(&SENSOR)), samples: AtomicU32::new(0) };
pub static SESSION: Session = Session {
    id: 7,
    idle: Timer::new(Event::Idle(&SESSION)),
    limit: Timer::new(Event::Limit(&SESSION)),
    over: AtomicBool::new(false),
};

impl Event {
    /// Returns the ticks from one expiry to the next, or 0 for a timer that fires once.
    pub fn period(&self) -> Tick {
        match self {
            Self::Blink(_) => TIMERS.ms(25),
            Self::Sample(_) => TIMERS.ms(40),
            Self::Idle(_) | Self::Limit(_) => 0,
        }
    }

    /// Runs at the expiry. This function runs in the alarm, so it is short and does not print. The
    /// function records a line, which `main` prints.
    pub fn fire(&'static self, expiry: Tick) {
        let value = match self {
            Self::Blink(led) => {
                // Only the alarm writes `on`, so a load and a store are enough.
                let on = !led.on.load(Relaxed);
                led.on.store(on, Relaxed);
                u32::from(on)
            }
            Self::Sample(sensor) => {
                let samples = sensor.samples.load(Relaxed).wrapping_add(1);
                sensor.samples.store(samples, Relaxed);
                samples
            }
            Self::Idle(session) => {
                session.over.store(true, Relaxed);
                u32::from(TIMERS.with(|timers| timers.cancel(&session.limit)).is_some())
            }
            Self::Limit(session) => {
                session.over.store(true, Relaxed);
                u32::from(TIMERS.with(|timers| timers.cancel(&session.idle)).is_some())
            }
        };
        journal::note(journal::Line { expiry, event: self, value });
    }
}
