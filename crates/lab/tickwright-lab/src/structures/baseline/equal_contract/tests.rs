use super::*;
use crate::structures::baseline::tests::agrees;
use crate::structures::registry::Ties;

/// The 4-ary heap, but with at most twenty arrivals, and a base before which it refuses ticks.
#[derive(Debug, Default)]
struct Small(Dary4, u64);

impl Arrivals for Small {
    const ARRIVALS: u32 = 20;

    fn push(&mut self, entry: Entry) -> bool {
        assert!((1..=Self::ARRIVALS).contains(&entry.arrival), "{entry:?}");
        entry.tick >= self.1 && self.0.push(entry)
    }

    fn pop(&mut self) -> Option<Entry> {
        self.0.pop()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn fill(&mut self, entries: Vec<Entry>) {
        self.1 = entries.first().map_or(0, |first| first.tick);
        self.0.fill(entries);
    }
}

#[test]
fn the_contract_holds_over_each_heap_and_over_all_renumberings() {
    for stride in [1, 1 << 20, 1 << 40] {
        agrees::<EqualContract<Small>>(Ties::Fifo, true, stride);
        agrees::<EqualContract<Dary4>>(Ties::Fifo, true, stride);
        #[cfg(target_feature = "avx2")]
        agrees::<EqualContract<Quick>>(Ties::Fifo, true, stride);
    }
}

/// Entries leave in the order in which they arrived, up to the last arrival and at any distance
/// between their ticks.
fn keeps_entries<H: Arrivals>() {
    let mut heap = H::default();
    let entry = |tick, arrival, slot| Entry { tick, arrival, slot };
    let (last, far) = (H::ARRIVALS, u64::MAX);
    heap.fill(vec![entry(5, 1, 9), entry(5, 2, 3)]);
    let later = [entry(far, last, 1), entry(5, last, 4), entry(far, last - 1, 2), entry(5, last - 1, 7)];
    assert!(later.into_iter().all(|entry| heap.push(entry)));
    let mut order = [later.as_slice(), &[entry(5, 1, 9), entry(5, 2, 3)]].concat();
    order.sort_unstable();
    assert_eq!(heap.len(), order.len());
    assert_eq!(core::iter::from_fn(|| heap.pop()).collect::<Vec<_>>(), order);
}

#[test]
fn a_heap_keeps_all_of_an_entry() {
    keeps_entries::<Dary4>();
    #[cfg(target_feature = "avx2")]
    keeps_entries::<Quick>();
}

/// When the generation of a slot wraps around, it skips the generation that no timer has.
#[test]
fn a_key_is_stale_after_any_number_of_timers() {
    let mut queue = EqualContract::<Dary4>::queue(&(), 1);
    queue.insert(0, 5);
    queue.slots[0].generation = u32::MAX;
    queue.keys[0].generation = u32::MAX;
    assert_eq!(queue.pop(), Some((0, 5)));
    assert_eq!(queue.slots[0].generation, STALE + 1);
    queue.remove(0);
    assert_eq!((queue.live(), queue.head()), (0, None));
}
