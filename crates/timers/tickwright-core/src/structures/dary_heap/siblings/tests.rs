//! Tests that both searches find the same sibling.

use tickwright_nodes::arena::Idx;
use tickwright_nodes::testing::Random;

use super::*;
use crate::structures::dary_heap::buffer::key;

#[test]
fn both_searches_find_the_same_sibling() {
    let mut random = Random::new(1);
    for _ in 0..2_000 {
        let mut siblings = [Entry::<Idx>::EMPTY; 4];
        // There are only a few distinct expiries, so many siblings have equal expiries. Sequence
        // numbers are unique, as in a heap.
        for (at, entry) in siblings.iter_mut().enumerate() {
            if random.below(4) > 0 {
                let expiry = [0, 1, 1 << 32, u64::MAX][random.below(4) as usize];
                let number = random.below(1 << 20) * 4 + at as u32;
                entry.set(key(expiry, number), Idx::of(at + 1).unwrap());
            }
        }
        let (found, expected) = (tournament(&siblings), in_turn(&siblings));
        assert_eq!(siblings[found], siblings[expected], "{siblings:?}");
    }
}
