use tickwright_trace::{Event, Profile, What};

use super::ask::answers;
use super::data::{Criteria, Data, Plan};
use super::verdict::{findings, range, sections};
use crate::experiments::request;
use crate::render;
use crate::structures::registry;
use crate::traces::decode::Counts;
use crate::traces::input::Input;
use crate::traces::recommend::{RecommendArgs, to_copy};
use crate::traces::replay::{Data as Replayed, LeftOut, Row};

const EXACT: Criteria =
    Criteria { no_alloc: false, bytes: None, late_ns: None, horizon_ns: 0, negligible: 1.0 };

/// Rows of one second with 1,000 operations; each structure takes n ms, with m bytes.
fn replayed(rows: &[(&str, f64, usize)]) -> Replayed {
    let row = |&(id, ms, bytes): &(&str, f64, usize)| {
        let structure = registry::find(id).unwrap_or_else(|error| panic!("{error}"));
        let total_ns = (0..9).map(|round| (ms + 0.001 * f64::from(round)) * 1e6).collect();
        let late_ticks = if structure.ties.exact() { 0 } else { 3 };
        Row { structure, total_ns, calls: [const { Vec::new() }; 4], bytes, idle_wakes: 0, late_ticks }
    };
    let counts = Counts { kinds: [600, 0, 300, 100], most: 90, ids: 100, longest: 5000, ..Counts::default() };
    let profile = Profile { span_ns: 1_000_000_000, arms: 600, cancels: 300, ..Profile::default() };
    let rows = rows.iter().map(row).collect();
    Replayed {
        profile,
        counts,
        tick_ns: 1_000_000,
        scale: 1,
        rows,
        unseen: (0..11).map(|at| format!("static timers of kind {at}, which no recorder sees")).collect(),
        ..Replayed::default()
    }
}

fn plan(current: &str, criteria: Criteria) -> Plan {
    let args: RecommendArgs = request::words(&[]).unwrap_or_else(|error| panic!("{error}"));
    let current = registry::find(current).unwrap_or_else(|error| panic!("{error}"));
    let replay = args.settings.plan(Input::Made(Vec::new()), Vec::new());
    Plan { replay, current, criteria, source: "a test".into() }
}

fn verdict(rows: &[(&str, f64, usize)], current: &str, criteria: Criteria) -> String {
    let data = Data { own: replayed(rows), more: Vec::new() };
    findings(&plan(current, criteria), &data).swap_remove(0).here
}

const ROWS: [(&str, f64, usize); 5] = [
    ("binary-heap", 90.0, 2400),
    ("heap4/slab", 40.0, 2800),
    ("wheel/slab", 30.0, 9000),
    ("wheel/hook", 35.0, 9000),
    ("coarse/slab", 10.0, 7000),
];

#[test]
fn the_fastest_exact_structure_is_recommended_with_the_share_of_a_cpu_that_it_saves() {
    let words = verdict(&ROWS, "binary-heap", EXACT);
    assert_eq!(words, "binary-heap -> wheel/slab saves 6.0 % of a CPU: from 9.0 % to 3.0 %.");
}

#[test]
fn conditions_exclude_structures() {
    let words = verdict(&ROWS, "binary-heap", Criteria { no_alloc: true, ..EXACT });
    assert!(words.contains("it allocates") && words.contains("wheel/hook is the fastest"), "{words}");
    for (criteria, id) in [
        (Criteria { bytes: Some(32), ..EXACT }, "heap4/slab"),
        (Criteria { late_ns: Some(5e6), ..EXACT }, "coarse/slab"),
        (Criteria { late_ns: Some(1e6), ..EXACT }, "wheel/slab"),
        // Later than 5 ms, for timers a day away.
        (Criteria { late_ns: Some(5e6), horizon_ns: 86_400_000_000_000, ..EXACT }, "wheel/slab"),
    ] {
        let words = verdict(&ROWS, "binary-heap", criteria);
        assert!(words.contains(&format!("-> {id} saves")), "{criteria:?}: {words}");
    }
    // Its deadlines are u32: 49.7 days of ticks of a millisecond.
    let rows = [("hash-wheel", 20.0, 2400), ROWS[2]];
    let day = 86_400_000_000_000;
    let words = verdict(&rows, "hash-wheel", Criteria { horizon_ns: 49 * day, ..EXACT });
    assert!(words.starts_with("Keep hash-wheel"), "{words}");
    let words = verdict(&rows, "hash-wheel", Criteria { horizon_ns: 50 * day, ..EXACT });
    assert!(words.contains("it holds no timer that is more than 4294967 s away"), "{words}");
    let none = verdict(&ROWS, "binary-heap", Criteria { bytes: Some(3), ..EXACT });
    assert!(none.contains("no structure fulfils"), "{none}");
}

#[test]
fn a_negligible_share_does_not_matter() {
    let rows = ROWS.map(|(id, ms, bytes)| (id, ms / 100.0, bytes));
    let words = verdict(&rows, "binary-heap", EXACT);
    assert_eq!(
        words,
        "It does not matter for you: timers take 0.090 % of a CPU on binary-heap, 0.030 % on wheel/slab."
    );
    let minded = verdict(&rows, "binary-heap", Criteria { negligible: 0.01, ..EXACT });
    assert!(minded.contains("saves"), "{minded}");
}

#[test]
fn a_structure_that_is_as_good_is_kept() {
    let words = verdict(&ROWS, "wheel/slab", EXACT);
    assert!(words.starts_with("Keep wheel/slab: it takes 3.0 %"), "{words}");
    let rows = [("binary-heap", 31.0, 2400), ("wheel/slab", 30.0, 9000)];
    let words = verdict(&rows, "binary-heap", EXACT);
    assert!(words.starts_with("Keep binary-heap") && words.contains("no difference shown"), "{words}");
}

#[test]
fn a_current_structure_that_the_conditions_forbid_is_not_kept() {
    let no_alloc = Criteria { no_alloc: true, ..EXACT };
    let rows = [("binary-heap", 30.0, 2400), ("wheel/hook", 60.0, 9000)];
    for (rows, current, criteria, why) in [
        (&rows, "binary-heap", no_alloc, "it allocates"),
        (&rows, "binary-heap", Criteria { negligible: 50.0, ..no_alloc }, "it allocates"),
        (
            &[("btree-map", 30.0, 9000), ("wheel/hook", 60.0, 900)],
            "btree-map",
            Criteria { bytes: Some(90), ..EXACT },
            "it takes 100 bytes a timer, more than 90",
        ),
        (
            &[("coarse/hook", 10.0, 900), ("wheel/hook", 60.0, 900)],
            "coarse/hook",
            EXACT,
            "it delivers up to 3.00 ms late",
        ),
    ] {
        let words = verdict(rows, current, criteria);
        let begin = format!("{current} does not fulfil the conditions: {why}. Of those that do, wheel/hook");
        assert!(words.starts_with(&begin), "{words}");
    }
    // The caller owns its nodes.
    let words = verdict(&[("intrusive-rb", 30.0, 900), ("wheel/hook", 60.0, 900)], "intrusive-rb", no_alloc);
    assert!(words.starts_with("Keep intrusive-rb"), "{words}");
}

#[test]
fn a_current_structure_that_did_not_run_is_named_with_the_reason() {
    let said = |why: &str, is_able| {
        let structure = registry::find("list/slab").unwrap();
        let mut own = replayed(&ROWS);
        own.left_out.push(LeftOut { structure, why: why.into(), is_able });
        let data = Data { own, more: Vec::new() };
        findings(&plan("list/slab", EXACT), &data).swap_remove(0).here
    };
    let words = said("insertion is O(n)", true);
    assert!(
        words.contains("list/slab, was left out, as it would take too long: insertion is O(n)."),
        "{words}"
    );
    let words = said("bounded below this population", false);
    assert!(words.contains("list/slab, cannot run this workload: bounded below this population."), "{words}");
}

#[test]
fn advice_says_why_its_count_of_timers_is_not_that_of_the_trace() {
    let text = |max| {
        let mut own = replayed(&ROWS);
        own.profile.population.max = max;
        let data = Data { own, more: Vec::new() };
        let plan = plan("binary-heap", EXACT);
        render::sections(&sections(&plan, &data, &findings(&plan, &data)))
    };
    let words = text(88).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The trace itself has at most 88 pending"), "{words}");
    assert!(!text(90).contains("The trace itself"));
}

#[test]
fn the_range_of_the_picture_is_that_of_all_copies() {
    let mut data = replayed(&ROWS);
    let population = &mut data.profile.population;
    (population.mean, population.p99, population.max, data.scale) = (10.0, 20, 30, 4);
    assert_eq!(range(&data), [40.0, 80.0, 120.0]);
}

/// 60,000 arms at the start, and 140,000 later.
fn long() -> Input {
    let event = |at: i64| {
        let time = (at - 60_000).max(0);
        Event::new(time, at as u64, What::Arm { deadline: time + 1_000_000, period: 0 })
    };
    Input::Made((0..200_000).map(event).collect())
}

#[test]
fn copies_have_the_operations_that_are_allowed_and_not_those_of_the_start_alone() {
    let input = long();
    for (own_scale, scale, events) in
        [(1, 4, Some(200_000)), (1, 8, Some(125_000)), (2, 8, Some(125_000)), (1, 16, None)]
    {
        let own =
            Replayed { scale: own_scale, initial: 60_000 * u64::from(own_scale), ..Replayed::default() };
        let copied = to_copy(&input, &own, scale).unwrap();
        let len = copied.map(|input| if let Input::Made(events) = input { events.len() } else { 0 });
        assert_eq!(len, events, "{scale} copies of {own_scale}");
    }
}

#[test]
fn one_screen_says_what_would_change_the_verdict() {
    let own = replayed(&ROWS);
    let mut more = replayed(&[("binary-heap", 90.0, 1), ("heap4/slab", 20.0, 1), ("wheel/slab", 60.0, 1)]);
    (more.scale, more.profile.population.mean) = (4, 90.0);
    let data = Data { own, more: vec![more] };
    let plan = plan("binary-heap", EXACT);
    let found = findings(&plan, &data);
    let text = render::sections(&sections(&plan, &data, &found));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "Without an allocator: wheel/hook",
        "If late deliveries are fine (--late): coarse/slab",
        "With at most 32 bytes a timer: heap4/slab",
        "With 4 times as many timers (360 on average): heap4/slab",
        "Capacity: at most 90 timers were pending; 256 leaves room",
        "static timers",
        "wheel/slab beside heap4/slab: 0.75x",
    ] {
        assert!(words.contains(line), "'{line}' is not in\n{text}");
    }
    assert!(text.lines().count() <= 50, "{text}");
    assert!(words.contains("Geometry: the longest delay is 5000 ticks: 3 levels"), "{text}");
    let plan = self::plan("binary-heap", Criteria { horizon_ns: 86_400_000_000_000, ..EXACT });
    let text = render::sections(&sections(&plan, &data, &findings(&plan, &data)));
    assert!(text.contains("Geometry: the horizon is 86400000 ticks: 5 levels"), "{text}");
}

#[test]
fn four_answers_make_a_workload() {
    let mut said = Vec::new();
    let typed = "2,000\n30000 500\n\n20ms\n";
    let workload = answers(&mut typed.as_bytes(), &mut said).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((workload.timers, workload.expire, workload.cancel), (2000, 10.0, 90.0));
    assert_eq!(workload.delays.iter().map(|delay| delay.ms).collect::<Vec<_>>(), [30_000.0, 500.0]);
    assert_eq!(workload.touched_after_ms, Some(20.0));
    let said = String::from_utf8_lossy(&said);
    assert_eq!(said.matches('?').count(), 4);
    assert!(said.contains("So: 2000 timers of 30000 ms, 500 ms; of 100 waits 10 expire"), "{said}");
    let workload = answers(&mut "50,000\n30,000\n5 95 % 0\n1.5 s\n".as_bytes(), &mut Vec::new());
    let workload = workload.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((workload.timers, workload.delays[0].ms, workload.delays.len()), (50_000, 30_000.0, 1));
    assert_eq!((workload.cancel, workload.touched_after_ms), (95.0, Some(1500.0)));
    for (typed, wrong) in [
        ("many\n", "no number of timers"),
        ("1\n", "too early"),
        ("5\nlong\n\n\n", "'long'"),
        ("5\n30,00\n\n\n", "'30,00'"),
        ("5\n\n95\n\n", "three numbers"),
    ] {
        let error = answers(&mut typed.as_bytes(), &mut Vec::new()).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(wrong), "{error}");
    }
}
