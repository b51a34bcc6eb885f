//! Stacks that nobody uses and that came with their threads, by size.
//!
//! # Invariants
//! 1. There are at most [`MOST_SIZES`] classes, one a size; the one used last is in front.
//! 2. `count` and `bytes` are those of all classes, within the bounds of each
//!    [`keep`](StackCache::keep).

use crate::stack::Mapping;

/// How many sizes are kept at a time.
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
    /// Puts the class of that size in front.
    fn find(&mut self, size: (usize, usize)) -> Option<&mut SizeClass> {
        let place = self.classes.iter().position(|class| class.size == size)?;
        self.classes.get_mut(..=place)?.rotate_right(1);
        self.classes.first_mut()
    }

    /// A stack of that size, and that guard.
    pub(super) fn take(&mut self, stack: usize, guard: usize) -> Option<Mapping> {
        let taken = self.find((stack, guard))?.mappings.pop()?;
        self.count -= 1;
        self.bytes -= stack + guard;
        Some(taken)
    }

    /// A stack of the size that was not used for longest.
    pub(super) fn take_any(&mut self) -> Option<Mapping> {
        let taken = self.classes.iter_mut().rev().find_map(|class| class.mappings.pop())?;
        self.count -= 1;
        self.bytes -= bytes_of(size(&taken));
        Some(taken)
    }

    /// Keeps a stack within `most` stacks of `most_bytes` in all. Beyond that, stacks of the size
    /// that was not used for longest go first. The caller drops what is returned, without the lock.
    pub(super) fn keep(&mut self, mapping: Mapping, most: usize, most_bytes: usize) -> [Option<Mapping>; 2] {
        let own = size(&mapping);
        let fits = |classes: &Self| classes.count < most && classes.bytes + bytes_of(own) <= most_bytes;
        let found = self.find(own).is_some();
        let mut gone = None;
        // With its own size in front, what goes is of that size only where there is no other.
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

    /// A class for that size, in front. False: there is no memory, or all classes hold stacks: one
    /// less then.
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
