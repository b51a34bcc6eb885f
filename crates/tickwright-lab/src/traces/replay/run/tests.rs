use super::*;

#[test]
fn a_replay_of_more_than_a_minute_says_so() {
    let within = Duration::from_secs(10);
    let ms = Duration::from_millis;
    let said = |time: u64, is_kept| long([ms(2 * time), ms(time), within], 30, is_kept);
    assert_eq!((said(10, true), said(800, true)), (None, None));
    let kept = said(1000, true).unwrap_or_default();
    assert!(kept.starts_with("about 70.0 s: 60.0 s to compare the answers of 30 structures"), "{kept}");
    // Each of the twelve rounds decodes again.
    assert!(said(800, false).unwrap_or_default().contains("about 346"), "{:?}", said(800, false));
}

#[test]
fn the_fastest_structures_run_if_the_time_does_not_suffice_for_all() {
    // Seven rounds of each: 700, 70, 350 and 210 ns.
    let costs = [100, 10, 50, 30];
    for (left, fits) in [
        (2000, [true, true, true, true]),
        (1330, [true, true, true, true]),
        (1329, [true, true, false, true]),
        (980, [true, true, false, true]),
        (979, [true, true, false, false]),
        (0, [true, true, false, false]),
    ] {
        assert_eq!(fitting(&costs, left), fits, "{left} ns");
    }
    assert_eq!((fitting(&[5], 0), fitting(&[], 0)), (vec![true], vec![]));
}

#[test]
fn the_number_of_rounds_follows_from_the_first() {
    let rounds = |ms: u64, most| expected_rounds(Duration::from_millis(ms), Duration::from_secs(10), most);
    assert_eq!((rounds(1000, 21), rounds(100, 21), rounds(9000, 21)), (11, 22, 7));
    assert_eq!(rounds(1000, 2), 3);
    assert_eq!(expected_rounds(Duration::ZERO, Duration::from_secs(1), 9), 10);
}

#[test]
fn single_calls_are_timed_in_the_first_pieces() {
    let kept = [3, 3, 1].map(|length| Chunk(vec![Step::Remove { id: 0 }; length]));
    let found = [0, 1, 3, 4, 6, 7, 8].map(|operations| pieces(&kept, operations));
    assert_eq!(found, [0, 1, 1, 2, 2, 3, 3]);
    // Times are no operations.
    let timed = kept.map(|piece| Chunk([vec![Step::Clock { at: 1 }; 2], piece.0].concat()));
    assert_eq!([0, 1, 3, 4, 6, 7, 8].map(|operations| pieces(&timed, operations)), found);
}
