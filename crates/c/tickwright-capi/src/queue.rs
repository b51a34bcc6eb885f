//! Queues of the caller's timers. They are in the caller's memory.
//!
//! ```text
//!   memory    .. | tw_queue: state, family, passes | HookQueue<F> | the groups of a heap | ..
//!                  ^ the caller's handle, aligned
//! ```
//! The state distinguishes a queue from other memory. A queue is lent while
//! `tw_queue_pop_and_reinsert` calls a callback, because this function borrows the queue during the
//! callback.

use core::alloc::Layout;
use core::cell::Cell;
use core::ffi::{c_char, c_int, c_void};

use tickwright_boundary::answer::{self, aligned, put};
use tickwright_boundary::grow::{self, Growing};
use tickwright_boundary::state::{Lendable, begin, lend, state};
use tickwright_boundary::{code, end_of, exported};
use tickwright_core::{Expired, HookQueue, Pending, Tick, TimerRef};

use crate::contract::lendable;
use crate::family::{Known, rejected, tw_family, unknown, with_family};
use crate::timer::{self, tw_timer};

/// The head, which is in memory before each queue. The caller's handle is a pointer to the head.
/// Functions that only return a value have a pointer to const as argument, but all functions of
/// this module borrow the queue mutably.
#[repr(C)]
#[derive(Debug)]
pub struct tw_queue {
    state: Cell<u64>,
    family: c_int,
    /// The number of running advances. While it is above 0, the queue cannot be destroyed.
    passes: Cell<u32>,
}

/// A due timer that has left its queue.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_expired {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The timer.
    pub timer: *mut tw_timer,
    /// The deadline with which the timer was inserted, or the queue's time at the insert if the
    /// deadline had already passed.
    pub deadline: u64,
    /// The tick at which the timer was due in the structure of this queue.
    pub expiry: u64,
}

/// The result of an advance.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tw_advance {
    /// The size of this struct in bytes.
    pub size: usize,
    /// The number of timers that were passed to the callback.
    pub delivered: usize,
    /// The number of timers that were moved inside the structure.
    pub moved: usize,
}

// SAFETY: 1. `repr(C)`, the size comes first; 2. a pointer and numbers.
unsafe impl Growing for tw_expired {
    const DEFAULT: Self =
        Self { size: size_of::<Self>(), timer: core::ptr::null_mut(), deadline: 0, expiry: 0 };
    const LEAST: usize = end_of!(Self, expiry);
}

// SAFETY: 1. `repr(C)`, the size comes first; 2. numbers.
unsafe impl Growing for tw_advance {
    const DEFAULT: Self = Self { size: size_of::<Self>(), delivered: 0, moved: 0 };
    const LEAST: usize = end_of!(Self, moved);
}

/// `tw_queue_advance` calls this function with each due timer.
pub type tw_fire_fn = Option<unsafe extern "C-unwind" fn(fired: *const tw_expired, user: *mut c_void)>;

/// `tw_queue_pop_and_reinsert` calls this function with a due timer. The function returns the
/// timer's next deadline.
pub type tw_rearm_fn =
    Option<unsafe extern "C-unwind" fn(timer: *mut tw_timer, expiry: u64, user: *mut c_void) -> u64>;

/// `tw_queue_each` calls this function with each pending timer.
pub type tw_visit_fn =
    Option<unsafe extern "C-unwind" fn(timer: *mut tw_timer, expiry: u64, user: *mut c_void)>;

/// A queue of one family, after the head, which is the same for all families. The C program has a
/// pointer to the head.
#[repr(C)]
struct Made<F: Known> {
    head: tw_queue,
    queue: HookQueue<'static, F, ()>,
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. the head is never borrowed mutably.
unsafe impl Lendable for tw_queue {
    const READY: u64 = 0x7469_636b_7772_6967;
    const LENT: u64 = 0x7469_636b_6c65_6e74;
}

/// Returns the head of a queue that is ready for use.
///
/// # Errors
/// [`code::INVALID`] if there is no queue. [`code::BUSY`] if the queue is lent, so that the calling
/// callback must not use it.
fn checked<'q>(queue: *const tw_queue) -> Result<&'q tw_queue, c_int> {
    lendable(queue)?;
    // SAFETY: 1. the pointer is to a queue, as its state says; 2. no code ever borrows the head
    // mutably.
    Ok(unsafe { &*queue })
}

/// Returns the queue to which a head belongs.
///
/// # Safety
/// `checked` has returned the head, the head's family is `F`, and no other reference to the queue
/// exists.
unsafe fn behind<'q, F: Known>(queue: *const tw_queue) -> &'q mut HookQueue<'static, F, ()> {
    // SAFETY: `tw_queue_init` has put a `Made<F>` there: the state and the family say so.
    let behind = unsafe { &raw mut (*queue.cast_mut().cast::<Made<F>>()).queue };
    // SAFETY: 1. As above. 2. The reference is the only one, as the caller says: each function of
    // this file drops it before it returns or calls back. Only `tw_queue_pop_and_reinsert` keeps
    // it, and sets the state that `checked` refuses.
    unsafe { &mut *behind }
}

/// Evaluates `$body` with the queue of `$handle`, whatever the queue's family.
macro_rules! on_queue {
    ($handle:expr, $queue:ident => $body:expr) => {{
        let head = checked($handle)?;
        with_family!(head.family, F => {
            // SAFETY: 1. `checked` has returned the head; 2. the queue is of this family; 3. no
            // function of this file has two references.
            let $queue = unsafe { behind::<F>($handle) };
            $body
        })
        .unwrap_or(Err(code::INVALID))
    }};
}

/// Returns the layout of a queue of family `F` including its room, and the offset of the room.
/// Returns `None` if the layout is larger than the address space.
fn layout<F: Known>(capacity: usize) -> Option<(Layout, usize)> {
    let (layout, room) = Layout::new::<Made<F>>().extend(F::room(capacity)?).ok()?;
    Some((layout, room))
}

fn size<F: Known>(capacity: usize) -> usize {
    let bytes = layout::<F>(capacity).and_then(|(layout, _)| layout.size().checked_add(layout.align() - 1));
    bytes.unwrap_or(0)
}

/// Returns the number of bytes that a queue needs. Returns 0 if `family` is not a family, or if
/// `capacity` timers are too many for any memory.
#[unsafe(no_mangle)]
pub extern "C" fn tw_queue_bytes(family: tw_family, capacity: usize) -> usize {
    with_family!(family, F => size::<F>(capacity)).unwrap_or(0)
}

/// Creates a queue of family `F` in the `bytes` bytes at `memory`.
///
/// # Safety
/// These bytes are writable, and only the queue uses them.
unsafe fn make<F: Known>(memory: *mut u8, bytes: usize, capacity: usize) -> Result<*mut tw_queue, c_int> {
    let (layout, room) = layout::<F>(capacity).ok_or(code::FULL)?;
    if bytes < size::<F>(capacity) {
        return Err(code::FULL);
    }
    // `bytes` is enough even if the largest possible number of bytes must be skipped for the
    // alignment.
    let skipped = memory.align_offset(layout.align());
    // SAFETY: the pointer stays within the memory, as just verified.
    let at = unsafe { memory.add(skipped) };
    // SAFETY: the pointer stays within the memory, as just verified.
    let groups = unsafe { at.add(room) };
    // SAFETY: 1. The layout has put the room at `groups`, aligned, for this capacity. 2. The caller
    // promises the rest.
    let behind = unsafe { F::open(groups, capacity) }?;
    let queue = at.cast::<tw_queue>();
    let head =
        tw_queue { state: Cell::new(state(tw_queue::READY, queue)), family: F::NUMBER, passes: Cell::new(0) };
    // SAFETY: the memory is aligned and large enough, by the layout.
    unsafe { at.cast::<Made<F>>().write(Made { head, queue: behind }) };
    Ok(queue)
}

/// Converts a pending timer to the caller's pointer and the tick at which the timer is due.
fn shown<F: Known>(pending: Option<Pending<TimerRef<'static, F, ()>>>) -> Option<(*mut tw_timer, Tick)> {
    pending.map(|pending| (timer::of(pending.key), pending.expiry))
}

/// Writes a timer and its tick to the caller's memory and returns 1. Returns 0 if there is no
/// timer.
///
/// # Safety
/// `timer` is null or writable, and so is `tick`.
unsafe fn show(
    timer: *mut *mut tw_timer,
    tick: *mut u64,
    shown: impl FnOnce() -> Result<Option<(*mut tw_timer, Tick)>, c_int>,
) -> c_int {
    let found = || {
        aligned(tick)?;
        let Some((found, due)) = shown()? else { return Ok(None) };
        // SAFETY: the caller promises this.
        unsafe { put(tick, due) };
        Ok(Some(found))
    };
    // SAFETY: the caller promises this.
    unsafe { answer::found(timer, found) }
}

/// Converts a due timer that has left its queue to the caller's struct.
fn left<F: Known, V>(fired: Expired<TimerRef<'static, F, ()>, V>) -> tw_expired {
    let timer = timer::of(fired.key);
    tw_expired { timer, deadline: fired.deadline, expiry: fired.expiry, ..tw_expired::DEFAULT }
}

exported!(
    /// Creates a queue.
    fn tw_queue_init(
        queue: *mut *mut tw_queue,
        memory: *mut c_void,
        bytes: usize,
        family: tw_family,
        capacity: usize,
    ) -> c_int {
        answer::code(|| {
            if memory.is_null() {
                return Err(code::INVALID);
            }
            // SAFETY: the header's contract.
            unsafe { begin(queue) }?;
            let made = with_family!(family, F => {
                // SAFETY: the header's contract.
                unsafe { make::<F>(memory.cast(), bytes, capacity) }
            });
            let made = made.unwrap_or(Err(code::INVALID))?;
            // SAFETY: as above.
            unsafe { put(queue, made) };
            Ok(0)
        })
    }

    /// Destroys a queue.
    fn tw_queue_destroy(queue: *mut tw_queue) -> c_int {
        answer::code(|| {
            let head = checked(queue)?;
            if head.passes.get() > 0 {
                return Err(code::BUSY);
            }
            // Nothing else needs a drop, because the queue uses only the caller's memory.
            on_queue!(queue, queue => { queue.clear(); Ok(0) })?;
            head.state.set(0);
            Ok(0)
        })
    }

    /// Inserts a timer, which is pending afterwards.
    fn tw_queue_insert(queue: *mut tw_queue, timer: *mut tw_timer, deadline: u64) -> c_int {
        answer::code(|| {
            on_queue!(queue, queue => {
                let node = timer::offered(timer)?;
                // The delay counts from the last time that the caller has passed. See the header.
                let now = queue.now();
                // SAFETY: the references that the queue returns end in this file before a callback
                // runs, since the caller gets pointers.
                let inserted = unsafe { queue.driven().insert_pinned_at(deadline, node, now) };
                Ok(c_int::from(inserted.map_err(rejected)?.1.is_changed()))
            })
        })
    }

    /// Removes a pending timer.
    fn tw_queue_remove(queue: *mut tw_queue, timer: *mut tw_timer) -> c_int {
        answer::code(|| {
            on_queue!(queue, queue => {
                let removed = queue.driven().remove(timer::known(timer)?);
                Ok(c_int::from(removed.map_err(unknown)?.1.is_changed()))
            })
        })
    }

    /// Changes the deadline of a pending timer.
    fn tw_queue_reschedule(queue: *mut tw_queue, timer: *mut tw_timer, deadline: u64) -> c_int {
        answer::code(|| {
            on_queue!(queue, queue => {
                let now = queue.now();
                let moved = queue.driven().reschedule_at(timer::known(timer)?, deadline, now);
                Ok(c_int::from(moved.map_err(unknown)?.is_changed()))
            })
        })
    }

    /// Writes when a pending timer is due.
    fn tw_queue_expiry(queue: *const tw_queue, timer: *const tw_timer, tick: *mut u64) -> c_int {
        let expiry = || {
            on_queue!(queue, queue => {
                let node = timer::known(timer.cast_mut())?;
                let absent = || if node.is_linked() { code::ELSEWHERE } else { code::ABSENT };
                queue.expiry(node.get()).ok_or_else(absent)
            })
        };
        // SAFETY: the header's contract.
        unsafe { answer::value(tick, expiry) }
    }

    /// Writes the timer that will leave the queue first, and its tick.
    fn tw_queue_peek(queue: *const tw_queue, timer: *mut *mut tw_timer, tick: *mut u64) -> c_int {
        let head = || on_queue!(queue, queue => Ok(shown(queue.peek())));
        // SAFETY: the header's contract.
        unsafe { show(timer, tick, head) }
    }

    /// Writes the timer that will leave the queue after the first timer, and its tick.
    fn tw_queue_second(queue: *const tw_queue, timer: *mut *mut tw_timer, tick: *mut u64) -> c_int {
        let second = || on_queue!(queue, queue => Ok(shown(queue.second())));
        // SAFETY: the header's contract.
        unsafe { show(timer, tick, second) }
    }

    /// Writes when the first timer is due.
    fn tw_queue_next_expiry(queue: *const tw_queue, tick: *mut u64) -> c_int {
        let next = || on_queue!(queue, queue => Ok(queue.next_expiry()));
        // SAFETY: the header's contract.
        unsafe { answer::found(tick, next) }
    }

    /// Writes the tick to which an alarm must be set.
    fn tw_queue_next_wake(queue: *const tw_queue, tick: *mut u64) -> c_int {
        let next = || on_queue!(queue, queue => Ok(queue.next_wake()));
        // SAFETY: the header's contract.
        unsafe { answer::found(tick, next) }
    }

    /// Removes the first due timer, if there is one.
    fn tw_queue_pop_expired(queue: *mut tw_queue, now: u64, fired: *mut tw_expired) -> c_int {
        let popped = || on_queue!(queue, queue => Ok(queue.pop_expired(now).map(left)));
        // SAFETY: the header's contract.
        unsafe { answer::filled_if(fired, popped) }
    }

    /// Removes the first due timer and inserts it again, in one step.
    fn tw_queue_pop_and_reinsert(
        queue: *mut tw_queue,
        now: u64,
        rearm: tw_rearm_fn,
        user: *mut c_void,
        fired: *mut tw_expired,
    ) -> c_int {
        let popped = || {
            let head = checked(queue)?;
            let rearm = rearm.ok_or(code::INVALID)?;
            let popped = with_family!(head.family, F => {
                let next = |expiry, node: &&'static tickwright_core::Timer<F, ()>| {
                    let timer = timer::of::<F>(TimerRef::from(*node));
                    // SAFETY: the caller's function, called as the header says.
                    lend(queue, &head.state, || unsafe { rearm(timer, expiry, user) })
                };
                // SAFETY: 1. `checked` has returned the head. 2. The queue is of this family. 3.
                // The reference is the only one: `next` lends the queue while it calls.
                unsafe { behind::<F>(queue) }.pop_and_reinsert(now, next).map(left)
            });
            popped.ok_or(code::INVALID)
        };
        // SAFETY: the header's contract.
        unsafe { answer::filled_if(fired, popped) }
    }

    /// Passes due timers to a callback, within a budget.
    fn tw_queue_advance(
        queue: *mut tw_queue,
        now: u64,
        budget: usize,
        fire: tw_fire_fn,
        user: *mut c_void,
        done: *mut tw_advance,
    ) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            let room = unsafe { grow::room(done) }?;
            let head = checked(queue)?;
            let fire = fire.ok_or(code::INVALID)?;
            let passes = head.passes.get().checked_add(1).ok_or(code::BUSY)?;
            head.passes.set(passes);
            let (mut rest, mut delivered) = (budget, 0);
            while let Some(fired) =
                on_queue!(queue, queue => Ok(queue.pop_expired_within(now, &mut rest).map(left)))?
            {
                delivered += 1;
                // SAFETY: 1. The caller's function, called as the header says. 2. No reference to
                // the queue or to a timer is alive.
                unsafe { fire(&raw const fired, user) };
            }
            head.passes.set(passes - 1);
            let moved = budget - rest - delivered;
            // SAFETY: 1. `grow::room` has returned `room`; 2. the header's contract.
            unsafe { grow::fill(done, room, tw_advance { delivered, moved, ..tw_advance::DEFAULT }) };
            on_queue!(queue, queue => Ok(c_int::from(queue.next_wake().is_some_and(|wake| wake <= queue.now()))))
        })
    }

    /// Advances the queue's time.
    fn tw_queue_update_now(queue: *mut tw_queue, now: u64) -> c_int {
        answer::code(|| on_queue!(queue, queue => { queue.update_now(now); Ok(0) }))
    }

    /// Writes the queue's time.
    fn tw_queue_now(queue: *const tw_queue, tick: *mut u64) -> c_int {
        let now = || on_queue!(queue, queue => Ok(queue.now()));
        // SAFETY: the header's contract.
        unsafe { answer::value(tick, now) }
    }

    /// Returns the number of pending timers.
    fn tw_queue_len(queue: *const tw_queue) -> isize {
        answer::count(|| on_queue!(queue, queue => Ok(queue.len())))
    }

    /// Calls a function with each pending timer.
    fn tw_queue_each(queue: *mut tw_queue, visit: tw_visit_fn, user: *mut c_void) -> c_int {
        answer::code(|| {
            let head = checked(queue)?;
            let visit = visit.ok_or(code::INVALID)?;
            let visited = with_family!(head.family, F => {
                // SAFETY: 1. `checked` has returned the head. 2. The queue is of this family. 3.
                // The reference is the only one: the queue is lent while `visit` runs.
                let queue_behind = unsafe { behind::<F>(queue) };
                lend(queue, &head.state, || queue_behind.for_each(|pending| {
                    let timer = timer::of::<F>(pending.key);
                    // SAFETY: the caller's function, called as the header says.
                    code::contained(|| unsafe { visit(timer, pending.expiry, user) });
                }));
            });
            visited.map(|()| 0).ok_or(code::INVALID)
        })
    }

    /// Removes every timer.
    fn tw_queue_clear(queue: *mut tw_queue) -> c_int {
        answer::code(|| on_queue!(queue, queue => { queue.clear(); Ok(0) }))
    }

    /// Checks the structure of the queue.
    fn tw_queue_check(queue: *const tw_queue, text: *mut c_char, bytes: usize) -> c_int {
        let check = || on_queue!(queue, queue => Ok(queue.check()));
        // SAFETY: the header's contract.
        unsafe { answer::verdict(text, bytes, check) }
    }
);
