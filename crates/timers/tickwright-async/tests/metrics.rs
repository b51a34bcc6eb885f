//! Tests of reports as OpenMetrics text, which a strict parser reads back.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::ms;
use tickwright::metrics::{Measured, Metric, OpenMetrics};
use tickwright::scheduler::{Boxed, Next, Scheduler, Settings, Site, Timing};
use tickwright::shard::Shards;
use tickwright::time::VirtualHost;
use tickwright_async::TestClock;

/// The values of samples by name and labels, such as `a_total name=x,kind=y`.
type Samples = BTreeMap<String, f64>;

/// Splits the text `name="value",...} rest` into the labels and the rest.
fn labels(mut text: &str) -> (String, &str) {
    let mut found = String::new();
    loop {
        let (name, rest) = text.split_once("=\"").expect("a label");
        assert!(name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
        found += &format!("{name}=");
        let mut letters = rest.chars();
        while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
            found.push(match (letter == '\\').then(|| letters.next()) {
                None => letter,
                Some(Some('n')) => '\n',
                Some(Some(escaped @ ('\\' | '"'))) => escaped,
                Some(other) => panic!("an escape: {other:?}"),
            });
        }
        match letters.as_str().strip_prefix(',') {
            Some(more) => text = more,
            None => return (found, letters.as_str().strip_prefix("} ").expect("the end of the labels")),
        }
        found.push(',');
    }
}

/// Parses OpenMetrics text. Panics if the text violates the rules of the format.
fn parse(text: &str) -> Samples {
    let body = text.strip_suffix("# EOF\n").expect("the end");
    assert!(body.is_empty() || body.ends_with('\n'));
    let (mut families, mut samples) = (BTreeSet::new(), Samples::new());
    let (mut family, mut kind) = ("", "");
    let mut point: Option<Point> = None;
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            point.take().into_iter().for_each(Point::end);
            let [what, name, rest] = comment.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            match what {
                "TYPE" => {
                    assert!(families.insert(name), "all of {name} stands together");
                    (family, kind) = (name, rest);
                    assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
                }
                "UNIT" => assert!(name == family && name.ends_with(&format!("_{rest}")), "{line}"),
                "HELP" => assert!(name == family && !rest.contains(['\\', '"']), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').expect("labels");
        let (labels, value) = labels(rest);
        let value: f64 = value.parse().expect("a number");
        let suffix = name.strip_prefix(family).expect("a sample of its family");
        match (kind, suffix) {
            ("gauge", "") | ("counter", "_total") => {}
            ("histogram", "_bucket") => {
                let (labels, le) = labels.rsplit_once(",le=").expect("le is the last");
                let bound: f64 = le.parse().expect("a bound");
                match &point {
                    Some(point) if point.labels == labels => {
                        let is_next = point.bound < bound && point.value <= value;
                        assert!(is_next && !point.has_sum && !point.has_count, "{line}");
                    }
                    _ => point.take().into_iter().for_each(Point::end),
                }
                point = Some(Point { labels: labels.into(), bound, value, has_sum: false, has_count: false });
            }
            ("histogram", "_sum" | "_count") => {
                let point = point.as_mut().filter(|point| point.labels == labels).expect("its buckets");
                if suffix == "_sum" {
                    point.has_sum = true;
                } else {
                    assert_eq!(point.value, value, "{line}");
                    point.has_count = true;
                }
            }
            _ => panic!("{line}"),
        }
        assert!(value >= 0.0 && samples.insert(format!("{name} {labels}"), value).is_none(), "{line}");
    }
    point.take().into_iter().for_each(Point::end);
    samples
}

/// A histogram that is being read: its labels, and the bucket that was read last.
struct Point {
    labels: String,
    bound: f64,
    value: f64,
    has_sum: bool,
    has_count: bool,
}

impl Point {
    /// The last bucket must contain all values. According to OpenMetrics 1.0, a histogram has a
    /// count if and only if it has a sum.
    fn end(self) {
        assert_eq!(self.bound, f64::INFINITY, "{}: the last bucket", self.labels);
        assert_eq!(self.has_sum, self.has_count, "{}: a sum and a count", self.labels);
    }
}

#[test]
fn a_scheduler_shards_and_futures_are_read_back() {
    let host = VirtualHost::new();
    let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    // Equal texts at different addresses are different origins for a scheduler.
    let [first, second, _] =
        [(10, "a job"), (20, "a job"), (30, String::from("a job").leak())].map(|(delay, name)| {
            let site = Site { name, file: "f", line: 1 };
            scheduler.timer(Timing::after(ms(delay))).origin(site).add(Boxed::new(|_| Next::Done)).unwrap()
        });
    scheduler.start(first, Timing::after(ms(15))).unwrap();
    drop(scheduler.cancel(second));
    let kept = scheduler.keep(&Site::here("kept"), Boxed::new(|_| Next::Done)).unwrap();
    scheduler.start(kept, Timing::after(ms(40))).unwrap(); // It was idle: no re-arm.
    host.advance(ms(18));
    assert_eq!(scheduler.run_queue(), Ok(1), "3 ms late");

    let shards = Shards::new(1);
    let idle = shards.shard(0).unwrap().timer(|_| ());
    assert!([1000, 1001, 9000].iter().all(|at| idle.modify(*at).is_ok()));

    let clock = TestClock::new();
    let timers = clock.timers();
    let mut sleep = Box::pin(timers.sleep(ms(5)));
    assert!(!clock.is_ready(sleep.as_mut()));

    let all = OpenMetrics::default().with("jobs", &scheduler.report());
    let text = all.with("idle", &shards.statistics()).with("tasks", &timers.report()).to_string();
    let samples = parse(&text);
    for (sample, right) in [
        ("timers name=jobs,kind=scheduler", 2.0),
        ("timers_pending name=jobs,kind=scheduler", 2.0),
        ("timers_high_water name=jobs,kind=scheduler", 3.0),
        ("timers_armed_total name=jobs,kind=scheduler", 5.0),
        ("timers_rearmed_total name=jobs,kind=scheduler", 1.0),
        ("timers_fired_total name=jobs,kind=scheduler", 1.0),
        ("timers_cancelled_total name=jobs,kind=scheduler", 1.0),
        ("timer_site_added_total name=jobs,kind=scheduler,site=a job,file=f,line=1", 3.0),
        ("timer_site_fired_total name=jobs,kind=scheduler,site=a job,file=f,line=1", 1.0),
        ("timer_lateness_seconds_sum name=jobs,kind=scheduler", 0.003),
        ("timer_lateness_seconds_bucket name=jobs,kind=scheduler,le=0.002097151", 0.0),
        ("timer_lateness_seconds_bucket name=jobs,kind=scheduler,le=0.004194303", 1.0),
        ("timer_delay_seconds_bucket name=jobs,kind=scheduler,le=0.016777215", 2.0), // 10, 15
        ("timer_delay_seconds_bucket name=jobs,kind=scheduler,le=0.067108863", 5.0), // 20, 30, 40
        ("timers_pending name=idle,kind=shards", 1.0),
        ("timer_lateness_seconds_count name=idle,kind=shards", 0.0),
        ("timers_armed_total name=idle,kind=shards", 3.0),
        ("timers_rearmed_total name=idle,kind=shards", 2.0),
        ("timers_rearmed_in_place_total name=idle,kind=shards", 1.0),
        ("timer_delay_seconds_bucket name=idle,kind=shards,le=0.001048575", 2.0), // 1000, 9000 ns
        ("timers_pending name=tasks,kind=async", 1.0),
        ("timer_delay_seconds_bucket name=tasks,kind=async,le=0.004194303", 0.0),
        ("timer_delay_seconds_bucket name=tasks,kind=async,le=0.008388607", 1.0),
        ("timer_lateness_seconds_count name=tasks,kind=async", 0.0),
    ] {
        assert_eq!(samples.get(&format!("tickwright_{sample}")), Some(&right), "{sample}\n{text}");
    }
    // The parser must refuse a histogram in which one of these lines is missing.
    for gone in ["lateness_seconds_sum", "lateness_seconds_count", "le=\"+Inf\""] {
        let less: String =
            text.lines().filter(|line| !line.contains(gone)).map(|line| format!("{line}\n")).collect();
        assert!(std::panic::catch_unwind(|| parse(&less)).is_err(), "{gone}");
    }
}

#[test]
fn any_name_is_a_label_and_equal_ones_are_added_up() {
    struct Odd(u64);
    impl Measured for Odd {
        const KIND: &'static str = "odd\\\n\"";
        fn numbers(&self) -> Vec<(Metric, u64)> {
            vec![(Metric::Fired, self.0)]
        }
    }
    let names = ["", "\\", "\"", "a\nb\\n", "},\u{e9}=\"x\",y=\"", "\r \u{2028}"];
    let all =
        names.iter().fold(OpenMetrics::default(), |all, name| all.with(name, &Odd(1)).with(name, &Odd(2)));
    let right =
        names.map(|name| (format!("tickwright_timers_fired_total name={name},kind={}", Odd::KIND), 3.0));
    assert_eq!(parse(&all.to_string()), Samples::from(right));
    assert_eq!(parse(&OpenMetrics::default().to_string()), Samples::new());
}
