//! Time, and having nothing to do.

use core::cell::RefCell;
use core::sync::atomic::Ordering;
use core::time::Duration;

use super::super::asleep::Sleep;
use super::super::post::Post;
use super::super::sleepers::Sleepers;
use super::Worker;
use crate::here;
use crate::id::ThreadId;
use crate::mail::News;

/// How long a worker without work watches others before it sleeps for good, and how long a thread may wait to begin before it is taken.
const WATCH: Duration = Duration::from_micros(500);
/// Where so many wait to begin, half of them are taken at once.
const MANY: u32 = 64;

impl Worker {
    /// Looks at the clock and the descriptors.
    pub(super) fn look(&self) {
        self.wake_sleepers();
        let told = self.descriptors.borrow_mut().look(self.post(), Some(Duration::ZERO));
        self.tell_all(told);
    }

    fn tell_all(&self, ready: Vec<ThreadId>) {
        for id in ready {
            self.tell(id);
        }
    }

    pub(super) fn wake_sleepers(&self) {
        if !self.sleepers.borrow().is_empty() {
            self.wake_among(&self.sleepers, self.shared.now());
        }
        if !self.by_the_machine.borrow().is_empty() {
            self.wake_among(&self.by_the_machine, here::machine_now());
        }
    }

    fn wake_among(&self, sleepers: &RefCell<Box<dyn Sleepers>>, now: u64) {
        loop {
            let Some(number) = sleepers.borrow_mut().pop(now) else { return };
            if let Some(record) = self.shared.roster.table().get(number)
                && !self.tell_own(record, News::Wake)
            {
                self.shared.tell_elsewhere(number, record, News::Wake);
            }
        }
    }

    pub(super) fn has_work(&self) -> bool {
        let shared = &*self.shared;
        let queue = shared.queue(self.index);
        !self.post().inbox.is_empty()
            || !self.ready.borrow().is_empty()
            || queue.fresh() > 0
            || (shared.knobs.global_queue && queue.locked(|locked| locked.own.has_ready(self.index)))
            || shared.is_stopped()
    }

    /// Sleeps until there is something to do: told by others, a time, a descriptor, or a thread that another worker does not get to.
    pub(super) fn idle(&self) {
        self.wake_sleepers();
        if self.has_work() {
            return;
        }
        // The next thread that begins is not delayed by a row of earlier ones.
        self.row.set(0);
        let mut watched = false;
        loop {
            if self.steal(watched) {
                return self.pass_on();
            }
            // Watches once more after the last that was seen to wait or begin, so that who creates has to call at most so often. Where nobody
            // creates there is nothing to watch, and a sleep without a limit costs less: threads that wake one another find it.
            let watch = self.others_wait() || (!watched && self.others_begin());
            let kind = self.kind_of_sleep();
            self.post().asleep.nap(
                &self.shared.drowsy,
                kind,
                watch,
                || self.has_work(),
                || self.others_wait(),
                || self.sleep(kind, watch),
            );
            self.wake_sleepers();
            // Whoever is told is told now: the next sleep starts with nobody.
            let told = self.descriptors.borrow_mut().take_told(|id| self.tell(id));
            if told || self.has_work() {
                return self.pass_on();
            }
            watched = watch;
        }
    }

    /// The worker has work, and watches no longer. It begins one of the threads in its own queue; for others that wait it calls another worker.
    fn pass_on(&self) {
        let queue = self.shared.queue(self.index);
        if queue.fresh() > 1 || self.others_wait() {
            self.shared.call_for_help(self.index);
        }
    }

    pub(super) fn kind_of_sleep(&self) -> Sleep {
        if !self.descriptors.borrow().is_empty() {
            Sleep::Polling
        } else if self.post().pipe.is_some() {
            Sleep::InPipe
        } else {
            Sleep::Parked
        }
    }

    pub(super) fn sleep(&self, kind: Sleep, watch: bool) {
        let keeper = &self.shared.timed.keeper;
        let alarm = self.sleepers.borrow().next_wake();
        let mut most = alarm.map(|at| keeper.longest_wait(keeper.now(), at));
        if keeper.moves_by_command() {
            // Such a clock wakes kernel threads, and those that sleep otherwise look often.
            most = (alarm.is_some() && kind != Sleep::Parked).then_some(Duration::from_millis(1));
        }
        let by_the_machine = self.by_the_machine.borrow().next_wake();
        let by_the_machine =
            by_the_machine.map(|at| Duration::from_nanos(at.saturating_sub(here::machine_now())));
        for limit in [by_the_machine, watch.then_some(WATCH)].into_iter().flatten() {
            most = Some(most.map_or(limit, |most| most.min(limit)));
        }
        match kind {
            Sleep::Polling => {
                let told = self.descriptors.borrow_mut().look(self.post(), most);
                self.descriptors.borrow_mut().keep_told(told);
            }
            Sleep::InPipe => {
                if let Some(pipe) = &self.post().pipe {
                    pipe.sleep(most);
                }
            }
            Sleep::Parked => keeper.park(alarm, most),
        }
    }

    // ---- taking threads that wait to begin

    pub(super) fn others(&self) -> impl Iterator<Item = (usize, &Post)> {
        // With one queue for all there is nothing to take.
        let workers = if self.shared.knobs.global_queue { 1 } else { self.shared.posts().len() - 1 };
        (1..workers).map(move |step| (self.index + step) % workers).map(|at| (at, &self.shared.posts()[at]))
    }

    /// Whether others have begun any since this was last asked.
    fn others_begin(&self) -> bool {
        let begun =
            self.others().fold(0_u64, |sum, (_, post)| sum.wrapping_add(post.begun.load(Ordering::Relaxed)));
        self.began.replace(begun) != begun
    }

    pub(super) fn others_wait(&self) -> bool {
        self.others().any(|(_, post)| post.fresh() > 0)
    }

    /// Takes from who has many waiting, or has begun none during the last watch. Answers whether there were any.
    pub(super) fn steal(&self, watched: bool) -> bool {
        for (at, post) in self.others() {
            let (waiting, begun) = (post.fresh(), post.begun.load(Ordering::Relaxed));
            let stuck = self.seen.borrow_mut().get_mut(at).is_some_and(|seen| {
                let before = if watched { core::mem::replace(seen, begun) } else { *seen };
                watched && before == begun
            });
            if waiting > MANY || (waiting > 0 && stuck) {
                return self.take_from(post, waiting.div_ceil(2));
            }
        }
        false
    }

    pub(super) fn take_from(&self, post: &Post, most: u32) -> bool {
        let own = self.post();
        let mut taken = Vec::new();
        let (mut owed, room) = own.locked(|locked| {
            (locked.own.owed, locked.own.make_room(most as usize + self.shared.posts().len()))
        });
        if !room || taken.try_reserve_exact(most as usize).is_err() {
            return false;
        }
        post.locked(|locked| {
            let home = &mut locked.own;
            for _ in 0..most {
                let needs_stack = home.fresh.front().is_some_and(|fresh| fresh.mapping.is_none());
                if needs_stack && self.reserve(owed).is_err() {
                    break;
                }
                owed += usize::from(needs_stack);
                let Some(fresh) = post.pop(home) else { break };
                taken.push(fresh);
            }
        });
        let any = !taken.is_empty();
        own.locked(|locked| {
            for fresh in taken {
                own.push(&mut locked.own, fresh);
            }
        });
        any
    }
}
