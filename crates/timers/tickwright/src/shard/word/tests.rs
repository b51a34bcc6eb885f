use super::{DEADLINES, PARKED, State, Word};

#[test]
fn what_is_put_in_comes_out() {
    for deadline in [0, 1, 63, 1 << 32, DEADLINES - 1] {
        for level in 0..PARKED {
            let word = Word::pending(deadline, level);
            assert_eq!((word.state(), word.whole()), (State::Pending, Some((deadline, level))));
        }
    }
}

#[test]
fn what_does_not_fit_is_parked() {
    for deadline in [DEADLINES, DEADLINES + 1, 1 << 58, u64::MAX] {
        let word = Word::pending(deadline, 3);
        assert_eq!((word.state(), word.level(), word.whole()), (State::Pending, PARKED, None));
    }
    let parked = Word(Word::pending(70, 1).0 | Word::PARK);
    assert_eq!((parked, parked.whole(), parked.deadline()), (Word::pending(70, PARKED), None, 70));
}

#[test]
fn other_states_say_no_deadline() {
    for (word, state) in [(Word::IDLE, State::Idle), (Word::FIRING, State::Firing), (Word::DEAD, State::Dead)]
    {
        assert_eq!((word.state(), word.whole()), (state, None));
        assert_eq!(format!("{word:?}"), format!("{state:?}"));
    }
    assert_ne!(Word::IDLE, Word::pending(0, 0));
}
