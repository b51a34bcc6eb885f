use super::*;
use crate::structures::registry::STRUCTURES;

#[test]
fn every_structure_agrees_with_the_oracle() {
    for structure in STRUCTURES {
        assert!(check(structure).is_ok(), "{}: {:?}", structure.id, check(structure));
    }
}

/// Returns the answers of the oracle, but ignores removals.
#[derive(Default)]
struct Forgets(Oracle);

impl BenchQueue for Forgets {
    fn insert(&mut self, id: u32, deadline: u64) {
        self.0.insert(id, deadline);
    }
    fn remove(&mut self, _: u32) {}
    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.0.reschedule(id, deadline);
    }
    fn head(&mut self) -> Option<u64> {
        self.0.head()
    }
    fn second(&mut self) -> Option<u64> {
        self.0.second()
    }
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.0.pop_expired(now)
    }
}

#[test]
fn a_wrong_structure_is_found() {
    let message = mix(&STRUCTURES[0], &mut Forgets::default()).unwrap_err();
    assert!(message.contains("where the oracle says"), "{message}");
}

#[test]
fn a_granular_structure_is_judged_by_the_ledger() {
    assert!(mix_granular(&mut Oracle::default(), |_| 0).is_ok());
    let message = mix_granular(&mut Forgets::default(), |_| 0).unwrap_err();
    assert!(message.contains("is not armed"), "{message}");
}
