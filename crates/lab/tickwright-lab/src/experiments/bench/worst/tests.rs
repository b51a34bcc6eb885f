use std::collections::BTreeSet;

use clap::ValueEnum;

use super::*;
use crate::clock::FakeMeter;
use crate::experiments::bench::tests::planned;
use crate::result::Report;

/// Runs two rounds with a budget of 8 and a clock that advances by 10 ns at each reading.
fn report(structures: &str, patterns: &str, n: &str) -> Report {
    let words = ["--worst", "--structures", structures, "--pattern", patterns, "--n", n];
    crate::experiments::bench::tests::report(&[&words[..], &["--budget=8", "--rounds=2"]].concat(), 10)
}

#[test]
fn every_structure_stands_every_attack() {
    let report = report("*", &request::names(Pattern::value_variants()), "300");
    assert!(!report.interrupted);
    assert!(report.series.iter().all(|series| series.samples == [10.0]));
    assert!(report.findings.iter().any(|f| f.about == "worst call, edges8, n=300, others"));
}

#[cfg(feature = "rivals")]
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
    assert_eq!(["insert", "re-arm", "remove", "pop"].map(calls), [100_u32, 100, 50, 50].map(Into::into));
    // The advances go to 1000 idle ticks, to the deadline, and to a late tick. With a budget of 8,
    // 100 timers take 12 more calls.
    assert_eq!(["advance", "advance within"].map(calls), [1002_u32, 1014].map(Into::into));
}

#[test]
fn the_least_of_the_rounds_counts() {
    let structure = registry::find("heap4/slab").unwrap();
    let attack = Attack::new(Pattern::Descending, 1, 8, 1);
    let once = |ns: &[u64]| {
        // The clock is read before and after each call.
        let meter = FakeMeter::scripted(ns.iter().flat_map(|ns| [0, *ns]));
        suffer(structure, &attack, &expected(&attack), &meter).unwrap()
    };
    let mut least = once(&[70, 60, 30, 5, 5]);
    least.keep_least(once(&[40, 65, 90, 5, 5]));
    let inserts: Vec<_> =
        rows(structure, Pattern::Descending, 1, &least).filter(|row| row.call != Call::Advance).collect();
    let worst: Vec<_> = inserts.iter().map(|row| (row.call, row.times.worst_ns)).collect();
    assert_eq!(worst[..3], [(Call::Insert, 40), (Call::Rearm, 60), (Call::Pop, 30)]);
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
    assert_eq!(Pattern::Clusters.deadlines(200, 1).iter().collect::<BTreeSet<_>>().len(), 64);
    for pattern in Pattern::value_variants() {
        let furthest = pattern.furthest(100);
        let deadlines = pattern.deadlines(100, 1);
        let moved = pattern.moved(&deadlines);
        assert!(deadlines.iter().chain(&moved).all(|deadline| *deadline <= furthest), "{pattern}");
    }
}

#[test]
fn a_re_arm_goes_before_or_behind_all_others() {
    for (pattern, before) in [(Pattern::Earlier, true), (Pattern::Later, false)] {
        let mut now = pattern.deadlines(20, 1);
        for (id, deadline) in pattern.moved(&now).into_iter().enumerate() {
            now[id] = deadline;
            let others = || now.iter().enumerate().filter(|(other, _)| *other != id).map(|(_, at)| *at);
            assert!(others().all(|other| (deadline < other) == before && deadline != other), "{pattern}");
        }
    }
    // The other attacks move each timer to the deadline of the next timer.
    assert_eq!(Pattern::Descending.moved(&[3, 2, 1]), [2, 1, 3]);
}

#[test]
fn all_timers_may_be_cancelled() {
    // Dead entries stay in another crate's wheel until their tick.
    let structures =
        if cfg!(feature = "rivals") { "heap4/slab,hash-wheel,binary-heap" } else { "heap4/slab,binary-heap" };
    let report = report(structures, "cancel-all", "100");
    let calls = |name: &str| report.find(name, &labels([])).map(|series| series.labels["calls"].clone());
    assert_eq!([calls("remove"), calls("pop")], [Some(100_u32.into()), None]);
}

#[test]
fn a_histogram_is_read_at_the_shares_of_the_table() {
    let ns: Vec<u64> = (1..=1000).collect();
    let times = Times::read(&ns).unwrap();
    assert_eq!((times.calls, times.median_ns(), times.longer_in(100.0)), (1000, 500, 990));
    assert_eq!((times.worst_ns, times.ratio()), (1000, Some(2.0)));
    // With a thousand calls, the time that one call in ten thousand exceeds is the time of the
    // worst call.
    assert_eq!(times.longer_in(1e4), 1000);
    let tail: Vec<_> = times.tail().collect();
    assert_eq!((tail[0], tail[tail.len() - 1]), ((2.0, 500.0), (1000.0, 1000.0)));
    assert_eq!(Times::read(&[]), None);
}

#[test]
fn the_defaults_are_those_of_the_file_and_a_mistake_in_one_names_its_key() {
    let plan = planned(&["--worst"]).calls;
    assert_eq!(plan.patterns, Pattern::value_variants());
    assert_eq!((plan.populations, plan.budget, plan.rounds), (vec![100_000], 64, 5));
    let message = Attacks::parse("mine.toml", "patterns = [\"sideways\"]").unwrap_err().to_string();
    assert!(message.contains("mine.toml") && message.contains("sideways"), "{message}");
}
