//! Lets each allocation of a thread creation fail, one after the other. The creation must return an
//! error or succeed, and nothing else must change. This program does not use the test harness,
//! because the harness allocates on its own thread.

mod common;

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicI64, Ordering};
use std::alloc::System;
use std::sync::Arc;

use tickwright_threads::{Attributes, CreateError, Model, Place, RuntimeHandle, this_thread};

/// The number of allocations that still succeed. If it is negative, all allocations succeed.
static GRANTED: AtomicI64 = AtomicI64::new(-1);

fn grant() -> bool {
    let less = |granted| if granted > 0 { Some(granted - 1) } else { None };
    match GRANTED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
        Ok(_) => true,
        Err(granted) => granted < 0,
    }
}

struct Sparing;

// SAFETY: 1. Every call goes to the system's allocator unchanged, or returns null as the trait
// allows.
unsafe impl GlobalAlloc for Sparing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises this.
        if grant() { unsafe { System.alloc(layout) } } else { core::ptr::null_mut() }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises this.
        if grant() { unsafe { System.realloc(old, layout, size) } } else { core::ptr::null_mut() }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller promises this.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static SPARING: Sparing = Sparing;

/// Lets only `grants` allocations, counted over all threads, succeed while a closure runs.
fn with_grants<R>(grants: i64, run: impl FnOnce() -> R) -> R {
    GRANTED.store(grants, Ordering::SeqCst);
    let result = run();
    GRANTED.store(-1, Ordering::SeqCst);
    result
}

type Made = fn() -> Model;

/// The models under test. The portable back end is not included, because each of its stacks is a
/// thread of the standard library, which ends the process if there is no memory.
const MODELS: [(&str, Made); 5] = [
    ("one-to-one", common::one_to_one),
    ("own stacks", common::own_stacks),
    ("fresh stacks", common::fresh_stacks),
    ("m:n", common::two_workers),
    ("as ngpt", common::as_ngpt),
];

const MOST: i64 = 40;

/// Creates a thread with 0, 1, 2, ... successful allocations. Returns the smallest number with
/// which the creation succeeds.
fn each_allocation_in_turn(name: &str, handle: &RuntimeHandle, attributes: &Attributes) -> i64 {
    let held = Arc::new(());
    let mut suffices = None;
    for grants in 0..MOST {
        let own = Arc::clone(&held);
        let created = with_grants(grants, || handle.create(attributes, move || Arc::strong_count(&own)));
        match created {
            Ok(id) => {
                assert!(handle.join(id).unwrap() >= 2, "{name}, {grants}");
                suffices = suffices.or(Some(grants));
            }
            Err(error) => {
                assert!(matches!(error, CreateError::OutOfMemory), "{name}, {grants}: {error}");
                assert_eq!(Arc::strong_count(&held), 1, "{name}, {grants}: the body was dropped");
            }
        }
    }
    suffices.unwrap_or_else(|| panic!("{name}: {MOST} allocations do not suffice"))
}

/// Creates waiting threads while all allocations fail, until a creation returns an error. Then all
/// these threads end.
fn as_many_as_there_is_room_for(name: &str, handle: &RuntimeHandle) {
    let door = common::Doorkeeper::new();
    let mut created = Vec::with_capacity(1000);
    let gates: Vec<_> = (0..1000).map(|_| door.gate()).collect();
    let error = with_grants(20, || {
        gates.into_iter().find_map(|gate| {
            let body = move || {
                gate.wait();
                1
            };
            handle.create(&Attributes::new(), body).map(|id| created.push(id)).err()
        })
    });
    assert!(matches!(error, Some(CreateError::OutOfMemory)), "{name}: {error:?}");
    drop(door);
    assert!(created.into_iter().all(|id| matches!(handle.join(id), Ok(1))), "{name}");
}

fn main() {
    // On platforms other than Unix the standard library starts the threads, and ends the process if
    // there is no memory.
    if cfg!(not(unix)) {
        return println!("no_memory: skipped: this system's creations end the process");
    }
    creations_are_refused_or_succeed();
    println!("no_memory: creations are refused or succeed");
}

fn creations_are_refused_or_succeed() {
    for (name, model) in MODELS {
        // In this build each stack is a thread of the standard library, which ends the process if
        // there is no memory for it.
        if cfg!(tickwright_portable) && matches!(model(), Model::ManyToMany(_)) {
            continue;
        }
        // Each case uses a new runtime, because a runtime does not allocate again what it has
        // allocated in an earlier case.
        for attributes in [
            Attributes::new(),
            Attributes::new().name("with a name"),
            Attributes::new().place(Place::Spread),
            Attributes::new().stack(32 << 10).guard(8 << 10),
        ] {
            let runtime = common::start(model());
            assert!(each_allocation_in_turn(name, &runtime, &attributes) > 0, "{name}");
            let inside = runtime.handle();
            runtime.run(move || each_allocation_in_turn(name, &inside, &attributes)).unwrap();
            assert_eq!(runtime.live(), 0, "{name}");
        }
        let runtime = common::start(model());
        as_many_as_there_is_room_for(name, &runtime);
        let inside = runtime.handle();
        runtime.run(move || as_many_as_there_is_room_for(name, &inside)).unwrap();
        for grants in 0..MOST {
            let spawned = with_grants(grants, || runtime.spawn(&Attributes::new(), || [5_u64; 20]));
            match spawned {
                Ok(handle) => assert_eq!(handle.join().unwrap(), [5; 20]),
                Err(error) => assert!(matches!(error, CreateError::OutOfMemory), "{name}, {grants}: {error}"),
            }
        }
        this_thread::yield_now();
    }
}
