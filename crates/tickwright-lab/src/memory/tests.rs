use super::*;

#[test]
fn a_structure_is_charged_for_itself_and_not_for_the_callers_keys() {
    let report = run(&["list/hook".into(), "binary-heap".into()], &[1000]).unwrap();
    let per_timer: Vec<_> = report.rows.iter().filter_map(Row::per_timer).collect();
    // Two links, expiry, owner and payload; an entry of 16 bytes and 4 that say whether it is
    // alive.
    assert_eq!(per_timer, [40.0, 20.0]);
    assert!(show(&report).contains("list/hook"));
}

#[test]
fn an_empty_queue_has_a_price_beside_that_of_its_timers() {
    let report = run(&["list/hook".into(), "timer-queue".into()], &[2]).unwrap();
    let [list, wheel] = report.fixed.as_slice() else { panic!("{:?}", report.fixed) };
    assert_eq!(
        (list.inline, list.heap),
        (size_of::<tickwright_core::HookQueue<'_, tickwright_core::SortedList, u32>>(), 0)
    );
    // 11 levels of 64 places and a bitmap, in the queue itself; its slab holds one timer.
    assert!(wheel.inline > 11 * 64 * 8 && wheel.heap < 200, "{wheel:?}");
    assert!(show(&report).contains(&wheel.bytes().to_string()));
}
