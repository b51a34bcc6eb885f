//! A monotonic of RTIC: its delays are timers of one queue, and its clock is a counter of 16 bits.
//!
//! ```text
//!   delay, timeout ── Delay ──▶ slot ── Timer ─┐          SysTick
//!                     polled    waker          ▼             │
//!                       ▲                  SortedList ◀── on_interrupt
//!                       └───────────────── wakes, when it is due
//! ```
//! A timer must outlive its queue, and a future does not. So timers lie in [`SLOTS`] static slots,
//! of which each pending delay takes one. Invariants, all under the critical section:
//! 1. A slot is free, or one [`Delay`] has its index.
//! 2. A timer is pending exactly while its slot is taken and its waker is there.
//! 3. While a timer is pending, the alarm is at most its deadline or half a turn away.
//!
//! No waker is called, cloned or dropped in the critical section: it is foreign code.

use core::cell::{Cell, RefCell};
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use cortex_m::peripheral::SYST;
use critical_section::Mutex;
use rtic_time::{Timebase, TimeoutError, fugit};
use tickwright_core::{HookQueue, SortedList, Timer, TimerRef};
use tickwright_firmware::chip;
use tickwright_firmware::widen::Widened;

/// The number of delays that can be pending at once.
pub(crate) const SLOTS: usize = 8;
/// An instant in ticks of the counter.
pub(crate) type Instant = fugit::MonotonicTimerInstantU64<{ chip::HZ }>;
pub(crate) type Duration = fugit::TimerDurationU64<{ chip::HZ }>;

type Clock = Widened<16>;
type Slot = Timer<SortedList, Mutex<Cell<Option<Waker>>>>;

static TIMERS: [Slot; SLOTS] = [const { Timer::new(Mutex::new(Cell::new(None))) }; SLOTS];

struct Service {
    queue: HookQueue<'static, SortedList, Mutex<Cell<Option<Waker>>>>,
    clock: Clock,
    /// The alarm, from [`start`] on.
    alarm: Option<SYST>,
    /// One bit for each slot, set while the slot is free.
    free: u32,
    /// The number of polls that found no free slot.
    refused: u32,
}

static SERVICE: Mutex<RefCell<Service>> = Mutex::new(RefCell::new(Service {
    queue: HookQueue::new(),
    clock: Clock::new(),
    alarm: None,
    free: (1 << SLOTS) - 1,
    refused: 0,
}));

fn with<R>(work: impl FnOnce(&mut Service, critical_section::CriticalSection<'_>) -> R) -> R {
    critical_section::with(|cs| work(&mut SERVICE.borrow_ref_mut(cs), cs))
}

impl Service {
    fn now(&mut self) -> u64 {
        self.clock.read(chip::count())
    }

    /// Sets the alarm for the next deadline, or for half a turn of the counter if that is sooner.
    /// A deadline that has passed meanwhile is due in one tick, so none is missed.
    fn set_alarm(&mut self) {
        let next = self.queue.next_wake().unwrap_or(u64::MAX);
        let mut ticks = next.saturating_sub(self.now()).min(Clock::HALF_TURN);
        if cfg!(feature = "control") && ticks == 0 {
            // This imitates an alarm that compares for equality: a missed deadline waits for the
            // next turn.
            ticks = Clock::HALF_TURN;
        }
        if let Some(systick) = &mut self.alarm {
            chip::alarm_in(systick, ticks);
        }
    }
}

/// Starts the clock. Delays from before the start end when it starts.
pub(crate) fn start(mut systick: SYST) {
    chip::start(&mut systick, 0);
    with(|service, _| {
        service.alarm = Some(systick);
        service.set_alarm();
    });
}

/// Wakes the tasks whose timers are due, each in a critical section of its own, and sets the alarm
/// again. The handler of SysTick calls this.
pub(crate) fn on_interrupt() {
    let due = || {
        with(|service, cs| {
            let now = service.now();
            let due = service.queue.pop_expired(now).map(|fired| fired.key.get().payload.borrow(cs).take());
            if due.is_none() {
                service.set_alarm();
            }
            due
        })
    };
    while let Some(waker) = due() {
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The number of free slots, and the number of polls that found none so far.
pub(crate) fn slots() -> (u32, u32) {
    with(|service, _| (service.free.count_ones(), service.refused))
}

/// A future that ends at a tick, never before. If all slots are taken, it wakes its task again and
/// again: then it is still on time, at the cost of a busy loop.
#[derive(Debug)]
pub(crate) struct Delay {
    deadline: u64,
    slot: Option<usize>,
}

impl Delay {
    /// A delay that ends at `deadline`, or at once if that tick has passed.
    pub(crate) fn until(deadline: u64) -> Self {
        Self { deadline, slot: None }
    }

    /// Frees the slot. Returns the waker, which the caller drops outside the critical section.
    fn release(&mut self, service: &mut Service, cs: critical_section::CriticalSection<'_>) -> Option<Waker> {
        let at = self.slot.take()?;
        let timer = &TIMERS[at];
        // An error means that the timer was delivered already.
        if service.queue.driven().remove(TimerRef::from(timer)).is_ok_and(|(_, change)| change.is_changed()) {
            service.set_alarm();
        }
        service.free |= 1 << at;
        timer.payload.borrow(cs).take()
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The latest waker counts: a future may move from task to task.
        let waker = context.waker().clone();
        let delay = &mut *self;
        let (done, unused) = with(|service, cs| {
            // The check and the arming are in one critical section: no wake-up can come between
            // them.
            if service.now() >= delay.deadline {
                return (Poll::Ready(()), (delay.release(service, cs), Some(waker)));
            }
            if let Some(at) = delay.slot {
                return (Poll::Pending, (TIMERS[at].payload.borrow(cs).replace(Some(waker)), None));
            }
            let at = service.free.trailing_zeros() as usize;
            let inserted = TIMERS.get(at).map(|timer| service.queue.driven().insert(delay.deadline, timer));
            let Some(Ok((_, change))) = inserted else {
                service.refused = service.refused.saturating_add(1);
                return (Poll::Pending, (None, Some(waker)));
            };
            service.free &= !(1 << at);
            delay.slot = Some(at);
            TIMERS[at].payload.borrow(cs).set(Some(waker));
            if change.is_changed() {
                service.set_alarm();
            }
            (Poll::Pending, (None, None))
        });
        if let (Poll::Pending, (_, Some(refused))) = (done, &unused) {
            refused.wake_by_ref();
        }
        done
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        let unused = with(|service, cs| self.release(service, cs));
        drop(unused);
    }
}

/// The monotonic that tasks name.
#[derive(Debug)]
pub(crate) struct Mono;

impl Mono {
    /// The deadline of a wait of at least `duration`. It is one tick later, since a part of the
    /// current tick has passed.
    fn deadline(duration: Duration) -> u64 {
        let ticks = duration.as_ticks();
        let now = with(|service, _| service.now());
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
        Instant::from_ticks(with(|service, _| service.now()))
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
