//! A program without output that has twenty timers of the structure that `TICKWRIGHT_FAMILY` names.
//! `ci/mcu.py` compares its size with the size of a program without timers. The difference is the
//! size of the structure.
#![no_std]
#![no_main]
// The entry attribute makes a public function of `main`.
#![allow(missing_docs)]

use tickwright_firmware::board::{entry, exit};

#[cfg(not(family = "none"))]
mod queue {
    use core::cell::RefCell;
    use core::hint::black_box;

    use critical_section::Mutex;
    use tickwright_core::{HookQueue, Timer, TimerRef};

    #[cfg(family = "coarse")]
    type Family = tickwright_core::CoarseWheel;
    #[cfg(family = "flat-bounded")]
    type Family = tickwright_core::BoundedFlat<20>;
    #[cfg(family = "heap2-bounded")]
    type Family = tickwright_core::BoundedHeap<2, 20>;
    #[cfg(family = "heap4-bounded")]
    type Family = tickwright_core::BoundedHeap<4, 20>;
    #[cfg(family = "list")]
    type Family = tickwright_core::SortedList;
    #[cfg(family = "rb")]
    type Family = tickwright_core::RbTree;
    #[cfg(family = "rb-cached")]
    type Family = tickwright_core::RbTreeCached;
    #[cfg(family = "wheel")]
    type Family = tickwright_core::Wheel;
    #[cfg(family = "wheel-small")]
    type Family = tickwright_core::SmallWheel;
    #[cfg(family = "wheel-tiny")]
    type Family = tickwright_core::TinyWheel;

    static TIMERS: [Timer<Family, u32>; 20] = [const { Timer::new(0) }; 20];
    static QUEUE: Mutex<RefCell<HookQueue<'static, Family, u32>>> =
        Mutex::new(RefCell::new(HookQueue::new()));

    /// Calls each operation once, with arguments that the compiler does not know.
    pub(super) fn exercise() -> u32 {
        critical_section::with(|cs| {
            // Only this line of the program borrows the queue.
            let Ok(mut queue) = QUEUE.borrow(cs).try_borrow_mut() else { return 1 };
            let mut wrong = 0;
            for timer in &TIMERS {
                wrong += u32::from(queue.insert_at(black_box(5), timer, 0).is_err());
            }
            for timer in black_box(&TIMERS[..5]) {
                wrong += u32::from(queue.reschedule_at(TimerRef::from(timer), black_box(9), 0).is_err());
            }
            for timer in black_box(&TIMERS[3..8]) {
                wrong += u32::from(queue.remove(TimerRef::from(timer)).is_err());
            }
            while let Some(now) = queue.next_wake() {
                while queue.pop_expired(black_box(now)).is_some() {}
            }
            wrong
        })
    }
}

#[entry]
fn main() -> ! {
    #[cfg(not(family = "none"))]
    let wrong = queue::exercise();
    #[cfg(family = "none")]
    let wrong = 0;
    exit(i32::from(wrong > 0))
}
