use core::ops::ControlFlow;

use tickwright_trace::event::Ns;
use tickwright_trace::{Event, What};

use super::data::{Calls, WORST};
use super::{Data, Limits, P50, ReplayArgs, run, tables};
use crate::clock::FakeMeter;
use crate::experiment::{Experiment, Lab};
use crate::experiments::request;
use crate::models::tape::Step;
use crate::render;
use crate::structures::registry;
use crate::traces::decode::{Counts, Decoder};
use crate::traces::input::Input;
use crate::traces::profile::Workload;

fn arm(time: Ns, timer: u64, deadline: Ns) -> Event {
    Event::new(time, timer, What::Arm { deadline, period: 0 })
}

fn rearm(time: Ns, timer: u64, deadline: Ns) -> Event {
    Event::new(time, timer, What::Rearm { deadline, period: 0 })
}

/// Returns the operations, and the steps that tell the queue the time, in order.
fn told(events: &[Event], tick_ns: u64) -> (Vec<Step>, Counts) {
    let mut decoder = Decoder::new(tick_ns);
    let mut out = Vec::new();
    let mut put = |step| {
        out.push(step);
        ControlFlow::Continue(())
    };
    events.iter().for_each(|event| decoder.push(0, event, &mut put));
    (out, decoder.counts())
}

/// Parses events of the form `TIME KIND TIMER DEADLINE/PERIOD`.
fn events(text: &str) -> Vec<Event> {
    let event = |text: &str| {
        let mut words = text.split([' ', '/']);
        let (time, kind) = (words.next().unwrap().parse().unwrap(), words.next().unwrap());
        let timer = words.next().unwrap().parse().unwrap();
        let mut next = || words.next().map_or(0, |number| number.parse::<i64>().unwrap());
        let (deadline, period) = (next(), next().unsigned_abs());
        Event::new(
            time,
            timer,
            match kind {
                "arm" => What::Arm { deadline, period },
                "rearm" => What::Rearm { deadline, period },
                "cancel" => What::Cancel,
                _ => What::Fire,
            },
        )
    };
    text.split(", ").map(event).collect()
}

/// Formats steps as text: `ID>DEADLINE` for an insert, `ID>>DEADLINE` for a move, `-ID`, `*NOW` for
/// an advance, and `@AT` for the time that the queue is told.
fn shown(steps: &[Step]) -> String {
    let shown = |step: &Step| match step {
        Step::Insert { id, deadline } => format!("{id}>{deadline}"),
        Step::Reschedule { id, deadline } => format!("{id}>>{deadline}"),
        Step::Remove { id } => format!("-{id}"),
        Step::Advance { now } => format!("*{now}"),
        Step::Clock { at } => format!("@{at}"),
        other => format!("{other:?}"),
    };
    steps.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// In this test, a tick is 10 ns, and tick 0 is one tick before the first event.
#[test]
fn events_become_operations() {
    for (text, steps, counts) in [
        // The queue is told the time before an operation: once per tick, unless a delivery has
        // already told the queue this time.
        (
            "100 arm 1 300, 105 arm 2 900, 205 arm 3 900, 300 fire 1, 301 arm 4 900, 410 arm 1 900",
            "@1 0>21 1>81 @11 2>81 *21 3>81 @32 4>81",
            [1, 0, 0, 4, 1, 80],
        ),
        // The driver wakes at deadlines, and late cancels do nothing.
        (
            "100 arm 1 300, 200 arm 2 310, 302 fire 1, 320 cancel 2",
            "@1 0>21 @11 1>22 *21 *22 @23",
            [2, 1, 0, 2, 1, 20],
        ),
        // Moves, cancels and early expiries are operations. The third timer has the longest delay.
        (
            "0 arm 7 1000, 100 rearm 7 2000, 200 arm 8 5000, 300 cancel 7, 400 fire 8",
            "@1 0>101 @11 0>>201 @21 1>501 @31 -0 @41 -1",
            [0, 0, 1, 2, 4, 480],
        ),
        // An expiry in the tick of its deadline is a delivery.
        ("0 arm 1 102, 103 fire 1, 103 arm 1 205", "@1 0>12 @11 *12 1>22", [1, 0, 0, 1, 2, 11]),
        // Overdue timers expire at the next tick.
        ("1000 arm 1 10, 1005 arm 2 1000, 2000 arm 3 9000", "@1 0>2 1>2 *2 @101 2>801", [2, 0, 0, 2, 2, 700]),
        // A periodic timer stays on its grid.
        (
            "0 arm 1 100/100, 350 arm 2 1000000",
            "@1 0>11 *11 0>21 *21 0>31 *31 0>41 @36 1>100001",
            [3, 0, 0, 2, 4, 99965],
        ),
    ] {
        let (found, counted) = told(&events(text), 10);
        assert_eq!(shown(&found), steps, "{text}");
        let Counts { deliveries, too_late, early, most, head_changes, longest, .. } = counted;
        assert_eq!([deliveries, too_late, early, most.into(), head_changes, longest], counts, "{text}");
        let of_kind = |kind| found.iter().filter(|step| step.is_operation() && step.kind() == kind).count();
        assert_eq!([0, 1, 2, 3].map(|kind| of_kind(kind) as u64), counted.kinds, "{text}");
    }
    // A periodic timer skips the expiries that it missed for a long time.
    let (steps, _) = told(&[events("0 arm 1 100/100"), vec![arm(1 << 60, 2, 1 << 61)]].concat(), 10);
    assert!(steps.len() < 10, "{}", steps.len());
}

/// A timer that is armed for a second, after an hour without events, is late by an eighth of a
/// second and not by an eighth of the hour, because the structure is told the time.
#[test]
fn a_granular_structure_is_as_late_as_in_a_loop_that_tells_the_time() {
    let (hour, second) = (3_600_000_000_000, 1_000_000_000);
    let events = vec![arm(0, 1, 3 * hour), arm(hour, 2, hour + second), arm(2 * hour, 3, 3 * hour)];
    let data = of_events(events, &["--structures", "coarse/slab,coarse/hook", "--tick", "1ms"], None).0;
    let late: Vec<u64> = data.rows.iter().map(|row| row.late_ticks).collect();
    assert!(data.rows.len() == 2 && late.iter().all(|late| *late <= 1000 * 8 / 63 + 1), "{late:?}");
}

#[test]
fn extreme_times_do_not_panic() {
    for time in [i64::MIN, -1, 0, 1, i64::MAX] {
        for deadline in [i64::MIN, -1, 0, 1, i64::MAX] {
            for tick in [1, 1_000_000, u64::MAX] {
                let events = [arm(5, 1, 10), arm(time, 2, deadline), rearm(deadline, 2, time)];
                told(&events, tick);
            }
        }
    }
}

/// There are 10,000 timers with a period of 1 ns, and a second without events. Each timer skips the
/// periods that it missed.
#[test]
fn a_flood_of_periodic_timers_is_bounded() {
    let mut events: Vec<Event> =
        (0..10_000).map(|timer| Event::new(0, timer, What::Arm { deadline: 1, period: 1 })).collect();
    events.extend((1..10).map(|second| arm(second * 1_000_000, 20_000, second * 1_000_000 + 5)));
    let (steps, counts) = told(&events, 1);
    assert!(steps.len() < 2_000_000 && counts.deliveries > 10_000, "{} {counts:?}", steps.len());
}

/// Each of 200 timers misses 900 periods, which it would make up for if it were the only timer.
#[test]
fn many_timers_do_not_make_up_for_all_that_they_missed() {
    let mut events: Vec<Event> =
        (0..200).map(|timer| Event::new(0, timer, What::Arm { deadline: 1, period: 1 })).collect();
    events.push(arm(900, 1000, 5000));
    let (_, counts) = told(&events, 1);
    assert!((65_536..66_500).contains(&counts.deliveries), "{counts:?}");
}

fn workload(words: &str) -> Workload {
    let read: Workload = toml::from_str(words).unwrap_or_else(|error| panic!("{error}"));
    read.checked().unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn replayed(words: &str, more: &[&str]) -> Data {
    limited(words, more, None).0
}

/// Returns the data and the notes of a replay that was not interrupted.
fn limited(words: &str, more: &[&str], limits: Option<Limits>) -> (Data, String) {
    let mut events = workload(words).events(1, u64::MAX);
    events.truncate(6000);
    of_events(events, more, limits)
}

fn of_events(events: Vec<Event>, more: &[&str], limits: Option<Limits>) -> (Data, String) {
    let args: ReplayArgs =
        request::words(&[&["-", "--rounds", "2"], more].concat()).unwrap_or_else(|error| panic!("{error}"));
    let structures = registry::select(&args.structures).unwrap_or_else(|error| panic!("{error}"));
    let plan = args.settings.plan(Input::Made(events), structures);
    let meter = FakeMeter::steady(10);
    let mut lab = Lab { meter: &meter, notes: Vec::new(), interrupted: false };
    let data = run(&plan, limits, &mut lab).unwrap_or_else(|error| panic!("{error}"));
    assert!(!lab.interrupted);
    (data, lab.notes.join("\n"))
}

const FREE: Limits = Limits {
    operations: u64::MAX,
    always: 1,
    compare_until: u64::MAX,
    rounds_until: u64::MAX,
    end: u64::MAX,
    whole: u64::MAX,
    needs_enough: false,
};

const SERVER: &str = "timers = 200\nexpire = 10\ncancel = 90\ndelays = [{ ms = 2000 }]";

fn ids(data: &Data) -> Vec<&str> {
    data.rows.iter().map(|row| row.structure.id).collect()
}

#[test]
fn a_structure_that_is_not_compared_in_time_is_left_out_and_named() {
    let all = ["--structures", "list/slab,heap4/slab,wheel/hook", "--tick", "1ms"];
    let (free, notes) = limited(SERVER, &all, Some(FREE));
    assert_eq!((ids(&free), notes.as_str()), (vec!["list/slab", "heap4/slab", "wheel/hook"], ""));
    assert!(free.left_out.is_empty());
    let (data, notes) = limited(SERVER, &all, Some(Limits { compare_until: 0, ..FREE }));
    assert_eq!(ids(&data), ["list/slab"], "the first one is that of the program");
    assert!(notes.contains("not compared, for lack of time: heap4/slab, wheel/hook"), "{notes}");
    let left_out: Vec<_> = data.left_out.iter().map(|left| (left.structure.id, left.is_able)).collect();
    assert_eq!(left_out, [("heap4/slab", true), ("wheel/hook", true)]);
    assert_eq!(data.rows[0].total_ns.len(), 2);
    assert!(!data.rows[0].calls[0].is_empty());
}

#[test]
fn rounds_and_single_calls_end_in_time() {
    let all = ["--structures", "list/slab,heap4/slab,wheel/hook", "--tick", "1ms"];
    for (always, rounds) in [(0, 0), (1, 1)] {
        let (data, notes) = limited(SERVER, &all, Some(Limits { rounds_until: 0, always, ..FREE }));
        assert_eq!(data.rows.len(), 2, "the first one and the fastest other: {notes}");
        assert!(notes.contains("not timed, for lack of time: "), "{notes}");
        assert!(notes.contains(&format!("sufficed for {rounds} rounds")), "{notes}");
        assert!(data.rows.iter().all(|row| row.total_ns.len() == rounds));
    }
    let (data, _) = limited(SERVER, &all, Some(Limits { end: 0, ..FREE }));
    assert!(data.rows.iter().all(|row| row.total_ns.len() == 2 && row.calls[0].is_empty()));
}

#[test]
fn a_replay_of_the_first_operations_says_so_and_knows_their_time() {
    let only = ["--structures", "heap4/slab", "--tick", "1ms"];
    let (whole, _) = limited(SERVER, &only, Some(FREE));
    let (part, notes) = limited(SERVER, &only, Some(Limits { operations: 1000, ..FREE }));
    assert_eq!((part.initial, part.untimed), (whole.initial, whole.untimed));
    let operations = part.counts.operations();
    // An event can add the deliveries that precede it, so the count can exceed the limit.
    assert!((1200..1300).contains(&operations), "{operations}");
    let (_, share) = notes.split_once("operations were replayed: ").unwrap_or_else(|| panic!("{notes}"));
    let (share, _) = share.split_once(" % of the time of the trace").unwrap_or_else(|| panic!("{notes}"));
    assert!((10.0..50.0).contains(&share.parse::<f64>().unwrap()), "{notes}");
    assert!(whole.is_whole() && !part.is_whole());
    assert_eq!(whole.whole.span_ns, whole.profile.span_ns);
}

/// 2,000 timers are armed and cancelled in 2 ms, and 2,000 others in 200 s.
#[test]
fn the_share_of_a_cpu_follows_from_the_rate_of_the_whole_trace() {
    let wait = |at: i64| {
        let time = if at < 2000 { at * 1000 } else { (at - 2000) * 100_000_000 };
        [arm(time, 1, time + 30_000_000_000), Event::new(time + 500, 1, What::Cancel)]
    };
    let events: Vec<Event> = (0..4000).flat_map(wait).collect();
    for scale in ["1", "2"] {
        let only = ["--structures", "heap4/slab", "--tick", "1ms", "--scale", scale];
        let of = |limits| of_events(events.clone(), &only, limits).0;
        let (whole, part) = (of(None), of(Some(Limits { operations: 1000, ..FREE })));
        assert!(whole.is_whole() && !part.is_whole());
        let copies = f64::from(whole.scale);
        assert_eq!((whole.lasting(), part.lasting()), (8000.0 * copies, 8000.0 * copies), "{scale}");
        assert_eq!(whole.percent_of(7.0, 8000.0), part.percent_of(7.0, 8000.0));
        // The 8000 operations take place in 199.9 s.
        assert!((whole.percent_of(1000.0, 8000.0) - 0.004_002).abs() < 1e-6);
    }
}

/// Verifies the answers of every structure, including granular ones.
#[test]
fn every_structure_answers_a_mixed_workload_rightly() {
    let mixed = "timers = 300\nexpire = 40\ncancel = 30\nrearm = 30\n\
        delays = [{ ms = 20, to_ms = 900 }, { ms = 5 }]\nperiodic = [{ ms = 10, timers = 3 }]";
    let data = replayed(mixed, &["--tick", "1ms"]);
    assert!(data.rows.len() > 20, "{}", data.rows.len());
    assert!(data.counts.kinds.iter().all(|count| *count > 100), "{:?}", data.counts);
    for row in &data.rows {
        let exact = row.structure.ties.exact();
        assert_eq!(row.late_ticks > 0, !exact, "{}", row.structure.id);
        assert_eq!(row.total_ns.len(), 2, "{}", row.structure.id);
    }
    // The slab's bytes include the nodes of 300 timers, although the queue is wrapped in a guard.
    let [slab, hook] = ["coarse/slab", "coarse/hook"].map(|id| data.row(id).map_or(0, |row| row.bytes));
    assert!(slab > hook + 300 * 16, "{slab} and {hook}");
}

/// Returns times of calls with this median.
fn calls(p50: f64) -> Calls {
    [1.0, 2.0, 3.0, 4.0, 5.0].map(|times| times * p50)
}

#[test]
fn a_figure_of_single_calls_is_the_median_of_its_rounds() {
    let mut row = replayed(SERVER, &["--structures", "heap4/slab", "--tick", "1ms"]).rows.remove(0);
    row.calls = [vec![calls(1.0), calls(7.0), calls(3.0)], Vec::new(), vec![calls(4.0)], Vec::new()];
    let figures = |kind| [row.call(kind, P50), row.call(kind, WORST)];
    assert_eq!((figures(0), figures(1)), ([Some(3.0), Some(15.0)], [None, None]));
    assert_eq!(row.worst(), Some(20.0));
}

#[test]
fn the_report_says_what_was_replayed_and_what_is_odd() {
    let rival = if cfg!(feature = "rivals") { ",timer-queue" } else { "" };
    let structures = format!("heap4/slab{rival},coarse/slab");
    let all = ["--structures", &structures, "--tick", "1ms"];
    let mut data = replayed(SERVER, &all);
    let text = |data: &Data| {
        let text = render::sections(&tables::sections(data, &[]));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let quiet = text(&data);
    assert!(!quiet.contains("before their deadline") && !quiet.contains("copies"), "{quiet}");
    (data.counts.early, data.counts.too_late, data.scale) = (3, 4, 2);
    data.rows.iter_mut().for_each(|row| row.calls[0] = vec![calls(8.0)]);
    let text = text(&data);
    for words in [
        "Replayed with 2 copies: insert ",
        "200 timers are pending when the profile begins; the 200 operations until then are not timed.",
        "3 expiries before their deadline count as removals.",
        "4 cancels after the deadline do nothing",
        "idle wake-ups late by equal deadlines",
        "as they came",
        "any order",
        "structure call p50 p99 p99.9 p99.99 worst",
        "heap4/slab insert 8.0 16 24 32 40",
        "the slowest in so many",
    ] {
        assert!(text.contains(words), "'{words}' is not in {text}");
    }
}

/// A thousand timers are pending when the profile begins. The arms of these timers are not timed,
/// regardless of the number of copies.
#[test]
fn the_arms_at_the_start_of_a_profile_are_not_timed() {
    let words = "timers = 1000\nexpire = 10\ncancel = 90\ntouched_after_ms = 10\ndelays = [{ ms = 2000 }]";
    for (scale, pieces) in [("1", 1.0), ("2", 1.0)] {
        let data = replayed(words, &["--structures", "heap4/slab", "--scale", scale, "--tick", "1ms"]);
        let copies = u64::from(data.scale);
        assert_eq!(data.initial, 1000 * copies);
        // The second copy begins later, so some operations of the first copy precede it.
        let [inserts, _, removes, _] = data.untimed;
        assert!(inserts >= 1000 * copies && (scale == "1") == (removes == 0), "{:?}", data.untimed);
        let all: u64 = data.untimed.iter().sum();
        assert_eq!(data.timed(), (data.counts.operations() - all) as f64);
        assert!(data.timed() > 3000.0, "{}", data.timed());
        // The meter advances by 10 ns between two readings, so a piece takes 10 ns. The first piece
        // does not count.
        let row = &data.rows[0];
        assert!(row.total_ns.iter().all(|ns| *ns == 10.0 * pieces), "{:?}", row.total_ns);
    }
}

#[test]
fn copies_multiply_the_population_and_the_operations() {
    let one = "timers = 50\nexpire = 10\ncancel = 90\ndelays = [{ ms = 2000 }]";
    let [once, thrice] = ["1", "3"].map(|scale| {
        replayed(one, &["--structures", "heap4/slab", "--scale", scale, "--tick", "1ms"]).counts
    });
    assert_eq!(once.most, 50);
    assert!((149..=151).contains(&thrice.most), "{}", thrice.most);
    let removes = |counts: Counts| counts.kinds[2];
    assert_eq!(removes(thrice), 3 * removes(once));
}

#[test]
fn the_hash_of_a_replay_is_that_of_its_events_and_ticks() {
    let of = |words: &[&str]| {
        let args: ReplayArgs = request::words(&[&["sample:bind9"], words].concat()).unwrap();
        args.workload(&args.plan().unwrap())
    };
    let plain = of(&[]);
    assert_eq!(plain, of(&["--structures", "list/slab", "--rounds", "7"]), "how it is measured");
    for other in [["--tick", "1us"], ["--base", "!epoll"], ["--seed", "5"], ["--scale", "2"]] {
        assert_ne!(plain, of(&other), "{other:?}");
    }
    let piped = Input::File { path: "-".into(), bases: Vec::new(), most: u64::MAX };
    assert_eq!(piped.workload(None, &request::parameters([])), "", "nothing is known of a pipe");
}
