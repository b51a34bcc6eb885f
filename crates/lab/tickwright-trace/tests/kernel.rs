//! Tests of the import of a kernel's lines: each special case, and a whole trace if there is one.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Cursor};
use std::path::Path;

use tickwright_trace::import::kernel::{Kernel, Options, import};
use tickwright_trace::import::{Source, perfetto};
use tickwright_trace::{Describer, Event, Profile, Reader, Remark, TraceError, What};

const HZ: Options = Options { hz: Some(1000), of: String::new() };

/// Returns what the import found, the events of the trace, and the reader at its end.
fn imported(text: &str, options: &Options) -> (Kernel, Vec<Event>, Reader<Cursor<Vec<u8>>>) {
    let (file, found) = import(text.as_bytes(), options, Vec::new()).unwrap();
    let mut reader = Reader::new(Cursor::new(file)).unwrap();
    let events = reader.read_to_end().unwrap();
    assert_eq!(found.count.events, events.len() as u64);
    (found, events, reader)
}

fn refusal(text: &str, options: &Options) -> String {
    import(text.as_bytes(), options, Vec::new()).unwrap_err().to_string()
}

fn described(events: &[Event]) -> Profile {
    let mut describer = Describer::new(1_000_000);
    events.iter().for_each(|event| describer.push(event));
    describer.finish(&Default::default(), &Default::default())
}

/// Returns the time, the timer and the kind of each event, with the deadline in ms.
fn told(text: &str, options: &Options) -> Vec<(i64, u64, &'static str, Option<i64>)> {
    let (_, events, _) = imported(text, options);
    let told = |event: &Event| {
        let deadline = event.what.armed().map(|(deadline, _)| deadline / 1_000_000);
        (event.time / 1_000, event.timer, event.what.name(), deadline)
    };
    events.iter().map(told).collect()
}

/// Writes a line of ftrace at a time in us.
fn line(us: u32, rest: &str) -> String {
    format!("          <idle>-0       [001] ..s1... 100.{us:06}: {rest}\n")
}

/// `kernel.txt` has cases of lines, each with the expected events.
#[test]
fn lines_say_what_their_case_says() {
    let cases = include_str!("kernel.txt").split("\n== ").skip(1);
    assert_eq!(cases.clone().count(), 16);
    for case in cases {
        let (text, expected) = case.split_once("\n= ").unwrap();
        let mut lines = text.lines();
        let title = lines.next().unwrap();
        let lines = lines.map(|said| {
            let (at, rest) = said.split_once(' ').unwrap();
            let (us, cpu) = at.split_once('@').unwrap_or((at, "1"));
            line(us.parse().unwrap(), rest).replace("[001]", &format!("[{cpu:0>3}]"))
        });
        let event = |(us, timer, what, deadline): (i64, u64, &str, Option<i64>)| {
            format!("{us} {what} {timer}{}", deadline.map_or(String::new(), |ms| format!(" {ms}")))
        };
        let found: Vec<String> = told(&lines.collect::<String>(), &HZ).into_iter().map(event).collect();
        assert_eq!(found.join(", "), expected.trim_end(), "{title}");
    }
}

#[test]
fn losses_and_lines_that_are_cut_off_are_counted() {
    let start = "timer_start: timer=aa function=f expires=5010 [timeout=10] cpu=1";
    let text = [
        "# tracer: nop\n",
        "CPU:1 [LOST 77 EVENTS]\n",
        &line(1, start),
        "##### CPU 2 buffer started ####\n",
        &line(2, "timer_expire_entry: timer=aa function=f now=")[..],
        &line(3, "sched_switch: prev_comm=timer_start: next=1"),
        "\u{fffd}\0\n",
    ]
    .concat();
    let (Kernel { count, .. }, _, reader) = imported(&text, &HZ);
    assert_eq!((count.lines, count.unreadable, count.events), (7, 1, 1));
    assert_eq!(reader.lost()[0].count, 77);
}

#[test]
fn the_length_of_a_jiffy_is_found_or_asked_for() {
    let lines: Vec<_> = (0..600u64)
        .map(|tick| {
            let ns = tick * 1_000_000_000 / 250 + 100_000;
            let (seconds, us) = (ns / 1_000_000_000, ns / 1_000 % 1_000_000);
            let now = 4_294_900_000 + tick;
            format!(
                "a-1 [000] d... {seconds}.{us:06}: timer_start: timer=aa function=f expires={} [timeout=5]\n",
                now + 5
            )
        })
        .collect();
    let (_, events, reader) = imported(&lines.concat(), &Options::default());
    assert_eq!((reader.header().bases[0].tick_ns, events.len()), (4_000_000, 600));
    assert_eq!(events[9].what.armed().unwrap().0 - events[9].time, 20_000_000);
    let error = refusal(&lines[0], &Options::default());
    assert!(error.contains("--hz"), "{error}");
    let error = import(&b"nothing\nof the kind\n"[..], &Options::default(), Vec::new()).unwrap_err();
    assert!(matches!(error, TraceError::Line { line: 2, .. }), "{error}");
}

/// Tests ticks that no kernel has, and an impossible number of jiffies.
#[test]
fn hostile_ticks_are_refused() {
    let text = [
        "a-1 [000] d... 1.5: timer_expire_entry: timer=aa function=f now=0\n",
        "a-1 [000] d... 9.5: timer_expire_entry: timer=aa function=f now=18446744073709551615\n",
        "a-1 [000] d... 9.6: timer_start: timer=aa function=f expires=18446744073709551615 [timeout=0]\n",
    ]
    .concat();
    for hz in [None, Some(0)] {
        let options = Options { hz, ..Options::default() };
        let error = refusal(&text, &options);
        assert!(error.contains("--hz"), "{error}");
    }
    assert_eq!(imported(&text, &HZ).1.len(), 3);
}

/// The trace has a loss in the first line, and starts of `timer_list` only after seconds of other
/// lines.
#[test]
fn the_length_of_a_jiffy_is_waited_for() {
    let mut text = String::from("CPU:1 [LOST 77 EVENTS]\n");
    text += "a-1 [000] d... 90.0: hrtimer_expire_entry: hrtimer=bb function=g now=90000000000\n";
    text += "a-1 [000] d... 95.0: timer_cancel: timer=cc\n";
    for tick in 0..600u64 {
        let (ms, expires) = (100_000 + tick * 4, 4_294_900_005 + tick);
        let (s, ms) = (ms / 1_000, ms % 1_000);
        text += &format!(
            "a-1 [000] d... {s}.{ms:03}: timer_start: timer=aa function=f expires={expires} [timeout=5]\n"
        );
    }
    let (_, events, reader) = imported(&text, &Options::default());
    assert_eq!((reader.header().bases[0].tick_ns, reader.lost()[0].count), (4_000_000, 77));
    assert_eq!(events[2].what.armed().unwrap().0 - events[2].time, 20_000_000);
}

/// Tests an endless line, and a source without any line.
#[test]
fn a_gigantic_line_takes_little_memory() {
    let gigantic = std::io::Read::take(std::io::repeat(b'x'), 50_000_000);
    assert!(import(BufReader::new(gigantic), &HZ, Vec::new()).is_err());
    assert!(import(&b""[..], &HZ, Vec::new()).is_err());
    assert!(import(&b"CPU:1 [LOST 77 EVENTS]\n"[..], &HZ, Vec::new()).is_err());
}

/// Tests a trace of a machine that sends a file by scp. The project received this trace for checks;
/// the trace belongs to others, so we do not ship it.
#[test]
fn a_kernel_that_sends_a_file() {
    let Ok(path) = std::env::var("TICKWRIGHT_KERNEL_TRACE") else {
        eprintln!("skipped: TICKWRIGHT_KERNEL_TRACE names no file");
        return;
    };
    let text = std::fs::File::open(Path::new(&path)).unwrap();
    let (file, found) = import(BufReader::new(text), &Options::default(), Vec::new()).unwrap();
    let count = &found.count;
    assert_eq!((count.lines, count.unreadable), (110_771, 0));
    assert!(file.len() as u64 <= 8 * count.events, "{} bytes for {} events", file.len(), count.events);
    let mut reader = Reader::new(&file[..]).unwrap();
    let (mut kinds, mut pending, mut peak) = (HashMap::new(), HashSet::new(), 0);
    let events = reader.read_to_end().unwrap();
    assert!(events.is_sorted_by_key(|event| event.time));
    for event in events {
        *kinds.entry((event.base, event.what.name())).or_insert(0) += 1;
        match event.what {
            What::Arm { .. } | What::Rearm { .. } => pending.insert(event.timer),
            What::Cancel | What::Fire => pending.remove(&event.timer),
        };
        peak = peak.max(pending.len());
    }
    assert_eq!(reader.header().bases[0].tick_ns, 1_000_000_000 / 300);
    let of = |base: u8, what: &str| kinds.get(&(base, what)).copied().unwrap_or(0);
    assert_eq!(of(0, "arm") + of(0, "rearm"), 14_432);
    assert_eq!(of(1, "arm") + of(1, "rearm"), 6_958);
    assert_eq!(peak, 25);
    // These counts come from a script that only reads lines: it examines the line after each
    // cancellation of an address.
    let (wheel, tree) = (found.timer_list, found.hrtimer);
    assert_eq!((wheel.starts, wheel.restarts, wheel.expiries, wheel.cancels), (14_432, 47, 14_376, 6));
    assert_eq!((tree.starts, tree.restarts, tree.expiries, tree.cancels), (6_958, 43, 6_911, 3));
    // The 43 restarts of `hrtimer` came after an initialization, so they belong to another time-out
    // at the same address of a stack. Of the 47 restarts of `timer_list`, 14 also came after an
    // initialization, and 8 came half a second or more after the cancel.
    assert_eq!((of(0, "rearm"), of(1, "rearm")), (32, 0));
    let cancels = of(0, "cancel") + of(1, "cancel");
    assert_eq!(cancels, 47 + 6 - 32 + 43 + 3);
    assert!(cancels * 200 < 14_432 + 6_958, "{cancels} of all were cancelled");
    eprintln!("{kinds:?}, {} bytes an event", file.len() as f64 / count.events as f64);
}

#[test]
fn lines_of_other_options_are_refused_with_a_remedy() {
    let fields = "timer_start: { cpu_id = 0 }, { timer = 18446612132819818688, expires = 42, now = 39 }";
    for (text, remedy) in [
        (format!("[13:27:56.525092220] (+0.000002128) VM1 {fields}"), "--clock-seconds"),
        (
            "kworker/-31  3d.... 44012us : timer_start: timer=aa expires=5 [timeout=1]".into(),
            "latency-format",
        ),
        (line(0, "timer_cancel: timer=0000000000000000"), "kptr_restrict"),
    ] {
        let error = refusal(&text, &HZ);
        assert!(error.contains(remedy), "{error}");
    }
}

/// The trace has few timers, so no line of another timer comes between a cancel and the next start.
#[test]
fn a_start_long_after_a_cancel_is_no_rearm() {
    let start = "timer_start: timer=aa function=f expires=5010 [timeout=10] cpu=1";
    let lines = |gap: u32| -> String {
        let round = |at: u32| line(at * gap, start) + &line(at * gap + 100, "timer_cancel: timer=aa");
        (0..20).map(round).collect()
    };
    let count = |text: &str, kind: &str| {
        told(text, &HZ).iter().filter(|&&(_, timer, what, _)| timer == 1 && what == kind).count()
    };
    let sparse = lines(40_000);
    assert_eq!((count(&sparse, "arm"), count(&sparse, "rearm"), count(&sparse, "cancel")), (20, 0, 20));
    let dense = lines(10_000);
    assert_eq!((count(&dense, "arm"), count(&dense, "rearm"), count(&dense, "cancel")), (1, 19, 1));
}

/// The counts depend only on the lines: the line after each cancel of an address decides.
#[test]
fn lines_are_counted_by_the_line_after_each_cancel() {
    let start = "timer_start: timer=aa function=f expires=5010 [timeout=10] cpu=1";
    let cancel = "timer_cancel: timer=aa";
    let expire = "timer_expire_entry: timer=aa function=f now=5010 baseclk=5010";
    let counts = |lines: &[&str]| {
        let text: String = (0..).zip(lines).map(|(at, rest)| line(at * 50_000, rest)).collect();
        let Kernel { timer_list: lines, hrtimer, .. } = imported(&text, &HZ).0;
        assert_eq!(hrtimer, Default::default());
        (lines.starts, lines.restarts, lines.expiries, lines.cancels)
    };
    assert_eq!(counts(&[start]), (1, 0, 0, 0));
    assert_eq!(counts(&[start, cancel]), (1, 0, 0, 1));
    assert_eq!(counts(&[start, cancel, start]), (2, 1, 0, 0));
    assert_eq!(counts(&[start, cancel, expire]), (1, 0, 1, 0));
    assert_eq!(counts(&[start, cancel, cancel, start, start]), (3, 1, 0, 1));
    assert_eq!(counts(&[start, cancel, expire, start, cancel]), (2, 0, 1, 1));
    assert_eq!(counts(&[start, cancel, "timer_init: timer=aa", start]), (2, 1, 0, 0));
    let other = "timer_cancel: timer=bb";
    assert_eq!(counts(&[start, cancel, other, start]), (2, 1, 0, 1));
    let tree = line(0, "hrtimer_start: hrtimer=aa function=f expires=9000 softexpires=9000 mode=ABS")
        + &line(1, "hrtimer_cancel: hrtimer=aa")
        + &line(2, "hrtimer_expire_entry: hrtimer=aa function=f now=9000");
    let lines = imported(&tree, &HZ).0.hrtimer;
    assert_eq!((lines.starts, lines.restarts, lines.expiries, lines.cancels), (1, 0, 1, 0));
}

/// A recorder writes the buffer of one processor after the buffer of another.
#[test]
fn buffers_one_after_another_are_merged_by_time() {
    let on = |cpu: u32, ms: u32, rest: &str| {
        format!("a-{cpu} [{cpu:03}] d..1. {}.{:03}000: {rest}\n", 100 + ms / 1000, ms % 1000)
    };
    let start = |timer: &str, now: u32, after: u32| {
        format!("timer_start: timer={timer} function=f expires={} [timeout={after}]", now + after)
    };
    let first = [on(0, 0, &start("aa", 5000, 2500)), on(0, 2500, "timer_cancel: timer=aa")];
    let other = [
        on(1, 100, &start("bb", 5100, 200)),
        on(1, 200, "timer_cancel: timer=bb"),
        "CPU:1 [LOST 9 EVENTS]\n".to_owned(),
        on(1, 1900, &start("bb", 6900, 200)),
    ];
    let expected = [
        (0, 1, "arm", Some(2500)),
        (100_000, 2, "arm", Some(300)),
        (200_000, 2, "cancel", None),
        (1_900_000, 2, "arm", Some(2100)),
        (2_500_000, 1, "cancel", None),
    ];
    for text in [[first.concat(), other.concat()], [other.concat(), first.concat()]] {
        let text = text.concat();
        assert_eq!(told(&text, &HZ), expected);
        let (found, _, reader) = imported(&text, &HZ);
        assert_eq!((found.late, reader.lost()[0].time), (0, 200_000_000));
    }
}

/// More than 2^20 lines come between a line and its place.
#[test]
fn a_line_that_comes_too_late_is_counted() {
    let mut text = String::new();
    for tick in 0..(1_u64 << 20) + 3 {
        let (seconds, us) = (tick / 1_000_000 + 100, tick % 1_000_000);
        text += &format!("a-1 [000] d. {seconds}.{us:06}: timer_cancel: timer=aa\n");
    }
    let early = "a-1 [000] d. 100.000000: timer_cancel: timer=bb\n";
    let (found, _, reader) = imported(&(text.clone() + early), &HZ);
    assert_eq!((found.late, found.count.events), (1, (1 << 20) + 4));
    assert!(reader.remarks()[0].to_string().starts_with("1 lines came a million lines too late"));
    assert_eq!(imported(&(early.to_owned() + &text), &HZ).0.late, 0);
}

/// The clock of the timers loses 5 us per second against the clock of the trace.
#[test]
fn a_clock_that_drifts_does_not_change_the_delays() {
    let mut text = String::new();
    for round in 0..200_u64 {
        let (s, now) = (500 + round * 20, 499_000_000_000 + round * 20 * 999_995_000);
        let (due, seen) = (now + 10_000_000, now + 10_050_000);
        text += &format!(
            "a-7 [000] d..1. {s}.000000: hrtimer_start: hrtimer=aa function=f expires={due} softexpires={due}\n\
             a-7 [000] d.h1. {s}.010050: hrtimer_expire_entry: hrtimer=aa function=f now={seen}\n"
        );
    }
    let (_, events, _) = imported(&text, &HZ);
    let delays = described(&events).delays;
    assert_eq!((delays.count, delays.distinct, delays.p1, delays.max), (200, 1, delays.p99, 10_000_000));
}

/// The deadlines of three timers: an expiry shows the first clock, and no line shows the second.
/// The third timer must never expire.
#[test]
fn a_deadline_on_a_clock_that_no_line_shows_is_unknown() {
    let start = |at: &str, timer: &str, due: u64| {
        let fields = format!("hrtimer={timer} function=f expires={due} softexpires={due} mode=ABS");
        format!("a-7 [000] d..1. {at}: hrtimer_start: {fields}\n")
    };
    let shown = start("500.0", "aa", 499_100_000_000)
        + "a-7 [000] d.h1. 500.1: hrtimer_expire_entry: hrtimer=aa function=f now=499100000000\n";
    let wall = start("500.2", "bb", 1_764_252_560_200_000_000);
    let never = start("500.3", "cc", i64::MAX.cast_unsigned());
    let text = shown.clone() + &wall + &never;
    let (found, events, reader) = imported(&text, &HZ);
    assert_eq!(found.unknown, 2);
    assert_eq!(reader.remarks(), [Remark { count: 2, words: Remark::UNKNOWN_DELAYS.into() }]);
    let deadlines: Vec<_> = events.iter().map(|event| event.what.deadline()).collect();
    assert_eq!(deadlines, [Some(100_000_000), None, None, None]);
    let profile = described(&events);
    assert_eq!((profile.unknown_delays, profile.delays.count, profile.arms), (2, 1, 3));
    assert_eq!((profile.delays.max, profile.late_ns.count), (100_000_000, 1));
    // An expiry of another timer shows the wall clock, a minute earlier.
    let other =
        "a-7 [000] d.h1. 500.1: hrtimer_expire_entry: hrtimer=dd function=g now=1764252500100000000\n";
    let text = shown + other + &wall;
    assert_eq!(imported(&text, &HZ).0.unknown, 0);
    assert_eq!(told(&text, &HZ)[3], (200_000, 3, "arm", Some(60_200)));
    // This trace has no expiry.
    assert_eq!(imported(&wall, &HZ).0.unknown, 1);
}

/// The machine slept for a minute, so that two of its clocks are a minute apart.
#[test]
fn the_clock_that_a_timer_names_is_used() {
    let delay = |clock: &str| {
        let init = |timer: &str, clock: &str| {
            line(0, &format!("hrtimer_init: hrtimer={timer} clockid={clock} mode=ABS"))
        };
        let expire = |timer: &str, now: u64| {
            line(1, &format!("hrtimer_expire_entry: hrtimer={timer} function=f now={now}"))
        };
        let text = init("aa", "CLOCK_MONOTONIC")
            + &init("bb", "CLOCK_BOOTTIME")
            + &init("cc", clock)
            + &expire("aa", 40_000_000_000)
            + &expire("bb", 100_000_000_000)
            + &line(1, "hrtimer_start: hrtimer=cc function=f expires=101000000000 softexpires=0 mode=ABS");
        told(&text, &HZ)[2].3.unwrap()
    };
    assert_eq!([delay("CLOCK_BOOTTIME"), delay("7"), delay("CLOCK_OTHER")], [1_000; 3]);
    assert_eq!([delay("CLOCK_MONOTONIC"), delay("1")], [61_000; 2]);
    // After the expiry of a timer that names its clock, another timer uses the address.
    let start = "hrtimer_start: hrtimer=aa function=g expires=101000000000 softexpires=0 mode=ABS";
    let text = line(0, "hrtimer_init: hrtimer=aa clockid=CLOCK_MONOTONIC mode=ABS")
        + &line(0, "hrtimer_start: hrtimer=aa function=f expires=40000000000 softexpires=0 mode=ABS")
        + &line(1, "hrtimer_expire_entry: hrtimer=aa function=f now=40000000000")
        + &line(1, "hrtimer_expire_entry: hrtimer=bb function=f now=100000000000")
        + &line(1, start);
    assert_eq!(told(&text, &HZ)[3].3, Some(1_000));
}

/// Tests the output of the recipe for a static program, which has the timers of the program
/// `ticker` among others.
#[test]
fn a_program_that_no_library_sees_is_in_the_trace_of_the_kernel() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/perf-script.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, events, reader) = imported(&text, &Options::default());
    let of = |function: &str, what: &str| {
        let site = reader.sites().iter().find(|(_, name)| *name == function).unwrap().0;
        let thread = reader.threads().iter().find(|(_, name)| *name == "ticker  2403").unwrap().0;
        let is_armed = |timer| {
            events.iter().any(|event| {
                (event.timer, event.site, event.thread) == (timer, site, thread)
                    && event.what.armed().is_some()
            })
        };
        let all = events.iter().filter(|event| event.what.name() == what && is_armed(event.timer));
        all.map(|event| event.what.deadline().map(|at| (at - event.time) / 100_000)).collect::<Vec<_>>()
    };
    // Delays in units of 0.1 ms. After a new set-up, a moved timer counts as another timer.
    assert_eq!(of("timerfd_tmrproc", "arm"), [Some(29), Some(29), Some(30), Some(30), Some(29)]);
    assert_eq!((of("timerfd_tmrproc", "cancel").len(), of("timerfd_tmrproc", "fire").len()), (2, 3));
    assert_eq!(of("hrtimer_wakeup", "arm"), [Some(5), Some(5), Some(20)], "two sleeps and the poll");
}

/// `perf-script.pftrace` was made from `perf-script.txt` with the schema of Perfetto.
#[test]
fn a_trace_of_perfetto_has_the_figures_of_its_text() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let text = std::fs::read_to_string(samples.join("perf-script.txt")).unwrap();
    let bytes = std::fs::read(samples.join("perf-script.pftrace")).unwrap();
    assert_eq!(Source::guess(&bytes), Ok(Source::Perfetto));
    let (file, found) = perfetto::import(&bytes[..], &Options::default(), Vec::new()).unwrap();
    let mut events = Reader::new(&file[..]).unwrap().read_to_end().unwrap();
    let (mut in_text, mut of_text, reader) = imported(&text, &Options::default());
    in_text.count.lines = 0;
    assert_eq!(found, in_text);
    // Within a microsecond, the text has the events of the processors in any order.
    events.sort_by_key(|event| (event.time, event.cpu));
    of_text.sort_by_key(|event| (event.time, event.cpu));
    assert_eq!(events, of_text);
    let described = |events: &[Event]| {
        let mut describer = Describer::new(1_000_000);
        events.iter().for_each(|event| describer.push(event));
        describer.finish(reader.threads(), reader.sites())
    };
    assert_eq!(described(&events), described(&of_text));
}
