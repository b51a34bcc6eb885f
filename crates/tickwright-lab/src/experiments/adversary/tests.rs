use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::result::Report;

/// Two rounds, a budget of 8, and a clock that moves by 10 ns at each reading.
fn report(structures: &str, patterns: &str, n: &str) -> Report {
    let words = ["--structures", structures, "--pattern", patterns, "--n", n, "--budget=8", "--rounds=2"];
    let args: AdversaryArgs = request::words(&words).unwrap();
    conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(10)).unwrap()
}

#[test]
fn every_structure_stands_every_attack() {
    let report = report("*", &request::names(Pattern::value_variants()), "300");
    assert!(!report.interrupted);
    assert!(report.series.iter().all(|series| series.samples == [10.0]));
    assert!(report.findings.iter().any(|f| f.about == "worst call, edges8, n=300, others"));
}

#[test]
fn a_report_shows_every_call_and_what_was_left_out() {
    let report = report("list/slab,heap4/slab,delay-queue", "descending,far-future", "1001");
    assert!(report.series.iter().all(|series| series.labels["structure"] != "list/slab".into()));
    insta::assert_snapshot!(crate::render::sections(&report.sections));
}

#[test]
fn calls_are_counted_and_a_budget_makes_more_of_them() {
    let report = report("heap4/slab", "same-tick", "100");
    let calls = |name: &str| report.find(name, &labels([])).unwrap().labels["calls"].clone();
    assert_eq!(["insert", "remove", "pop"].map(calls), [100_u32, 50, 50].map(Into::into));
    // 1000 idle ticks, the deadline, and a late tick. With a budget of 8, 100 timers take 12 more
    // calls.
    assert_eq!(["advance", "advance within"].map(calls), [1002_u32, 1014].map(Into::into));
}

#[test]
fn the_least_of_the_rounds_counts() {
    let structure = registry::find("heap4/slab").unwrap();
    let attack = Attack::new(Pattern::Descending, 1, 8, 1);
    let once = |ns: &[u64]| {
        let parts =
            Part::ALL.map(|part| (part, Judge::default().expect(&attack.script(part), Evidence::Fold)));
        // Two readings around each call.
        let meter = FakeMeter::scripted(ns.iter().flat_map(|ns| [0, *ns]));
        registry::visit(structure, Suffer { attack: &attack, parts: &parts, meter: &meter }).unwrap()
    };
    let mut least = once(&[70, 30, 5, 5]);
    least.keep_least(&once(&[40, 90, 5, 5]));
    let inserts: Vec<_> =
        rows(structure, Pattern::Descending, 1, &least).filter(|row| row.call != Call::Advance).collect();
    assert_eq!((inserts[0].call, inserts[0].worst_ns()), (Call::Insert, 40));
    assert_eq!((inserts[1].call, inserts[1].worst_ns()), (Call::Pop, 30));
}

#[test]
fn deadlines_are_what_the_patterns_say() {
    assert_eq!(Pattern::Descending.deadlines(3, 1), [3, 2, 1]);
    assert_eq!(Pattern::SameTick.deadlines(2, 1), [1_000_000; 2]);
    let mut far = Pattern::FarFuture.deadlines(2, 1);
    far.sort_unstable();
    assert_eq!(far, [u64::MAX - 1, u64::MAX]);
    let edges = Pattern::Edges64.deadlines(1000, 1);
    for edge in [63, 64, 65, 7 * 64, 4096, 64 * 64 * 64 - 1] {
        assert!(edges.contains(&edge), "{edge}");
    }
    for pattern in Pattern::value_variants() {
        let furthest = pattern.furthest(100);
        assert!(pattern.deadlines(100, 1).iter().all(|deadline| *deadline <= furthest), "{pattern}");
    }
}
