//! Tests that every function of the library works in the last moments of a thread and of a process:
//! in destructors of `thread_local!` variables, in later destructors of the platform's keys, and in
//! handlers of `exit`.
#![cfg(unix)]

mod common;

use core::cell::RefCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Mutex as StdMutex;

use common::start;
use tickwright::time::Instant;
use tickwright_threads::{
    Attributes, JoinError, Model, Runtime, RuntimeHandle, ThreadLocal, io, sync, this_thread,
};

const PLAIN: Attributes = Attributes::new();
const MS: Duration = Duration::from_millis(1);

type Made = fn() -> Model;

const MODELS: [(&str, Made); 6] = [
    ("one-to-one", common::one_to_one),
    ("own stacks", common::own_stacks),
    ("fresh stacks", common::fresh_stacks),
    ("m:n", common::two_workers),
    ("as ngpt", common::as_ngpt),
    ("portable", common::portable),
];

/// A function that threads call at their end. Each such deed records that it was done.
type Deed = fn(&RuntimeHandle);

const DEEDS: [(&str, Deed); 13] = [
    ("now", |_| assert!(this_thread::now() > Instant::ZERO)),
    ("current", |_| assert!(this_thread::current().is_some() || this_thread::stack().is_none())),
    ("handle", |_| assert_eq!(this_thread::handle().is_some(), this_thread::current().is_some())),
    ("yield", |_| this_thread::yield_now()),
    ("sleep", |_| this_thread::sleep(MS)),
    ("park", |_| this_thread::park_timeout(MS)),
    ("create", |handle| handle.detach(handle.create(&PLAIN, || 1).unwrap()).unwrap()),
    ("join", |handle| {
        let id = handle.create(&PLAIN, slow).unwrap();
        assert_eq!(handle.join(id).unwrap(), 1);
    }),
    ("join for a time", |handle| {
        let id = handle.create(&PLAIN, slow).unwrap();
        while let Err(error) = handle.join_timeout(id, MS) {
            assert!(matches!(error, JoinError::TimedOut), "{error}");
        }
    }),
    ("lock", |_| {
        let lock = sync::Mutex::new(1);
        *lock.lock() += 1;
    }),
    ("receive", |handle| {
        let (sender, receiver) = sync::bounded::<u8>(1);
        assert!(receiver.recv_until(this_thread::now() + Duration::from_micros(1)).is_err());
        let id = handle.create(&PLAIN, move || {
            this_thread::sleep(MS);
            usize::from(sender.send(5).is_ok())
        });
        assert_eq!(receiver.recv().ok(), Some(5));
        assert_eq!(handle.join(id.unwrap()).unwrap(), 1);
    }),
    ("values", |_| {
        let value = ThreadLocal::new(|| 5_u8);
        assert_eq!(value.with(|value| *value), 5);
    }),
    ("descriptors", |_| {
        let null = std::fs::File::open("/dev/null").unwrap();
        io::readable(&null).unwrap();
    }),
];

fn slow() -> usize {
    this_thread::sleep(MS);
    1
}

static DONE: AtomicUsize = AtomicUsize::new(0);

fn all_deeds(handle: &RuntimeHandle) {
    for (_, deed) in DEEDS {
        deed(handle);
        DONE.fetch_add(1, Ordering::SeqCst);
    }
    let own = start(common::one_to_one());
    assert_eq!(own.run(|| 3).unwrap(), 3);
}

/// A value whose drop does all deeds.
struct Last(RuntimeHandle);

impl Drop for Last {
    fn drop(&mut self) {
        all_deeds(&self.0);
    }
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

static HANDLE: AtomicPtr<RuntimeHandle> = AtomicPtr::new(core::ptr::null_mut());

/// The number of rounds of key destructors. After the second round the standard library has
/// destroyed its own variables.
const ROUNDS: usize = 3;

extern "C" fn key_ends(value: *mut c_void) {
    // SAFETY: 1. The pointer is from a handle that is never dropped.
    all_deeds(unsafe { &*HANDLE.load(Ordering::SeqCst) });
    let round = value.addr();
    if round < ROUNDS {
        set_key(round + 1);
    }
}

static KEY: StdMutex<Option<libc::pthread_key_t>> = StdMutex::new(None);

fn set_key(round: usize) {
    let key = *KEY.lock().unwrap().get_or_insert_with(|| {
        let mut key = 0;
        // SAFETY: 1. `key` may be written. 2. The function exists for ever.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(key_ends)) }, 0);
        key
    });
    // SAFETY: 1. The key is never deleted.
    assert_eq!(unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(round)) }, 0);
}

/// Runs the second half of a test in a separate process, and checks that all its deeds were done.
fn in_a_process(test: &str, deeds: usize) {
    let output = common::this_program()
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("TICKWRIGHT_PART", "child")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}{complaint}");
    assert!(said.contains(&format!("done {deeds}\n")), "{said}{complaint}");
}

fn is_child() -> bool {
    std::env::var_os("TICKWRIGHT_PART").is_some()
}

/// Sets an alarm that ends the process if it hangs.
fn within_a_minute() {
    // SAFETY: 1. The argument is a number of seconds.
    unsafe { libc::alarm(60) };
}

fn say() {
    println!("done {}", DONE.load(Ordering::SeqCst));
}

/// Runs the deeds on threads of each model, and on a thread that belongs to no runtime.
fn for_each_thread(prepare: fn(&RuntimeHandle), rounds: usize) {
    within_a_minute();
    for (_, model) in MODELS {
        let runtime = start(model());
        let handle = runtime.handle();
        HANDLE.store(Box::into_raw(Box::new(handle.clone())), Ordering::SeqCst);
        let own = handle.clone();
        let foreign = std::thread::spawn(move || {
            prepare(&own);
            // This thread has used the library before its last moments.
            this_thread::sleep(Duration::from_nanos(1));
        });
        foreign.join().unwrap();
        // This runtime is one-to-one. In the M:N model, these destructors run when the runtime's
        // own kernel threads end, and at that time they cannot wait for other threads.
        let other = start(common::one_to_one());
        let inner = other.handle();
        HANDLE.store(Box::into_raw(Box::new(other.handle())), Ordering::SeqCst);
        let id = runtime.create(&PLAIN, move || {
            prepare(&inner);
            0
        });
        assert_eq!(runtime.join(id.unwrap()).unwrap(), 0);
        drop(runtime);
        drop(other);
    }
    // All threads are detached or joined, and only their destructors can still be running.
    while DONE.load(Ordering::SeqCst) < MODELS.len() * 2 * rounds * DEEDS.len() {
        std::thread::yield_now();
    }
    say();
    std::process::exit(0);
}

fn variables(handle: &RuntimeHandle) {
    let last = Last(handle.clone());
    LAST.with_borrow_mut(|place| *place = Some(last));
}

fn keys(_: &RuntimeHandle) {
    set_key(1);
}

#[test]
fn in_destructors_of_thread_local_variables() {
    if is_child() {
        for_each_thread(variables, 1);
    }
    in_a_process("in_destructors_of_thread_local_variables", MODELS.len() * 2 * DEEDS.len());
}

#[test]
fn in_destructors_of_the_platforms_keys() {
    if is_child() {
        for_each_thread(keys, ROUNDS);
    }
    in_a_process("in_destructors_of_the_platforms_keys", MODELS.len() * 2 * DEEDS.len() * ROUNDS);
}

static LEFT: StdMutex<Vec<Runtime>> = StdMutex::new(Vec::new());

extern "C" fn at_exit() {
    for runtime in LEFT.lock().unwrap().drain(..) {
        all_deeds(&runtime);
        drop(runtime);
    }
    say();
}

#[test]
fn in_handlers_of_exit() {
    if is_child() {
        within_a_minute();
        // SAFETY: 1. The function exists for ever.
        assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
        for (_, model) in MODELS {
            let runtime = start(model());
            assert_eq!(runtime.run(|| 1).unwrap(), 1);
            LEFT.lock().unwrap().push(runtime);
        }
        std::process::exit(0);
    }
    in_a_process("in_handlers_of_exit", MODELS.len() * DEEDS.len());
}
