//! Verifies the coarse wheel: one function for each kind of list.

use super::{Coarse, CoarseRecord, FAR, Geometry};
use crate::contract::Violation;
use crate::structure::{Handle, View};

impl<P: Handle, const BUCKETS: usize, const SHIFT: u32, const DEPTH: usize> Coarse<P, BUCKETS, SHIFT, DEPTH> {
    pub(super) fn check_due(&self, nodes: &impl View<P, Self>, left: &mut usize) -> Result<(), Violation> {
        let mut earliest = 0;
        self.due.check(nodes, left, |record: &CoarseRecord<P>| {
            let expiry = Self::expiry_of(record);
            if expiry > self.clock || record.level == FAR {
                return Err(Violation::Bucket);
            }
            if expiry < earliest {
                return Err(Violation::Order);
            }
            earliest = expiry;
            Ok(())
        })
    }

    pub(super) fn check_levels(&self, nodes: &impl View<P, Self>, left: &mut usize) -> Result<(), Violation> {
        for level in 0..DEPTH {
            for index in 0..BUCKETS {
                let bucket = &self.levels[level][index];
                let occupied = self.occupied[level] & (1 << index);
                if bucket.is_empty() != (occupied == 0) {
                    return Err(Violation::Occupied);
                }
                let end = self.first_of(occupied, level);
                bucket.check(nodes, left, |record: &CoarseRecord<P>| {
                    if (usize::from(record.level), usize::from(record.index)) != (level, index) {
                        return Err(Violation::Position);
                    }
                    let expected = Geometry::<BUCKETS, SHIFT, DEPTH>::index(record.deadline, level);
                    let expiry = Self::expiry_of(record);
                    // Both the index and the end must match, because the index does not determine
                    // in which turn of its level the bucket ends.
                    if (expected, expiry) == (index, end.map_or(0, |(_, end)| end)) && expiry > self.clock {
                        Ok(())
                    } else {
                        Err(Violation::Bucket)
                    }
                })?;
            }
            if BUCKETS < 64 && self.occupied[level] >> (BUCKETS % 64) != 0 {
                return Err(Violation::Occupied);
            }
        }
        Ok(())
    }

    pub(super) fn check_far(&self, nodes: &impl View<P, Self>, left: &mut usize) -> Result<(), Violation> {
        let being_emptied = self.far_occupied & self.clock;
        for (power, bucket) in self.far.iter().enumerate() {
            if bucket.is_empty() != ((self.far_occupied >> power) & 1 == 0) {
                return Err(Violation::Occupied);
            }
            // While a far bucket is being emptied, `clock` is at the end of that bucket.
            let emptying = (being_emptied >> power) & 1 == 1;
            if emptying && (being_emptied.count_ones() > 1 || self.clock != self.far_end(power)) {
                return Err(Violation::Bucket);
            }
            bucket.check(nodes, left, |record: &CoarseRecord<P>| {
                if (record.level, usize::from(record.index)) != (FAR, power) {
                    return Err(Violation::Position);
                }
                // The deadline and the clock must be equal above bit `power`, and the deadline must
                // have this bit set. If the clock has the bit clear, the clock is before the
                // bucket's end, and the deadline is at or after that end.
                let waits = record.deadline >> power == (self.clock >> power) | 1;
                if waits && Self::expiry_of(record) > self.far_end(power) {
                    Ok(())
                } else {
                    Err(Violation::Bucket)
                }
            })?;
        }
        Ok(())
    }
}
