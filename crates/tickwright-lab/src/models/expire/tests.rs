use super::*;
use crate::experiments::bench::work::Source;
use crate::models::scenario::Measure;
use crate::models::verify::oracle::Oracle;
use crate::models::verify::{Fold, Script};

#[test]
fn a_round_empties_what_it_filled_and_the_next_begins_later() {
    let mut source = Expire::new(5, 1);
    let mut oracle = Oracle::default();
    source.fill().run(&mut oracle, &mut Fold::default());
    for _ in 0..2 {
        source.next(Measure::Insert).run(&mut oracle, &mut Fold::default());
        let head = oracle.head();
        assert!(head.is_some_and(|head| head > source.ticks.begin && head <= source.ticks.end()));
        source.next(Measure::Expire).run(&mut oracle, &mut Fold::default());
        assert_eq!(oracle.head(), None);
    }
    assert_eq!(source.ticks.begin, 22);
}
