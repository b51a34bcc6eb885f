//! One thread manages all others: the design of `LinuxThreads`, which Linux had until 2003.
//!
//! | step | who | what |
//! |---|---|---|
//! | create | creator | writes to the manager's pipe, is suspended |
//! | | manager | polls, reads; starts the thread on a mapping of its own, wakes the creator |
//! | end | thread | wakes its joiner, writes that it ends |
//! | | manager | polls, reads; waits for the platform's thread to be gone, unmaps its stack |
//! | join | joiner | waits for the end, writes that nobody needs the thread any more |
//! | | manager | polls, reads; forgets the thread |
//!
//! Every thread costs three writes, three polls, three reads, at least four switches, and one
//! mapping that is created, protected and unmapped.
//!
//! The facts about the original are from glibc 2.3, `linuxthreads/manager.c`, `pthread.c` and
//! `join.c`. This version differs in five points. A thread reports its own end, whereas in the
//! original the kernel sent a signal to the manager. A request is a byte in the pipe and an entry
//! in a queue, whereas the original sent the entry through the pipe. The stack is unmapped one step
//! earlier. Threads have the manager's signal mask. The original also checked all threads every two
//! seconds.

use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tickwright_threads::{Attributes, Runtime, ThreadId};

use super::rules::Maker;

type Body = Box<dyn FnOnce() -> usize + Send>;

/// Larger than glibc's cache of stacks, so that each thread's stack is mapped and unmapped, as in
/// the original. Memory is used only for the pages that a thread touches.
const STACK: usize = 48 << 20;

/// A request to the manager.
enum Ask {
    Create(Arc<Thread>, Body),
    /// The body of the thread has ended.
    Ends(Arc<Thread>),
    /// The thread was joined, or no thread will join it.
    Free,
    /// End as soon as there are no threads.
    Close,
}

#[derive(Default)]
struct Thread {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    started: Option<Result<ThreadId, String>>,
    /// What the body returned; the outer `Some` says that the body has ended.
    ended: Option<Option<usize>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Thread {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }

    fn wait_for<R>(&self, look: impl Fn(&State) -> Option<R>) -> R {
        let mut state = lock(&self.state);
        loop {
            if let Some(found) = look(&state) {
                return found;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The queue of requests for the manager.
struct Desk {
    asked: Mutex<VecDeque<Ask>>,
    bell: PipeWriter,
}

impl Desk {
    fn ask(&self, ask: Ask) {
        lock(&self.asked).push_back(ask);
        // The manager reads the pipe as long as any thread can send a request, so the write
        // succeeds.
        let _ = (&self.bell).write_all(&[1]);
    }
}

/// The owner of the manager, through which threads are requested. Dropping this value waits until
/// all threads have ended.
pub(super) struct Manager {
    maker: Managed,
    thread: Option<JoinHandle<()>>,
}

/// Requests threads from the manager.
#[derive(Clone)]
pub(super) struct Managed(Arc<Desk>);

/// A thread that can be joined. When this value is dropped, the manager forgets the thread.
pub(super) struct Lease(Arc<Thread>, Arc<Desk>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.1.ask(Ask::Free);
    }
}

impl Manager {
    /// Starts a manager, which starts its threads in `runtime`.
    ///
    /// # Errors
    /// If the platform refuses a pipe or a thread.
    pub(super) fn start(runtime: Runtime) -> Result<Self, String> {
        let (reader, bell) = std::io::pipe().map_err(|error| error.to_string())?;
        let maker = Managed(Arc::new(Desk { asked: Mutex::default(), bell }));
        let desk = Arc::clone(&maker.0);
        let builder = std::thread::Builder::new().name("manager".into());
        let thread =
            builder.spawn(move || serve(&runtime, &desk, reader)).map_err(|error| error.to_string())?;
        Ok(Self { maker, thread: Some(thread) })
    }

    pub(super) fn maker(&self) -> Managed {
        self.maker.clone()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.maker.0.ask(Ask::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Maker for Managed {
    type Thread = Lease;

    fn create<B: FnOnce() -> usize + Send + 'static>(&self, body: B) -> Result<Lease, String> {
        let thread = Arc::new(Thread::default());
        self.0.ask(Ask::Create(Arc::clone(&thread), Box::new(body)));
        thread.wait_for(|state| state.started.clone())?;
        Ok(Lease(thread, Arc::clone(&self.0)))
    }

    fn join(&self, thread: Lease) -> Result<usize, String> {
        thread.0.wait_for(|state| state.ended).ok_or_else(|| "a thread of the manager panicked".into())
    }
}

/// When dropped, reports that a thread ends, also if its body panics.
struct Ending(Arc<Thread>, Arc<Desk>, Option<usize>);

impl Ending {
    fn returned(&mut self, value: usize) {
        self.2 = Some(value);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.change(|state| state.ended = Some(self.2));
        self.1.ask(Ask::Ends(Arc::clone(&self.0)));
    }
}

/// The main loop of the manager.
fn serve(runtime: &Runtime, desk: &Arc<Desk>, mut reader: PipeReader) {
    let attributes = Attributes::new().stack(STACK);
    let (mut threads, mut closing) = (0_u64, false);
    while !closing || threads > 0 {
        poll(&reader);
        if reader.read_exact(&mut [0]).is_err() {
            return;
        }
        let asked = lock(&desk.asked).pop_front();
        match asked {
            Some(Ask::Create(thread, body)) => {
                let mut ending = Ending(Arc::clone(&thread), Arc::clone(desk), None);
                let started = runtime.create(&attributes, move || {
                    ending.returned(body());
                    0
                });
                threads += u64::from(started.is_ok());
                thread.change(|state| state.started = Some(started.map_err(|error| error.to_string())));
            }
            Some(Ask::Ends(thread)) => {
                let started = lock(&thread.state).started.clone();
                if let Some(Ok(id)) = started {
                    let _ = runtime.join(id);
                }
            }
            Some(Ask::Free) => threads -= 1,
            Some(Ask::Close) => closing = true,
            None => {}
        }
    }
}

/// Waits until the pipe has a request.
#[cfg(unix)]
fn poll(reader: &PipeReader) {
    use rustix::event::{PollFd, PollFlags, poll};

    // If `poll` fails, the read that follows waits instead.
    let _ = poll(&mut [PollFd::new(reader, PollFlags::IN)], None);
}

#[cfg(not(unix))]
fn poll(_: &PipeReader) {}
