//! Runs random scripts and compares with the oracle. Scripts that once failed are kept in
//! `proptest-regressions/`.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tickwright_testkit::registry::{Kind, inline, kept, ours};
use tickwright_testkit::script::{WIDTH, decode};

thread_local! {
    static OURS: Vec<Kind> = ours().into_iter().chain(kept()).chain(inline()).collect();
}

fn config() -> ProptestConfig {
    let seeds = FileFailurePersistence::Direct("proptest-regressions/properties.txt");
    ProptestConfig {
        cases: 256,
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(seeds)),
        ..ProptestConfig::default()
    }
}

/// Generates the bytes of a script with up to n ops. If proptest shrinks the bytes, the script gets
/// shorter and its numbers get smaller.
fn bytes(ops: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<[u8; WIDTH]>(), 0..ops).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_structure_agrees_with_the_oracle(bytes in bytes(200)) {
        let script = decode(&bytes);
        OURS.with(|ours| {
            for kind in ours {
                if let Err(mismatch) = (kind.run)(&script) {
                    return Err(TestCaseError::fail(format!("{}: {mismatch}\n{script:#?}", kind.name)));
                }
            }
            Ok(())
        })?;
    }

    /// Runs scripts with so little room that at most inserts the queue is full.
    #[test]
    fn bounded_queues_agree_with_a_bounded_oracle(bytes in bytes(120), most in 0usize..6) {
        let script = decode(&bytes);
        OURS.with(|ours| {
            for kind in ours.iter().filter(|kind| kind.offers.bound) {
                if let Err(mismatch) = (kind.run_bounded)(&script, most) {
                    return Err(TestCaseError::fail(format!("{} of {most}: {mismatch}\n{script:#?}", kind.name)));
                }
            }
            Ok(())
        })?;
    }
}
