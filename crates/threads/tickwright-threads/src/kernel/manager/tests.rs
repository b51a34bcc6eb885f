use core::cell::RefCell;
use std::sync::mpsc;

use super::*;
use crate::CreateError;
use crate::clock::Timekeeper;
use crate::error::JoinError;
use crate::runtime::RuntimeHandle;
use crate::this_thread;
use crate::threads::Wait;
use tickwright::time::SystemClock;

const PLAIN: Attributes = Attributes::new();

fn start() -> (Arc<Kernel>, Arc<RequestPipe>) {
    let (pthread, dictionary, keeper): (_, _, Timekeeper) =
        OneToOne::new().clock(SystemClock::Monotonic).parts().unwrap();
    let funnel = Funnel::new(pthread).unwrap();
    let requests = Arc::clone(&funnel.requests);
    (Kernel::new(Box::new(funnel), dictionary, keeper), requests)
}

fn create(kernel: &Kernel, body: impl FnOnce() -> usize + Send + 'static) -> crate::ThreadId {
    kernel.create(&PLAIN, Box::new(body)).unwrap()
}

#[test]
fn places_are_used_again_and_the_manager_ends_when_all_are_free() {
    let (kernel, requests) = start();
    for i in 0..50 {
        let id = create(&kernel, move || i);
        assert_eq!(kernel.join(id, Wait::Forever).unwrap(), i);
        kernel.create(&PLAIN.detached(true), Box::new(|| 0)).unwrap();
    }
    // These are the threads that nobody joins.
    for _ in 0..5 {
        create(&kernel, || 0);
    }
    kernel.close();
    assert_eq!(requests.used(), 0);
    assert!(matches!(kernel.create(&PLAIN, Box::new(|| 0)), Err(CreateError::Closed)));
    drop(kernel);
    assert_eq!(Arc::strong_count(&requests), 1, "the manager and all threads have let go of it");
}

#[test]
fn without_its_manager_a_runtime_creates_nothing_and_loses_nothing() {
    let (kernel, requests) = start();
    let (go, wait) = mpsc::channel::<()>();
    let id = create(&kernel, move || usize::from(wait.recv().is_ok()));
    let left = create(&kernel, || 2);
    requests.disturb();
    // Requests from before the manager read the disturbance still get an answer.
    let refused = loop {
        match kernel.create(&PLAIN, Box::new(|| 0)) {
            Ok(id) => assert_eq!(kernel.join(id, Wait::Forever).unwrap(), 0),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, CreateError::NoManager), "{refused}");
    assert!(matches!(kernel.join(id, Wait::No), Err(JoinError::Busy)));
    go.send(()).unwrap();
    assert_eq!(kernel.join(id, Wait::Forever).unwrap(), 1);
    kernel.close();
    assert_eq!(kernel.join(left, Wait::No).unwrap(), 2);
}

/// Whenever the manager ends, the threads that wait for it get an answer.
#[test]
fn a_manager_that_ends_answers_all_who_wait() {
    let (kernel, requests) = start();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let kernel = &kernel;
            scope.spawn(move || {
                loop {
                    match kernel.create(&PLAIN.detached(true), Box::new(|| 0)) {
                        Ok(_) => {}
                        Err(error) => break assert!(matches!(error, CreateError::NoManager), "{error}"),
                    }
                }
            });
        }
        requests.disturb();
    });
    kernel.close();
}

struct CreatesInTheEnd(RuntimeHandle, mpsc::Sender<bool>);

impl Drop for CreatesInTheEnd {
    fn drop(&mut self) {
        let created = self.0.create(&PLAIN.detached(true), || 0);
        let _ = self.1.send(created.is_ok());
    }
}

thread_local! {
    static LATE: RefCell<Option<CreatesInTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn destructors_that_create_threads_do_not_wait_for_themselves() {
    let (kernel, _desk) = start();
    let (tell, told) = mpsc::channel();
    let handle = RuntimeHandle::new(Arc::clone(&kernel) as Arc<dyn Threads>);
    let id = create(&kernel, move || {
        LATE.set(Some(CreatesInTheEnd(handle, tell)));
        1
    });
    assert_eq!(kernel.join(id, Wait::Forever).unwrap(), 1);
    assert_eq!(told.recv(), Ok(true));
    kernel.close();
}

fn blocked(signal: i32) -> bool {
    let mask = Mask::current();
    // SAFETY: 1. The set was filled, and the signal exists.
    unsafe { libc::sigismember(mask.raw(), signal) == 1 }
}

#[test]
fn signals_that_the_creator_does_not_take_its_threads_do_not_take() {
    let (kernel, _desk) = start();
    let look = || usize::from(blocked(libc::SIGUSR1)) * 2 + usize::from(blocked(libc::SIGUSR2));
    let id = create(&kernel, look);
    assert_eq!(kernel.join(id, Wait::Forever).unwrap(), 0);
    let id = create(&kernel, move || {
        let mine = Mask::current();
        Mask::block_all();
        let inner = this_thread::handle().unwrap();
        let id = inner.create(&PLAIN, look).unwrap();
        mine.set();
        inner.join(id).unwrap() * 4 + look()
    });
    assert_eq!(kernel.join(id, Wait::Forever).unwrap(), 3 * 4);
    kernel.close();
}

#[test]
fn whoever_ends_last_cleans_up() {
    let (kernel, requests) = start();
    let inner = Arc::clone(&kernel);
    let (tell, told) = mpsc::channel();
    create(&kernel, move || {
        inner.close();
        let _ = tell.send(());
        0
    });
    drop(kernel);
    told.recv().unwrap();
    while Arc::strong_count(&requests) > 1 {
        std::thread::yield_now();
    }
    assert_eq!(requests.used(), 0);
}
