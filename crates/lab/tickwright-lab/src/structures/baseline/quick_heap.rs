//! `quickheap`'s SimdQuickHeap. The crate needs AVX2 or AVX-512 at compile time
//! (`RUSTFLAGS='-C target-cpu=x86-64-v3'`). An entry is a deadline and an id in one `u64`.

use quickheap::SimdQuickHeap;

use super::by_deadline::Bag;

/// The number of bits of an id. The other bits are the deadline.
const ID: u32 = 20;

impl Bag for SimdQuickHeap<u64> {
    const HORIZON: u64 = 1 << (64 - ID - 1);
    const IDS: usize = 1 << ID;

    #[inline]
    fn push(&mut self, deadline: u64, id: u32) {
        self.push(deadline << ID | u64::from(id));
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, u32)> {
        let entry = self.pop()?;
        Some((entry >> ID, (entry & ((1 << ID) - 1)) as u32))
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
