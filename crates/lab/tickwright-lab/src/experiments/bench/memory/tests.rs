use super::*;
use crate::experiments::bench::tests::planned;

fn report(structures: &str, n: &str) -> crate::result::Report {
    crate::experiments::bench::tests::report(&["--memory", "--structures", structures, "--n", n], 0)
}

#[test]
fn a_structure_is_charged_for_itself_and_not_for_the_callers_keys() {
    let report = report("list/hook,binary-heap", "1000");
    let per_timer: Vec<_> = report
        .series
        .iter()
        .filter(|series| series.name == "pending")
        .map(|series| series.samples[0])
        .collect();
    // A timer of the first structure has two links, an expiry, an owner and a payload. A timer of
    // the second structure has an entry of 16 bytes, and 4 bytes that mark the entry as live.
    assert_eq!(per_timer, [40.0, 20.0]);
    assert_eq!(report.findings[0].here, "binary-heap, 20.0");
}

#[cfg(feature = "rivals")]
#[test]
fn an_empty_queue_has_a_price_beside_that_of_its_timers() {
    let report = report("list/hook,timer-queue", "2");
    let of = |name: &str, id: &'static str| {
        report.find(name, &labels([("structure", id.into())])).unwrap().samples[0] as usize
    };
    let list = size_of::<tickwright_core::HookQueue<'_, tickwright_core::SortedList, u32>>();
    assert_eq!((of("empty, inline", "list/hook"), of("empty, heap", "list/hook")), (list, 0));
    // The queue itself holds 11 levels of 64 slots and a bitmap; its slab holds one timer.
    let (inline, heap) = (of("empty, inline", "timer-queue"), of("empty, heap", "timer-queue"));
    assert!(inline > 11 * 64 * 8 && heap < 200, "{inline} {heap}");
}

#[test]
fn a_report_shows_bytes_and_what_was_left_out() {
    let plan = planned(&["--memory", "--structures", "list/hook,heap4/slab", "--n", "1k,2k"]).weighed;
    let mut data = Data::default();
    for &structure in &plan.structures {
        for &n in &plan.populations {
            data.note(structure, n, registry::why_not(structure, n).unwrap().map_or(Ok(32 * n), Err));
        }
        let of = labels([("structure", structure.id.into())]);
        data.series.push(Series::new("empty, inline", Unit::Bytes, of).of([120.0]));
    }
    insta::assert_snapshot!(crate::render::sections(&data.sections()));
}
