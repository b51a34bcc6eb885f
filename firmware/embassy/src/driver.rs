//! A time driver with a virtual clock, which counts the instructions of its queue.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;
use tickwright_firmware::board::Counter;

/// The driver of the program.
pub(crate) struct Clock(Mutex<RefCell<State>>);

struct State {
    now: u64,
    /// The tick of the next alarm, `u64::MAX` for none.
    alarm: u64,
    queue: Queue,
    counter: Option<&'static Counter>,
    /// The cost of all calls of the queue, in steps of the counter.
    sum: u64,
    worst: u32,
}

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock::new());

/// The driver.
pub(crate) fn clock() -> &'static Clock {
    &CLOCK
}

impl State {
    /// Makes a call of the queue, and counts its cost.
    #[inline(always)]
    fn counted<R>(&mut self, call: impl FnOnce(&mut Queue) -> R) -> R {
        let Some(counter) = self.counter else { return call(&mut self.queue) };
        let (took, result) = counter.of(|| call(&mut self.queue));
        self.sum += u64::from(took);
        self.worst = self.worst.max(took);
        result
    }
}

#[inline(never)]
fn schedule(queue: &mut Queue, at: u64, waker: &Waker) -> bool {
    queue.schedule_wake(at, waker)
}

#[inline(never)]
fn expire(queue: &mut Queue, now: u64) -> u64 {
    queue.next_expiration(now)
}

impl Clock {
    const fn new() -> Self {
        let queue = Queue::new();
        Self(Mutex::new(RefCell::new(State {
            now: 0,
            alarm: u64::MAX,
            queue,
            counter: None,
            sum: 0,
            worst: 0,
        })))
    }

    fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        critical_section::with(|cs| work(&mut self.0.borrow_ref_mut(cs)))
    }

    /// Counts from now on.
    pub(crate) fn count(&self, counter: &'static Counter) {
        self.with(|state| state.counter = Some(counter));
    }

    /// Sets the counted costs to 0.
    pub(crate) fn clear_costs(&self) {
        self.with(|state| (state.sum, state.worst) = (0, 0));
    }

    /// The instructions of all calls of the queue together, and those of the longest call.
    pub(crate) fn costs(&self) -> (u32, u32) {
        self.with(|state| {
            let instructions = |steps| state.counter.map_or(0, |counter| counter.instructions(steps));
            (instructions(state.sum), instructions(state.worst.into()))
        })
    }

    /// Advances the clock to the next alarm, and handles the alarm. Returns whether there was an
    /// alarm.
    pub(crate) fn jump(&self) -> bool {
        self.with(|state| {
            if state.alarm == u64::MAX {
                return false;
            }
            let now = state.alarm.max(state.now);
            state.now = now;
            state.alarm = state.counted(|queue| expire(queue, now));
            true
        })
    }
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        self.with(|state| state.now)
    }

    /// Works like the drivers of Embassy's hardware crates: if the queue returns `true`, it sets
    /// the alarm again.
    fn schedule_wake(&self, at: u64, waker: &Waker) {
        self.with(|state| {
            let now = state.now;
            if state.counted(|queue| schedule(queue, at, waker)) {
                state.alarm = state.counted(|queue| expire(queue, now));
            }
        });
    }
}
