use super::*;
use crate::clock::FakeMeter;
use crate::models::verify::faulty::{Fault, Faulty};
use crate::structures::registry;

/// Three timers are armed, one is moved and one is cancelled. None is due while the trace lasts.
const STEPS: [Step; 5] = [
    Step::Insert { id: 0, deadline: 100 },
    Step::Insert { id: 1, deadline: 200 },
    Step::Insert { id: 2, deadline: 300 },
    Step::Reschedule { id: 1, deadline: 250 },
    Step::Remove { id: 2 },
];

fn verified(id: &str, fault: Fault, end: u64) -> Result<Passed, LabError> {
    let structure = registry::find(id)?;
    let chunk = Chunk(STEPS.to_vec());
    let feed = |take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>| take(&chunk);
    let meter = FakeMeter::steady(10);
    let pass = Pass { feed: &feed, capacity: 3, untimed: 0, purpose: Purpose::Verify(end), meter: &meter };
    pass.run(structure, Faulty::new(fault), allocator::live_bytes())
}

#[test]
fn a_trace_without_expiries_is_compared_at_its_end() {
    for id in ["heap4/slab", "timer-queue", "coarse/slab"] {
        let right = verified(id, Fault::None, u64::MAX).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!((right.fold, right.compared_to), (Fold::default(), None), "{id}");
        for fault in [Fault::KeepsRemoved, Fault::LosesFirst, Fault::IgnoresMoves] {
            let wrong = verified(id, fault, u64::MAX).err().map(|error| error.to_string());
            let wrong = wrong.unwrap_or_else(|| panic!("{id}: {fault:?} is not seen"));
            assert!(wrong.contains("after the last operation"), "{id}: {fault:?}: {wrong}");
        }
    }
}

#[test]
fn a_comparison_that_is_cut_says_where() {
    let cut = verified("heap4/slab", Fault::None, 270).map(|passed| passed.compared_to);
    assert_eq!(cut.ok(), Some(Some(270)));
}
