use core::cell::Cell;
use core::time::Duration;
use std::path::{Path, PathBuf};

use tickwright_trace::{Base, Event, Header, Profile, Remark, What, Writer};

use super::ask::answers;
use super::data::{Criteria, Data, KnownBy, Plan, current};
use super::verdict::{finalists, findings, range, sections, series};
use crate::clock::Meter;
use crate::experiment::{Experiment, Lab};
use crate::experiments::request;
use crate::render;
use crate::result::Series;
use crate::structures::registry;
use crate::traces::decode::Counts;
use crate::traces::input::{Extent, Input};
use crate::traces::recommend::{BESIDE, RecommendArgs, Schedule, in_turn, percent, to_copy};
use crate::traces::replay::{self, Data as Replayed, LeftOut, Row};

const EXACT: Criteria =
    Criteria { no_alloc: false, bytes: None, late_ns: None, horizon_ns: 0, negligible: 1.0 };

/// Returns a replay of one second with 1,000 operations. Each row names a structure, its time in ms
/// and its bytes.
fn replayed(rows: &str) -> Replayed {
    let row = |row: &str| {
        let [id, ms, bytes] = row.split(' ').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let (structure, ms): (_, f64) = (registry::find(id).unwrap(), ms.parse().unwrap());
        Row {
            structure,
            total_ns: (0..9).map(|round| (ms + 0.001 * f64::from(round)) * 1e6).collect(),
            calls: [const { Vec::new() }; 4],
            bytes: bytes.parse().unwrap(),
            idle_wakes: 0,
            late_ticks: if structure.ties.exact() { 0 } else { 3 },
            compared_ns: 0,
        }
    };
    let counts = Counts { kinds: [600, 0, 300, 100], most: 90, ids: 100, longest: 5000, ..Counts::default() };
    let profile = Profile { span_ns: 1_000_000_000, arms: 600, cancels: 300, ..Profile::default() };
    let rows = rows.split("; ").map(row).collect();
    Replayed {
        profile,
        whole: Extent { events: 900, span_ns: 1_000_000_000 },
        replayed: 900,
        starts: 600,
        counts,
        tick_ns: 1_000_000,
        scale: 1,
        rows,
        unseen: (0..11).map(|at| format!("static timers of kind {at}, which no recorder sees")).collect(),
        ..Replayed::default()
    }
}

fn plan(current: &str, criteria: Criteria) -> Plan {
    let args: RecommendArgs = request::words(&[]).unwrap();
    let current = registry::find(current).unwrap();
    let replay = args.settings.plan(Input::Made(Vec::new()), Vec::new());
    Plan { replay, current, known_by: KnownBy::Option, criteria, source: "a test".into() }
}

/// Returns the verdict on a workload without copies.
fn judged(own: Replayed, current: &str, criteria: Criteria) -> String {
    findings(&plan(current, criteria), &Data { own, more: Vec::new() }).swap_remove(0).here
}

/// Returns the verdict on [`ROWS`] after a change.
fn changed(change: impl FnOnce(&mut Replayed)) -> String {
    let mut own = replayed(ROWS);
    change(&mut own);
    judged(own, "binary-heap", EXACT)
}

const ROWS: &str =
    "binary-heap 90 2400; heap4/slab 40 2800; wheel/slab 30 9000; wheel/hook 35 9000; coarse/slab 10 7000";
const CHEAP: &str = "binary-heap 0.9 2400; heap4/slab 0.4 2800; wheel/slab 0.3 9000";

/// The program has the structure of the first row.
#[test]
fn the_verdict_follows_from_the_rows_and_the_conditions() {
    let no_alloc = Criteria { no_alloc: true, ..EXACT };
    let bytes = |most| Criteria { bytes: Some(most), ..EXACT };
    let late = |late_ns| Criteria { late_ns: Some(late_ns), ..EXACT };
    let negligible = |negligible| Criteria { negligible, ..EXACT };
    let days = |days: u64| Criteria { horizon_ns: days * 86_400_000_000_000, ..EXACT };
    for (rows, criteria, words) in [
        // The verdict names the fastest exact structure, and the share of a CPU that it saves.
        (ROWS, EXACT, "binary-heap -> wheel/slab saves 6.0 % of a CPU: from 9.0 % to 3.0 %."),
        (ROWS, bytes(32), "-> heap4/slab saves"),
        (ROWS, late(5e6), "-> coarse/slab saves"),
        (ROWS, late(1e6), "-> wheel/slab saves"),
        // The structure would be later than 5 ms for timers that are a day away.
        (ROWS, Criteria { late_ns: Some(5e6), ..days(1) }, "-> wheel/slab saves"),
        (ROWS, bytes(3), "no structure fulfils"),
        // The choice does not matter if both shares are negligible.
        (
            CHEAP,
            EXACT,
            "It does not matter for you: timers take 0.090 % of a CPU on binary-heap, 0.030 % on wheel",
        ),
        (CHEAP, negligible(0.01), "saves"),
        ("binary-heap 90 2400; wheel/slab 5 9000", EXACT, "saves 8.5 % of a CPU: from 9.0 % to 0.5 %."),
        ("binary-heap 5 2400; wheel/slab 90 9000", EXACT, "Keep binary-heap"),
        // The present structure is kept if it is as good as the fastest structure.
        ("wheel/slab 30 9000; heap4/slab 40 2800", EXACT, "Keep wheel/slab: it takes 3.0 %"),
        (
            "binary-heap 31 2400; wheel/slab 30 9000",
            EXACT,
            "Keep binary-heap: it takes 3.1 % of a CPU; wheel/slab",
        ),
        ("binary-heap 31 2400; wheel/slab 30 9000", EXACT, "takes 3.0 %, no difference shown"),
        // A timer takes 30 bytes on the heap, and a node of the caller has more than 20.
        ("binary-heap 90 2400; wheel/hook 30 2700; heap4/slab 40 2700", bytes(50), "-> heap4/slab saves"),
        // A structure of another project is never recommended.
        ("binary-heap 90 2400; wheel/slab 30 9000; orx-4ary 1 100", EXACT, "binary-heap -> wheel/slab"),
        ("binary-heap 90 2400; wheel/slab 30 9000; btree-map 1 100", EXACT, "binary-heap -> wheel/slab"),
        ("binary-heap 90 2400; wheel/slab 30 9000; orx-4ary 1 100", no_alloc, "no structure fulfils"),
        // A structure whose nodes the caller owns allocates nothing.
        #[cfg(feature = "rivals")]
        ("binary-heap 90 2400; wheel/slab 30 9000; intrusive-rb 1 100", no_alloc, "no structure fulfils"),
    ] {
        let said = judged(replayed(rows), rows.split(' ').next().unwrap(), criteria);
        assert!(said.contains(words), "'{words}' is not in '{said}'");
    }
    // The program's present structure is not kept if the conditions forbid it.
    for (rows, criteria, why) in [
        (ROWS, no_alloc, "it allocates"),
        ("binary-heap 30 2400; wheel/hook 60 900", no_alloc, "it allocates"),
        (
            "binary-heap 30 2400; wheel/hook 60 900",
            Criteria { no_alloc: true, ..negligible(50.0) },
            "it allocates",
        ),
        ("btree-map 30 9000; wheel/hook 60 900", bytes(90), "it takes 100 bytes a timer, more than 90"),
        ("coarse/hook 10 900; wheel/hook 60 900", EXACT, "it delivers up to 3.00 ms late"),
        // The structure's deadlines are u32, which is 49.7 days in ticks of a millisecond.
        #[cfg(feature = "rivals")]
        (
            "hash-wheel 20 2400; wheel/hook 60 900",
            days(50),
            "it holds no timer that is more than 4294967 s away",
        ),
    ] {
        let current = rows.split(' ').next().unwrap();
        let said = judged(replayed(rows), current, criteria);
        let begin =
            format!("{current} does not fulfil the conditions: {why}. Of those that do, wheel/hook is");
        assert!(said.starts_with(&begin), "{said}");
    }
    #[cfg(feature = "rivals")]
    for (rows, criteria) in [
        ("hash-wheel 20 2400; wheel/slab 30 9000", days(49)),
        // The caller owns the nodes of this structure.
        ("intrusive-rb 30 900; wheel/hook 60 900", no_alloc),
    ] {
        let current = rows.split(' ').next().unwrap();
        let said = judged(replayed(rows), current, criteria);
        assert!(said.starts_with(&format!("Keep {current}")), "{said}");
    }
}

#[test]
fn a_current_structure_that_did_not_run_is_named_with_the_reason() {
    let said = |why: &str, is_able| {
        let mut own = replayed(ROWS);
        let structure = registry::find("list/slab").unwrap();
        own.left_out.push(LeftOut { structure, why: why.into(), is_able, is_late: false });
        judged(own, "list/slab", EXACT)
    };
    let words = said("insertion is O(n)", true);
    let long = "list/slab, was left out, as it would take too long: insertion is O(n).";
    assert!(words.contains(long), "{words}");
    let words = said("bounded below this population", false);
    assert!(words.contains("list/slab, cannot run this workload: bounded below this population."), "{words}");
}

#[test]
fn advice_says_why_its_count_of_timers_is_not_that_of_the_trace() {
    let text = |max| {
        let mut own = replayed(ROWS);
        own.profile.population.max = max;
        page(&plan("binary-heap", EXACT), &Data { own, more: Vec::new() })
    };
    assert!(text(88).contains("The trace itself has at most 88 pending"), "{}", text(88));
    assert!(!text(90).contains("The trace itself"));
}

#[test]
fn the_range_of_the_picture_is_that_of_all_copies() {
    let mut data = replayed(ROWS);
    let population = &mut data.profile.population;
    (population.mean, population.p99, population.max, data.scale) = (10.0, 20, 30, 4);
    assert_eq!(range(&data), [40.0, 80.0, 120.0]);
}

/// Creates a workload with 60,000 arms at the start and 140,000 later.
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
    let own = replayed(ROWS);
    let mut more = replayed("binary-heap 90 1; heap4/slab 20 1; wheel/slab 60 1");
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
    let workload = answers(&mut typed.as_bytes(), &mut said).unwrap();
    assert_eq!((workload.timers, workload.expire, workload.cancel), (2000, 10.0, 90.0));
    assert_eq!(workload.delays.iter().map(|delay| delay.ms).collect::<Vec<_>>(), [30_000.0, 500.0]);
    assert_eq!(workload.touched_after_ms, Some(20.0));
    let said = String::from_utf8_lossy(&said);
    assert_eq!(said.matches('?').count(), 4);
    assert!(said.contains("So: 2000 timers of 30000 ms, 500 ms; of 100 waits 10 expire"), "{said}");
    let workload = answers(&mut "50,000\n30,000\n5 95 % 0\n1.5 s\n".as_bytes(), &mut Vec::new());
    let workload = workload.unwrap();
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

/// Returns the sections as text on one line.
fn page(plan: &Plan, data: &Data) -> String {
    let text = render::sections(&sections(plan, data, &findings(plan, data)));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// In this test, eight of nine rounds take eleven times as long, because other programs run.
#[test]
fn the_share_of_a_cpu_is_that_of_the_fastest_round() {
    let mut own = replayed(CHEAP);
    let quiet = judged(own.clone(), "binary-heap", EXACT);
    let slowed = |(at, ns): (usize, &mut f64)| *ns *= if at == 0 { 1.0 } else { 20.0 };
    own.rows.iter_mut().for_each(|row| row.total_ns.iter_mut().enumerate().for_each(slowed));
    assert_eq!(quiet, judged(own, "binary-heap", EXACT));
    assert!(quiet.starts_with("It does not matter for you"), "{quiet}");
}

/// Of 1,000 operations, 200 run before the clock starts, and 100 of these are arms of timers that
/// were already pending at the start.
#[test]
fn the_share_of_a_cpu_counts_all_operations_of_the_trace() {
    let mut own = replayed(ROWS);
    (own.untimed, own.initial) = ([150, 0, 50, 0], 100);
    // 800 operations take 90 ms, and the trace has 900 operations per second.
    assert!((own.cpu_percent(&own.rows[0]) - 10.125).abs() < 1e-9, "{}", own.cpu_percent(&own.rows[0]));
    own.whole.span_ns /= 2;
    assert!((own.cpu_percent(&own.rows[0]) - 20.25).abs() < 1e-9);
    // Half of the 800 events after the start were replayed; their time does not matter.
    own.replayed = 500;
    assert!((own.cpu_percent(&own.rows[0]) - 40.5).abs() < 1e-9);
    assert!((own.per_operation(&own.rows[0]) - 112_505.0).abs() < 1e-6);
}

#[test]
fn a_trace_that_is_too_short_is_not_judged() {
    let said = |span_ns| changed(|own| (own.whole, own.replayed) = (Extent { events: 77, span_ns }, 77));
    assert!(said(9_999_999).starts_with("Too short to judge: 77 events in 10.00 ms"), "{}", said(9_999_999));
    assert!(said(10_000_000).contains("saves"), "{}", said(10_000_000));
}

/// A trace of waits gets no verdict, even if it has a single timer, such as the timer of `timeout`.
#[test]
fn a_trace_with_few_timers_is_not_judged() {
    let said = |starts| changed(|own| own.starts = starts);
    let few = "Too few timers to recommend: beside waits, timers were started once, and a verdict needs 100";
    assert!(said(1).starts_with(few), "{}", said(1));
    assert!(said(99).contains("started 99 times"), "{}", said(99));
    assert!(said(100).contains("saves"), "{}", said(100));
    let own = Replayed {
        starts: 1,
        filter: Some("--base '!epoll' leaves 2 of 900 events".into()),
        ..replayed(ROWS)
    };
    let text = page(&plan("binary-heap", EXACT), &Data { own, more: Vec::new() });
    assert!(text.contains("started once (--base '!epoll' leaves 2 of 900 events), and"), "{text}");
    assert!(text.contains("Next, the timers of the kernel") && !text.contains("of a CPU"), "{text}");
}

#[test]
fn the_advice_on_a_tick_follows_the_shortest_delays() {
    let text = |p1: u64| {
        let mut own = replayed(ROWS);
        own.profile.delays.p1 = p1;
        page(&plan("binary-heap", EXACT), &Data { own, more: Vec::new() })
    };
    let (long, middle, short) = (text(200_000_000), text(50_000_000), text(400_000));
    assert!(long.contains("Tick: 1.00 ms is fine; one of 2.00 ms is still below a hundredth"), "{long}");
    assert!(!middle.contains("Tick:"), "{middle}");
    assert!(short.contains("Tick: 1.00 ms is longer than the shortest delays (400 us)"), "{short}");
    assert!(text(100_000_000).contains("is fine") && !text(1_000_000).contains("is longer"));
}

#[test]
fn idle_wakes_are_those_of_an_hour() {
    let mut own = replayed(ROWS);
    own.rows.iter_mut().for_each(|row| row.idle_wakes = 7);
    let text = page(&plan("binary-heap", EXACT), &Data { own, more: Vec::new() });
    // Seven per second.
    assert!(text.contains(" 25,200 "), "{text}");
}

/// Changes the row of a structure as if its turn had not come in time.
fn late(data: &mut Replayed, id: &str) {
    let structure = registry::find(id).unwrap();
    data.rows.retain(|row| row.structure != structure);
    data.left_out.push(LeftOut { structure, why: "it was not timed".into(), is_able: true, is_late: true });
}

#[test]
fn a_verdict_that_no_structure_had_time_for_is_not_shown() {
    let mut own = replayed("binary-heap 90 2400");
    let said = |own: &Replayed| judged(own.clone(), "binary-heap", EXACT);
    assert!(said(&own).starts_with("no structure fulfils the conditions"), "{}", said(&own));
    late(&mut own, "wheel/slab");
    assert!(said(&own).starts_with("not shown: no structure that fulfils"), "{}", said(&own));
}

/// Returns the line about 16 times as many timers, after the verdict for `wheel/slab`.
fn grown(rows: &str, criteria: Criteria, change: fn(&mut Replayed)) -> String {
    let mut more = replayed(rows);
    (more.scale, more.profile.population.mean) = (16, 90.0);
    change(&mut more);
    let data = Data { own: replayed(ROWS), more: vec![more] };
    let mut all = findings(&plan("binary-heap", criteria), &data);
    let last = all.pop().unwrap();
    assert_eq!(last.about, "with 16 times as many timers");
    let text = page(&plan("binary-heap", criteria), &data);
    let line = format!("With 16 times as many timers (1,440 on average): {}", last.here);
    assert!(text.contains(&line), "'{line}' is not in {text}");
    last.here
}

#[test]
fn with_more_timers_no_structure_is_named_that_another_beats_or_the_conditions_forbid() {
    let lazy = "coarse/slab 5 7000; wheel/slab 30 9000; binary-heap 90 2400";
    for (rows, criteria, words) in [
        // The recommended structure stays, with its interval, its share, and the other structures.
        (
            "binary-heap 90 2400; wheel/slab 30 9000; heap4/slab 33 2800",
            EXACT,
            "still wheel/slab, 30004 ns (30001 to 30007), 48.0 % of a CPU; heap4/slab 33004 ns (33001 to \
             33007); binary-heap 90004 ns (90001 to 90007)",
        ),
        // The current structure competes; our structures are four times as slow.
        (
            "binary-heap 14.5 2400; wheel/slab 57 9000; heap4/slab 60 2800",
            EXACT,
            "binary-heap, 14504 ns (14501 to 14507), 23.2 % of a CPU; wheel/slab 57004",
        ),
        // A structure of another project competes too.
        ("btree-map 10 2400; wheel/slab 57 9000; binary-heap 60 2800", EXACT, "btree-map, "),
        // The faster structures tie, so none of them is named.
        (
            "wheel/slab 60 9000; heap4/slab 30 2800; binary-heap 33 2400",
            EXACT,
            "heap4/slab or binary-heap, within the margin of a tie, 20 %, 48.0 % of a CPU; wheel/slab",
        ),
        // A tie with the recommended structure.
        (
            "wheel/slab 33 9000; heap4/slab 30 2800; binary-heap 90 2400",
            EXACT,
            "still wheel/slab (within the margin of a tie, 20 %), 33004 ns ",
        ),
        // The conditions apply here too.
        (lazy, EXACT, "coarse/slab is faster than all that fulfil the conditions; wheel/slab "),
        (lazy, Criteria { late_ns: Some(5e6), ..EXACT }, "still coarse/slab, 5004 ns"),
    ] {
        let said = grown(rows, criteria, |_| ());
        assert!(said.starts_with(words), "'{said}' does not begin with '{words}'");
    }
}

#[test]
fn with_more_timers_nothing_is_shown_by_few_or_unlike_rounds() {
    let rows = "wheel/slab 57 9000; binary-heap 14.5 2400";
    let words = grown(rows, EXACT, |more| more.rows.iter_mut().for_each(|row| row.total_ns.truncate(5)));
    assert_eq!(words, "not shown, as 5 rounds were run in time");
    // The line needs the structures of the verdict; any other structure can be missing.
    let words = grown(rows, EXACT, |more| late(more, "wheel/slab"));
    assert_eq!(words, "not shown, as wheel/slab had no turn in time");
    assert!(grown(rows, EXACT, |more| late(more, "heap4/slab")).starts_with("binary-heap, "));
    // The other structure is faster in some rounds and slower in others, so the recommended
    // structure stays.
    let words = grown(rows, EXACT, |more| {
        let [wheel, heap] = &mut more.rows[..] else { panic!("two rows") };
        for (at, ns) in heap.total_ns.iter_mut().enumerate() {
            *ns = wheel.total_ns[at] * if at % 2 == 0 { 0.5 } else { 2.0 };
        }
    });
    assert!(words.starts_with("still wheel/slab, "), "{words}");
}

#[test]
fn a_verdict_to_keep_the_current_structure_holds_with_more_timers() {
    let mut more = replayed("binary-heap 30 2400; wheel/slab 31 9000");
    (more.scale, more.profile.population.mean) = (4, 90.0);
    let own = replayed(CHEAP);
    let all = findings(&plan("binary-heap", EXACT), &Data { own, more: vec![more.clone()] });
    assert!(all.last().unwrap().here.starts_with("still binary-heap, "), "{:?}", all.last());
    // Every sample is in the result, except the samples of the workload itself.
    let series = series(&more);
    assert_eq!((series.len(), series[0].name.as_str()), (2, "replay of copies"));
    assert_eq!(series[0].samples.len(), 9);
}

#[test]
fn the_current_structure_is_that_of_the_library_in_the_trace() {
    let known = |keepers: &[&str]| {
        let keepers: Vec<String> = keepers.iter().map(|name| (*name).into()).collect();
        let (id, by) = current(None, &keepers);
        let structure = registry::find(&id).unwrap();
        (id, by.word(), by.sentence(structure))
    };
    for (keepers, id, word) in [
        (&["libevent"][..], "heap2/hook", "libevent"),
        (&["libuv"], "heap2/hook", "libuv"),
        (&["libev"], "heap4/hook", "libev"),
        (&["hrtimer"], "rb-cached/hook", "hrtimer"),
        (&["libuv", "libevent"], "heap2/hook", "libuv"),
        (&["libuv", "libev"], "binary-heap", "assumed"),
        (&["libuv", "my queue"], "binary-heap", "assumed"),
        (&["my queue"], "binary-heap", "assumed"),
        (&[], "binary-heap", "assumed"),
    ] {
        let (found, by, sentence) = known(keepers);
        assert_eq!((found.as_str(), by), (id, word), "{keepers:?}");
        let says = if word == "assumed" { "is assumed to be binary-heap" } else { "the nearest to" };
        assert!(sentence.contains(says) && sentence.contains(id), "{sentence}");
    }
    let (id, by) = current(Some("list/slab"), &["libuv".into()]);
    assert_eq!((id.as_str(), by), ("list/slab", KnownBy::Option));
}

#[test]
fn text_and_result_say_where_the_current_structure_is_from() {
    let mut plan = plan("binary-heap", EXACT);
    plan.known_by = KnownBy::Nothing;
    let data = Data { own: replayed(ROWS), more: Vec::new() };
    let said = "The current structure is assumed to be binary-heap: nothing says what the program has.";
    assert!(page(&plan, &data).contains(said));
    let found = findings(&plan, &data).into_iter().find(|one| one.about == "the current structure");
    assert!(found.is_some_and(|one| one.here.starts_with(said)));
    let read = |words: &[&str]| -> Plan {
        let args: RecommendArgs = request::words(words).unwrap();
        let plan = crate::experiment::Experiment::plan(&args).unwrap();
        let parameters = crate::experiment::Experiment::parameters(&args, &plan);
        let by = serde_json::to_value(&parameters["current_from"]).unwrap();
        assert_eq!(by, plan.known_by.word());
        plan
    };
    let plan = read(&["sample:bind9"]);
    assert_eq!((plan.current.id, plan.known_by.word()), ("heap2/hook", "libuv"));
    assert_eq!(plan.replay.structures[0], plan.current);
    assert_eq!(read(&["sample:unbound"]).known_by.word(), "libevent");
    let plan = read(&["sample:bind9", "--current", "btree-map"]);
    assert_eq!((plan.current.id, plan.known_by.word()), ("btree-map", "--current"));
}

#[test]
fn waits_alone_get_a_reason_and_the_next_step() {
    let own = Replayed { waits_alone: true, ..replayed(ROWS) };
    let data = Data { own, more: Vec::new() };
    let plan = plan("binary-heap", EXACT);
    let all = findings(&plan, &data);
    assert!(all[0].here.starts_with("Only waits and sleeps were seen"), "{}", all[0].here);
    assert!(all[1].about == "next" && all[1].here.contains("`tickwright import timers.txt`"), "{all:?}");
    assert_eq!(all.len(), 2);
    let text = page(&plan, &data);
    assert!(
        text.contains("Next, the timers of the kernel behind its waits, as root: `perf record -a"),
        "{text}"
    );
    assert!(text.contains("`tickwright import FILE.csv`"), "{text}");
    assert!(!text.contains("fastest of ours") && !text.contains("assumed"), "{text}");
}

#[test]
fn the_first_events_of_a_long_trace_are_read_and_a_note_says_so() {
    let count = |most| {
        let input = Input::up_to(Path::new("sample:bind9"), &[], 1, most).unwrap();
        let mut events = 0;
        let found = input.each(&mut |_| {
            events += 1;
            core::ops::ControlFlow::Continue(())
        });
        (events, found.unwrap().notes)
    };
    let (all, notes) = count(u64::MAX);
    assert!(all > 5000 && notes.is_empty(), "{all}, {notes:?}");
    assert_eq!(count(all), (all, Vec::new()));
    let note = "sample:bind9: the events after the first 5000 were not replayed".to_owned();
    assert_eq!(count(5000), (5000, vec![note]));
}

/// The report mentions what is at the end of a trace, and the rate of the whole trace counts,
/// although only the beginning is replayed.
#[test]
fn a_long_trace_is_read_to_its_end() {
    let path = std::env::temp_dir().join(format!("tickwright-{}-long.twt", std::process::id()));
    let (base, tick_ns) = ("mine".to_owned(), 0);
    let header = Header { bases: vec![Base { name: base, tick_ns }], ..Header::default() };
    let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), &header).unwrap();
    for at in 0..10_000 {
        let time = if at < 6000 { at } else { at * 1000 };
        let what = What::Arm { deadline: time + 500, period: 0 };
        writer.push(&Event::new(time, at as u64, what)).unwrap();
    }
    writer.lost(9_999_000, 12, "a full buffer").unwrap();
    writer.remark(34, Remark::UNREADABLE).unwrap();
    writer.finish().unwrap();
    let described = Input::up_to(&path, &[], 1, 5000).unwrap().describe(0);
    let wrong = Input::up_to(&path, &["other".into()], 1, 5000).unwrap().describe(0);
    std::fs::remove_file(&path).unwrap();
    let (profile, found) = described.unwrap();
    assert_eq!((profile.events, profile.span_ns), (5000, 4999));
    assert_eq!(found.whole, Extent { events: 10_000, span_ns: 9_999_000 });
    assert_eq!((found.gaps.lost, found.gaps.unreadable), (12, 34));
    let notes = found.notes.join("; ");
    for note in
        ["after the first 5000 were not replayed", "lost 12 events", "34 timer events could not be read"]
    {
        assert!(notes.contains(note), "{note}: {notes}");
    }
    assert!(wrong.is_err_and(|error| error.to_string().contains("no queue 'other'")));
}

#[test]
fn a_run_ends_within_a_minute_and_each_part_has_its_time() {
    let begun = 5_000_000_000;
    let schedule = Schedule { begun, within: Duration::from_secs(10) };
    let own = schedule.own();
    let seconds = |at: u64| (at - begun) as f64 / 1e9;
    let copies = |now: f64, left| {
        let limits = schedule.copies(begun + (now * 1e9) as u64, left)?;
        Some([limits.compare_until, limits.rounds_until, limits.end, limits.whole].map(seconds))
    };
    let of_own = [own.compare_until, own.rounds_until, own.end, own.whole].map(seconds);
    assert_eq!((of_own, own.always), ([12.25, 25.75, 29.25, 45.0], 2));
    assert_eq!(copies(30.0, 3), Some([32.5, 34.5, 35.0, 45.0]));
    assert_eq!(copies(15.0, 1), Some([30.0, 42.0, 45.0, 45.0]));
    assert_eq!(copies(45.1, 1), None);
    // The bound that the help states.
    assert!(BESIDE + Duration::from_secs(10) < Duration::from_secs(60));
}

#[test]
fn one_storage_of_each_family_is_compared_before_the_other() {
    let ids = ["rb/slab", "rb/hook", "wheel/slab", "wheel/hook", "ladder/slab"];
    let all = || ids.map(|id| registry::find(id).unwrap()).to_vec();
    let found = |no_alloc| in_turn(all(), no_alloc).iter().map(|structure| structure.id).collect::<Vec<_>>();
    assert_eq!(found(false), ["wheel/slab", "ladder/slab", "rb/slab", "wheel/hook", "rb/hook"]);
    assert_eq!(found(true), ["wheel/hook", "rb/hook", "wheel/slab", "ladder/slab", "rb/slab"]);
}

#[test]
fn the_wait_of_an_event_loop_is_named_unless_it_is_left_out() {
    let doubts = |bases: &[&str]| {
        let bases: Vec<String> = bases.iter().map(|name| (*name).into()).collect();
        Input::of(Path::new("sample:bind9"), &bases, 1).unwrap().describe(0).unwrap().1.doubts()
    };
    let repeats = "the waits of epoll repeat the earliest timer of libuv: --base '!epoll' leaves them out";
    assert_eq!(doubts(&[]).as_deref(), Some(repeats));
    assert_eq!(doubts(&["!epoll"]), None);
    let alone = doubts(&["epoll"]).unwrap_or_default();
    assert!(alone.starts_with("only waits and sleeps were seen"), "{alone}");
}

#[test]
fn a_share_is_a_number_from_0_to_100() {
    for (text, share) in [("1", Some(1.0)), ("5 %", Some(5.0)), ("0", Some(0.0)), ("100%", Some(100.0))] {
        assert_eq!(percent(text).ok(), share, "{text}");
    }
    for text in ["-1", "100.1", "x", "", "NaN"] {
        assert!(percent(text).is_err(), "{text}");
    }
}

#[test]
fn the_checksum_is_that_of_all_bytes_of_a_file() {
    let sample = crate::traces::samples::find(Path::new("sample:bind9")).unwrap().unwrap().bytes;
    let path = std::env::temp_dir().join(format!("tickwright-{}-checksum", std::process::id()));
    std::fs::write(&path, sample).unwrap();
    let sums = [&path, &PathBuf::from("sample:bind9")]
        .map(|path| Input::File { path: path.clone(), bases: Vec::new(), most: 1 }.checksum());
    std::fs::remove_file(&path).unwrap();
    assert!(sample.len() > 1 << 16, "one read does not suffice");
    for sum in sums {
        assert_eq!(sum.unwrap(), crc32fast::hash(sample));
    }
}

/// A clock that advances by 10 ns at each read, and by 20 s after some reads.
struct Slowing {
    now: Cell<u64>,
    left: Cell<u64>,
}

impl Meter for Slowing {
    fn now(&self) -> u64 {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        self.now.set(self.now.get() + if left > 0 { 10 } else { 20_000_000_000 });
        self.now.get()
    }
}

/// Runs a recommendation on one structure. The clock is slow after this many reads, not counting
/// the reads during the replay of the workload itself.
fn ran(events: Vec<Event>, reads: Option<u64>) -> (Data, String) {
    let args: RecommendArgs = request::words(&["--rounds", "1"]).unwrap();
    let mut plan = plan("heap4/slab", EXACT);
    plan.replay = args.settings.plan(Input::Made(events), vec![plan.current]);
    let clock = |left| Slowing { now: Cell::new(0), left: Cell::new(left) };
    let quick = clock(u64::MAX);
    let left = reads.map_or(u64::MAX, |reads| {
        let schedule = Schedule { begun: 0, within: Duration::from_secs(10) };
        let mut lab = Lab { meter: &quick, notes: Vec::new(), interrupted: false };
        replay::run(&plan.replay, Some(schedule.own()), &mut lab).unwrap();
        reads + quick.now.get() / 10
    });
    let mut lab = Lab { meter: &clock(left), notes: Vec::new(), interrupted: false };
    let data = Experiment::run(&args, &plan, &mut lab).unwrap();
    assert!(!lab.interrupted, "no signal came");
    let copies = |series: &Series| series.name == "replay of copies" && !series.samples.is_empty();
    let copies = Experiment::series(&args, &plan, &data).iter().filter(|series| copies(series)).count();
    assert_eq!(copies, data.more.len());
    (data, lab.notes.join("\n"))
}

#[test]
fn copies_are_replayed_unless_the_beginning_of_a_trace_has_fewer_timers() {
    let scales = |data: &Data| data.more.iter().map(|more| more.scale).collect::<Vec<_>>();
    let arm = |at: i64, delay| Event::new(at, at as u64, What::Arm { deadline: at + delay, period: 0 });
    // 100 timers are pending, from the beginning to the end.
    let steady: Vec<Event> = (0..1000).map(|at| arm(at * 20_000, 2_000_000)).collect();
    let (data, notes) = ran(steady.clone(), None);
    assert_eq!((scales(&data), notes.contains("not replayed")), (vec![4, 16, 64], false), "{notes}");
    assert_eq!(data.more[0].rows.len(), 1);
    // After the readings for the schedule, the time ends while the first copies are decoded.
    let (data, notes) = ran(steady, Some(2));
    assert_eq!((scales(&data), data.own.rows[0].total_ns.len()), (Vec::new(), 1));
    assert!(notes.starts_with("not replayed with 4 copies, for lack of time"), "{notes}");
    // The number of pending timers grows, so the beginning that 64 copies are allowed to replay has
    // fewer timers.
    let (data, notes) = ran((0..30_000).map(|at| arm(at * 1000, 1_000_000_000_000)).collect(), None);
    assert_eq!(scales(&data), [4, 16]);
    assert!(notes.ends_with("not replayed with 64 copies: it would take too many operations"), "{notes}");
}

#[test]
fn the_best_of_another_project_and_of_each_shape_compete_with_more_timers() {
    let rows = "binary-heap 90 2400; heap4/slab 40 2800; wheel/slab 30 9000; wheel/hook 35 9000; orx-4ary 20 100; coarse/slab 10 7000";
    let current = registry::find("binary-heap").unwrap();
    let ids = |criteria| {
        let all = finalists(&replayed(rows), &criteria, current);
        all.iter().map(|structure| structure.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(EXACT), ["binary-heap", "wheel/slab", "heap4/slab", "orx-4ary"]);
    let late = ids(Criteria { late_ns: Some(5e6), ..EXACT });
    assert_eq!(late, ["binary-heap", "coarse/slab", "wheel/slab", "orx-4ary"]);
}
