use super::*;
use crate::models::verify::oracle::Oracle;

/// The 4-ary heap, which numbers all entries again after twenty arrivals, and refuses ticks before
/// its base.
#[derive(Debug, Default)]
struct Small(Dary4, u64);

impl Arrivals for Small {
    const ARRIVALS: u32 = 20;

    fn push(&mut self, entry: Entry) -> bool {
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

/// Random operations, at ticks that lie `stride` apart, against the oracle.
fn agrees<H: Arrivals>(stride: u64) {
    let mut queue = EqualContract::<H>::queue(&(), 12);
    let mut oracle = Oracle::default();
    let mut pending = [false; 12];
    let (mut random, mut now) = (7u64, 0);
    for _ in 0..20_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let id = (random >> 20) as u32 % 12;
        let deadline = now + (random >> 30) % 9 * stride;
        match (random % 7, pending[id as usize]) {
            (0..2, false) => {
                queue.insert(id, deadline);
                oracle.insert(id, deadline);
                pending[id as usize] = true;
            }
            (0..3, true) => {
                queue.reschedule(id, deadline);
                oracle.reschedule(id, deadline);
            }
            (3, true) => {
                queue.remove(id);
                oracle.remove(id);
                pending[id as usize] = false;
                queue.remove(id);
                queue.reschedule(id, deadline);
            }
            (4, _) => assert_eq!(queue.second(), oracle.second()),
            _ => {
                let first = queue.pop();
                assert_eq!(first, oracle.pop());
                if let Some((id, deadline)) = first {
                    now = deadline;
                    pending[id as usize] = false;
                }
            }
        }
        assert_eq!(queue.head(), oracle.head());
        assert!(queue.entries() <= 2 * queue.live() + SLACK + 1, "dead entries are bounded");
    }
}

#[test]
fn the_contract_holds_over_each_heap_and_over_all_renumberings() {
    for stride in [1, 1 << 20, 1 << 41] {
        agrees::<Small>(stride);
        agrees::<Dary4>(stride);
        #[cfg(target_feature = "avx2")]
        agrees::<Quick>(stride);
    }
}
