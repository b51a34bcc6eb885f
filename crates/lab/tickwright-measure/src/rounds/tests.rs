use std::collections::BTreeSet;

use super::*;

#[test]
fn each_lane_has_one_turn_a_round_and_the_first_round_warms_up() {
    let mut turns = Vec::new();
    let taken = Rounds::new(5, 1).run(3, |turn| {
        turns.push(turn);
        Ok::<_, ()>((turn.lane, turn.round))
    });
    let taken = taken.unwrap();
    assert!(!taken.interrupted);
    for (lane, samples) in taken.lanes().iter().enumerate() {
        assert_eq!(*samples, (1..=5).map(|round| (lane, round)).collect::<Vec<_>>());
    }
    for (round, turns) in turns.chunks(3).enumerate() {
        assert!(turns.iter().all(|turn| turn.round == round));
        assert_eq!(turns.iter().map(|turn| turn.lane).collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2]));
    }
}

#[test]
fn orders_differ_from_round_to_round_and_from_run_to_run_and_are_the_seeds() {
    let orders = |rounds: &mut Rounds| {
        let mut lanes = Vec::new();
        rounds
            .run(6, |turn| {
                lanes.push(turn.lane);
                Ok::<_, ()>(())
            })
            .unwrap();
        lanes
    };
    let mut rounds = Rounds::new(3, 7);
    let (first, second) = (orders(&mut rounds), orders(&mut rounds));
    assert_ne!(first, second);
    assert!(first.chunks(6).collect::<BTreeSet<_>>().len() > 1);
    assert_eq!(orders(&mut Rounds::new(3, 7)), first);
    assert_ne!(orders(&mut Rounds::new(3, 8)), first);
}

#[test]
fn without_a_warm_up_every_round_counts() {
    let mut rounds = Rounds::new(2, 1).without_warm_up();
    assert_eq!((rounds.len(), rounds.is_empty()), (2, false));
    assert_eq!(rounds.run(1, |turn| Ok::<_, ()>(turn.round)).unwrap().lanes(), [[0, 1]]);
    assert!(Rounds::new(0, 1).without_warm_up().is_empty());
}

#[test]
fn an_error_ends_it() {
    let mut taken = 0;
    let error = Rounds::new(9, 1).run(2, |turn| {
        taken += 1;
        if turn.round == 1 { Err("wrong") } else { Ok(()) }
    });
    assert_eq!((error, taken), (Err("wrong"), 3));
}

#[test]
fn a_round_that_is_interrupted_counts_for_no_lane() {
    // There are three lanes, and the first round is a warm-up.
    for (turns, whole) in [(0, 0), (2, 0), (3, 0), (5, 0), (6, 1), (8, 1), (9, 2)] {
        let mut left = turns;
        let stop = || {
            let over = left == 0;
            left -= usize::from(!over);
            over
        };
        let taken = Rounds::new(9, 1).run_until(3, || true, stop, |turn| Ok::<_, ()>(turn.round)).unwrap();
        assert!(taken.interrupted);
        assert!(taken.cells[0].iter().all(|lane| lane.len() == whole), "{turns}: {:?}", taken.cells);
    }
}

#[test]
fn cells_keep_their_order_and_are_cut_to_whole_rounds_together() {
    let mut turns = Vec::new();
    // There are two lanes and two cells. The signal arrives in the second cell of the second
    // counted round.
    let mut left = 11;
    let stop = || {
        left -= 1;
        left == 0
    };
    let taken = Rounds::new(9, 1).cells(2).run_until(
        2,
        || true,
        stop,
        |turn| {
            turns.push((turn.round, turn.cell, turn.place));
            Ok::<_, ()>((turn.round, turn.cell, turn.lane))
        },
    );
    let taken = taken.unwrap();
    let order: Vec<_> = (0..10).map(|at| (at / 4, at / 2 % 2, at % 2)).collect();
    assert_eq!(turns, order);
    assert_eq!(taken.cells, [[[(1, 0, 0)], [(1, 0, 1)]], [[(1, 1, 0)], [(1, 1, 1)]]]);
}

#[test]
fn a_limit_of_time_leaves_enough_rounds_for_an_interval() {
    let limited = |rounds: &mut Rounds| {
        rounds.run_while(1, || false, |turn| Ok::<_, ()>(turn.round)).unwrap().lanes()[0].len()
    };
    assert_eq!(limited(&mut Rounds::new(100, 1)), FEWEST_ROUNDS as usize);
    assert_eq!(limited(&mut Rounds::new(100, 1).without_warm_up()), FEWEST_ROUNDS as usize);
    assert_eq!(limited(&mut Rounds::new(3, 1)), 3);
}
