//! Runs a queue without a standard library, without an allocator and, on known targets, without a C
//! library: if the core crate needed any of these, the program would not link. The exit code is 0
//! if the timers leave in order.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicBool, Ordering};

use tickwright_core::structures::{Group, groups_for};
use tickwright_core::storage::HookPtr;
use tickwright_core::{
    BoundedFlat, BoundedHeap, CoarseWheel, Family, HookQueue, LentHeap, RbTree, RbTreeCached, Reject, SmallWheel,
    SortedList, Timer, TinyWheel, Wheel,
};

const MANY: usize = 16;

static HEAP_NODES: [Timer<BoundedHeap<4, MANY>, u32>; MANY] = [const { Timer::new(0) }; MANY];
static mut HEAP: HookQueue<'static, BoundedHeap<4, MANY>, u32> = HookQueue::new();
static LIST_NODES: [Timer<SortedList, u32>; MANY] = [const { Timer::new(0) }; MANY];
static mut LIST: HookQueue<'static, SortedList, u32> = HookQueue::new();
static LENT_NODES: [Timer<LentHeap<4>, u32>; MANY] = [const { Timer::new(0) }; MANY];
static mut LENT_GROUPS: [Group<HookPtr<LentHeap<4>>, 4>; groups_for::<4>(MANY)] = [Group::EMPTY; groups_for::<4>(MANY)];
// Copying these queues would need a `memset`, which does not exist here; the script checks in which
// section they lie.
static mut FLAT: HookQueue<'static, BoundedFlat<MANY>, u32> = HookQueue::new();
static mut BINARY: HookQueue<'static, BoundedHeap<2, MANY>, u32> = HookQueue::new();
static mut TREE: HookQueue<'static, RbTree, u32> = HookQueue::new();
static mut CACHED: HookQueue<'static, RbTreeCached, u32> = HookQueue::new();
static mut WHEEL: HookQueue<'static, Wheel, u32> = HookQueue::new();
static mut SMALL: HookQueue<'static, SmallWheel, u32> = HookQueue::new();
static mut TINY: HookQueue<'static, TinyWheel, u32> = HookQueue::new();
static mut COARSE: HookQueue<'static, CoarseWheel, u32> = HookQueue::new();
// Not zeros: its identity.
// SAFETY: 1. No other queue over this family has an identity: none inserts. 2. It is not 0.
static mut CHOSEN: HookQueue<'static, Wheel, u32> = unsafe { HookQueue::with_identity(NonZeroU32::MAX) };

/// Fills the queue, re-arms and removes timers, and drains it. Returns whether all timers left in
/// order.
fn works<F: Family>(queue: &mut HookQueue<'static, F, u32>, nodes: &'static [Timer<F, u32>; MANY]) -> Result<bool, Reject> {
    for (node, at) in nodes.iter().zip(0u64..) {
        queue.insert_at(at * 7 % 13, node, 0)?;
    }
    let refused = matches!(queue.insert_at(1, &nodes[0], 0), Err(rejected) if rejected.reason == Reject::AlreadyLinked);
    let rearmed = queue.pop_and_reinsert(0, |expiry, _| expiry + 5).is_some();
    let removed = queue.second().is_some_and(|second| queue.remove(second.key).is_ok());
    let mut last = 0;
    let mut ordered = true;
    let delivered = queue.advance(u64::MAX, |expired| {
        ordered &= expired.expiry >= last;
        last = expired.expiry;
    });
    let whole = queue.check().is_ok() && queue.is_empty();
    Ok(refused && rearmed && removed && ordered && whole && delivered == MANY - 1)
}

fn run() -> u8 {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::AcqRel) {
        return 3;
    }
    // SAFETY: 1. `TAKEN` lets one caller through, once. 2. Nothing else names the statics.
    let heap = unsafe { &mut *(&raw mut HEAP) };
    // SAFETY: as above.
    let list = unsafe { &mut *(&raw mut LIST) };
    // SAFETY: as above.
    let groups = unsafe { &mut *(&raw mut LENT_GROUPS) };
    let lent = HookQueue::lent(MANY, groups).and_then(|mut lent| works(&mut lent, &LENT_NODES));
    black_box((&raw mut FLAT, &raw mut BINARY, &raw mut TREE, &raw mut CACHED));
    black_box((&raw mut WHEEL, &raw mut SMALL, &raw mut TINY, &raw mut COARSE, &raw mut CHOSEN));
    let all = [works(heap, &HEAP_NODES), works(list, &LIST_NODES), lent];
    match all.iter().any(Result::is_err) {
        true => 2,
        false => u8::from(all.iter().any(|worked| *worked == Ok(false))),
    }
}

/// The start of the process: the kernel jumps here, and no C runtime has run.
#[cfg(all(target_os = "linux", target_arch = "x86_64", freestanding_start))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    core::arch::naked_asm!("xor ebp, ebp", "and rsp, -16", "call {run}", "mov edi, eax", "mov eax, 60", "syscall", "ud2", run = sym run_c)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", freestanding_start))]
extern "C" fn run_c() -> i32 {
    i32::from(run())
}

/// On other targets, the start-up code of the C library calls this function.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", freestanding_start)))]
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    i32::from(run())
}

/// The prebuilt core library names this function in its unwind tables; with `panic=abort` nothing
/// calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
