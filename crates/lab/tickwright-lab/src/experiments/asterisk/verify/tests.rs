use super::*;

#[test]
fn an_event_too_few_too_many_or_out_of_order_is_named() {
    let expected = [(0, 5), (1, 6), (2, 6)];
    assert_eq!(compare(expected.to_vec(), &expected), Ok(()));
    let wrong = |got: &[Event]| compare(got.to_vec(), &expected).unwrap_err();
    assert_eq!(wrong(&[(0, 5), (2, 6), (1, 6)]), "event 1 is (2, 6), expected (1, 6)");
    assert_eq!(wrong(&[(0, 5), (1, 6)]), "2 events, expected 3");
    assert_eq!(wrong(&[(0, 5), (1, 6), (2, 6), (2, 6)]), "4 events, expected 3");
    assert_eq!(compare(sorted(vec![(2, 6), (0, 5), (1, 6)]), &expected), Ok(()), "equals in any order");
}

/// Many timers are due at the same time, and a third of all timers is deleted. The order is (due
/// time, arrival).
#[test]
fn a_script_has_equals_and_sorting_keeps_them_in_order() {
    let script = Script::new(300, 1);
    let expected = script.expected();
    assert_eq!(expected.len(), 200);
    assert!(expected.is_sorted_by_key(|&(at, when)| (when, at)));
    let equals = expected.windows(2).filter(|pair| pair[0].1 == pair[1].1).count();
    assert!(equals > 20, "{equals}");
}
