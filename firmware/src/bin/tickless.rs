//! A tickless timer service for firmware: `docs/firmware.md` explains it part by part.
//!
//! One timer of the chip is a free-running counter of 16 bits, and SysTick is the alarm. While no
//! timer is due, only one interrupt comes in each half turn of the counter.
//!
//! With the feature `counter32` the counter has 32 bits and starts half a second before it wraps.
#![no_std]
#![no_main]
// The entry attribute makes a public function of `main`.
#![allow(missing_docs)]

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::Peripherals;
use cortex_m_rt::exception;
use tickwright_firmware::board::{entry, exit, println};
use tickwright_firmware::chip::{Board, HZ};
use tickwright_mcu::{HookTimers, Reject, Service, SortedList, Timer};

const MS: u64 = HZ / 1_000;
/// Bits of the counter that the program reads.
const BITS: u32 = if cfg!(feature = "counter32") { 32 } else { 16 };
/// The counter's first value. A turn of 16 bits ends soon, but a turn of 32 bits takes 172 s, so
/// that counter starts near its end.
const START: u32 = if cfg!(feature = "counter32") { 0u32.wrapping_sub(HZ as u32 / 2) } else { 0 };

/// A timer of a sorted list, with a job.
type JobTimer = Timer<SortedList, Job>;

/// What a timer does when it is due.
struct Job {
    name: &'static str,
    /// The period; 0 means once.
    period: u64,
    /// Runs in the alarm, outside of the critical section.
    work: fn() -> Result<(), Reject>,
    runs: AtomicU32,
    /// The greatest lateness, in ticks.
    late: AtomicU32,
}

impl Job {
    const fn new(name: &'static str, period: u64, work: fn() -> Result<(), Reject>) -> JobTimer {
        Timer::new(Self { name, period, work, runs: AtomicU32::new(0), late: AtomicU32::new(0) })
    }
}

// Nothing is ever allocated: timers and queue are statics.
static BLINK: JobTimer = Job::new("blink", 10 * MS, nothing);
static SENSE: JobTimer = Job::new("sense", 16 * MS, start_conversion);
static READ: JobTimer = Job::new("read", 0, nothing);
static BACK_OFF: JobTimer = Job::new("back off", 10 * MS, back_off);
static LOGOUT: JobTimer = Job::new("log out", 0, nothing);
static REQUEST: JobTimer = Job::new("request", 0, nothing);

/// Here only the time of the call matters. A real program would switch a pin.
fn nothing() -> Result<(), Reject> {
    Ok(())
}

/// Arms another timer: the sensor is read 2 ms later.
fn start_conversion() -> Result<(), Reject> {
    TIMERS.with(|service| service.arm(&READ, 2 * MS))
}

/// Moves its own timer: each wait is twice as long as the one before.
fn back_off() -> Result<(), Reject> {
    let runs = BACK_OFF.payload.runs.load(Ordering::Relaxed);
    TIMERS.with(|service| service.arm(&BACK_OFF, (20 * MS) << runs.min(16)))
}

/// What the interrupt and the main program share.
static TIMERS: HookTimers<Board<BITS>, Job> = HookTimers::new();
static ALARMS: AtomicU32 = AtomicU32::new(0);

/// Increments a counter that only the alarm writes.
fn count(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Waits for an interrupt. On a chip this is `wfi`. The emulator that counts instructions (QEMU
/// 7.2) overshoots the end of such a sleep by the length of the sleep, so this function spins
/// instead.
fn idle() {
    for _ in 0..50 {
        cortex_m::asm::nop();
    }
}

/// The alarm.
#[exception]
fn SysTick() {
    count(&ALARMS);
    TIMERS.on_alarm(
        |timer| timer.payload.period,
        |timer, expiry| {
            let Job { work, runs, late, .. } = &timer.payload;
            let ticks = u32::try_from(TIMERS.with(Service::now).saturating_sub(expiry)).unwrap_or(u32::MAX);
            late.store(late.load(Ordering::Relaxed).max(ticks), Ordering::Relaxed);
            if work().is_ok() {
                count(runs);
            }
        },
    );
}

#[entry]
fn main() -> ! {
    let Some(Peripherals { SYST: systick, .. }) = Peripherals::take() else { exit(2) };
    TIMERS.with(|service| service.start(Board::start(systick, START)));
    let begun = TIMERS.with(Service::now);
    let armed = TIMERS.with(|service| {
        let now = service.now();
        // Two timers are due on one tick, and the first timer moves itself. A service that ran its
        // work before the pop would pop BLINK, whose work would then run only 99 times.
        service.arm_at(&BACK_OFF, now + 10 * MS)?;
        service.arm_at(&BLINK, now + 10 * MS)?;
        service.arm(&SENSE, 16 * MS)?;
        service.arm(&LOGOUT, 50 * MS)?;
        service.arm(&REQUEST, 300 * MS)
    });
    if let Err(reason) = armed {
        println!("tickless: {reason}");
        exit(2);
    }
    let mut postponed = 0;
    let mut answered = false;
    loop {
        idle();
        let now = TIMERS.with(Service::now) - begun;
        // Somebody presses a key every 30 ms, six times. Then the time-out comes.
        if postponed < 6 && now >= (postponed + 1) * 30 * MS {
            postponed += 1;
            if !TIMERS.with(|service| service.postpone(&LOGOUT, 50 * MS)) {
                println!("tickless: the time-out came too early");
                exit(3);
            }
        }
        // The answer to the request has come, so its time-out is cancelled.
        if !answered && now >= 200 * MS {
            answered = true;
            if !TIMERS.with(|service| service.cancel(&REQUEST).is_some()) {
                println!("tickless: the request timed out too early");
                exit(3);
            }
        }
        // The run takes a little longer than one second, because the timers were armed a little
        // later than 0.
        if now >= 1_005 * MS {
            break;
        }
    }
    let mut wrong = 0;
    let expected = [(&BLINK, 100), (&SENSE, 62), (&READ, 62), (&BACK_OFF, 6), (&LOGOUT, 1), (&REQUEST, 0)];
    for (timer, expected) in expected {
        let Job { name, runs, late, .. } = &timer.payload;
        let (runs, late) = (runs.load(Ordering::Relaxed), late.load(Ordering::Relaxed));
        println!("{name}: ran {runs} times, late by {} us at most", u64::from(late) * 1_000_000 / HZ);
        // The emulator lets 3.2 ticks pass for each instruction.
        wrong += u32::from(runs != expected || late > 10_000);
    }
    let (now, alarms) = (TIMERS.with(Service::now), ALARMS.load(Ordering::Relaxed));
    let turns = (now >> BITS) - (begun >> BITS);
    // If the counter did not wrap, the run would not test the widening.
    wrong += u32::from(turns == 0);
    println!("tickless: one second, turns of {BITS} bits: {turns}, alarms: {alarms}, {wrong} wrong");
    exit(i32::from(wrong > 0))
}
