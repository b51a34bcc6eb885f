//! A tickless timer service for firmware: `docs/firmware.md` explains it part by part.
//!
//! One timer of the chip is a counter of 16 bits that runs freely; SysTick is the alarm. While
//! nothing is due, only one interrupt comes in each half turn of the counter.
//!
//! With the feature `counter32` the counter has 32 bits and starts half a second before it wraps.
#![no_std]
#![no_main]
// The entry attribute makes a public function of `main`.
#![allow(missing_docs)]

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::Peripherals;
use cortex_m::peripheral::SYST;
use cortex_m_rt::exception;
use critical_section::Mutex;
use tickwright_core::{HookQueue, Reject, SortedList, Timer, TimerRef};
use tickwright_firmware::board::{entry, exit, println};
use tickwright_firmware::chip;
use tickwright_firmware::widen::Widened;

/// Ticks a second.
const HZ: u64 = chip::HZ;
const MS: u64 = HZ / 1_000;
/// Bits of the counter that the program reads.
const BITS: u32 = if cfg!(feature = "counter32") { 32 } else { 16 };
/// The counter's first value. A turn of 16 bits ends soon, but a turn of 32 bits takes 172 s, so
/// that counter starts near its end.
const START: u32 = if cfg!(feature = "counter32") { 0u32.wrapping_sub(HZ as u32 / 2) } else { 0 };
const HALF_TURN: u64 = Widened::<BITS>::HALF_TURN;

/// A timer of a sorted list, with a job.
type JobTimer = Timer<SortedList, Job>;

/// What a timer does when it is due.
struct Job {
    name: &'static str,
    /// 0: once.
    period: u64,
    /// Runs in the alarm, outside of the critical section.
    work: fn() -> Result<(), Reject>,
    runs: AtomicU32,
    /// The longest that it was late, in ticks.
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
    with(|service| service.arm(&READ, 2 * MS))
}

/// Moves its own timer: each wait is twice as long as the one before.
fn back_off() -> Result<(), Reject> {
    let runs = BACK_OFF.payload.runs.load(Ordering::Relaxed);
    with(|service| service.arm(&BACK_OFF, (20 * MS) << runs.min(16)))
}

/// What the interrupt and the main program share.
struct Service {
    queue: HookQueue<'static, SortedList, Job>,
    clock: Widened<BITS>,
    /// The alarm, from `main` on.
    alarm: Option<SYST>,
    alarms: u32,
}

static SERVICE: Mutex<RefCell<Service>> = Mutex::new(RefCell::new(Service {
    queue: HookQueue::new(),
    clock: Widened::new(),
    alarm: None,
    alarms: 0,
}));

impl Service {
    fn now(&mut self) -> u64 {
        self.clock.read(chip::count())
    }

    /// Sets the alarm for the next wake-up, or for half a turn of the counter if that is sooner.
    fn set_alarm(&mut self) {
        let now = self.now();
        let next = self.queue.next_wake().unwrap_or(u64::MAX);
        // At least 1: what is due already comes at once.
        let ticks = next.saturating_sub(now).clamp(1, HALF_TURN);
        if let Some(systick) = &mut self.alarm {
            chip::alarm_in(systick, ticks);
        }
    }

    /// Arms a timer `ticks` from now, or moves it there if it is pending.
    fn arm(&mut self, timer: &'static JobTimer, ticks: u64) -> Result<(), Reject> {
        let now = self.now();
        self.arm_at(timer, now.saturating_add(ticks))
    }

    /// Arms a timer for the tick `deadline`, or moves it there if it is pending.
    fn arm_at(&mut self, timer: &'static JobTimer, deadline: u64) -> Result<(), Reject> {
        let change = match self.queue.driven().reschedule(TimerRef::from(timer), deadline) {
            Ok(change) => change,
            // Not pending here.
            Err(_) => self.queue.driven().insert(deadline, timer)?.1,
        };
        if change.is_changed() {
            self.set_alarm();
        }
        Ok(())
    }

    /// Moves a pending timer to `ticks` from now. `false`: it has fired or was cancelled.
    fn postpone(&mut self, timer: &'static JobTimer, ticks: u64) -> bool {
        let deadline = self.now().saturating_add(ticks);
        let Ok(change) = self.queue.driven().reschedule(TimerRef::from(timer), deadline) else {
            return false;
        };
        if change.is_changed() {
            self.set_alarm();
        }
        true
    }

    /// Cancels a pending timer. `false`: it has fired or was cancelled.
    fn cancel(&mut self, timer: &'static JobTimer) -> bool {
        let Ok((_, change)) = self.queue.driven().remove(TimerRef::from(timer)) else { return false };
        if change.is_changed() {
            self.set_alarm();
        }
        true
    }

    /// Takes one timer that is due at `now`. A periodic one is armed again.
    fn take_due(&mut self, now: u64) -> Option<&'static Job> {
        let job = &self.queue.peek()?.key.get().payload;
        let expiry = if job.period > 0 {
            // On its own grid: lateness does not add up.
            self.queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(job.period))?.expiry
        } else {
            self.queue.pop_expired(now)?.expiry
        };
        let late = u32::try_from(self.now().saturating_sub(expiry)).unwrap_or(u32::MAX);
        job.late.store(job.late.load(Ordering::Relaxed).max(late), Ordering::Relaxed);
        Some(job)
    }
}

/// Increments a counter that only the alarm writes.
fn count(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Runs `work` with interrupts masked. This is the longest time that the service delays an
/// interrupt: once the program runs, two operations of the queue.
fn with<R>(work: impl FnOnce(&mut Service) -> R) -> R {
    critical_section::with(|cs| work(&mut SERVICE.borrow_ref_mut(cs)))
}

/// Waits for an interrupt. On a chip this is `wfi`. The emulator that counts instructions
/// (QEMU 7.2) passes over the end of such a sleep by its length, so here it spins.
fn idle() {
    for _ in 0..50 {
        cortex_m::asm::nop();
    }
}

/// The alarm.
#[exception]
fn SysTick() {
    // What becomes due later comes with the next alarm. So work that arms its own timer for now
    // cannot keep the interrupt busy.
    let now = with(|service| {
        service.alarms += 1;
        service.now()
    });
    // Pop, then work: if the work moved its own timer first, the pop would take another timer,
    // whose work would never run.
    while let Some(job) = with(|service| service.take_due(now)) {
        if (job.work)().is_ok() {
            count(&job.runs);
        }
    }
    with(Service::set_alarm);
}

#[entry]
fn main() -> ! {
    let Some(Peripherals { SYST: mut systick, .. }) = Peripherals::take() else { exit(2) };
    chip::start(&mut systick, START);
    let begun = with(|service| service.now());
    let armed = with(|service| {
        service.alarm = Some(systick);
        let now = service.now();
        // Two timers are due on one tick, and the first one moves itself. If its work ran before
        // the pop, the pop would take BLINK, whose work would then run only 99 times.
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
        let now = with(|service| service.now()) - begun;
        // Somebody presses a key every 30 ms, six times. Then the time-out comes.
        if postponed < 6 && now >= (postponed + 1) * 30 * MS {
            postponed += 1;
            if !with(|service| service.postpone(&LOGOUT, 50 * MS)) {
                println!("tickless: the time-out came too early");
                exit(3);
            }
        }
        // The answer to the request has come, so its time-out is cancelled.
        if !answered && now >= 200 * MS {
            answered = true;
            if !with(|service| service.cancel(&REQUEST)) {
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
    let (now, alarms) = with(|service| (service.now(), service.alarms));
    let turns = (now >> BITS) - (begun >> BITS);
    // If the counter did not wrap, the run would not test the widening.
    wrong += u32::from(turns == 0);
    println!("tickless: one second, turns of {BITS} bits: {turns}, alarms: {alarms}, {wrong} wrong");
    exit(i32::from(wrong > 0))
}
