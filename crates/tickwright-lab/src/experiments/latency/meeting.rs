//! A meeting point for the measuring threads. Unlike in `std::sync::Barrier`, a thread can leave:
//! an error or a panic of one thread never blocks the others.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A barrier at which threads meet again and again.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Threads that take part.
    seats: usize,
    /// Threads that wait now; fewer than `seats`.
    waiting: usize,
    /// The number of meetings so far.
    number: u64,
}

impl Meeting {
    /// Takes a seat. Every meeting waits for the new seat until the seat is dropped.
    pub(super) fn seat(&self) -> Seat<'_> {
        self.state().seats += 1;
        Seat { meeting: self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the waiting threads, if all threads wait.
    fn release(&self, state: &mut State) {
        if state.waiting == state.seats {
            state.waiting = 0;
            state.number += 1;
            self.changed.notify_all();
        }
    }
}

/// The seat of one thread. Dropping the seat leaves the meeting.
#[derive(Debug)]
pub(super) struct Seat<'m> {
    meeting: &'m Meeting,
}

impl Seat<'_> {
    /// Returns when every other seat also waits or is dropped.
    pub(super) fn wait(&self) {
        let mut state = self.meeting.state();
        let number = state.number;
        state.waiting += 1;
        self.meeting.release(&mut state);
        while state.number == number {
            state = self.meeting.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state = self.meeting.state();
        state.seats -= 1;
        self.meeting.release(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_meeting_waits_for_all_seats() {
        const THREADS: usize = 3;
        const MEETINGS: usize = 50;
        let (meeting, arrived) = (Meeting::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            let seats: Vec<_> = (0..THREADS).map(|_| meeting.seat()).collect();
            for seat in seats {
                let arrived = &arrived;
                scope.spawn(move || {
                    for number in 1..=MEETINGS {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        seat.wait();
                        assert!(arrived.load(Ordering::SeqCst) >= number * THREADS);
                        seat.wait();
                    }
                });
            }
        });
        assert_eq!(arrived.load(Ordering::SeqCst), THREADS * MEETINGS);
    }

    /// Without the release in `drop`, this test would never end.
    #[test]
    fn a_seat_that_is_dropped_is_not_waited_for() {
        let meeting = Meeting::default();
        let (stays, leaves) = (meeting.seat(), meeting.seat());
        thread::scope(|scope| {
            scope.spawn(move || stays.wait());
            scope.spawn(move || drop(leaves));
        });
        assert_eq!(meeting.state().seats, 0);
    }
}
