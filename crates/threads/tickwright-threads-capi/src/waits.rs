//! Counts the calls that wait in an object, so that the object is not destroyed during these calls.

use core::sync::atomic::{AtomicU64, Ordering};

use tickwright::fork::Process;

/// The number of calls that wait in an object. Only a call that waits changes the number, so a call
/// that need not wait has no extra cost.
///
/// The upper half is the number of the process in which the calls wait, and the lower half is their
/// number. The threads that waited in the parent do not exist in a forked child. The child has
/// another process number, so their calls are not counted there.
#[derive(Debug)]
pub(crate) struct Waits(AtomicU64);

/// Counts a call as waiting until it is dropped.
pub(crate) struct Wait<'w> {
    calls: &'w AtomicU64,
    process: u32,
}

/// Returns the number of calls in `word` that wait in the given process.
fn calls_in(word: u64, process: u32) -> u32 {
    if word >> 32 == u64::from(process) { word as u32 } else { 0 }
}

fn word(process: u32, calls: u32) -> u64 {
    u64::from(process) << 32 | u64::from(calls)
}

impl Waits {
    /// Creates a count of no calls. From now on a forked child gets another process number.
    pub(crate) fn none() -> Self {
        Self(AtomicU64::new(word(Process::this().number(), 0)))
    }

    /// Counts a call that is about to wait.
    pub(crate) fn begin(&self) -> Wait<'_> {
        self.begin_in(Process::this().number())
    }

    fn begin_in(&self, process: u32) -> Wait<'_> {
        let more = |found| Some(word(process, calls_in(found, process) + 1));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        Wait { calls: &self.0, process }
    }

    /// Returns whether a call waits, or has been woken and has not returned yet.
    pub(crate) fn any(&self) -> bool {
        self.any_in(Process::this().number())
    }

    fn any_in(&self, process: u32) -> bool {
        // Acquire, so that everything that a call did to the object is visible to the thread that
        // destroys it.
        calls_in(self.0.load(Ordering::Acquire), process) != 0
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // If the process has forked since the call began, the call is not counted in the child.
        let less = |found| calls_in(found, self.process).checked_sub(1).map(|left| word(self.process, left));
        let _ = self.calls.fetch_update(Ordering::Release, Ordering::Relaxed, less);
    }
}

#[cfg(test)]
mod tests {
    use super::Waits;

    #[test]
    fn the_calls_of_a_parent_count_in_no_child() {
        let waits = Waits::none();
        let parents = [(); 2].map(|()| waits.begin_in(7));
        assert!(waits.any_in(7));
        assert!(!waits.any_in(8));
        let childs = waits.begin_in(8);
        assert!(waits.any_in(8));
        // The child's count is 0 after both drops, and not less than 0.
        drop(parents);
        assert!(waits.any_in(8));
        drop(childs);
        assert!(!waits.any_in(8));
    }
}
