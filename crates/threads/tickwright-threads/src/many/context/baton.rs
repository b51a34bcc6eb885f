//! The portable back end. Each context is a kernel thread, and only one of a worker's contexts runs
//! at a time. This is slow, but every checker supports it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::pause::{PORTABLE_STACK, Pause, Way};
use crate::mapping::Mapping;
use crate::primitive::lock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It is the context's turn.
    Context,
    /// It is the worker's turn, because the context has paused for this reason, or has returned
    /// (`None`).
    Worker(Option<Pause>),
}

/// The shared state that says whether it is the context's turn or the worker's turn.
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

    /// Called on the context's kernel thread. Gives the turn to the worker, and waits until the
    /// worker gives it back.
    pub(super) fn pause(&self, why: Pause) {
        self.pass(Turn::Worker(Some(why)));
        self.wait_for_context();
    }
}

type Main = Box<dyn FnOnce(Way)>;

/// The function that the context's thread runs.
struct Begin(Main);

// SAFETY: 1. Of the worker's thread and its contexts' threads only one runs at a time, and each
// passes the turn under the baton's lock. So these threads use shared data one after the other. 2.
// `main` refers to the worker, which waits meanwhile.
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
                // This makes the closure capture the whole struct, because the struct is `Send`,
                // but its field is not.
                let begin = begin;
                baton.wait_for_context();
                (begin.0)(Arc::as_ptr(&baton).cast());
                baton.pass(Turn::Worker(None));
            });
            // If no kernel thread could be started, the thread of this context ends without
            // running.
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
