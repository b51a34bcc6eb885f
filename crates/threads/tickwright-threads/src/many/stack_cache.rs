//! A cache of free stacks that came with their threads, grouped by size.
//!
//! # Invariants
//! 1. There are at most [`MOST_SIZES`] size classes, one for each size. The most recently used
//!    class is in front.
//! 2. `count` and `bytes` are the totals of all classes. They are within the bounds that are passed
//!    to [`keep`](StackCache::keep).

use crate::mapping::Mapping;

/// The largest number of sizes that are cached at a time.
const MOST_SIZES: usize = 8;

#[derive(Default)]
pub(super) struct StackCache {
    classes: Vec<SizeClass>,
    count: usize,
    bytes: usize,
}

struct SizeClass {
    size: (usize, usize),
    mappings: Vec<Mapping>,
}

fn size(mapping: &Mapping) -> (usize, usize) {
    (mapping.stack().len(), mapping.guard().len())
}

fn bytes_of((stack, guard): (usize, usize)) -> usize {
    stack + guard
}

impl StackCache {
    /// Finds the class of the given size, and puts it in front.
    fn find(&mut self, size: (usize, usize)) -> Option<&mut SizeClass> {
        let place = self.classes.iter().position(|class| class.size == size)?;
        self.classes.get_mut(..=place)?.rotate_right(1);
        self.classes.first_mut()
    }

    /// Takes a stack whose own size and guard size are equal to these.
    pub(super) fn take(&mut self, stack: usize, guard: usize) -> Option<Mapping> {
        let taken = self.find((stack, guard))?.mappings.pop()?;
        self.count -= 1;
        self.bytes -= stack + guard;
        Some(taken)
    }

    /// Takes a stack of the least recently used size.
    pub(super) fn take_any(&mut self) -> Option<Mapping> {
        let taken = self.classes.iter_mut().rev().find_map(|class| class.mappings.pop())?;
        self.count -= 1;
        self.bytes -= bytes_of(size(&taken));
        Some(taken)
    }

    /// Adds a stack. The cache holds at most `most` stacks and `most_bytes` bytes. To stay within
    /// these bounds, it removes stacks of the least recently used size. The caller drops the
    /// returned stacks after it has released the lock.
    pub(super) fn keep(&mut self, mapping: Mapping, most: usize, most_bytes: usize) -> [Option<Mapping>; 2] {
        let own = size(&mapping);
        let fits = |classes: &Self| classes.count < most && classes.bytes + bytes_of(own) <= most_bytes;
        let found = self.find(own).is_some();
        let mut gone = None;
        // The new stack's class is in front, so a stack of its size is removed only if there is no
        // other size.
        if !fits(self) {
            gone = self.take_any();
        }
        if !fits(self) || (!found && !self.add_class(own)) {
            return [gone, Some(mapping)];
        }
        match self.classes.first_mut() {
            Some(class) if class.size == own => {
                if class.mappings.try_reserve(1).is_err() {
                    return [gone, Some(mapping)];
                }
                class.mappings.push(mapping);
                self.count += 1;
                self.bytes += bytes_of(own);
                [gone, None]
            }
            _ => [gone, Some(mapping)],
        }
    }

    /// Adds a class for the size in front. Returns false if there is no memory, or if all classes
    /// hold stacks. In this case the new stack is not cached.
    fn add_class(&mut self, size: (usize, usize)) -> bool {
        if self.classes.len() == MOST_SIZES {
            let Some(empty) = self.classes.iter().rposition(|class| class.mappings.is_empty()) else {
                return false;
            };
            self.classes.remove(empty);
        }
        if self.classes.try_reserve(1).is_err() {
            return false;
        }
        self.classes.insert(0, SizeClass { size, mappings: Vec::new() });
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
