//! The queue of a scheduler: a [`SlabQueue`] of entries, whose structure is chosen when the
//! scheduler is created. In the queue, each timer that is not pending there is idle: an idle timer,
//! a running timer, and a host tick that is put aside.

use tickwright_core::storage::Slab;
use tickwright_core::structure::Discipline;
use tickwright_core::{Family, Key, Pending, Queue as Timers, Tick, Violation};
use tickwright_nodes::arena::{Idx, TogetherColumns};

use super::timer::Entry;

/// A queue of entries, whatever its family. The methods are those of [`SlabQueue`]. Every key that
/// the timer set passes is the key of an existing timer.
pub(super) trait Queue: Send {
    /// Inserts a pending timer. Returns `None` if there is no memory, like
    /// [`insert_idle`](Self::insert_idle).
    fn insert(&mut self, deadline: Tick, entry: Entry) -> Option<Key>;
    fn insert_idle(&mut self, entry: Entry) -> Option<Key>;
    /// Removes a pending or idle timer.
    fn remove(&mut self, key: Key) -> bool;
    fn arm(&mut self, key: Key, deadline: Tick);
    fn disarm(&mut self, key: Key);
    /// Makes the first due timer idle. It moves at most `*moves` timers inside the queue. If no
    /// moves are left, it can return `None` although a timer is due.
    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(Key, Tick)>;
    fn update_now(&mut self, now: Tick);
    /// Makes room for `additional` more timers. Returns `None` if there is no memory.
    fn reserve(&mut self, additional: usize) -> Option<()>;
    fn heap_bytes(&self) -> usize;
    fn get(&self, key: Key) -> Option<&Entry>;
    fn get_mut(&mut self, key: Key) -> Option<&mut Entry>;
    fn next_key(&self, from: usize) -> Option<Key>;
    /// Returns how many timers are pending.
    fn len(&self) -> usize;
    /// Returns how many timers are idle.
    fn idle(&self) -> usize;
    /// Returns the tick at which a timer is due, or `None` if it is idle.
    fn expiry(&self, key: Key) -> Option<Tick>;
    fn next_expiry(&self) -> Option<Tick>;
    fn next_wake(&self) -> Option<Tick>;
    fn peek(&self) -> Option<Pending<Key>>;
    fn second(&self) -> Option<Pending<Key>>;
    /// If the first timer can be due at `now`, begins to fetch it from memory, and returns its key.
    fn fetch_head(&self, now: Tick) -> Option<Key>;
    fn check(&self) -> Result<(), Violation>;
}

/// Where the changes of a queue are recorded: a recorder, or `()`, which records nothing and costs
/// nothing.
pub(super) trait Tape: Send {
    const RECORDS: bool;
    fn arm(&self, key: Key, deadline: Tick, was_pending: bool);
    fn cancel(&self, key: Key);
    fn fire(&self, key: Key);
}

impl Tape for () {
    const RECORDS: bool = false;
    fn arm(&self, _: Key, _: Tick, _: bool) {}
    fn cancel(&self, _: Key) {}
    fn fire(&self, _: Key) {}
}

/// The timers of family `F`. An operation that reads a timer's record also reads its entry, so both
/// are stored in one cell.
pub(super) type Entries<F> = Timers<Slab<F, Entry, TogetherColumns<RecordOf<F>, Entry>>>;

/// The record that family `F` keeps for each timer.
pub(super) type RecordOf<F> = <<F as Family>::Of<Idx> as Discipline<Idx>>::Record;

struct Taped<F: Family, T: Tape> {
    queue: Entries<F>,
    tape: T,
}

/// Timers that are pending when their queue is dropped get a cancel in the trace.
impl<F: Family, T: Tape> Drop for Taped<F, T> {
    fn drop(&mut self) {
        if T::RECORDS {
            self.queue.iter_unordered().for_each(|(timer, _)| self.tape.cancel(timer.key));
        }
    }
}

/// Implemented for an array of one element, because a vector of one element can be converted to a
/// boxed array. Unlike a `Box`, a vector reports a failed allocation.
impl<F: Family, T: Tape> Queue for [Taped<F, T>; 1]
where
    Entries<F>: Send,
{
    #[inline]
    fn insert(&mut self, deadline: Tick, entry: Entry) -> Option<Key> {
        let [Taped { queue, tape }] = self;
        let key = queue.insert_at(deadline, entry, queue.now()).ok()?;
        tape.arm(key, deadline, false);
        Some(key)
    }

    fn insert_idle(&mut self, entry: Entry) -> Option<Key> {
        self[0].queue.insert_idle(entry).ok()
    }

    fn remove(&mut self, key: Key) -> bool {
        let [Taped { queue, tape }] = self;
        if T::RECORDS && queue.contains(key) {
            tape.cancel(key);
        }
        queue.remove(key).is_ok()
    }

    fn arm(&mut self, key: Key, deadline: Tick) {
        let [Taped { queue, tape }] = self;
        if T::RECORDS {
            tape.arm(key, deadline, queue.contains(key));
        }
        let armed = queue.arm_at(key, deadline, queue.now());
        debug_assert!(armed.is_ok());
    }

    fn disarm(&mut self, key: Key) {
        let [Taped { queue, tape }] = self;
        if T::RECORDS && queue.contains(key) {
            tape.cancel(key);
        }
        let disarmed = queue.disarm(key);
        debug_assert!(disarmed.is_ok());
    }

    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(Key, Tick)> {
        let [Taped { queue, tape }] = self;
        let due = queue.pop_and_keep_within(now, moves)?;
        tape.fire(due.key);
        Some((due.key, due.expiry))
    }

    fn update_now(&mut self, now: Tick) {
        self[0].queue.update_now(now);
    }

    fn reserve(&mut self, additional: usize) -> Option<()> {
        self[0].queue.reserve(additional).ok()
    }

    fn heap_bytes(&self) -> usize {
        self[0].queue.heap_bytes()
    }

    fn get(&self, key: Key) -> Option<&Entry> {
        self[0].queue.get(key)
    }

    fn get_mut(&mut self, key: Key) -> Option<&mut Entry> {
        self[0].queue.get_mut(key)
    }

    fn next_key(&self, from: usize) -> Option<Key> {
        self[0].queue.next_key(from)
    }

    fn len(&self) -> usize {
        self[0].queue.len()
    }

    fn idle(&self) -> usize {
        self[0].queue.idle()
    }

    fn expiry(&self, key: Key) -> Option<Tick> {
        self[0].queue.expiry(key)
    }

    fn next_expiry(&self) -> Option<Tick> {
        self[0].queue.next_expiry()
    }

    fn next_wake(&self) -> Option<Tick> {
        self[0].queue.next_wake()
    }

    fn peek(&self) -> Option<Pending<Key>> {
        self[0].queue.peek()
    }

    fn second(&self) -> Option<Pending<Key>> {
        self[0].queue.second()
    }

    fn fetch_head(&self, now: Tick) -> Option<Key> {
        let queue = &self[0].queue;
        let head = queue.next_wake().filter(|&at| at <= now).and_then(|_| queue.peek())?.key;
        queue.hint(head);
        Some(head)
    }

    fn check(&self) -> Result<(), Violation> {
        self[0].queue.check()
    }
}

/// Moves a queue into a box. Returns `None` if there is no memory for the box.
pub(super) fn boxed<F: Family, T: Tape + 'static>(queue: Entries<F>, tape: T) -> Option<Box<dyn Queue>>
where
    Entries<F>: Send,
{
    let mut one = Vec::new();
    one.try_reserve_exact(1).ok()?;
    one.push(Taped { queue, tape });
    let one: Box<[_; 1]> = one.into_boxed_slice().try_into().ok()?;
    Some(one)
}
