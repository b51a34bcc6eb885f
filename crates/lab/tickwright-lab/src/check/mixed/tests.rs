use super::*;
use crate::models::verify::faulty::{Fault, Faulty};
use crate::structures::registry::STRUCTURES;

#[test]
fn every_structure_agrees_with_the_oracle() {
    for structure in STRUCTURES {
        assert!(check(structure).is_ok(), "{}: {:?}", structure.id, check(structure));
    }
}

#[test]
fn a_wrong_structure_is_found() {
    let message = mix(&STRUCTURES[0], &mut Faulty::new(Fault::KeepsRemoved)).unwrap_err();
    assert!(message.contains("where the oracle says"), "{message}");
}

#[test]
fn a_granular_structure_is_judged_by_the_ledger() {
    assert!(mix_granular(&mut Oracle::default(), |_| 0).is_ok());
    let message = mix_granular(&mut Faulty::new(Fault::KeepsRemoved), |_| 0).unwrap_err();
    assert!(message.contains("is not armed"), "{message}");
}
