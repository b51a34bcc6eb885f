use super::*;
use crate::models::tape::run;
use crate::models::verify::oracle::Oracle;
use crate::models::witness::Fold;
use crate::structures::candidate::BenchQueue;

#[test]
fn a_round_empties_what_it_filled_and_the_next_begins_later() {
    let mut source = Expire::new(5, 1);
    let mut oracle = Oracle::default();
    for _ in 0..2 {
        run(&source.next(Measure::Insert), &mut oracle, &mut Fold::default());
        let head = oracle.head();
        assert!(head.is_some_and(|head| head > source.begin && head <= source.last()));
        run(&source.next(Measure::Expire), &mut oracle, &mut Fold::default());
        assert_eq!(oracle.head(), None);
    }
    assert_eq!(source.begin, 22);
}
