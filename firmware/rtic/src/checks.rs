//! Checks of all kinds of waits. Each function tests for one mistake that a timer queue can make.

use core::future::{Future, pending, poll_fn, ready};
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use rtic_time::Timebase;
use tickwright_firmware::chip::HZ;
use tickwright_firmware::random::Random;

use crate::monotonic::{self, Delay, Duration, Instant, Mono, SLOTS};
use crate::{BOUND, require};

/// Requires that a wait until `due` ended neither early nor late.
pub(crate) fn on_time(due: u64, what: &str) {
    let now = Mono::now().as_ticks();
    require(now >= due, what);
    require(now - due <= BOUND, what);
}

fn now() -> u64 {
    Mono::now().as_ticks()
}

/// Runs all checks. Returns the number of waits.
pub(crate) async fn run() -> u32 {
    let mut waits = 0;
    waits += at_random().await;
    waits += deadline_that_passed().await;
    waits += wake_between_check_and_arm().await;
    waits += time_outs().await;
    waits += waker_of_another_task().await;
    waits += more_than_slots().await;
    waits
}

/// Checks delays of up to three turns of the counter.
async fn at_random() -> u32 {
    let mut random = Random::new(7);
    for _ in 0..100 {
        let ticks = u64::from(random.below(200_000));
        let begun = now();
        Mono::delay(Duration::from_ticks(ticks)).await;
        on_time(begun + ticks, "a delay");
    }
    // A delay of ten turns, through the trait that drivers of peripherals use.
    let begun = now();
    rtic_time::embedded_hal_async::delay::DelayNs::delay_ms(&mut Mono, 26).await;
    on_time(begun + 26 * HZ / 1_000, "a delay of ten turns");
    101
}

/// Checks that a wait for a deadline in the past ends at once, instead of waiting until the counter
/// wraps around.
async fn deadline_that_passed() -> u32 {
    for back in [0, 1, 2, 1_000, 40_000, 70_000, u64::MAX] {
        let begun = now();
        let due = Instant::from_ticks(begun.saturating_sub(back));
        Mono::delay_until(due).await;
        on_time(begun, "a delay until a tick that has passed");
        let limited = Mono::timeout_at(due, pending::<()>()).await;
        require(limited.is_err(), "a time-out that has passed did not end the wait");
        on_time(begun, "a time-out that has passed");
        let output = Mono::timeout_at(due, ready(5)).await;
        require(output.is_ok_and(|value| value == 5), "a value that was ready is lost");
    }
    Mono::delay(Duration::from_ticks(0)).await;
    22
}

/// Lets the deadline pass at each point between the first read of the clock and the setting of the
/// alarm.
async fn wake_between_check_and_arm() -> u32 {
    for ticks in 0..4_000 {
        let due = now() + ticks;
        Mono::delay_until(Instant::from_ticks(due)).await;
        on_time(due, "a deadline that comes while it is armed");
    }
    4_000
}

async fn time_outs() -> u32 {
    let (free, _) = monotonic::slots();
    for ticks in [0, 1, 100, 30_000, 100_000] {
        let begun = now();
        let limited = Mono::timeout_after(Duration::from_ticks(ticks), pending::<()>()).await;
        require(limited.is_err(), "a wait without an end was not ended");
        on_time(begun + ticks, "a time-out");
        let inner = Mono::delay(Duration::from_ticks(ticks));
        let limited = Mono::timeout_after(Duration::from_ticks(ticks + 50_000), inner).await;
        require(limited.is_ok(), "a time-out came before the end of the wait");
    }
    // A time-out at the end of time must not come at once.
    let never = Mono::timeout_at(Instant::from_ticks(u64::MAX), Mono::delay(Duration::from_ticks(100))).await;
    require(never.is_ok(), "a time-out at the end of time came");
    let longest = Mono::timeout_after(Duration::from_ticks(u64::MAX), ready(())).await;
    require(longest.is_ok(), "the longest time-out came");
    // The task of priority 2 can take or free one slot between the two counts.
    let (later, _) = monotonic::slots();
    require(later + 1 >= free, "a time-out that was dropped keeps its slot");
    12
}

/// Checks that a delay wakes the task that polled it last.
async fn waker_of_another_task() -> u32 {
    static FIRST: AtomicBool = AtomicBool::new(false);
    static SECOND: AtomicBool = AtomicBool::new(false);
    let due = now() + 20_000;
    let mut delay = pin!(Delay::until(due));
    for flag in [&FIRST, &SECOND] {
        let waker = waker(flag);
        require(delay.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "a delay ended early");
    }
    Mono::delay_until(Instant::from_ticks(due + 1_000)).await;
    require(SECOND.load(Ordering::Relaxed), "the waker of the last poll was not woken");
    require(!FIRST.load(Ordering::Relaxed), "the waker of a poll before was woken");
    delay.await;
    2
}

/// Checks that all delays end on time if there are more delays than slots. The delays with later
/// deadlines hold the slots.
async fn more_than_slots() -> u32 {
    const DELAYS: usize = SLOTS + 4;
    let begun = now();
    let (_, refused) = monotonic::slots();
    let mut delays: [Delay; DELAYS] =
        core::array::from_fn(|at| Delay::until(begun + 10_000 * (DELAYS - at) as u64));
    let mut ended = [false; DELAYS];
    poll_fn(|context| {
        for (at, delay) in delays.iter_mut().enumerate() {
            if !ended[at] && Pin::new(delay).poll(context).is_ready() {
                on_time(begun + 10_000 * (DELAYS - at) as u64, "one of many delays");
                ended[at] = true;
            }
        }
        if ended.iter().all(|ended| *ended) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let (_, later) = monotonic::slots();
    require(later > refused, "there was a slot for each of many delays: the check shows nothing");
    DELAYS as u32
}

/// Returns a waker that sets a flag.
fn waker(flag: &'static AtomicBool) -> Waker {
    fn clone(flag: *const ()) -> RawWaker {
        RawWaker::new(flag, &TABLE)
    }
    fn wake(flag: *const ()) {
        // SAFETY: 1. `waker` made the pointer from a reference to a static; 2. the flag is atomic.
        unsafe { &*flag.cast::<AtomicBool>() }.store(true, Ordering::Relaxed);
    }
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| ());
    // SAFETY: 1. the four functions keep a waker's contract: a copy of the pointer is a clone, a
    // wake-up is atomic, and there is nothing to drop.
    unsafe { Waker::from_raw(clone(core::ptr::from_ref(flag).cast())) }
}
