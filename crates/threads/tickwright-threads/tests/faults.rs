//! Tests of faults and signals. A stack overflow is reported with the name of its thread. In all
//! other cases the process behaves as if it did not use the library.
#![cfg(target_os = "linux")]
#![cfg(unix)]

mod common;

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

use tickwright_threads::{Attributes, LEAST_STACK, Model, OneToOne, Runtime, this_thread};

const PLAIN: Attributes = Attributes::new();
const WHAT: &str = "TICKWRIGHT_FAULT";

/// Runs a test of this file in a separate process. `what` is the case that the process runs. If the
/// process hangs, an alarm ends it.
fn child(test: &str, what: &str) -> Output {
    let mut child = common::this_program();
    child.args([test, "--exact", "--test-threads=1", "--nocapture"]).env(WHAT, what).stdin(Stdio::null());
    child.output().unwrap()
}

/// Returns the case that this process must run, if it is a child.
fn told() -> Option<String> {
    let what = std::env::var(WHAT).ok()?;
    // SAFETY: 1. A number.
    unsafe {
        libc::alarm(60);
    }
    // SAFETY: 1. The limit turns off core files, since these processes are meant to die.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
    }
    Some(what)
}

fn model(name: &str) -> Model {
    match name {
        "one-to-one" => common::one_to_one(),
        "own stacks" => common::own_stacks(),
        "fresh stacks" => common::fresh_stacks(),
        "portable" => common::portable(),
        "small" => Model::OneToOne(OneToOne::new().stack(64 * 1024)),
        _ => common::one_worker(),
    }
}

const MODELS: [&str; 6] = ["one-to-one", "own stacks", "fresh stacks", "portable", "small", "m:n"];

#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let frame = [depth; 64];
    core::hint::black_box(&frame);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + frame[1] }
}

fn end(status: i32) -> ! {
    // SAFETY: 1. Ends the process.
    unsafe { libc::_exit(status) }
}

#[test]
fn an_overflow_names_its_thread_in_every_model() {
    if let Some(what) = told() {
        let runtime = common::start(model(&what));
        // Other threads come and go, so alternate stacks are reused.
        for _ in 0..40 {
            runtime.join(runtime.create(&PLAIN.name("brief"), || 1).unwrap()).unwrap();
        }
        let deep = runtime.create(&PLAIN.name("deep"), || recurse(0) as usize).unwrap();
        drop(runtime.join(deep));
        end(9);
    }
    for model in MODELS {
        let ended = child("an_overflow_names_its_thread_in_every_model", model);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{model}: {said}");
        assert!(said.contains("thread 'deep' ") && said.contains("overflowed its stack"), "{model}: {said}");
    }
}

static CALLS: AtomicU32 = AtomicU32::new(0);
static WHERE: AtomicUsize = AtomicUsize::new(0);

/// The program's own handler. In its third call it makes the page accessible.
extern "C" fn own(_: i32) {
    let mark = 0_u8;
    WHERE.store(core::ptr::from_ref(&mark).addr(), Ordering::SeqCst);
    if CALLS.fetch_add(1, Ordering::SeqCst) == 2 {
        repair();
    }
}

static PAGE: AtomicUsize = AtomicUsize::new(0);

fn repair() {
    let page = core::ptr::with_exposed_provenance_mut(PAGE.load(Ordering::SeqCst));
    // SAFETY: 1. The page is a mapping of ours.
    unsafe {
        libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE);
    }
}

/// Maps a page that cannot be accessed.
fn page() -> usize {
    let (none, kind) = (core::ptr::null_mut(), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: 1. The platform chooses the address of the mapping.
    let page = unsafe { libc::mmap(none, 4096, libc::PROT_NONE, kind, -1, 0) };
    PAGE.store(page.expose_provenance(), Ordering::SeqCst);
    page.addr()
}

fn touch(at: usize) {
    // SAFETY: 1. The address is a byte of our own page, or the write causes the fault under test.
    unsafe {
        core::ptr::with_exposed_provenance_mut::<u8>(at).write_volatile(1);
    }
}

fn set_handler(signal: i32, handler: usize, flags: i32) {
    // SAFETY: 1. The struct holds numbers, for which zeros are valid: no handler, an empty mask.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: 1. The handler has the type that the flags state.
    let set = unsafe { libc::sigaction(signal, &raw const action, core::ptr::null_mut()) };
    assert_eq!(set, 0);
}

fn raise(signal: i32) {
    // SAFETY: 1. The signal exists.
    unsafe {
        libc::raise(signal);
    }
}

/// Runs the case in the child, with the library or without it. The process must end in the same way
/// in both cases.
fn fault(what: &str, runtime: Option<Runtime>) -> ! {
    let mut words = what.split(' ');
    let (how, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let handler: extern "C" fn(i32) = own;
    let (handler, flags) = match before {
        "ignored" => (libc::SIG_IGN, 0),
        "handled" => (handler as usize, 0),
        "handled-above" => (handler as usize, libc::SA_ONSTACK),
        "once" => (handler as usize, libc::SA_RESETHAND),
        _ => (libc::SIG_DFL, 0),
    };
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        set_handler(signal, handler, flags);
    }
    let runtime = runtime.map(|runtime| {
        drop(runtime);
        common::start(common::one_worker())
    });
    match how {
        "fault" => touch(page()),
        "raise" => raise(libc::SIGSEGV),
        "raise-bus" => raise(libc::SIGBUS),
        "raise-twice" => (0..2).for_each(|_| raise(libc::SIGSEGV)),
        "raise-often" => (0..20).for_each(|_| raise(libc::SIGBUS)),
        _ => (0..3).for_each(|_| touch(8)),
    }
    // A handler can only guess from an address whether it runs on the thread's own stack.
    let mark = 0_u8;
    let near = WHERE.load(Ordering::SeqCst).abs_diff(core::ptr::from_ref(&mark).addr()) < 60_000;
    let own = before == "handled" && !near && CALLS.load(Ordering::SeqCst) > 0;
    drop(runtime);
    end(CALLS.load(Ordering::SeqCst).min(50) as i32 + if own { 100 } else { 0 })
}

#[test]
fn other_faults_end_as_without_the_library() {
    if let Some(what) = told() {
        match what.split_once(' ') {
            Some(("with", what)) => fault(what, Some(common::start(common::one_to_one()))),
            Some((_, what)) => fault(what, None),
            None => end(8),
        }
    }
    for before in ["default", "ignored", "handled", "handled-above", "once"] {
        for how in ["fault", "raise", "raise-bus", "raise-twice", "raise-often"] {
            let run = |with: &str| {
                let what = format!("{with} {how} {before}");
                let status = child("other_faults_end_as_without_the_library", &what).status;
                (status.signal(), status.code())
            };
            assert_eq!(run("with"), run("without"), "{how}, {before}");
        }
    }
}

const BUFFER: usize = 24 << 10;

/// A handler that does not request the alternate stack, and that needs more room than the smallest
/// stack has.
extern "C" fn needs_room(_: i32) {
    let mut text = [0_u8; BUFFER];
    for at in (0..BUFFER).step_by(512) {
        text[at] = core::hint::black_box(at as u8);
    }
    core::hint::black_box(&mut text);
    CALLS.fetch_add(1, Ordering::SeqCst);
}

/// On a worker, as on every kernel thread, the program's signal handlers run on the current stack.
#[test]
fn handlers_have_room_on_the_smallest_stacks() {
    if told().is_some() {
        let handler: extern "C" fn(i32) = needs_room;
        set_handler(libc::SIGUSR1, handler as usize, 0);
        for model in [common::one_worker(), common::as_ngpt()] {
            let runtime = common::start(model);
            let all = [0; 20].map(|_| {
                let signals = || {
                    raise(libc::SIGUSR1);
                    this_thread::yield_now();
                    raise(libc::SIGUSR1);
                    1
                };
                runtime.create(&PLAIN.stack(LEAST_STACK), signals).unwrap()
            });
            assert_eq!(all.map(|id| runtime.join(id).unwrap()), [1; 20]);
        }
        end(CALLS.load(Ordering::SeqCst) as i32);
    }
    let ended = child("handlers_have_room_on_the_smallest_stacks", "signals");
    assert_eq!(ended.status.code(), Some(80), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// If an M:N thread starts a program, that program blocks only the signals that this program
/// blocks, because workers block no signals.
#[test]
fn programs_that_an_mn_thread_starts_have_the_programs_signals() {
    let blocked = || {
        let said = Command::new("grep").args(["SigBlk", "/proc/self/status"]).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let own = blocked();
    for model in [common::one_worker(), common::portable()] {
        let runtime = common::start(model);
        assert_eq!(runtime.spawn(&PLAIN, blocked).unwrap().join().unwrap(), own);
    }
}
