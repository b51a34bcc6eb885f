//! The SysTick interrupt drives a queue in a static for 10,000 ticks. There are eight periodic
//! timers, and one timer that the main program arms and cancels. Each timer must fire on its tick.
#![no_std]
#![no_main]
// The entry attribute makes a public function of `main`.
#![allow(missing_docs)]

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::Peripherals;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use critical_section::Mutex;
use tickwright_core::{HookQueue, RbTreeCached, Timer, TimerRef};
use tickwright_firmware::board::{entry, exit, println};

const TICKS: u32 = 10_000;

struct Periodic {
    period: u32,
    fired: AtomicU32,
    /// The number of timers that fired, but not on their tick.
    off: AtomicU32,
}

impl Periodic {
    const fn every(period: u32) -> Timer<RbTreeCached, Self> {
        Timer::new(Self { period, fired: AtomicU32::new(0), off: AtomicU32::new(0) })
    }
}

static TIMERS: [Timer<RbTreeCached, Periodic>; 8] = [
    Periodic::every(1),
    Periodic::every(2),
    Periodic::every(3),
    Periodic::every(7),
    Periodic::every(10),
    Periodic::every(64),
    Periodic::every(100),
    Periodic::every(999),
];
/// The main program arms this timer again and again, and it never fires.
static WATCHDOG: Timer<RbTreeCached, Periodic> = Periodic::every(u32::MAX);

static QUEUE: Mutex<RefCell<HookQueue<'static, RbTreeCached, Periodic>>> =
    Mutex::new(RefCell::new(HookQueue::new()));
static NOW: AtomicU32 = AtomicU32::new(0);

/// Increments a counter that only this context writes, so no compare-exchange is needed.
fn count(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[exception]
fn SysTick() {
    let now = NOW.load(Ordering::Relaxed) + 1;
    NOW.store(now, Ordering::Relaxed);
    critical_section::with(|cs| {
        let mut queue = QUEUE.borrow_ref_mut(cs);
        while let Some(fired) =
            queue.pop_and_reinsert(now.into(), |expiry, timer| expiry + u64::from(timer.payload.period))
        {
            let payload = &fired.key.payload;
            count(&payload.fired);
            if fired.expiry != u64::from(now) || !now.is_multiple_of(payload.period) {
                count(&payload.off);
            }
        }
    });
}

#[entry]
fn main() -> ! {
    critical_section::with(|cs| {
        let mut queue = QUEUE.borrow_ref_mut(cs);
        for timer in &TIMERS {
            if queue.insert(timer.payload.period.into(), timer).is_err() {
                exit(2);
            }
        }
    });
    let Some(peripherals) = Peripherals::take() else { exit(3) };
    let mut systick = peripherals.SYST;
    systick.set_clock_source(SystClkSource::Core);
    // At 25 MHz, this is every 400 us.
    systick.set_reload(9_999);
    systick.clear_current();
    systick.enable_interrupt();
    systick.enable_counter();

    let mut armed = 0u32;
    while NOW.load(Ordering::Relaxed) < TICKS {
        // An interrupt can come between any two instructions of this loop.
        let later = u64::from(NOW.load(Ordering::Relaxed)) + 50;
        let refused = critical_section::with(|cs| {
            let mut queue = QUEUE.borrow_ref_mut(cs);
            let key = TimerRef::from(&WATCHDOG);
            match armed % 3 {
                0 => queue.insert(later, &WATCHDOG).is_err(),
                1 => queue.reschedule(key, later + 10).is_err(),
                _ => queue.remove(key).is_err(),
            }
        });
        if refused {
            exit(4);
        }
        armed += 1;
        cortex_m::asm::wfi();
    }
    let mut wrong = WATCHDOG.payload.fired.load(Ordering::Relaxed);
    for timer in &TIMERS {
        let Periodic { period, fired, off } = &timer.payload;
        let (fired, off) = (fired.load(Ordering::Relaxed), off.load(Ordering::Relaxed));
        println!("every {period}: fired {fired} times, {off} off their tick");
        // The last tick can have come while this program read the counters.
        let expected = NOW.load(Ordering::Relaxed) / period;
        wrong += off + u32::from(fired != expected);
    }
    println!("systick: {TICKS} ticks, the watchdog armed {armed} times, {wrong} wrong");
    exit(i32::from(wrong > 0))
}
