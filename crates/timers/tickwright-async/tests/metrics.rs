//! Counts as OpenMetrics text, which a strict parser reads back.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::ms;
use tickwright::metrics::{Measured, Metric, OpenMetrics};
use tickwright::scheduler::{Boxed, Next, Scheduler, Settings, Site, Timing};
use tickwright::shard::Shards;
use tickwright::time::VirtualHost;
use tickwright_async::TestClock;

type Labels = Vec<(String, String)>;
type Samples = BTreeMap<(String, Labels), f64>;

/// Splits `name="value",...} rest`: the labels, and the rest.
fn labels(mut text: &str) -> (Labels, &str) {
    let mut found = Labels::new();
    loop {
        let (name, rest) = text.split_once("=\"").expect("a label");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
        let (mut value, mut letters) = (String::new(), rest.chars());
        while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
            value.push(match (letter == '\\').then(|| letters.next()) {
                None => letter,
                Some(Some('n')) => '\n',
                Some(Some(escaped @ ('\\' | '"'))) => escaped,
                Some(other) => panic!("an escape: {other:?}"),
            });
        }
        found.push((name.to_owned(), value));
        match letters.as_str() {
            more if more.starts_with(',') => text = &more[1..],
            end => return (found, end.strip_prefix("} ").expect("the end of the labels")),
        }
    }
}

/// Panics unless the text keeps the rules of OpenMetrics.
fn parse(text: &str) -> Samples {
    let body = text.strip_suffix("# EOF\n").expect("the end");
    assert!(body.is_empty() || body.ends_with('\n'));
    let (mut families, mut samples) = (BTreeSet::new(), Samples::new());
    let (mut family, mut kind) = ("", "");
    let mut bucket: Option<(Labels, f64, f64)> = None;
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            assert_eq!(bucket, None, "the buckets have a count");
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
        let (mut labels, value) = labels(rest);
        let value: f64 = value.parse().expect("a number");
        let suffix = name.strip_prefix(family).expect("a sample of its family");
        match (kind, suffix) {
            ("gauge", "") | ("counter", "_total") | ("histogram", "_sum") => {}
            ("histogram", "_bucket") => {
                let (_, le) = labels.pop().filter(|(name, _)| name == "le").expect("le is the last");
                let bound: f64 = le.parse().expect("a bound");
                if let Some((of, last, count)) = &bucket {
                    assert!(*of == labels && *last < bound && *count <= value, "{line}");
                }
                bucket = Some((labels.clone(), bound, value));
                labels.push(("le".to_owned(), le));
            }
            ("histogram", "_count") => {
                assert_eq!(bucket.take(), Some((labels.clone(), f64::INFINITY, value)), "{line}");
            }
            _ => panic!("{line}"),
        }
        assert!(value >= 0.0 && samples.insert((name.to_owned(), labels), value).is_none(), "{line}");
    }
    samples
}

/// The values of the samples that have these labels, and maybe others.
fn get(samples: &Samples, name: &str, wanted: &[(&str, &str)]) -> Vec<f64> {
    let has =
        |labels: &Labels, (name, value): &(&str, &str)| labels.iter().any(|(n, v)| n == name && v == value);
    let all = |labels: &Labels| wanted.iter().all(|label| has(labels, label));
    let found = samples.iter().filter(|((n, l), _)| n.strip_prefix("tickwright_") == Some(name) && all(l));
    found.map(|(_, value)| *value).collect()
}

#[test]
fn a_scheduler_shards_and_futures_are_read_back() {
    let host = VirtualHost::new();
    let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    // Equal texts at two addresses are two origins of a scheduler.
    let [first, second, _] =
        [(10, "a job"), (20, "a job"), (30, String::from("a job").leak())].map(|(delay, name)| {
            let site = Site { name, file: "f", line: 1 };
            scheduler.timer(Timing::after(ms(delay))).origin(site).add(Boxed::new(|_| Next::Done)).unwrap()
        });
    scheduler.start(first, Timing::after(ms(15))).unwrap();
    drop(scheduler.cancel(second));
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
    for (labels, name, right) in [
        ("name=jobs,kind=scheduler", "timers", 1.0),
        ("name=jobs", "timers_pending", 1.0),
        ("name=jobs", "timers_high_water", 3.0),
        ("name=jobs", "timers_armed_total", 4.0),
        ("name=jobs", "timers_rearmed_total", 1.0),
        ("name=jobs", "timers_fired_total", 1.0),
        ("name=jobs", "timers_cancelled_total", 1.0),
        ("name=jobs,site=a job,file=f,line=1", "timer_site_added_total", 3.0),
        ("name=jobs,site=a job", "timer_site_fired_total", 1.0),
        ("name=jobs", "timer_lateness_seconds_sum", 0.003),
        ("name=jobs,le=0.002097151", "timer_lateness_seconds_bucket", 0.0),
        ("name=jobs,le=0.004194303", "timer_lateness_seconds_bucket", 1.0),
        ("name=idle,kind=shards", "timers_armed_total", 3.0),
        ("name=idle", "timers_rearmed_total", 2.0),
        ("name=idle", "timers_rearmed_in_place_total", 1.0),
        ("name=tasks,kind=async", "timers_pending", 1.0),
        ("name=tasks", "timer_lateness_seconds_count", 0.0),
    ] {
        let labels: Vec<_> = labels.split(',').filter_map(|label| label.split_once('=')).collect();
        assert_eq!(get(&samples, name, &labels), [right], "{name}\n{text}");
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
    let samples = parse(&all.to_string());
    assert_eq!(samples.len(), names.len());
    for name in names {
        let labels = [("name", name), ("kind", Odd::KIND)];
        assert_eq!(get(&samples, "timers_fired_total", &labels), [3.0], "{name:?}");
    }
    assert_eq!(parse(&OpenMetrics::default().to_string()), Samples::new());
}
