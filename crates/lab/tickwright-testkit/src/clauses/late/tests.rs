use tickwright_core::{CoarseWheel, Family, LadderQueue};

use super::from_the_callers_time;
use crate::ours::{NoWalk, Slab, SlabSubject};
use crate::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// A queue of family `F` that ignores the time that it is told. Its `now` changes only at an
/// advance.
struct Deaf<F: Family>(SlabSubject<F, NoWalk>);

struct Deafened<F>(F);

impl<F: Family> Make for Deafened<F> {
    type Arena = ();
    type Subject<'a> = Deaf<F>;
    const OFFERS: Offers = Offers { reschedule: true, tell: true, ..Offers::NONE };
    const EXACT: bool = <Slab<F> as Make>::EXACT;
    const LATENESS: Option<fn(u64) -> u64> = <Slab<F> as Make>::LATENESS;

    fn name() -> String {
        "deaf".into()
    }

    fn arena(_: usize) {}

    fn make((): &(), capacity: usize) -> Deaf<F> {
        Deaf(Slab::<F>::make(&(), capacity))
    }
}

impl<F: Family> Subject for Deaf<F> {
    type Key = <SlabSubject<F, NoWalk> as Subject>::Key;

    fn now(&self) -> u64 {
        self.0.now()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Result<(Self::Key, bool), Full> {
        self.0.insert(deadline, value)
    }

    fn remove(&mut self, key: Self::Key) -> Result<(u32, bool), Stale> {
        self.0.remove(key)
    }

    fn reschedule(&mut self, key: Self::Key, deadline: u64) -> Result<bool, Stale> {
        self.0.reschedule(key, deadline)
    }

    fn tell(&mut self, _: u64) {}

    fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(Fired)) -> Advanced {
        self.0.advance(now, budget, sink)
    }

    fn expiry(&self, key: Self::Key) -> Option<u64> {
        self.0.expiry(key)
    }
}

/// All granular queues behaved in this way before they could be told the time.
#[test]
fn a_granular_queue_that_is_not_told_the_time_is_too_late() {
    let witness = from_the_callers_time::<Deafened<CoarseWheel>>(u64::MAX).expect("a witness");
    assert!(
        witness.starts_with("up for 1000 ms, then asleep for 1 ms: timer 0 for 1001 is due at 1024"),
        "{witness}"
    );
    assert_eq!(from_the_callers_time::<Slab<CoarseWheel>>(u64::MAX), None);
}

#[test]
fn an_exact_queue_is_in_time_in_any_case() {
    assert_eq!(from_the_callers_time::<Deafened<LadderQueue>>(u64::MAX), None);
    assert_eq!(from_the_callers_time::<Slab<LadderQueue>>(u64::MAX), None);
}
