use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::result::Report;

fn report(structures: &[&str], patterns: &[Pattern], n: i64, meter: &FakeMeter) -> Report {
    let within = |n: i64| Population::try_from(n).unwrap();
    let args = AdversaryArgs {
        structures: structures.iter().map(|s| (*s).to_owned()).collect(),
        pattern: patterns.to_vec(),
        n: vec![within(n)],
        budget: Operations::try_from(8).unwrap(),
        rounds: Times::try_from(2).unwrap(),
        seed: Seed::try_from(1).unwrap(),
        output: ReportArgs::default(),
    };
    conduct_plan(&args, &args.plan().unwrap(), meter).unwrap()
}

#[test]
fn every_structure_stands_every_attack() {
    let report = report(&["*"], &Pattern::ALL, 300, &FakeMeter::steady(10));
    assert!(!report.interrupted);
    assert!(report.series.iter().all(|series| series.samples == [10.0]));
    let text = crate::render::sections(&report.sections);
    for word in [
        "same-tick, n=300",
        "advance(8)",
        "10     10  1.00x",
        "delay-queue not run at n=300: it takes delays of 68719476735 ticks at most",
    ] {
        assert!(text.contains(word), "'{word}' is missing in {text}");
    }
    assert!(report.findings.iter().any(|f| f.about == "worst call, edges8, n=300, others"));
}

#[test]
fn what_is_quadratic_is_left_out_and_the_table_says_so() {
    let report = report(&["list/slab", "heap4/slab"], &[Pattern::Descending], 1001, &FakeMeter::steady(1));
    assert!(report.series.iter().all(|series| series.labels["structure"] == "heap4/slab".into()));
    let text = crate::render::sections(&report.sections);
    assert!(text.contains("list/slab not run at n=1001: insertion is O(n)"), "{text}");
}

#[test]
fn calls_are_counted_and_a_budget_makes_more_of_them() {
    let report = report(&["heap4/slab"], &[Pattern::SameTick], 100, &FakeMeter::steady(1));
    let calls = |name: &str| report.find(name, &labels([])).unwrap().labels["calls"].clone();
    assert_eq!(["insert", "remove", "pop"].map(calls), [100_u32, 50, 50].map(Into::into));
    // A thousand idle ticks, the tick, and one for the late; 100 timers by eights take twelve more.
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
    for pattern in Pattern::ALL {
        let furthest = pattern.furthest(100);
        assert!(pattern.deadlines(100, 1).iter().all(|deadline| *deadline <= furthest), "{pattern}");
    }
}
