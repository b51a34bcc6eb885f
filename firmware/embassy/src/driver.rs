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
    /// The tick of the next alarm, or `u64::MAX` if no alarm is set.
    alarm: u64,
    queue: Queue,
    counter: Option<&'static Counter>,
    costs: Costs,
    /// The steps of all calls since the last jump of the clock. Each jump begins a wake-up.
    since_jump: Option<u32>,
}

/// The cost of the calls of one function, in steps of the counter.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) count: u32,
    pub(crate) sum: u64,
    pub(crate) worst: u32,
}

impl Cost {
    const NONE: Self = Self { count: 0, sum: 0, worst: 0 };

    fn add(&mut self, steps: u32) {
        self.count += 1;
        self.sum += u64::from(steps);
        self.worst = self.worst.max(steps);
    }
}

/// The costs of a queue.
#[derive(Clone, Copy)]
pub(crate) struct Costs {
    /// The calls of `schedule_wake`.
    pub(crate) schedule: Cost,
    /// The calls of `next_expiration`.
    pub(crate) expire: Cost,
    /// The largest total of all calls from one jump of the clock to the next, in steps. A jump
    /// wakes a task, which then sleeps again.
    pub(crate) worst_wake_up: u32,
}

impl Costs {
    const NONE: Self = Self { schedule: Cost::NONE, expire: Cost::NONE, worst_wake_up: 0 };
}

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock::new());

/// Returns the driver.
pub(crate) fn clock() -> &'static Clock {
    &CLOCK
}

impl State {
    /// Calls `schedule_wake` of the queue, and counts its cost.
    fn schedule(&mut self, at: u64, waker: &Waker) -> bool {
        let Some(counter) = self.counter else { return schedule(&mut self.queue, at, waker) };
        let (took, is_reported) = counter.of(|| schedule(&mut self.queue, at, waker));
        self.costs.schedule.add(took);
        self.add(took);
        is_reported
    }

    /// Calls `next_expiration` of the queue, counts its cost, and sets the alarm.
    fn expire(&mut self) {
        let now = self.now;
        let Some(counter) = self.counter else {
            self.alarm = expire(&mut self.queue, now);
            return;
        };
        let (took, next) = counter.of(|| expire(&mut self.queue, now));
        self.costs.expire.add(took);
        self.add(took);
        self.alarm = next;
    }

    /// Adds the cost of a call to the current wake-up. Before the first jump there is no wake-up,
    /// and tasks only arm their timers.
    fn add(&mut self, steps: u32) {
        if let Some(sum) = &mut self.since_jump {
            *sum += steps;
            self.costs.worst_wake_up = self.costs.worst_wake_up.max(*sum);
        }
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
            costs: Costs::NONE,
            since_jump: None,
        })))
    }

    fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        critical_section::with(|cs| work(&mut self.0.borrow_ref_mut(cs)))
    }

    /// Starts counting.
    pub(crate) fn count(&self, counter: &'static Counter) {
        self.with(|state| state.counter = Some(counter));
    }

    /// Sets the counted costs to 0.
    pub(crate) fn clear_costs(&self) {
        self.with(|state| (state.costs, state.since_jump) = (Costs::NONE, None));
    }

    /// Returns the costs since they were set to 0.
    pub(crate) fn costs(&self) -> Costs {
        self.with(|state| state.costs)
    }

    /// Advances the clock to the next alarm, and handles the alarm. Returns whether there was an
    /// alarm.
    pub(crate) fn jump(&self) -> bool {
        self.with(|state| {
            if state.alarm == u64::MAX {
                return false;
            }
            state.since_jump = Some(0);
            state.now = state.alarm.max(state.now);
            state.expire();
            true
        })
    }
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        self.with(|state| state.now)
    }

    /// Works like the drivers of Embassy's hardware crates: if the queue returns `true`, the driver
    /// sets the alarm again.
    fn schedule_wake(&self, at: u64, waker: &Waker) {
        self.with(|state| {
            if state.schedule(at, waker) {
                state.expire();
            }
        });
    }
}
