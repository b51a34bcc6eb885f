//! A list of threads that wait until some state changes.
//!
//! A thread enters the list, where other threads find it, and then waits. A thread that changes the
//! state wakes a thread in the list. A wake-up that comes before the wait is not lost. A wait can
//! return spuriously, so it is called in a loop. If there is no memory for a waiter's entry in the
//! list, no other thread can find the waiter, and it checks the state again every millisecond.

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

/// Threads that wait until some state changes. The thread that has waited longest is woken first.
///
/// A thread that is not in the list (a passer-by) can take a resource before the thread that was
/// woken for it. The woken thread then enters the list again at its old position. The next wake-up
/// sees that this thread has already lost a resource, and promises the next resource to it. A
/// passer-by never takes a promised resource, so no thread waits forever.
///
/// A waiter enters the list, checks the awaited state again, and waits. Another thread changes the
/// state, and then wakes a waiter. Therefore either the waiter sees the changed state, or the other
/// thread finds the waiter in the list. If the check and the change are not made under the same
/// lock, as when `Mutex::try_lock` fails, this needs the fences of `enter` and `wake_one`. Without
/// the fences, the waiter could see the old state while `wake_one` sees an empty list. `wake_all`
/// needs no fence because it locks the list.
pub(crate) struct Waiters {
    /// The number of waiters in the list.
    count: AtomicU32,
    list: Mutex<List>,
    /// The ticket of the waiter that has a promise, or 0 if no waiter has one. It is set under the
    /// list's lock, and cleared by the waiter that has the promise.
    promised: AtomicU64,
}

struct List {
    /// The waiters in the order of their tickets.
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

/// Stands for a thread's entry in the list. The thread must leave the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    number: u64,
    /// False if there was no memory for the entry.
    is_listed: bool,
}

/// How long a waiter without an entry in the list waits before it checks the state again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl Ticket {
    /// Calls `wait`, or waits only for a short time if no thread can wake the caller.
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

    /// Stores the count. It is called under the lock, and the fences of `enter` and `wake_one`
    /// order the store.
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

    /// Adds the caller at its old position, because it was woken but another thread took the
    /// resource.
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
    /// when the clock of the caller's runtime shows `until`. A failed attempt returns its input,
    /// which the next attempt gets. If `passes_on` is true, a wake-up that the caller has not used
    /// is passed on to another thread.
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
                // Other threads have left the promised resource to the caller, which possibly has
                // not taken it. Some of them can also be waiting for the mailbox to close.
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
                    // A wake-up that came after this attempt was for another resource, which is
                    // still available.
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

    /// Waits until the caller is woken. Returns false if the clock of the caller's runtime shows
    /// `until`, in which case the caller has left the list. For a caller without an entry, returns
    /// true after a short time.
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
                // If the caller was woken at the last moment, the result is true.
                Some(at) if !host::wait_until(at) => return !self.leave(ticket),
                Some(_) => {}
            }
        }
        true
    }

    /// Returns whether a thread other than the caller has a promise.
    #[inline]
    pub(crate) fn is_promised(&self, caller: Option<Ticket>) -> bool {
        let to = self.promised.load(Ordering::Relaxed);
        to != 0 && Some(to) != caller.map(|ticket| ticket.number)
    }

    /// Called after the caller has left the list, because it has the resource or no longer waits.
    /// Returns whether a resource was promised to the caller.
    fn done(&self, ticket: Ticket) -> bool {
        let promised = self.promised.load(Ordering::Relaxed) == ticket.number;
        if promised {
            self.promised.store(0, Ordering::Relaxed);
        }
        promised
    }

    /// Removes the caller from the list. Returns false if the caller was already woken and removed.
    /// This function and `was_woken` take O(waiters). That is acceptable, because lists are short
    /// and a waiter calls each of them once per wake-up.
    pub(crate) fn leave(&self, ticket: Ticket) -> bool {
        let mut list = self.list();
        let place = list.queue.iter().position(|each| each.ticket == ticket.number);
        let left = place.and_then(|place| list.queue.remove(place));
        self.count(&list);
        left.is_some()
    }

    /// Returns whether the caller was woken.
    pub(crate) fn was_woken(&self, ticket: Ticket) -> bool {
        !self.list().queue.iter().any(|each| each.ticket == ticket.number)
    }

    /// Wakes the waiter that has a promise, or the waiter that has waited longest if there is no
    /// promise. Called after the state was changed. In the common case no thread waits, so this
    /// check is inlined.
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

    /// Wakes all waiters. Called after the state was changed.
    pub(crate) fn wake_all(&self) {
        let mut list = self.list();
        let all = core::mem::take(&mut list.queue);
        self.count(&list);
        drop(list);
        for each in all {
            each.waiter.wake();
        }
    }

    /// Waits while `is_so` returns true.
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
