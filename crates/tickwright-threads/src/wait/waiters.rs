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

use tickwright::clock::Instant;

use crate::here;
use crate::primitive::modelled::{Mutex, MutexGuard};
use crate::primitive::{AtomicU32, AtomicU64, Ordering, fence};
use crate::wake::Waiter;

#[cfg(all(test, loom))]
mod models;

/// Threads that wait for something to change. The thread that has waited longest is woken first.
///
/// A passer-by may be faster than the thread that was woken. That thread then enters again at its
/// old place. The next wake-up finds that it has lost, and promises it what it is woken for. A
/// passer-by leaves alone what is promised. So a passer-by is faster at most once more, and nobody
/// waits for ever.
///
/// A waiter enters, looks again at what it waits for, and waits. A thread that changes that wakes
/// after the change. So the waiter sees the change, or it is found here. Both fences are needed
/// where look and change have no lock in common, as in a failing `Mutex::try_lock`. Without them
/// the waiter may see the state before the change while `wake_one` sees an empty list. `wake_all`
/// locks the list instead.
pub(crate) struct Waiters {
    /// How many are in the list.
    count: AtomicU32,
    list: Mutex<List>,
    /// The ticket of the waiter that something is promised to; 0: nobody's. Set under the list's
    /// lock, cleared by that waiter.
    promised: AtomicU64,
}

struct List {
    /// In the order of their tickets.
    queue: VecDeque<Place>,
    next: u64,
}

struct Place {
    ticket: u64,
    /// It was woken, and another thread was faster.
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
        if self.is_listed { wait() } else { here::wait_for(LOOK_AGAIN) }
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

    /// Called under the lock. The fences of `enter` and `wake_one` order it.
    fn count(&self, list: &List) {
        self.count.store(u32::try_from(list.queue.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// The caller will wait.
    pub(crate) fn enter(&self) -> Ticket {
        let waiter = here::waiter();
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

    /// The same, at its old place: it was woken, and there was nothing left for it.
    #[cold]
    fn enter_again(&self, Ticket { number, .. }: Ticket) -> Ticket {
        let waiter = here::waiter();
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

    /// Waits in the list until `attempt` succeeds, unless it does at once. `Err`: the clock of the
    /// caller's runtime shows `until`. An attempt that fails gives back what it was to use.
    /// `passes_on`: a wake-up that the caller has not used is for another thread.
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
                // Others have left to it what it has not taken, or wait for the end.
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
                    // A wake-up that came after this attempt is for what is there still.
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
            if until.is_some_and(|at| here::now() >= at) {
                return false;
            }
            here::wait_for(LOOK_AGAIN);
            return true;
        }
        while !self.was_woken(ticket) {
            match until {
                None => here::wait(),
                // Woken at the last moment, it was woken.
                Some(at) if !here::wait_until(at) => return !self.leave(ticket),
                Some(_) => {}
            }
        }
        true
    }

    /// Whether something is promised to another one than the caller.
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

    /// The caller stops waiting. Returns false if it was woken already; that wake-up counts.
    /// O(waiters), as `was_woken`: lists are short, and a waiter looks once for each time that it
    /// is woken.
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

    /// Wakes the one that something is promised to, else the one that has waited longest. After the
    /// change that it waits for.
    pub(crate) fn wake_one(&self) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
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

    /// Wakes all. After the change that they wait for.
    pub(crate) fn wake_all(&self) {
        let mut list = self.list();
        let all = core::mem::take(&mut list.queue);
        self.count(&list);
        drop(list);
        for each in all {
            each.waiter.wake();
        }
    }

    /// Waits as long as that is so.
    pub(crate) fn wait_while(&self, is_so: impl Fn() -> bool) {
        while is_so() {
            let ticket = self.enter();
            while is_so() && (!ticket.is_listed || !self.was_woken(ticket)) {
                ticket.wait_by(here::wait);
            }
            self.leave(ticket);
        }
    }
}
