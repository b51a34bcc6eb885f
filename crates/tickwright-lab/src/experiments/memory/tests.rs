use super::*;
use crate::experiment::conduct_plan;

fn args(structures: &[&str], n: u64) -> MemoryArgs {
    MemoryArgs {
        structures: structures.iter().map(|s| (*s).to_owned()).collect(),
        n: vec![Population::try_from(i64::try_from(n).unwrap()).unwrap()],
        output: ReportArgs::default(),
    }
}

fn report(structures: &[&str], n: u64) -> crate::result::Report {
    let args = args(structures, n);
    conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(0)).unwrap()
}

#[test]
fn a_structure_is_charged_for_itself_and_not_for_the_callers_keys() {
    let report = report(&["list/hook", "binary-heap"], 1000);
    let per_timer: Vec<_> = report
        .series
        .iter()
        .filter(|series| series.name == "pending")
        .map(|series| series.samples[0])
        .collect();
    // Two links, expiry, owner and payload; an entry of 16 bytes and 4 that say whether it is
    // alive.
    assert_eq!(per_timer, [40.0, 20.0]);
    assert_eq!(report.findings[0].here, "binary-heap, 20.0");
}

#[test]
fn an_empty_queue_has_a_price_beside_that_of_its_timers() {
    let report = report(&["list/hook", "timer-queue"], 2);
    let of = |name: &str, id: &'static str| {
        report.find(name, &labels([("structure", id.into())])).unwrap().samples[0] as usize
    };
    let list = size_of::<tickwright_core::HookQueue<'_, tickwright_core::SortedList, u32>>();
    assert_eq!((of("empty, inline", "list/hook"), of("empty, heap", "list/hook")), (list, 0));
    // 11 levels of 64 places and a bitmap, in the queue itself; its slab holds one timer.
    let (inline, heap) = (of("empty, inline", "timer-queue"), of("empty, heap", "timer-queue"));
    assert!(inline > 11 * 64 * 8 && heap < 200, "{inline} {heap}");
    let text = crate::render::text(&report);
    assert!(text.contains(&(inline + heap).to_string()) && text.contains("list/hook"), "{text}");
}

#[test]
fn what_is_left_out_is_said_once() {
    let report = report(&["list/slab", "heap4/slab"], 2000);
    let text = crate::render::sections(&report.sections);
    assert!(text.contains("list/slab not run at n=2k: insertion is O(n)"), "{text}");
    assert!(text.contains("list/slab") && text.contains('-'), "{text}");
}
