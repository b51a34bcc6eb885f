//! The manager's requests: a pipe through which they come, and a table of the manager's threads.
//!
//! # Invariants
//! 1. A request has 8 bytes, which a pipe writes and reads as a whole. It holds the operation, and
//!    the number of a place in the table.
//! 2. A creator takes a place, and the manager frees it. In between only the manager changes it.
//! 3. Every request is answered once: by the manager, or by a thread that finds that the manager
//!    has ended.
//! 4. The manager never waits for a thread. A thread that has reported its end may still run
//!    destructors, and create threads in them. The manager checks such threads again with each
//!    request, and 100 times a second.
//! 5. Only the thread and the creator run and drop the user's code, never the manager.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;

use std::sync::{Arc, Mutex};

use super::pthread::{Kept, Refused, Run};
use crate::error::CreateError;
use crate::io::poll;
use crate::kernel_thread::KernelThread;
use crate::mask::Mask;
use crate::memory::{Counted, try_box};
use crate::primitive::lock;
use crate::process::Process;
use crate::stack::Mapping;

/// The operations of a request.
mod ask {
    /// Start the thread that the place describes.
    pub(super) const CREATE: u32 = 1;
    /// The thread ends.
    pub(super) const ENDS: u32 = 2;
    /// The thread is joined, or nobody will join it: its stack may be freed.
    pub(super) const FREE: u32 = 3;
    /// End the manager as soon as there are no threads.
    pub(super) const CLOSE: u32 = 4;
}

/// No place.
const NONE: u32 = u32::MAX;
/// The interval at which the manager checks threads that are ending, in ms.
const LINGERING_MS: i32 = 10;

pub(super) struct RequestPipe {
    process: Process,
    reader: PipeReader,
    writer: PipeWriter,
    table: Mutex<Table>,
    /// The manager has ended without a request to end. Written under the table's lock.
    dead: AtomicBool,
}

struct Table {
    places: HashMap<u32, Place>,
    /// The number from which the search for a free one starts.
    next: u32,
}

struct Place {
    state: State,
    /// The stack may be freed as soon as the thread is gone.
    let_go: bool,
}

enum State {
    /// A thread to be.
    Asked(Counted<CreateRequest>),
    /// The manager is working on the place.
    Busy,
    /// A thread.
    Lives(Kept),
    /// The stack of a thread that is gone, until the joiner releases it. The original kept the
    /// thread's result in that stack.
    #[expect(dead_code, reason = "its drop is its use")]
    Gone(Mapping),
}

/// A creator's request, with a place for the answer.
struct CreateRequest {
    stack: usize,
    guard: usize,
    detached: bool,
    mask: Mask,
    creator: KernelThread,
    run: Mutex<Option<Run>>,
    answer: Mutex<Option<Result<(), CreateError>>>,
}

impl CreateRequest {
    fn answer(&self, answer: Result<(), CreateError>) {
        *lock(&self.answer) = Some(answer);
        self.creator.unpark();
    }

    /// Returns the function that was not run, with the error.
    fn refused(&self, error: CreateError) -> Refused {
        let run = lock(&self.run).take();
        (error, run.unwrap_or_else(|| Box::new(|| ())))
    }
}

/// The right to a thread's stack. After the lease is dropped, the manager frees the stack as soon
/// as the thread is gone.
pub(crate) struct StackLease {
    requests: Arc<RequestPipe>,
    place: u32,
}

impl Drop for StackLease {
    fn drop(&mut self) {
        self.requests.post(ask::FREE, self.place);
    }
}

impl Table {
    fn take(&mut self, state: State) -> Result<u32, CreateError> {
        self.places.try_reserve(1).map_err(|_| CreateError::OutOfMemory)?;
        // The loop ends, because there are far more numbers than threads.
        while self.next == NONE || self.places.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        self.places.insert(self.next, Place { state, let_go: false });
        Ok(self.next)
    }

    /// Takes the state out of a place, and leaves `Busy` there while the manager works on it.
    fn hand(&mut self, number: u32) -> Option<State> {
        Some(core::mem::replace(&mut self.places.get_mut(&number)?.state, State::Busy))
    }

    fn set(&mut self, number: u32, state: State) {
        if let Some(place) = self.places.get_mut(&number) {
            place.state = state;
        }
    }
}

impl RequestPipe {
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let table = Mutex::new(Table { places: HashMap::new(), next: 0 });
        Ok(Self { process: Process::this(), reader, writer, table, dead: AtomicBool::new(false) })
    }

    /// Whether the manager runs in this process. In a forked child it does not.
    pub(super) fn is_ours(&self) -> bool {
        self.process.is_this()
    }

    fn send(&self, what: u32, place: u32) -> io::Result<()> {
        let message = u64::from(what) << 32 | u64::from(place);
        (&self.writer).write_all(&message.to_ne_bytes())
    }

    /// Sends a request to the manager, if there is one. Nobody waits for an answer.
    fn post(&self, what: u32, place: u32) {
        if self.is_ours() && !self.dead.load(Ordering::SeqCst) {
            // This fails only if other code has taken our descriptor. Then the manager has ended,
            // or will end.
            let _ = self.send(what, place);
        }
    }

    /// Requests a thread from the manager, and waits until it has started. Returns no lease for a
    /// detached thread.
    pub(super) fn create(
        requests: &Arc<Self>,
        (stack, guard): (usize, usize),
        detached: bool,
        run: Run,
    ) -> Result<Option<StackLease>, Refused> {
        let request = Counted::try_new(CreateRequest {
            stack,
            guard,
            detached,
            mask: Mask::current(),
            creator: KernelThread::current(),
            run: Mutex::new(Some(run)),
            answer: Mutex::new(None),
        });
        let request = match request {
            Ok(request) => request,
            Err(request) => return Err(request.refused(CreateError::OutOfMemory)),
        };
        let place = {
            let mut table = lock(&requests.table);
            if requests.dead.load(Ordering::SeqCst) {
                drop(table);
                return Err(request.refused(CreateError::NoManager));
            }
            let place = table.take(State::Asked(request.clone()));
            drop(table);
            place.map_err(|error| request.refused(error))?
        };
        if requests.send(ask::CREATE, place).is_err() {
            // The manager has not read the request. If the manager has ended early, it may have
            // answered already.
            requests.refuse(place, &request);
        }
        let answer = loop {
            // The lock is held only during this look.
            let answer = lock(&request.answer).take();
            match answer {
                Some(answer) => break answer,
                None => KernelThread::park(),
            }
        };
        match answer {
            Ok(()) => Ok((!detached).then(|| StackLease { requests: Arc::clone(requests), place })),
            Err(error) => Err(request.refused(error)),
        }
    }

    fn refuse(&self, place: u32, request: &Counted<CreateRequest>) {
        let mut table = lock(&self.table);
        let asked = table.places.get(&place);
        if asked.is_some_and(|place| matches!(&place.state, State::Asked(asked) if asked.is(request))) {
            let left = table.places.remove(&place);
            drop(table);
            drop(left);
            request.answer(Err(CreateError::NoManager));
        }
    }

    /// No more threads will be requested.
    pub(super) fn close(&self) {
        self.post(ask::CLOSE, NONE);
    }

    /// Frees the stacks that a manager left when it ended early. All bodies have ended.
    pub(super) fn clear(&self) {
        if !self.is_ours() {
            return;
        }
        let left = core::mem::take(&mut lock(&self.table).places);
        for place in left.into_values() {
            if let State::Lives(kept) = place.state {
                kept.end();
            }
        }
    }

    /// The main loop of the manager.
    pub(super) fn serve(self: &Arc<Self>) {
        let mut lingering = Vec::new();
        let mut closing = false;
        loop {
            let most_ms = if lingering.is_empty() { -1 } else { LINGERING_MS };
            let is_asked = poll(self.reader.as_raw_fd(), libc::POLLIN, most_ms);
            match is_asked.and_then(|is_asked| if is_asked { self.read() } else { Ok((0, NONE)) }) {
                Ok((ask::CREATE, place)) => {
                    // Makes room for every thread that may end, so that the manager never needs
                    // memory later.
                    let used = lock(&self.table).places.len();
                    let room = lingering.try_reserve(used.saturating_sub(lingering.len()));
                    self.start(place, room.is_ok());
                }
                Ok((ask::ENDS, place)) => lingering.push(place),
                Ok((ask::FREE, place)) => self.free(place),
                Ok((ask::CLOSE, _)) => closing = true,
                // The interval is over: the threads that are ending are checked.
                Ok((0, NONE)) => {}
                Ok(_) | Err(_) => return self.die(),
            }
            lingering.retain(|&place| !self.bury(place));
            if closing && lock(&self.table).places.is_empty() {
                return;
            }
        }
    }

    fn read(&self) -> io::Result<(u32, u32)> {
        let mut message = [0; 8];
        (&self.reader).read_exact(&mut message)?;
        let message = u64::from_ne_bytes(message);
        Ok(((message >> 32) as u32, (message & u64::from(u32::MAX)) as u32))
    }

    fn start(self: &Arc<Self>, place: u32, has_room: bool) {
        let state = lock(&self.table).hand(place);
        let Some(State::Asked(request)) = state else { return };
        let (own, asked) = (Arc::clone(self), request.clone());
        let run = try_box(move || {
            asked.mask.set();
            let run = lock(&asked.run).take();
            drop(asked);
            if let Some(run) = run {
                run();
            }
            own.post(ask::ENDS, place);
        });
        let started = match run {
            _ if !has_room => Err(CreateError::OutOfMemory),
            Ok(run) => Kept::start(request.stack, request.guard, run).map_err(|(error, _wrapper)| error),
            Err(_wrapper) => Err(CreateError::OutOfMemory),
        };
        let answer = match started {
            Ok(kept) => {
                if let Some(place) = lock(&self.table).places.get_mut(&place) {
                    *place = Place { state: State::Lives(kept), let_go: request.detached };
                }
                Ok(())
            }
            // `start` returned the wrapper; the creator finds its own function in the request.
            Err(error) => {
                lock(&self.table).places.remove(&place);
                Err(error)
            }
        };
        request.answer(answer);
    }

    /// A thread has reported its end. Returns true if it is gone.
    fn bury(&self, place: u32) -> bool {
        let state = lock(&self.table).hand(place);
        let kept = match state {
            Some(State::Lives(kept)) => kept,
            Some(other) => {
                lock(&self.table).set(place, other);
                return true;
            }
            None => return true,
        };
        match kept.end_now() {
            Ok(mapping) => {
                let mut table = lock(&self.table);
                table.set(place, State::Gone(mapping));
                let let_go = table.places.get(&place).is_some_and(|place| place.let_go);
                let left = if let_go { table.places.remove(&place) } else { None };
                drop(table);
                // Unmaps it.
                drop(left);
                true
            }
            Err(kept) => {
                lock(&self.table).set(place, State::Lives(kept));
                false
            }
        }
    }

    /// The stack may go.
    fn free(&self, place: u32) {
        let mut table = lock(&self.table);
        let Some(found) = table.places.get_mut(&place) else { return };
        found.let_go = true;
        let left = if matches!(found.state, State::Gone(_)) { table.places.remove(&place) } else { None };
        drop(table);
        drop(left);
    }

    /// The pipe is broken: the manager ends.
    fn die(&self) {
        let mut table = lock(&self.table);
        self.dead.store(true, Ordering::SeqCst);
        table.places.retain(|_, place| {
            let State::Asked(request) = &place.state else { return true };
            request.answer(Err(CreateError::NoManager));
            false
        });
    }

    /// Writes a request that none of our threads would write.
    #[cfg(test)]
    pub(super) fn disturb(&self) {
        self.send(u32::MAX, 0).expect("written");
    }

    /// Places in use.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        lock(&self.table).places.len()
    }
}
