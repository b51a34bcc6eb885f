//! Queues over the caller's timers, in the caller's memory.
//!
//! ```text
//!   memory    .. | tw_queue: state, family, passes | HookQueue<F> | the groups of a heap | ..
//!                  ^ the caller's handle, aligned
//! ```
//! The state is the address in disguise: memory that holds no queue, one that was destroyed and a
//! copy of one are told from it. While the library's own borrow of a queue crosses a callback
//! (`tw_queue_pop_and_reinsert`), the state is another, which every function refuses.

use core::alloc::Layout;
use core::cell::Cell;
use core::ffi::{c_char, c_int, c_void};
use core::fmt::{self, Write};

use tickwright_core::{Expired, HookQueue, Inserted, Pending, Removed, Tick, TimerRef};

use crate::code;
use crate::family::{Known, with_family};
use crate::timer::{self, tw_timer};

/// What stands before each queue: the caller's handle. Its functions take it as constant where the
/// caller has nothing to expect of them but an answer; here all of them borrow the queue for
/// themselves.
#[repr(C)]
#[derive(Debug)]
pub struct tw_queue {
    state: Cell<u64>,
    family: c_int,
    /// Advances that are under way; then it cannot be destroyed.
    passes: Cell<u32>,
}

/// A timer that has left its queue because it was due.
#[repr(C)]
#[derive(Debug)]
pub struct tw_expired {
    /// The timer.
    pub timer: *mut tw_timer,
    /// The deadline asked for, or the queue's now if that was later when it was asked.
    pub deadline: u64,
    /// The tick at which it was due in this structure.
    pub expiry: u64,
}

/// What an advance did.
#[repr(C)]
#[derive(Debug)]
pub struct tw_advance {
    /// Timers handed to the callback.
    pub delivered: usize,
    /// Timers moved inside the structure.
    pub moved: usize,
}

/// Is called with each timer that is due.
pub type tw_fire_fn = Option<unsafe extern "C-unwind" fn(fired: *const tw_expired, user: *mut c_void)>;

/// Answers the next deadline of a timer that is due.
pub type tw_rearm_fn =
    Option<unsafe extern "C-unwind" fn(timer: *mut tw_timer, expiry: u64, user: *mut c_void) -> u64>;

/// A queue with what stands before it.
#[repr(C)]
struct Made<F: Known> {
    head: tw_queue,
    queue: HookQueue<'static, F, ()>,
}

/// States, before the address is mixed in.
const READY: u64 = 0x7469_636b_7772_6967;
const LENT: u64 = 0x7469_636b_6c65_6e74;

fn state(kind: u64, queue: *const tw_queue) -> u64 {
    kind ^ (queue.addr() as u64).rotate_left(16)
}

/// What stands before a queue that may be used.
///
/// # Errors
/// [`code::INVALID`] where no queue is, [`code::BUSY`] where one is that a callback may not touch.
fn checked<'q>(queue: *const tw_queue) -> Result<&'q tw_queue, c_int> {
    if queue.is_null() || !queue.is_aligned() {
        return Err(code::INVALID);
    }
    // Memory that holds no queue may be smaller than one. So only the state is borrowed at first.
    // SAFETY: 1. not null and aligned; 2. the state is readable, by the header's contract.
    match unsafe { &(*queue).state }.get() {
        // SAFETY: 1. as above; 2. a queue, as its state says; 3. nobody borrows the head mutably,
        // ever.
        found if found == state(READY, queue) => Ok(unsafe { &*queue }),
        found if found == state(LENT, queue) => Err(code::BUSY),
        _ => Err(code::INVALID),
    }
}

/// The queue behind a head.
///
/// # Safety
/// `checked` has answered the head, and its family is `F`; no other reference to the queue is
/// alive.
unsafe fn behind<'q, F: Known>(queue: *const tw_queue) -> &'q mut HookQueue<'static, F, ()> {
    // SAFETY: `tw_queue_init` has put a `Made<F>` there: the state and the family say so.
    let behind = unsafe { &raw mut (*queue.cast_mut().cast::<Made<F>>()).queue };
    // SAFETY: 1. as above; 2. the reference is the only one, as the caller says: each function of
    // this file ends it before it returns or calls back, but for `tw_queue_pop_and_reinsert`, which
    // sets the state that `checked` refuses.
    unsafe { &mut *behind }
}

/// Does something with the queue behind `$handle`, whatever its family.
macro_rules! on_queue {
    ($handle:expr, $queue:ident => $body:expr) => {{
        let head = checked($handle)?;
        with_family!(head.family, F => {
            // SAFETY: 1. checked; 2. of this family; 3. no function of this file has two.
            let $queue = unsafe { behind::<F>($handle) };
            $body
        })
        .unwrap_or(Err(code::INVALID))
    }};
}

/// Refuses a place for an answer that is not aligned, before anything is done.
pub(crate) fn place<T>(place: *mut T) -> Result<(), c_int> {
    if place.is_aligned() { Ok(()) } else { Err(code::INVALID) }
}

/// Writes an answer where the caller wants one.
///
/// # Safety
/// `place` is null, or may be written.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() && place.is_aligned() {
        // SAFETY: not null, aligned; the rest is the caller's word.
        unsafe { place.write(value) };
    }
}

/// What a queue of a family takes, wherever its memory begins; `None` beyond the address space.
fn layout<F: Known>(capacity: usize) -> Option<(Layout, usize)> {
    let (layout, room) = Layout::new::<Made<F>>().extend(F::room(capacity)?).ok()?;
    Some((layout, room))
}

fn size<F: Known>(capacity: usize) -> usize {
    let bytes = layout::<F>(capacity).and_then(|(layout, _)| layout.size().checked_add(layout.align() - 1));
    bytes.unwrap_or(0)
}

/// The bytes that a queue takes; 0 for a family that is none, and for a capacity beyond all memory.
#[unsafe(no_mangle)]
pub extern "C" fn tw_queue_size(family: c_int, capacity: usize) -> usize {
    with_family!(family, F => size::<F>(capacity)).unwrap_or(0)
}

/// Makes a queue.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_init(
    queue: *mut *mut tw_queue,
    memory: *mut c_void,
    size: usize,
    family: c_int,
    capacity: usize,
) -> c_int {
    code::answer(|| {
        if queue.is_null() || !queue.is_aligned() || memory.is_null() {
            return Err(code::INVALID);
        }
        // SAFETY: not null; writable by the header's contract.
        unsafe { put(queue, core::ptr::null_mut()) };
        let made = with_family!(family, F => {
            // SAFETY: the header's contract.
            unsafe { make::<F>(memory.cast(), size, capacity) }
        });
        let made = made.unwrap_or(Err(code::INVALID))?;
        // SAFETY: as above.
        unsafe { put(queue, made) };
        Ok(0)
    })
}

/// Makes a queue of family `F` in `bytes` bytes at `memory`.
///
/// # Safety
/// The memory is writable, and the queue's alone.
unsafe fn make<F: Known>(memory: *mut u8, bytes: usize, capacity: usize) -> Result<*mut tw_queue, c_int> {
    let (layout, room) = layout::<F>(capacity).ok_or(code::FULL)?;
    if bytes < size::<F>(capacity) {
        return Err(code::FULL);
    }
    // That size is for the worst address.
    let skipped = memory.align_offset(layout.align());
    // SAFETY: within the memory, as just seen.
    let at = unsafe { memory.add(skipped) };
    // SAFETY: within the memory, as just seen.
    let groups = unsafe { at.add(room) };
    // SAFETY: the layout has put the room there, aligned, for this capacity; the caller answers for
    // the rest.
    let behind = unsafe { F::open(groups, capacity) }?;
    let queue = at.cast::<tw_queue>();
    let head = tw_queue { state: Cell::new(state(READY, queue)), family: F::NUMBER, passes: Cell::new(0) };
    // SAFETY: aligned and large enough, by the layout.
    unsafe { at.cast::<Made<F>>().write(Made { head, queue: behind }) };
    Ok(queue)
}

/// Ends a queue.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_destroy(queue: *mut tw_queue) -> c_int {
    code::answer(|| {
        let head = checked(queue)?;
        if head.passes.get() > 0 {
            return Err(code::BUSY);
        }
        // What it holds besides is the caller's memory.
        on_queue!(queue, queue => { queue.clear(); Ok(0) })?;
        head.state.set(0);
        Ok(0)
    })
}

fn insert<F: Known>(
    queue: &mut HookQueue<'static, F, ()>,
    timer: *mut tw_timer,
    deadline: Tick,
) -> Result<c_int, c_int> {
    let node = timer::offered::<F>(timer)?;
    // SAFETY: the references that the queue hands out end in this file, before a callback is
    // called: the caller gets pointers.
    let Inserted { head, .. } = unsafe { queue.insert_pinned(deadline, node) }.map_err(code::rejected)?;
    Ok(c_int::from(head.is_changed()))
}

/// Makes a timer pending.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_insert(queue: *mut tw_queue, timer: *mut tw_timer, deadline: u64) -> c_int {
    code::answer(|| on_queue!(queue, queue => insert(queue, timer, deadline)))
}

fn remove<F: Known>(queue: &mut HookQueue<'static, F, ()>, timer: *mut tw_timer) -> Result<c_int, c_int> {
    let Removed { head, .. } = queue.remove(timer::known::<F>(timer)?).map_err(code::unknown)?;
    Ok(c_int::from(head.is_changed()))
}

/// Takes a pending timer out.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_remove(queue: *mut tw_queue, timer: *mut tw_timer) -> c_int {
    code::answer(|| on_queue!(queue, queue => remove(queue, timer)))
}

fn reschedule<F: Known>(
    queue: &mut HookQueue<'static, F, ()>,
    timer: *mut tw_timer,
    deadline: Tick,
) -> Result<c_int, c_int> {
    let head = queue.reschedule(timer::known::<F>(timer)?, deadline).map_err(code::unknown)?;
    Ok(c_int::from(head.is_changed()))
}

/// Gives a pending timer another deadline.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_reschedule(
    queue: *mut tw_queue,
    timer: *mut tw_timer,
    deadline: u64,
) -> c_int {
    code::answer(|| on_queue!(queue, queue => reschedule(queue, timer, deadline)))
}

fn expiry<F: Known>(queue: &HookQueue<'static, F, ()>, timer: *const tw_timer) -> Result<Tick, c_int> {
    let node = timer::known::<F>(timer.cast_mut())?;
    match queue.expiry(node.get()) {
        Some(expiry) => Ok(expiry),
        None if node.is_linked() => Err(code::ELSEWHERE),
        None => Err(code::ABSENT),
    }
}

/// When a pending timer is due.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_expiry(
    queue: *const tw_queue,
    timer: *const tw_timer,
    tick: *mut u64,
) -> c_int {
    code::answer(|| {
        place(tick)?;
        let due = on_queue!(queue, queue => expiry(queue, timer))?;
        // SAFETY: the header's contract.
        unsafe { put(tick, due) };
        Ok(0)
    })
}

/// A timer that is shown, and when it is due.
fn shown<F: Known>(pending: Option<Pending<TimerRef<'static, F, ()>>>) -> Option<(*mut tw_timer, Tick)> {
    pending.map(|pending| (timer::of(pending.key), pending.expiry))
}

/// Writes a timer that is shown: 1, or 0 where there is none.
///
/// # Safety
/// Both places are null, or may be written.
unsafe fn show(shown: Option<(*mut tw_timer, Tick)>, timer: *mut *mut tw_timer, tick: *mut u64) -> c_int {
    let Some((found, due)) = shown else { return 0 };
    // SAFETY: the caller's word.
    unsafe { put(timer, found) };
    // SAFETY: the caller's word.
    unsafe { put(tick, due) };
    1
}

/// Shows the timer that leaves first.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_peek(
    queue: *const tw_queue,
    timer: *mut *mut tw_timer,
    tick: *mut u64,
) -> c_int {
    code::answer(|| {
        place(timer)?;
        place(tick)?;
        let head = on_queue!(queue, queue => Ok(shown(queue.peek())))?;
        // SAFETY: the header's contract.
        Ok(unsafe { show(head, timer, tick) })
    })
}

/// Shows the timer that leaves after the first.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_second(
    queue: *const tw_queue,
    timer: *mut *mut tw_timer,
    tick: *mut u64,
) -> c_int {
    code::answer(|| {
        place(timer)?;
        place(tick)?;
        let second = on_queue!(queue, queue => Ok(shown(queue.second())))?;
        // SAFETY: the header's contract.
        Ok(unsafe { show(second, timer, tick) })
    })
}

/// When the first timer is due.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_next_expiry(queue: *const tw_queue, tick: *mut u64) -> c_int {
    code::answer(|| {
        place(tick)?;
        let next = on_queue!(queue, queue => Ok(queue.next_expiry()))?;
        // SAFETY: the header's contract.
        Ok(unsafe { show(next.map(|next| (core::ptr::null_mut(), next)), core::ptr::null_mut(), tick) })
    })
}

/// When to wake up.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_next_wake(queue: *const tw_queue, tick: *mut u64) -> c_int {
    code::answer(|| {
        place(tick)?;
        let next = on_queue!(queue, queue => Ok(queue.next_wake()))?;
        // SAFETY: the header's contract.
        Ok(unsafe { show(next.map(|next| (core::ptr::null_mut(), next)), core::ptr::null_mut(), tick) })
    })
}

/// What has left, for the caller.
fn left<F: Known, V>(fired: Expired<TimerRef<'static, F, ()>, V>) -> tw_expired {
    tw_expired { timer: timer::of(fired.key), deadline: fired.deadline, expiry: fired.expiry }
}

/// Takes one due timer out.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_pop_expired(
    queue: *mut tw_queue,
    now: u64,
    fired: *mut tw_expired,
) -> c_int {
    code::answer(|| {
        place(fired)?;
        let Some(popped) = on_queue!(queue, queue => Ok(queue.pop_expired(now).map(left)))? else {
            return Ok(0);
        };
        // SAFETY: the header's contract.
        unsafe { put(fired, popped) };
        Ok(1)
    })
}

/// Takes one due timer out and puts it back in a step.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_pop_and_reinsert(
    queue: *mut tw_queue,
    now: u64,
    rearm: tw_rearm_fn,
    user: *mut c_void,
    fired: *mut tw_expired,
) -> c_int {
    code::answer(|| {
        place(fired)?;
        let head = checked(queue)?;
        let rearm = rearm.ok_or(code::INVALID)?;
        let popped = with_family!(head.family, F => {
            let next = |expiry, node: &&'static tickwright_core::Timer<F, ()>| {
                head.state.set(state(LENT, queue));
                // SAFETY: the caller's function, called as the header says.
                let next = unsafe { rearm(timer::of::<F>(TimerRef::from(*node)), expiry, user) };
                head.state.set(state(READY, queue));
                next
            };
            // SAFETY: 1. checked; 2. of this family; 3. the only reference: `next` changes the
            // state for as long as it calls.
            unsafe { behind::<F>(queue) }.pop_and_reinsert(now, next).map(left)
        });
        let Some(popped) = popped.ok_or(code::INVALID)? else { return Ok(0) };
        // SAFETY: the header's contract.
        unsafe { put(fired, popped) };
        Ok(1)
    })
}

/// Hands what is due to a callback, within a budget.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_advance(
    queue: *mut tw_queue,
    now: u64,
    budget: usize,
    fire: tw_fire_fn,
    user: *mut c_void,
    done: *mut tw_advance,
) -> c_int {
    code::answer(|| {
        place(done)?;
        let head = checked(queue)?;
        let fire = fire.ok_or(code::INVALID)?;
        let passes = head.passes.get().checked_add(1).ok_or(code::BUSY)?;
        head.passes.set(passes);
        let (mut rest, mut delivered) = (budget, 0);
        while let Some(fired) =
            on_queue!(queue, queue => Ok(queue.pop_expired_within(now, &mut rest).map(left)))?
        {
            delivered += 1;
            // SAFETY: the caller's function, called as the header says. No reference to the queue
            // or to a timer is alive.
            unsafe { fire(&raw const fired, user) };
        }
        head.passes.set(passes - 1);
        // SAFETY: the header's contract.
        unsafe { put(done, tw_advance { delivered, moved: budget - rest - delivered }) };
        on_queue!(queue, queue => Ok(c_int::from(queue.next_wake().is_some_and(|wake| wake <= queue.now()))))
    })
}

/// The queue's now.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_now(queue: *const tw_queue, tick: *mut u64) -> c_int {
    code::answer(|| {
        place(tick)?;
        let now = on_queue!(queue, queue => Ok(queue.now()))?;
        // SAFETY: the header's contract.
        unsafe { put(tick, now) };
        Ok(0)
    })
}

/// How many timers are pending.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_len(queue: *const tw_queue) -> isize {
    code::answer(|| {
        let len = (|| on_queue!(queue, queue => Ok(queue.len())))().map_err(|code| code as isize)?;
        Ok(isize::try_from(len).unwrap_or(isize::MAX))
    })
}

/// Takes every timer out.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_clear(queue: *mut tw_queue) -> c_int {
    code::answer(|| on_queue!(queue, queue => { queue.clear(); Ok(0) }))
}

/// Verifies the structure.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_queue_check(queue: *const tw_queue, text: *mut c_char, size: usize) -> c_int {
    code::answer(|| {
        let Err(violation) = on_queue!(queue, queue => Ok(queue.check()))? else { return Ok(0) };
        // SAFETY: the header's contract.
        unsafe { write_text(text, size, &violation) };
        Err(code::BROKEN)
    })
}

/// Writes text and a zero into `size` bytes, cut off where it does not fit, and answers how long
/// the whole text is.
///
/// # Safety
/// `text` is null, or `size` bytes there may be written.
pub(crate) unsafe fn write_text(text: *mut c_char, size: usize, what: &dyn fmt::Display) -> usize {
    struct Cut<'a>(&'a mut [u8], usize);
    impl Write for Cut<'_> {
        fn write_str(&mut self, piece: &str) -> fmt::Result {
            for (to, from) in self.0.iter_mut().skip(self.1).zip(piece.bytes()) {
                *to = from;
            }
            self.1 += piece.len();
            Ok(())
        }
    }
    let nowhere = text.is_null() || size == 0 || size > isize::MAX.unsigned_abs();
    let mut cut = if nowhere {
        Cut(&mut [], 0)
    } else {
        // SAFETY: as many zeros into the caller's bytes.
        unsafe { text.write_bytes(0, size) };
        // SAFETY: 1. the caller's word; 2. initialised just now; the last stays zero.
        Cut(unsafe { core::slice::from_raw_parts_mut(text.cast(), size - 1) }, 0)
    };
    let _ = write!(cut, "{what}");
    cut.1
}
