//! A queue and its nodes as statics, which need no allocator, no set-up code and no lifetimes.
//!
//! `cargo run --example statics --no-default-features` builds the library without `alloc`. The
//! example itself uses `std` for `println!` and for a lock. On bare metal, code that masks the
//! timer interrupt replaces the lock. `ci/no_std/freestanding.rs` runs a similar program without
//! any library.

use std::sync::{Mutex, PoisonError};

use tickwright_core::{BoundedHeap, HookQueue, Reject, Tick, Timer, TimerRef};

/// A 4-ary heap whose buffer for eight timers is part of the queue.
type Heap = BoundedHeap<4, 8>;

/// What the program does when a timer fires.
struct Task {
    name: &'static str,
    period: Tick,
}

static BLINK: Timer<Heap, Task> = Timer::new(Task { name: "blink", period: 40 });
static SENSE: Timer<Heap, Task> = Timer::new(Task { name: "sense", period: 100 });
static SLEEP: Timer<Heap, Task> = Timer::new(Task { name: "sleep", period: 0 });

static QUEUE: Mutex<HookQueue<'static, Heap, Task>> = Mutex::new(HookQueue::new());

fn main() -> Result<(), Reject> {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    queue.insert(0, &BLINK)?;
    queue.insert(0, &SENSE)?;
    queue.insert(150, &SLEEP)?;

    // A real program would read its clock from a counter, and would set an alarm for `next_wake`.
    while let Some(now) = queue.next_wake() {
        let Some(head) = queue.peek() else { break };
        let Task { name, period } = head.key.get().payload;
        let fired = if period > 0 {
            // A single call re-arms the timer on its grid, so nothing is freed and nothing can
            // fail.
            queue.pop_and_reinsert(now, |expiry, _| expiry.saturating_add(period)).is_some()
        } else {
            queue.pop_expired(now).is_some()
        };
        // With a wheel, `next_wake` can be a tick at which nothing is due, and at which the wheel
        // only moves timers internally.
        if !fired {
            continue;
        }
        // The timer is popped first, so that its work can arm, move and cancel timers, including
        // this one.
        println!("{now:4}  {name}");
        if head.key == TimerRef::from(&SLEEP) {
            // Without this loop, the periodic timers would run forever.
            for timer in [&BLINK, &SENSE] {
                let removed = queue.remove(TimerRef::from(timer));
                println!("{now:4}  {} cancelled: {}", timer.payload.name, removed.is_ok());
            }
        }
    }
    Ok(())
}
