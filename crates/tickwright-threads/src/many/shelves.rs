//! Stacks that nobody uses and that came with their threads, by size.
//!
//! # Invariants
//! 1. There are at most [`MOST_SIZES`] shelves, one a size; the one used last is in front.
//! 2. `count` and `bytes` are those of all shelves, within the bounds of each [`keep`](Shelves::keep).

use crate::stack::Mapping;

/// How many sizes are kept at a time.
const MOST_SIZES: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Shelves {
    shelves: Vec<Shelf>,
    count: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Shelf {
    size: (usize, usize),
    mappings: Vec<Mapping>,
}

fn size(mapping: &Mapping) -> (usize, usize) {
    (mapping.stack().len(), mapping.guard().len())
}

fn bytes_of((stack, guard): (usize, usize)) -> usize {
    stack + guard
}

impl Shelves {
    /// Puts the shelf of that size in front.
    fn find(&mut self, size: (usize, usize)) -> Option<&mut Shelf> {
        let place = self.shelves.iter().position(|shelf| shelf.size == size)?;
        self.shelves.get_mut(..=place)?.rotate_right(1);
        self.shelves.first_mut()
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
        let taken = self.shelves.iter_mut().rev().find_map(|shelf| shelf.mappings.pop())?;
        self.count -= 1;
        self.bytes -= bytes_of(size(&taken));
        Some(taken)
    }

    /// Keeps a stack, if so many stacks of so many bytes are not exceeded. Beyond that stacks of sizes that were not used for longest go first. What is not
    /// kept is for the caller to drop, without the lock.
    pub(super) fn keep(&mut self, mapping: Mapping, most: usize, most_bytes: usize) -> [Option<Mapping>; 2] {
        let own = size(&mapping);
        let fits = |shelves: &Self| shelves.count < most && shelves.bytes + bytes_of(own) <= most_bytes;
        let found = self.find(own).is_some();
        let mut gone = None;
        // With its own size in front, what goes is of that size only where there is no other.
        if !fits(self) {
            gone = self.take_any();
        }
        if !fits(self) || (!found && !self.add_shelf(own)) {
            return [gone, Some(mapping)];
        }
        match self.shelves.first_mut() {
            Some(shelf) if shelf.size == own => {
                if shelf.mappings.try_reserve(1).is_err() {
                    return [gone, Some(mapping)];
                }
                shelf.mappings.push(mapping);
                self.count += 1;
                self.bytes += bytes_of(own);
                [gone, None]
            }
            _ => [gone, Some(mapping)],
        }
    }

    /// A shelf for that size, in front. False: there is no memory, or all shelves hold stacks: one less then.
    fn add_shelf(&mut self, size: (usize, usize)) -> bool {
        if self.shelves.len() == MOST_SIZES {
            let Some(empty) = self.shelves.iter().rposition(|shelf| shelf.mappings.is_empty()) else {
                return false;
            };
            self.shelves.remove(empty);
        }
        if self.shelves.try_reserve(1).is_err() {
            return false;
        }
        self.shelves.insert(0, Shelf { size, mappings: Vec::new() });
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
