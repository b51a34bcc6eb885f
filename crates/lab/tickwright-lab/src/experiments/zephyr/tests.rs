//! Tests in virtual time, and with made-up samples.

use super::backend::{BackEnd, Ticking, Visitor};
use super::boards;
use super::run::{Cell, Work, right};
use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::models::verify::faulty::{Fault, Faulty};
use crate::render;
use crate::result::Claim;
use crate::stats::Verdict;
use clap::ValueEnum;

fn asked(words: &str) -> (ZephyrArgs, (Plan, Published)) {
    let args: ZephyrArgs = request::words(&words.split_whitespace().collect::<Vec<_>>()).unwrap();
    let plan = args.plan().unwrap();
    (args, plan)
}

#[test]
fn each_back_end_answers_as_the_oracle_and_keeps_its_order() {
    for seed in 0..6 {
        let in_order = verify::run(Subject::value_variants(), seed).unwrap();
        let expected: Vec<bool> = Subject::value_variants().iter().map(|of| of.keeps_order()).collect();
        assert_eq!(in_order, expected, "seed {seed}");
    }
}

#[test]
fn nodes_are_as_large_as_the_kernels() {
    let (_, (_, published)) = asked("");
    for (name, node) in &published.nodes {
        let subject = Subject::from_str(name, false).unwrap();
        assert_eq!(subject.keeps_order(), node.in_order, "{name}");
        if let (Some(bytes), true) = (node.bytes, cfg!(target_pointer_width = "64")) {
            assert_eq!(subject.bytes(), Some(bytes), "{name}");
        }
    }
    // A node has two links, a tick, a reference to its queue, and a callback.
    assert_eq!(Subject::OurList.bytes(), Some(3 * 8 + 8 + size_of::<usize>()));
}

/// A queue is not timed if the time-outs that it fires differ from the oracle's.
#[test]
fn a_wrong_answer_is_noticed() {
    struct Same(Vec<(u32, u64)>);
    impl Visitor for &mut Same {
        type Out = ();
        fn visit<B: BackEnd>(self, queues: &mut [B]) {
            for (id, ticks) in [(0, 5), (1, 3), (2, 5)] {
                queues[0].insert(id, ticks);
            }
            queues[0].abort(1);
            queues[0].announce(9, |id, tick| self.0.push((id, tick)));
        }
    }
    let fired = |fault| {
        let mut same = Same(Vec::new());
        same_of(&mut same, fault);
        same.0
    };
    fn same_of(same: &mut Same, fault: Fault) {
        same.visit(&mut [Ticking::new(Faulty::new(fault))]);
    }
    assert_eq!(fired(Fault::None), [(0, 5), (2, 5)]);
    for fault in [Fault::KeepsRemoved, Fault::LosesFirst, Fault::MisnamesFirst] {
        assert_ne!(fired(fault), fired(Fault::None), "{fault:?}");
    }
    let [some, other] = [1, 2].map(|seed| right(&Work::new(Order::Random, 5, 50, seed)));
    assert!(some.is_right(some, Subject::Heap) && !some.is_right(other, Subject::Heap));
}

/// Returns samples of a list that takes `list` ns per operation, and of other back ends that take
/// 10 ns.
fn data(sizes: &[usize], list: impl Fn(usize) -> f64) -> Data {
    let lane = |ns: f64| (0..7).map(|round| [ns + f64::from(round) / 100.0; 3]).collect::<Vec<_>>();
    let cell = |n: &usize| Cell {
        order: Order::Random,
        n: *n,
        lanes: [list(*n), 10.0, 20.0, 30.0].into_iter().map(lane).collect(),
    };
    Data { in_order: vec![true, false, false, true], cells: sizes.iter().map(cell).collect() }
}

const ZEPHYRS: &str = "--structures list,heap,wheel,skip-list --order random";

#[test]
fn the_report_shows_published_and_own_figures() {
    let (args, plan) = asked(ZEPHYRS);
    let data = data(&[1, 32, 64], |n| n as f64 / 2.0);
    let findings = args.findings(&plan, &data);
    let mut sections = args.sections(&plan, &data, &findings);
    // The last section has the record of the boards, which changes when the record is made again.
    sections.pop();
    insta::assert_snapshot!(render::sections(&sections));
    assert_eq!(args.series(&plan, &data).len(), 3 * 4 * 4);
    let text = render::sections(&sections);
    let verdict = "does the delta list lose at up to 32 time-outs?\npublished: \"";
    assert!(text.contains(verdict) && text.contains("; the published claim "), "{text}");
}

#[test]
fn the_list_loses_where_it_is_shown_to_be_slower() {
    let (args, plan) = asked(ZEPHYRS);
    let headline = |list: fn(usize) -> f64| args.findings(&plan, &data(&[1, 32, 64], list)).remove(0);
    assert_eq!(headline(|_| 5.0).claim(), Some(Claim::Holds));
    assert_eq!(headline(|n| if n > 32 { 50.0 } else { 9.0 }).claim(), Some(Claim::Holds), "beyond a handful");
    assert_eq!(headline(|n| if n == 32 { 50.0 } else { 5.0 }).claim(), Some(Claim::Fails));
    let only =
        |sizes: &[usize], list: fn(usize) -> f64| args.findings(&plan, &data(sizes, list)).remove(0).claim();
    assert_eq!(only(&[1, 16], |_| 5.0), Some(Claim::Open), "nothing is known of a handful");
    assert_eq!(only(&[1, 32], |_| 12.5), Some(Claim::Fails), "slower by a fourth");
    assert_eq!(only(&[1, 32], |_| 12.004), Some(Claim::Open), "an interval around a fifth");
    let heap = args.findings(&plan, &data(&[64], |_| 20.0));
    let heap: Vec<_> = heap.iter().filter(|of| of.about.starts_with("heap to list")).collect();
    assert_eq!(heap[0].published.as_deref(), Some("0.53x"));
    assert_eq!((heap[0].verdict, heap[0].claim()), (Verdict::Faster, Some(Claim::Holds)));
    assert_eq!(heap[1].published.as_deref(), Some("2.75x"));
    assert_eq!((heap[1].verdict, heap[1].claim()), (Verdict::Faster, Some(Claim::Fails)));
}

#[test]
fn a_run_without_the_list_or_with_few_rounds_concludes_nothing() {
    let (args, plan) = asked("--structures heap,wheel --n 1,3 --rounds 1 --operations 10");
    let report = conduct_plan(&args, &plan, &FakeMeter::steady(1)).unwrap();
    assert!(report.findings.iter().all(|of| of.figure.is_none()), "{:?}", report.findings);
    let (args, plan) = asked("--structures list,heap --n 2,64 --rounds 2 --operations 10");
    let report = conduct_plan(&args, &plan, &FakeMeter::steady(1)).unwrap();
    let open = |at: usize| report.findings[at].claim() == Some(Claim::Open);
    assert!((0..3).all(open), "{:?}", report.findings);
}

#[test]
fn the_record_of_the_boards_has_what_the_section_shows() {
    for operation in ["insert", "abort", "fire"] {
        for structure in ["list", "heap2-bounded", "heap4-bounded", "wheel-small"] {
            assert!(boards::instructions(structure, 64, operation).is_some(), "{structure}, {operation}");
        }
    }
}
