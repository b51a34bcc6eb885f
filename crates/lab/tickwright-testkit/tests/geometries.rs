//! Wheels of unusual sizes. A clause fails here if the code confuses two constants.

use tickwright_core::Wheel;
use tickwright_testkit::clauses::{self, Tools, Verdict};
use tickwright_testkit::ours::{Hook, Slab};
use tickwright_testkit::subject::Make;

fn keeps_every_clause<M: Make>() {
    for clause in clauses::all::<M>() {
        match (clause.verdict)(&Tools::default()) {
            // The clause on allocations is not run, because another test binary counts them. Hook
            // queues do not offer the clause on a bound, because they have no bound.
            Verdict::Kept | Verdict::NotOffered | Verdict::NotRun(_) => {}
            verdict @ Verdict::Broken(_) => panic!("{} {}: {verdict}", M::name(), clause.name),
        }
    }
}

macro_rules! geometries {
    ($($test:ident $family:ty;)+) => {$(
        #[test]
        fn $test() {
            keeps_every_clause::<Slab<$family>>();
            keeps_every_clause::<Hook<$family>>();
        }
    )+};
}

geometries! {
    wheel_of_32_buckets Wheel<32, 13>;
    wheel_of_16_buckets Wheel<16, 16>;
    wheel_of_8_buckets Wheel<8, 22>;
    wheel_of_4_buckets Wheel<4, 32>;
    wheel_of_2_buckets Wheel<2, 64>;
}
