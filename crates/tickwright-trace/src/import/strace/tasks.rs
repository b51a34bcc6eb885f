//! Threads and their processes.
//!
//! A thread whose creation no line shows counts as a thread of the first process: with `-e trace=`,
//! a trace has no `clone`. On a terminal, strace omits the number of a lone thread. The first
//! number that no `clone` explains is the number of that thread.

use std::collections::HashMap;

use super::call::BASES;
use crate::event::Ns;

/// A call that has begun.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) start: Ns,
    /// The index of the call in `CALLS`.
    pub(super) call: usize,
    /// The arguments so far.
    pub(super) text: Vec<u8>,
    /// Whether the call's time-out is still unknown.
    pub(super) holds: bool,
}

/// The pending wait of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) call: usize,
    pub(super) base: u8,
    /// What is known of its end.
    pub(super) end: End,
}

/// What is known of the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The wait has not ended.
    Unknown,
    /// A signal stopped the wait at this time. `restart_syscall` continues it.
    Stopped(Ns),
    /// The time of the wait was over, but the line does not say when (no `-T`).
    Over,
    /// The wait ended early, but the line does not say when (no `-T`).
    Early,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) process: u32,
    /// The name, as a number of the strings.
    pub(super) name: u32,
    /// The numbers of the thread's timers, one for each queue; 0: none yet.
    pub(super) timers: [u64; BASES.len()],
    pub(super) open: Option<Open>,
    pub(super) waiting: Option<Waiting>,
    /// The time of the thread's last event.
    pub(super) ended: Ns,
}

/// All threads.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    all: HashMap<u32, Task>,
    /// How many threads each process has.
    processes: HashMap<u32, u32>,
    /// The number given to the thread whose lines have no number.
    main: Option<u32>,
    /// The thread that is making another one, and whether the new thread joins its process.
    cloning: Option<(u32, bool)>,
}

/// The first process.
const FIRST: u32 = 0;

impl Tasks {
    /// Returns the number of a line's thread. A line without a number belongs to the only thread.
    pub(super) fn number(&mut self, written: Option<u32>) -> u32 {
        match written {
            Some(number) => {
                let is_new = !self.all.contains_key(&number);
                let may_be_main = is_new && self.cloning.is_none() && self.main.is_none();
                let task = if may_be_main { self.all.remove(&0) } else { None };
                if let Some(task) = task {
                    self.all.insert(number, task);
                    self.main = Some(number);
                }
                number
            }
            None => match self.main {
                Some(main) if self.all.contains_key(&main) => main,
                _ if self.all.len() == 1 => self.all.keys().next().copied().unwrap_or(0),
                _ => 0,
            },
        }
    }

    pub(super) fn task(&mut self, number: u32) -> &mut Task {
        if !self.all.contains_key(&number) {
            let process = match self.cloning.take() {
                Some((parent, true)) => self.all.get(&parent).map_or(FIRST, |parent| parent.process),
                Some((_, false)) => number,
                None => FIRST,
            };
            self.add(number, process);
        }
        self.all.entry(number).or_insert_with(|| Task::new(FIRST))
    }

    fn add(&mut self, number: u32, process: u32) {
        *self.processes.entry(process).or_default() += 1;
        self.all.insert(number, Task::new(process));
    }

    /// Notes that a thread begins to make another one.
    pub(super) fn begin_clone(&mut self, parent: u32, is_thread: bool) {
        self.cloning = Some((parent, is_thread));
    }

    /// Notes that a thread made another one.
    pub(super) fn clone(&mut self, parent: u32, child: u32, is_thread: bool) {
        self.cloning = None;
        let process = match is_thread {
            true => self.all.get(&parent).map_or(FIRST, |parent| parent.process),
            false => child,
        };
        match self.all.get_mut(&child) {
            // The first lines of the child came before this line.
            Some(task) if task.process == process => {}
            Some(task) => {
                let before = core::mem::replace(&mut task.process, process);
                *self.processes.entry(process).or_default() += 1;
                self.leave(before);
            }
            None => self.add(child, process),
        }
    }

    /// A thread ended. Returns the thread, and whether it was the last one of its process.
    pub(super) fn exit(&mut self, number: u32) -> Option<(Task, bool)> {
        let task = self.all.remove(&number)?;
        let is_last = self.leave(task.process);
        Some((task, is_last))
    }

    fn leave(&mut self, process: u32) -> bool {
        let left = self.processes.entry(process).or_default();
        *left = left.saturating_sub(1);
        let is_last = *left == 0;
        if is_last {
            self.processes.remove(&process);
        }
        is_last
    }

    /// All threads, by number.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let mut all: Vec<_> = self.all.keys().copied().collect();
        all.sort_unstable();
        all
    }
}

impl Task {
    fn new(process: u32) -> Self {
        Self { process, name: 0, timers: [0; BASES.len()], open: None, waiting: None, ended: Ns::MIN }
    }
}
