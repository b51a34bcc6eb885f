//! The list of threads that wait for something to change.
//!
//! A thread enters the list, where others find it, and then waits. Whoever changes what it waits
//! for wakes it. A wake-up that comes before the wait is kept. A wait may return without cause, so
//! it stands in a loop. A waiter for whose place there is no memory is found by nobody, and looks
//! again every millisecond.

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::PoisonError;

use tickwright::time::Instant;

use crate::host;
use crate::primitive::modelled::{Mutex, MutexGuard};
use crate::primitive::{AtomicU32, AtomicU64, Ordering, fence};
use crate::wake::Waiter;

#[cfg(all(test, loom))]
mod models;

/// Threads that wait for something to change. The thread that has waited longest is woken first.
///
/// A passer-by may take a resource before the thread that was woken for it. The woken thread then
/// enters the list again at its old place. The next wake-up finds that this thread has lost, and
/// promises the resource to it. A passer-by does not take a promised resource. So a waiter loses at
/// most once more, and nobody waits for ever.
///
/// A waiter enters the list, checks the awaited state again, and waits. Another thread changes the
/// state, and then wakes. So the waiter sees the change, or the other thread finds the waiter in
/// the list. If the check and the change share no lock, as in a failing `Mutex::try_lock`, both
/// fences are needed. Without them the waiter may see the old state while `wake_one` sees an empty
/// list. `wake_all` locks the list instead.
pub(crate) struct Waiters {
    /// The number of waiters in the list.
    count: AtomicU32,
    list: Mutex<List>,
    /// The ticket of the waiter that has a promise; 0 if nobody has one. It is set under the list's
    /// lock, and cleared by that waiter.
    promised: AtomicU64,
}

struct List {
    /// In the order of their tickets.
    queue: VecDeque<Place>,
    next: u64,
}

struct Place {
    ticket: u64,
    /// Whether the waiter was woken, but another thread took the resource first.
    lost: bool,
    waiter: Waiter,
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Default for Waiters {
    fn default() -> Self {
        Self::new()
    }
}

/// A place in the list, to be left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    number: u64,
    /// False: there was no memory for the place.
    is_listed: bool,
}

/// How long a waiter without a place waits before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl Ticket {
    /// Waits by `wait` until woken, or for a short time if nobody can wake the caller.
    pub(crate) fn wait_by(self, wait: impl FnOnce()) {
        if self.is_listed { wait() } else { host::wait_for(LOOK_AGAIN) }
    }
}

impl Waiters {
    tickwright_nodes::const_unless_loom! {
        pub(crate) const fn new() -> Self {
            Self {
                count: AtomicU32::new(0),
                list: Mutex::new(List { queue: VecDeque::new(), next: 0 }),
                promised: AtomicU64::new(0),
            }
        }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the count. Called under the lock; the fences of `enter` and `wake_one` order the
    /// store.
    fn count(&self, list: &List) {
        self.count.store(u32::try_from(list.queue.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Adds the caller to the list, before it waits.
    pub(crate) fn enter(&self) -> Ticket {
        let waiter = host::waiter();
        let mut list = self.list();
        list.next += 1;
        let number = list.next;
        let is_listed = list.queue.try_reserve(1).is_ok();
        if is_listed {
            list.queue.push_back(Place { ticket: number, lost: false, waiter });
        }
        self.count(&list);
        drop(list);
        fence(Ordering::SeqCst);
        Ticket { number, is_listed }
    }

    /// Adds the caller at its old place: it was woken, but nothing was left for it.
    #[cold]
    fn enter_again(&self, Ticket { number, .. }: Ticket) -> Ticket {
        let waiter = host::waiter();
        let mut list = self.list();
        let place = list.queue.partition_point(|each| each.ticket < number);
        let is_listed = list.queue.try_reserve(1).is_ok();
        if is_listed {
            list.queue.insert(place, Place { ticket: number, lost: true, waiter });
        }
        self.count(&list);
        drop(list);
        fence(Ordering::SeqCst);
        Ticket { number, is_listed }
    }

    /// Calls `attempt` until it succeeds, and waits in the list between the attempts. Returns `Err`
    /// if the clock of the caller's runtime shows `until`. An attempt that fails returns its input.
    /// With `passes_on`, a wake-up that the caller has not used goes to another thread.
    #[inline]
    pub(crate) fn acquire<R, E>(
        &self,
        until: Option<Instant>,
        passes_on: bool,
        input: E,
        attempt: impl Fn(Option<Ticket>, E) -> Result<R, E>,
    ) -> Result<R, E> {
        attempt(None, input).or_else(|input| {
            let ticket = self.enter();
            let acquired = self.acquire_as(ticket, until, passes_on, input, attempt);
            if self.done(ticket) && passes_on {
                // Other threads have left the promised resource to the caller, which may not have
                // taken it, or they wait for the end.
                self.wake_all();
            }
            acquired
        })
    }

    #[cold]
    fn acquire_as<R, E>(
        &self,
        mut ticket: Ticket,
        until: Option<Instant>,
        passes_on: bool,
        mut input: E,
        attempt: impl Fn(Option<Ticket>, E) -> Result<R, E>,
    ) -> Result<R, E> {
        loop {
            input = match attempt(Some(ticket), input) {
                Err(input) => input,
                acquired => {
                    // A wake-up that came after this attempt is for another resource that is still
                    // there.
                    if !self.leave(ticket) && passes_on {
                        self.wake_one();
                    }
                    return acquired;
                }
            };
            if !self.wait(ticket, until) {
                return Err(input);
            }
            input = match attempt(Some(ticket), input) {
                Err(input) => input,
                acquired => return acquired,
            };
            ticket = self.enter_again(ticket);
        }
    }

    /// Waits until woken. False: the clock of the caller's runtime shows `until`, and the caller
    /// has left. Without a place it returns as if woken.
    pub(crate) fn wait(&self, ticket: Ticket, until: Option<Instant>) -> bool {
        if !ticket.is_listed {
            if until.is_some_and(|at| host::now() >= at) {
                return false;
            }
            host::wait_for(LOOK_AGAIN);
            return true;
        }
        while !self.was_woken(ticket) {
            match until {
                None => host::wait(),
                // If the caller was woken at the last moment, that counts as woken.
                Some(at) if !host::wait_until(at) => return !self.leave(ticket),
                Some(_) => {}
            }
        }
        true
    }

    /// Whether another thread than the caller has a promise.
    #[inline]
    pub(crate) fn is_promised(&self, caller: Option<Ticket>) -> bool {
        let to = self.promised.load(Ordering::Relaxed);
        to != 0 && Some(to) != caller.map(|ticket| ticket.number)
    }

    /// The caller, which has left, has what it waited for, or waits no more. True: that was
    /// promised to it.
    fn done(&self, ticket: Ticket) -> bool {
        let promised = self.promised.load(Ordering::Relaxed) == ticket.number;
        if promised {
            self.promised.store(0, Ordering::Relaxed);
        }
        promised
    }

    /// Removes the caller from the list. Returns false if it was woken already; that wake-up
    /// counts. O(waiters), like `was_woken`: lists are short, and a waiter looks once for each
    /// wake-up.
    pub(crate) fn leave(&self, ticket: Ticket) -> bool {
        let mut list = self.list();
        let place = list.queue.iter().position(|each| each.ticket == ticket.number);
        let left = place.and_then(|place| list.queue.remove(place));
        self.count(&list);
        left.is_some()
    }

    /// Whether the caller was woken.
    pub(crate) fn was_woken(&self, ticket: Ticket) -> bool {
        !self.list().queue.iter().any(|each| each.ticket == ticket.number)
    }

    /// Wakes the waiter that has a promise, else the waiter that has waited longest. Called after
    /// the awaited change. The common case is that nobody waits, so that check is inlined.
    #[inline]
    pub(crate) fn wake_one(&self) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::Relaxed) != 0 {
            self.wake_first();
        }
    }

    #[inline(never)]
    fn wake_first(&self) {
        let mut list = self.list();
        let promised = self.promised.load(Ordering::Relaxed);
        let at =
            if promised == 0 { None } else { list.queue.iter().position(|each| each.ticket == promised) };
        let first = list.queue.remove(at.unwrap_or(0));
        if let Some(first) = &first
            && first.lost
            && promised == 0
        {
            self.promised.store(first.ticket, Ordering::Relaxed);
        }
        self.count(&list);
        drop(list);
        if let Some(first) = first {
            first.waiter.wake();
        }
    }

    /// Wakes all waiters. Called after the awaited change.
    pub(crate) fn wake_all(&self) {
        let mut list = self.list();
        let all = core::mem::take(&mut list.queue);
        self.count(&list);
        drop(list);
        for each in all {
            each.waiter.wake();
        }
    }

    /// Waits as long as `is_so` returns true.
    pub(crate) fn wait_while(&self, is_so: impl Fn() -> bool) {
        while is_so() {
            let ticket = self.enter();
            while is_so() && (!ticket.is_listed || !self.was_woken(ticket)) {
                ticket.wait_by(host::wait);
            }
            self.leave(ticket);
        }
    }
}
