//! A monotonic of RTIC: its delays are timers of one queue, and its clock is a counter of 16 bits.
//!
//! ```text
//!   delay, timeout ── Delay ── waker ──▶ slot of TIMERS      SysTick
//!                       ▲                     │                 │
//!                       └── wakes, when due ──┴─── on_interrupt ┘
//! ```
//! Invariants, all under the critical section:
//! 1. A timer is pending exactly while one [`Delay`] has its key and waits for its deadline. Its
//!    value is the latest waker of that delay.
//! 2. While a timer is pending, the alarm comes no later than the timer's deadline. An alarm that
//!    misses the deadline comes within half a turn of the counter.
//!
//! No waker is called, cloned or dropped in the critical section, because a waker is foreign code.

use core::future::{Future, poll_fn};
use core::mem;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::{Context, Poll, Waker};

use cortex_m::peripheral::SYST;
use rtic_time::{Timebase, TimeoutError, fugit};
use tickwright_firmware::chip;
use tickwright_mcu::{Chip, Key, Rejected, Service, SlotTimers, Widened};

/// The number of delays that can be pending at once.
pub(crate) const SLOTS: usize = 8;
/// An instant in ticks of the counter.
pub(crate) type Instant = fugit::MonotonicTimerInstantU64<{ chip::HZ }>;
pub(crate) type Duration = fugit::TimerDurationU64<{ chip::HZ }>;

static TIMERS: SlotTimers<Board, Waker, SLOTS> = SlotTimers::new();
/// The number of polls that found no free slot.
static REFUSED: AtomicU32 = AtomicU32::new(0);

/// The chip. With the feature `control` its alarm can miss a deadline.
struct Board(chip::Board<16>);

impl Chip for Board {
    const HZ: u64 = chip::HZ;
    const COUNTER_BITS: u32 = 16;

    fn count(&mut self) -> u32 {
        self.0.count()
    }

    fn alarm_in(&mut self, ticks: u64) {
        // This imitates an alarm that compares for equality: a missed deadline waits for the next
        // turn.
        let missed = cfg!(feature = "control") && ticks == 1;
        self.0.alarm_in(if missed { Widened::<16>::HALF_TURN } else { ticks });
    }
}

/// Starts the clock. Delays from before the start end when the clock starts.
pub(crate) fn start(systick: SYST) {
    TIMERS.with(|timers| timers.start(Board(chip::Board::start(systick, 0))));
}

/// Takes each due timer in a separate critical section, wakes its task, and sets the alarm again.
/// The handler of SysTick calls this.
pub(crate) fn on_interrupt() {
    while let Some(due) = TIMERS.with(Service::pop_due) {
        due.value.wake();
    }
}

/// Returns the number of free slots, and the number of polls that found no free slot so far.
pub(crate) fn slots() -> (u32, u32) {
    let taken = TIMERS.with(|timers| timers.queue().len());
    ((SLOTS - taken) as u32, REFUSED.load(Ordering::Relaxed))
}

/// A future that ends at a tick, and never before. If all slots are taken, it wakes its task
/// repeatedly, so it still ends on time at the cost of a busy loop.
#[derive(Debug)]
pub(crate) struct Delay {
    deadline: u64,
    timer: Option<Key>,
}

impl Delay {
    /// Creates a delay that ends at `deadline`, or at once if that tick has passed.
    pub(crate) fn until(deadline: u64) -> Self {
        Self { deadline, timer: None }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The latest waker counts, because a future can move from task to task.
        let waker = context.waker().clone();
        let delay = &mut *self;
        // The check and the arming are in the same critical section, so no wake-up can come between
        // them.
        let armed = TIMERS.with(|timers| {
            if timers.now() >= delay.deadline {
                let unused = delay.timer.take().and_then(|key| timers.cancel(key));
                return Ok((Poll::Ready(()), [unused, Some(waker)]));
            }
            if let Some(place) = delay.timer.and_then(|key| timers.get_mut(key)) {
                return Ok((Poll::Pending, [Some(mem::replace(place, waker)), None]));
            }
            delay.timer = Some(timers.at(delay.deadline, waker)?);
            Ok((Poll::Pending, [None, None]))
        });
        match armed {
            Ok((state, _unused)) => state,
            Err(Rejected { value: waker, .. }) => {
                REFUSED.fetch_add(1, Ordering::Relaxed);
                waker.wake();
                Poll::Pending
            }
        }
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        if let Some(key) = self.timer {
            drop(TIMERS.with(|timers| timers.cancel(key)));
        }
    }
}

/// The monotonic that tasks use.
#[derive(Debug)]
pub(crate) struct Mono;

impl Mono {
    /// Returns the deadline of a wait of at least `duration`. The deadline is one tick later,
    /// because a part of the current tick has already passed.
    fn deadline(duration: Duration) -> u64 {
        let ticks = duration.as_ticks();
        let now = TIMERS.with(Service::now);
        now.saturating_add(ticks).saturating_add(u64::from(ticks > 0))
    }

    async fn limited<F: Future>(deadline: u64, future: F) -> Result<F::Output, TimeoutError> {
        let (mut future, mut limit) = (pin!(future), pin!(Delay::until(deadline)));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => limit.as_mut().poll(context).map(|()| Err(TimeoutError)),
        })
        .await
    }
}

impl Timebase for Mono {
    type Instant = Instant;
    type Duration = Duration;

    fn now() -> Instant {
        Instant::from_ticks(TIMERS.with(Service::now))
    }

    async fn delay(duration: Duration) {
        Delay::until(Self::deadline(duration)).await;
    }

    async fn delay_until(instant: Instant) {
        Delay::until(instant.as_ticks()).await;
    }

    async fn timeout_at<F: Future>(instant: Instant, future: F) -> Result<F::Output, TimeoutError> {
        Self::limited(instant.as_ticks(), future).await
    }

    async fn timeout_after<F: Future>(duration: Duration, future: F) -> Result<F::Output, TimeoutError> {
        Self::limited(Self::deadline(duration), future).await
    }
}

rtic_time::impl_embedded_hal_delay_fugit!(Mono);
rtic_time::impl_embedded_hal_async_delay_fugit!(Mono);
