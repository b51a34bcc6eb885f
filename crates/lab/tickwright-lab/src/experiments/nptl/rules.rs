//! The rules of the original program: how many threads each thread creates, and in which order
//! threads are joined.

use std::sync::{Arc, Mutex, PoisonError};

/// The work of one toplevel thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Total number of threads that the toplevel thread creates.
    pub(crate) starts: u64,
    /// Number of threads that the toplevel thread keeps at once.
    pub(crate) slots: usize,
}

/// Divides starts and threads as in the original: of P toplevel threads, number i takes the
/// remaining starts divided by P - i. There are at most `threads` toplevel threads.
pub(crate) fn shares(starts: u64, threads: usize, toplevel: usize) -> Vec<Share> {
    let toplevel = toplevel.clamp(1, threads.max(1));
    let (mut starts, mut threads) = (starts, threads.max(1));
    (0..toplevel)
        .map(|at| {
            let left = toplevel - at;
            let share = Share { starts: starts / left as u64, slots: threads / left };
            starts -= share.starts;
            threads -= share.slots;
            share
        })
        .collect()
}

/// The threads that a toplevel thread keeps alive. Each thread is joined when its slot is needed
/// again, strictly in the order of creation, even if another thread ended long before.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<Option<T>>,
    at: usize,
}

impl<T> Ring<T> {
    pub(crate) fn new(slots: usize) -> Self {
        Self { slots: (0..slots.max(1)).map(|_| None).collect(), at: 0 }
    }

    /// Removes the thread that must be joined before the next creation, if there is one.
    pub(crate) fn leave(&mut self) -> Option<T> {
        self.slots[self.at].take()
    }

    /// Puts the next thread into the slot that [`leave`](Self::leave) has emptied.
    pub(crate) fn enter(&mut self, thread: T) {
        self.slots[self.at] = Some(thread);
        self.at = (self.at + 1) % self.slots.len();
    }

    /// Returns the remaining threads, from the current slot on.
    pub(crate) fn rest(mut self) -> impl Iterator<Item = T> {
        self.slots.rotate_left(self.at);
        self.slots.into_iter().flatten()
    }
}

/// Creates and joins threads. The created threads use this value too.
pub(crate) trait Maker: Clone + Send + 'static {
    type Thread: Send + 'static;

    /// # Errors
    /// If no thread was created. The error is the reason.
    fn create<B: FnOnce() -> usize + Send + 'static>(&self, body: B) -> Result<Self::Thread, String>;

    /// Joins a thread. Returns the return value of its body.
    ///
    /// # Errors
    /// If the thread cannot be joined. The error is the reason.
    fn join(&self, thread: Self::Thread) -> Result<usize, String>;
}

/// Makes the body of a thread, from the number of its toplevel thread and the number of its start
/// in that thread.
pub(crate) trait Bodies: Clone + Send + 'static {
    type Body: FnOnce() -> usize + Send + 'static;
    fn body(&self, toplevel: usize, start: u64) -> Self::Body;
}

impl<F, B> Bodies for F
where
    F: Fn(usize, u64) -> B + Clone + Send + 'static,
    B: FnOnce() -> usize + Send + 'static,
{
    type Body = B;

    fn body(&self, toplevel: usize, start: u64) -> B {
        self(toplevel, start)
    }
}

/// Returns the body of a thread that returns 1 at once.
pub(crate) fn at_once(_: usize, _: u64) -> fn() -> usize {
    || 1
}

/// Creates the toplevel threads of `shares` and joins them in order. Returns the sum of the return
/// values of all created threads.
///
/// # Errors
/// If a thread cannot be created or joined. The error is the first failure, and all created threads
/// are still joined.
pub(crate) fn whole<M: Maker>(maker: &M, shares: &[Share], bodies: &impl Bodies) -> Result<usize, String> {
    let fault = Arc::new(Mutex::new(None));
    let mut toplevel = Vec::with_capacity(shares.len());
    for (at, &share) in shares.iter().enumerate() {
        let (maker_of, bodies, fault_of) = (maker.clone(), bodies.clone(), Arc::clone(&fault));
        let thread =
            maker.create(move || starter(&maker_of, share, |start| bodies.body(at, start), &fault_of));
        match thread {
            Ok(thread) => toplevel.push(thread),
            Err(why) => note(&fault, why),
        }
    }
    let mut sum = 0usize;
    for thread in toplevel {
        match maker.join(thread) {
            Ok(part) => sum = sum.wrapping_add(part),
            Err(why) => note(&fault, why),
        }
    }
    let fault = fault.lock().unwrap_or_else(PoisonError::into_inner).take();
    fault.map_or(Ok(sum), Err)
}

fn note(fault: &Mutex<Option<String>>, why: String) {
    fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
}

fn starter<M: Maker, B: FnOnce() -> usize + Send + 'static>(
    maker: &M,
    share: Share,
    body: impl Fn(u64) -> B,
    fault: &Mutex<Option<String>>,
) -> usize {
    let mut ring = Ring::new(share.slots);
    let mut sum = 0usize;
    let mut join = |thread| match maker.join(thread) {
        Ok(value) => sum = sum.wrapping_add(value),
        Err(why) => note(fault, why),
    };
    for start in 0..share.starts {
        if let Some(thread) = ring.leave() {
            join(thread);
        }
        match maker.create(body(start)) {
            Ok(thread) => ring.enter(thread),
            Err(why) => {
                note(fault, why);
                break;
            }
        }
    }
    ring.rest().for_each(join);
    sum
}
