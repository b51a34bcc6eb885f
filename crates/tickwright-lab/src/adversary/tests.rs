use super::*;
use crate::clock::FakeMeter;

fn options(structures: &[&str], patterns: &[Pattern], population: usize) -> Options {
    Options {
        structures: structures.iter().map(|s| (*s).to_owned()).collect(),
        patterns: patterns.to_vec(),
        populations: vec![population],
        budget: 8,
        rounds: 2,
        seed: 1,
    }
}

#[test]
fn every_structure_stands_every_attack() {
    let report = run(&options(&["*"], &Pattern::ALL, 300), &FakeMeter::steady(10)).unwrap();
    assert!(!report.interrupted);
    for row in &report.rows {
        assert_eq!((row.median_ns, row.worst_ns, row.ratio), (10, 10, Some(1.0)), "{row:?}");
    }
    let text = report::show(&report);
    for word in [
        "same-tick, n=300",
        "advance(8)",
        "10 / 10 (1x)",
        "delay-queue not run: it takes delays of 68719476735 ticks at most",
    ] {
        assert!(text.contains(word), "'{word}' is missing in {text}");
    }
}

#[test]
fn what_is_quadratic_is_left_out_and_the_table_says_so() {
    let report =
        run(&options(&["list/slab", "heap4/slab"], &[Pattern::Descending], 1001), &FakeMeter::steady(1))
            .unwrap();
    assert!(report.rows.iter().all(|row| row.structure == "heap4/slab"));
    assert!(report::show(&report).contains("list/slab not run: insertion is O(n)"));
}

#[test]
fn calls_are_counted_and_a_budget_makes_more_of_them() {
    let report = run(&options(&["heap4/slab"], &[Pattern::SameTick], 100), &FakeMeter::steady(1)).unwrap();
    let calls: Vec<_> = report.rows.iter().map(|row| (row.call, row.calls)).collect();
    assert_eq!(calls[..3], [(Call::Insert, 100), (Call::Remove, 50), (Call::Pop, 50)]);
    // A thousand idle ticks, the tick, and one for the late; 100 timers by eights take twelve more.
    assert_eq!(calls[3..], [(Call::Advance, 1002), (Call::AdvanceWithin, 1014)]);
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
    assert_eq!((inserts[0].call, inserts[0].worst_ns), (Call::Insert, 40));
    assert_eq!((inserts[1].call, inserts[1].worst_ns), (Call::Pop, 30));
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
