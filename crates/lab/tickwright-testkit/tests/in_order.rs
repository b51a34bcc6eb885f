//! Walks lists and trees in order after every op: `iter` must equal the order of delivery.

use tickwright_core::{RbTree, RbTreeCached, SortedList};
use tickwright_testkit::machine::run;
use tickwright_testkit::ours::{Hook, InOrder, Slab};
use tickwright_testkit::script::{decode, noise};
use tickwright_testkit::subject::{Make, Subject};

fn walks_in_order<M: Make>() {
    assert!(M::make(&M::arena(0), 0).in_order().is_some(), "{} has no walk", M::name());
    for seed in 0..40 {
        if let Err(mismatch) = run::<M>(&decode(&noise(seed, 800))) {
            panic!("{}: {mismatch}", M::name());
        }
    }
}

macro_rules! walks {
    ($($test:ident $family:ty;)+) => {$(
        #[test]
        fn $test() {
            walks_in_order::<Slab<$family, InOrder>>();
            walks_in_order::<Hook<$family, InOrder>>();
        }
    )+};
}

walks! {
    list SortedList;
    rb RbTree;
    rb_cached RbTreeCached;
}
