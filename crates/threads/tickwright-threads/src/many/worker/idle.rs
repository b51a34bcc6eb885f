//! How a worker checks the time and the descriptors, and what it does without work.

use core::cell::RefCell;
use core::sync::atomic::Ordering;
use core::time::Duration;

use tickwright::time::Instant;

use super::super::remote::Remote;
use super::super::sleep::Sleep;
use super::super::sleepers::Sleepers;
use super::Worker;
use crate::host;
use crate::id::ThreadId;
use crate::wake_flags::Wakeup;

/// How long a searching worker sleeps before it checks the other workers again. A spawned thread
/// therefore waits about this long before another worker steals it.
const SEARCH: Duration = Duration::from_micros(500);
/// If more than this number of threads wait to begin at a worker, another worker steals half of
/// them at once.
const MANY: u32 = 64;

/// How many times a spinning worker checks for work before it reads the clock.
const LOOKS: u32 = 16;
/// After `VAIN` successive spins that found no work, the worker spins only before every `SELDOM`th
/// sleep.
const VAIN: u32 = 4;
const SELDOM: u32 = 64;

/// Returns the time of the machine's clock, in ns.
fn now_ns() -> u64 {
    host::machine_now().as_nanos()
}

impl Worker {
    /// Checks the clock and the descriptors, and wakes threads whose time has come or whose
    /// descriptors are ready.
    pub(super) fn look(&self) {
        self.wake_sleepers();
        let ready = self.descriptors.borrow_mut().look(self.remote(), Some(Duration::ZERO));
        self.wake_all(ready);
    }

    fn wake_all(&self, ready: Vec<ThreadId>) {
        for &id in &ready {
            self.wake_thread(id);
        }
        self.descriptors.borrow_mut().give_back(ready);
    }

    pub(super) fn wake_sleepers(&self) {
        if !self.sleepers.borrow().is_empty() {
            self.wake_among(&self.sleepers, self.pool.now());
        }
        if !self.by_the_machine.borrow().is_empty() {
            self.wake_among(&self.by_the_machine, host::machine_now());
        }
    }

    fn wake_among(&self, sleepers: &RefCell<Box<dyn Sleepers>>, now: Instant) {
        loop {
            let Some(number) = sleepers.borrow_mut().pop(now) else { return };
            if let Some(record) = self.pool.roster.table().get(number)
                && !self.notify_local(record, Wakeup::Wake)
            {
                self.pool.notify_remote(number, record, Wakeup::Wake);
            }
        }
    }

    pub(super) fn has_work(&self) -> bool {
        let pool = &*self.pool;
        let queue = pool.queue(self.index);
        !self.remote().remote_queue.is_empty()
            || !self.ready.borrow().is_empty()
            || queue.spawned() > 0
            || (pool.settings.ways().global_queue && queue.locked(|locked| locked.own.has_ready(self.index)))
            || pool.is_stopped()
    }

    /// Sleeps until there is work: a notification, a time that has come, a ready descriptor, or a
    /// spawned thread that another worker does not begin.
    pub(super) fn idle(&self) {
        self.wake_sleepers();
        if self.has_work() {
            return;
        }
        // Resets the count, so that threads that began earlier do not delay the next new thread.
        self.row.set(0);
        if self.spin() {
            return self.notify_next();
        }
        let mut searched = false;
        loop {
            if self.steal(searched) {
                return self.notify_next();
            }
            // The worker searches once more if threads wait or have begun at other workers since
            // its last check, so that creators need not notify it each time. If no threads are
            // created, a sleep without a limit costs less than a search.
            let search = self.others_wait() || (!searched && self.others_begin());
            let kind = self.kind_of_sleep();
            let mut ready = Vec::new();
            self.remote().wake_cost.sleep_begins();
            self.remote().sleep.sleep_once(
                &self.pool.idle_workers,
                kind,
                search,
                || self.has_work(),
                || self.others_wait(),
                || ready = self.sleep(kind, search),
            );
            self.remote().wake_cost.sleep_ended(now_ns);
            self.wake_sleepers();
            let any_ready = !ready.is_empty();
            self.wake_all(ready);
            if any_ready || self.has_work() {
                return self.notify_next();
            }
            searched = search;
        }
    }

    /// Checks for work in a loop, for as long as a sleep and a wake-up take. If several such spins
    /// in a row found no work, most calls return at once. Returns whether there is work.
    fn spin(&self) -> bool {
        let in_vain = self.spun.get();
        if !self.spins || in_vain >= VAIN && !in_vain.is_multiple_of(SELDOM) {
            self.spun.set(in_vain.wrapping_add(1));
            return false;
        }
        let until = now_ns().saturating_add(self.remote().wake_cost.longest_look_ns());
        while now_ns() < until {
            for _ in 0..LOOKS {
                if self.has_work() {
                    self.spun.set(0);
                    return true;
                }
                core::hint::spin_loop();
            }
            // A sleeper whose time has come, and a descriptor that is ready, count as work, too.
            self.look();
        }
        self.spun.set(in_vain.wrapping_add(1));
        false
    }

    /// Called when the worker has work and stops its search. This worker will begin one of the
    /// threads in its own queue. If more threads wait, the function notifies another worker.
    fn notify_next(&self) {
        let queue = self.pool.queue(self.index);
        if queue.spawned() > 1 || self.others_wait() {
            self.pool.notify_idle(self.index);
        }
    }

    pub(super) fn kind_of_sleep(&self) -> Sleep {
        if !self.descriptors.borrow().is_empty() {
            Sleep::Polling
        } else if self.remote().pipe.is_some() {
            Sleep::InPipe
        } else {
            Sleep::Parked
        }
    }

    /// Sleeps, and returns the threads whose descriptors became ready during the sleep.
    pub(super) fn sleep(&self, kind: Sleep, search: bool) -> Vec<ThreadId> {
        let keeper = &self.pool.keeper;
        let alarm = self.sleepers.borrow().next_wake();
        let mut most = alarm.map(|at| keeper.longest_wait(keeper.now(), at));
        if keeper.clock().stands_still() {
            // A clock that moves only by calls wakes only parked kernel threads. A worker that
            // sleeps in another way must check the clock often.
            most = (alarm.is_some() && kind != Sleep::Parked).then_some(Duration::from_millis(1));
        }
        let by_the_machine = self.by_the_machine.borrow().next_wake();
        let by_the_machine = by_the_machine.map(|at| at.duration_since(host::machine_now()));
        for limit in [by_the_machine, search.then_some(SEARCH)].into_iter().flatten() {
            most = Some(most.map_or(limit, |most| most.min(limit)));
        }
        match kind {
            Sleep::Polling => return self.descriptors.borrow_mut().look(self.remote(), most),
            Sleep::InPipe => {
                if let Some(pipe) = &self.remote().pipe {
                    pipe.sleep(most);
                }
            }
            Sleep::Parked => keeper.park(alarm, most),
        }
        Vec::new()
    }

    // ---- stealing spawned threads

    pub(super) fn others(&self) -> impl Iterator<Item = (usize, &Remote)> {
        // If all workers share one queue, there is nothing to steal.
        let workers = if self.pool.settings.ways().global_queue { 1 } else { self.pool.remotes().len() - 1 };
        (1..workers).map(move |step| (self.index + step) % workers).map(|at| (at, &self.pool.remotes()[at]))
    }

    /// Returns whether other workers have begun threads since the last call.
    fn others_begin(&self) -> bool {
        let begun = self
            .others()
            .fold(0_u64, |sum, (_, remote)| sum.wrapping_add(remote.begun.load(Ordering::Relaxed)));
        self.began.replace(begun) != begun
    }

    pub(super) fn others_wait(&self) -> bool {
        self.others().any(|(_, remote)| remote.spawned() > 0)
    }

    /// Steals threads from a worker that has many spawned threads, or that has begun no thread
    /// during the last search. Returns whether it has stolen a thread.
    pub(super) fn steal(&self, searched: bool) -> bool {
        for (at, remote) in self.others() {
            let (waiting, begun) = (remote.spawned(), remote.begun.load(Ordering::Relaxed));
            let stuck = self.seen.borrow_mut().get_mut(at).is_some_and(|seen| {
                let before = if searched { core::mem::replace(seen, begun) } else { *seen };
                searched && before == begun
            });
            if waiting > MANY || (waiting > 0 && stuck) {
                return self.take_from(remote, waiting.div_ceil(2));
            }
        }
        false
    }

    pub(super) fn take_from(&self, remote: &Remote, most: u32) -> bool {
        let own = self.remote();
        let mut taken = Vec::new();
        let (mut owed, room) = own.locked(|locked| {
            (locked.own.owed, locked.own.make_room(most as usize + self.pool.remotes().len()))
        });
        if !room || taken.try_reserve_exact(most as usize).is_err() {
            return false;
        }
        remote.locked(|locked| {
            let queue = &mut locked.own;
            for _ in 0..most {
                let needs_stack = queue.spawned.front().is_some_and(|spawned| spawned.mapping.is_none());
                if needs_stack && self.reserve(owed).is_err() {
                    break;
                }
                owed += usize::from(needs_stack);
                let Some(spawned) = remote.pop(queue) else { break };
                taken.push(spawned);
            }
        });
        let any = !taken.is_empty();
        own.locked(|locked| {
            for spawned in taken {
                own.push(&mut locked.own, spawned);
            }
        });
        any
    }
}
