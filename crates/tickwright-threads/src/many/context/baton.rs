//! Contexts as kernel threads, of which one at a time goes on: slow, and plain to every checker.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::pause::{PORTABLE_STACK, Pause, Way};
use crate::primitive::lock;
use crate::stack::Mapping;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The context goes on.
    Context,
    /// The worker goes on; the context has paused, or (`None`) returned.
    Worker(Option<Pause>),
}

/// Says which thread goes on.
pub(in crate::many) struct Baton {
    turn: Mutex<Turn>,
    passed: Condvar,
}

impl Baton {
    fn pass(&self, turn: Turn) {
        *lock(&self.turn) = turn;
        self.passed.notify_all();
    }

    fn wait_for_context(&self) {
        let mut turn = lock(&self.turn);
        while *turn != Turn::Context {
            turn = self.passed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wait_for_worker(&self) -> Option<Pause> {
        let mut turn = lock(&self.turn);
        loop {
            if let Turn::Worker(why) = *turn {
                return why;
            }
            turn = self.passed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Is called on the context's thread: hands the turn to the worker, and waits for it.
    pub(super) fn pause(&self, why: Pause) {
        self.pass(Turn::Worker(Some(why)));
        self.wait_for_context();
    }
}

type Main = Box<dyn FnOnce(Way)>;

/// What the context's thread runs.
struct Begin(Main);

// SAFETY: 1. Only one of the worker's thread and its contexts' threads goes on at a time, and each
// hands over under the baton's lock. So what they use is used by one thread after the other. 2.
// What `main` refers to is the worker, which waits.
unsafe impl Send for Begin {}

pub(in crate::many) struct Threaded {
    mapping: Mapping,
    baton: Arc<Baton>,
    main: Option<Main>,
    thread: Option<JoinHandle<()>>,
}

impl Threaded {
    pub(super) fn new(mapping: Mapping, main: impl FnOnce(Way) + 'static) -> Self {
        let baton = Arc::new(Baton { turn: Mutex::new(Turn::Worker(None)), passed: Condvar::new() });
        Self { mapping, baton, main: Some(Box::new(main)), thread: None }
    }

    pub(super) fn resume(&mut self) -> Option<Pause> {
        if let Some(main) = self.main.take() {
            let (baton, begin) = (Arc::clone(&self.baton), Begin(main));
            let started = std::thread::Builder::new().stack_size(PORTABLE_STACK).spawn(move || {
                // Captures the whole struct: only that may be sent to another thread, not its
                // field.
                let begin = begin;
                baton.wait_for_context();
                (begin.0)(Arc::as_ptr(&baton).cast());
                baton.pass(Turn::Worker(None));
            });
            // Without a thread there is nothing to go on; the thread of this context ends unrun.
            self.thread = started.ok();
        }
        self.thread.as_ref()?;
        self.baton.pass(Turn::Context);
        let why = self.baton.wait_for_worker();
        if why.is_none()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
        why
    }

    pub(super) fn into_mapping(self) -> Mapping {
        self.mapping
    }
}
