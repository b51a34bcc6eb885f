use core::time::Duration;

use tickwright_core::{
    CoarseWheel, DefaultQueue, HookQueue, SlabQueue, SortedList, Timer, TimerQueue, Wheel,
};

use super::{Counted, Measured, OpenMetrics, QueueReport};
use crate::scheduler::{Report, Settings, Site, SiteCounts, Statistics, TimerSet, Timing};
use crate::shard::ShardStatistics;
use crate::time::{Lateness, Ticks, VirtualHost};

/// The expected counts, which the test computes independently of the wrapper.
#[derive(Debug, Default, PartialEq, Eq)]
struct Right {
    pending: usize,
    high_water: usize,
    armed: u64,
    rearmed: u64,
    fired: u64,
    cancelled: u64,
}

impl Right {
    fn arm(&mut self) {
        self.armed += 1;
        self.pending += 1;
        self.high_water = self.high_water.max(self.pending);
    }

    fn cancel(&mut self, cancelled: usize) {
        self.pending -= cancelled;
        self.cancelled += cancelled as u64;
    }

    fn fire(&mut self, fired: usize) {
        self.pending -= fired;
        self.fired += fired as u64;
    }
}

/// Runs random operations on the queue. A third of the operations use keys that can be stale.
fn run<Q: TimerQueue<Value = u64>>(queue: Q, seed: u64) {
    let mut queue = Counted::new(queue, Ticks::MILLISECOND);
    let (mut right, mut keys, mut now, mut random) = (Right::default(), Vec::new(), 0, seed);
    for _ in 0..2000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (what, delay) = (random % 16, (random >> 8) % 300);
        let any = |keys: &[Q::Key]| keys.iter().rev().nth((random >> 20) as usize % 40).copied();
        match what {
            0..6 => {
                keys.push(queue.insert_at(now + delay, delay, now).unwrap());
                right.arm();
            }
            6..9 => {
                let moved = any(&keys).is_some_and(|key| queue.reschedule_at(key, now + delay, now).is_ok());
                right.armed += u64::from(moved);
                right.rearmed += u64::from(moved);
            }
            9..11 => {
                right.cancel(usize::from(any(&keys).is_some_and(|key| queue.remove(key).is_ok())));
            }
            11 => {
                now += delay / 8;
                right.fire(queue.advance(now, |_| ()));
            }
            12 => {
                now += delay / 16;
                right.fire(queue.advance_within(now, 2, |_| ()).delivered);
            }
            13 => {
                now += delay / 16;
                right.fire(usize::from(queue.pop_expired(now).is_some()));
            }
            14 => {
                now += delay / 16;
                if queue.pop_and_reinsert(now, |_, _| now + delay).is_some() {
                    right.fire(1);
                    right.arm();
                }
            }
            _ if random >> 32 & 7 == 0 => {
                queue.clear();
                right.cancel(right.pending);
            }
            _ => {}
        }
        let QueueReport { pending, high_water, armed, rearmed, fired, cancelled, .. } = queue.report();
        assert_eq!(Right { pending, high_water, armed, rearmed, fired, cancelled }, right);
        assert_eq!(armed, rearmed + fired + cancelled + pending as u64);
    }
    assert!(right.fired > 100 && right.rearmed > 50 && right.cancelled > 50, "{right:?}");
    queue.check().unwrap();
    assert_eq!(queue.into_inner().len(), right.pending);
}

#[test]
fn counts_are_right_for_each_kind_of_queue() {
    for seed in 1..5 {
        run(DefaultQueue::new(), seed);
        run(SlabQueue::<Wheel, u64>::new(), seed);
        run(SlabQueue::<CoarseWheel, u64>::new(), seed);
    }
}

#[test]
fn delays_and_latenesses_are_in_time() {
    let (timer, other) = (Timer::new("first"), Timer::new("second"));
    let queue: HookQueue<'_, SortedList, &str> = HookQueue::new();
    let mut queue = Counted::new(queue, Ticks::of(1000));
    queue.insert_at(30, &timer, 10).unwrap();
    let delays = |report: QueueReport| {
        report.delays.buckets().map(|(last, n)| (last.as_nanos(), n)).collect::<Vec<_>>()
    };
    assert_eq!(delays(queue.report()), [(32767, 1)], "20 us");
    let moved = queue.insert_at(70, &other, 10).unwrap();
    queue.reschedule_at(moved, 16, 15).unwrap();
    assert_eq!(delays(queue.report()), [(1023, 1), (32767, 1), (65535, 1)], "1 us, 20 us, 60 us");
    assert_eq!(queue.advance(37, |_| ()), 2);
    let lateness = queue.report().lateness;
    assert_eq!((lateness.max().as_micros(), lateness.mean().as_micros()), (21, 14), "21 and 7");
}

/// Returns a report for the tests of the exporters, with a delay of 2 s, a lateness of 3 ms and one
/// pending timer.
fn report() -> QueueReport {
    let mut queue = Counted::new(DefaultQueue::new(), Ticks::MILLISECOND);
    for deadline in [2000, 2100] {
        queue.insert(deadline, 0).unwrap();
    }
    assert!(queue.pop_expired(2003).is_some());
    queue.report()
}

#[test]
fn a_queue_has_two_histograms_in_its_text() {
    let text = OpenMetrics::default().with("q", &report()).to_string();
    let labels = "{name=\"q\",kind=\"queue\"";
    for line in [
        format!("tickwright_timers_pending{labels}}} 1"),
        format!("tickwright_timers_high_water{labels}}} 2"),
        format!("tickwright_timer_lateness_seconds_bucket{labels},le=\"0.002097151\"}} 0"),
        format!("tickwright_timer_lateness_seconds_bucket{labels},le=\"0.004194303\"}} 1"),
        format!("tickwright_timer_lateness_seconds_sum{labels}}} 0.003000000"),
        format!("tickwright_timer_delay_seconds_bucket{labels},le=\"1.073741823\"}} 0"),
        format!("tickwright_timer_delay_seconds_bucket{labels},le=\"2.147483647\"}} 2"),
        format!("tickwright_timer_delay_seconds_bucket{labels},le=\"140737.488355327\"}} 2"),
        format!("tickwright_timer_delay_seconds_bucket{labels},le=\"+Inf\"}} 2"),
        String::from("# UNIT tickwright_timer_delay_seconds seconds"),
    ] {
        assert!(text.lines().any(|own| own == line), "{line}\n{text}");
    }
}

/// The numbers of a report by their names in the text, less those of the histograms.
fn numbers(report: &impl Measured) -> Vec<(String, u64)> {
    let text = OpenMetrics::default().with("", report).to_string();
    let samples = text.lines().filter_map(|line| line.strip_prefix("tickwright_timer")?.split_once('{'));
    let samples = samples.filter(|(name, _)| !name.contains("_seconds"));
    samples.map(|(name, rest)| (name.to_owned(), rest.rsplit_once(' ').unwrap().1.parse().unwrap())).collect()
}

/// Fields with values that differ: none stands for another, and none is left out.
#[test]
fn each_number_of_a_report_has_its_name() {
    let named =
        |right: &[(&str, u64)]| right.iter().map(|&(name, n)| (name.to_owned(), n)).collect::<Vec<_>>();

    let set: TimerSet<()> = TimerSet::new(Settings::new());
    let statistics = Statistics {
        timers: 1,
        pending: 2,
        high_water: 3,
        armed: 4,
        rearmed: 5,
        fired: 6,
        cancelled: 7,
        overruns: 8,
        passes: 50,
        steps: 51,
        ..set.statistics()
    };
    let site =
        |name| SiteCounts { site: Site { name, file: "", line: 0 }, added: 11, fired: 12, panicked: 13 };
    let right = [
        ("s", 1),
        ("s_pending", 2),
        ("s_high_water", 3),
        ("s_armed_total", 4),
        ("s_rearmed_total", 5),
        ("s_fired_total", 6),
        ("s_cancelled_total", 7),
        ("_overruns_total", 8),
        ("_panics_total", 26),
        ("_site_added_total", 11),
        ("_site_added_total", 11),
        ("_site_fired_total", 12),
        ("_site_fired_total", 12),
        ("_site_panics_total", 13),
        ("_site_panics_total", 13),
    ];
    assert_eq!(numbers(&Report { statistics, sites: vec![site("a"), site("b")] }), named(&right));

    let mut lateness = Lateness::new();
    (0..1024).for_each(|ns| lateness.note(ns));
    let shards = ShardStatistics {
        matched: 1,
        requeued: 2,
        started: 4,
        refused: 8,
        no_op: 16,
        locks: 32,
        lost_races: 64,
        pending: 128,
        high_water: 256,
        cancelled: 512,
        lateness,
        ..ShardStatistics::default()
    };
    let right = [
        ("s_pending", 128),
        ("s_high_water", 256),
        ("s_armed_total", 7),
        ("s_rearmed_total", 3),
        ("s_fired_total", 1024),
        ("s_cancelled_total", 512),
        ("_locks_total", 32),
        ("s_rearmed_in_place_total", 1),
    ];
    assert_eq!(numbers(&shards), named(&right));

    let queue =
        QueueReport { pending: 1, high_water: 2, armed: 3, rearmed: 4, fired: 5, cancelled: 6, ..report() };
    let right = [
        ("s_pending", 1),
        ("s_high_water", 2),
        ("s_armed_total", 3),
        ("s_rearmed_total", 4),
        ("s_fired_total", 5),
        ("s_cancelled_total", 6),
    ];
    assert_eq!(numbers(&queue), named(&right));
}

/// Both an `add` and a later `start`, which moves the timer, count as arming calls, each with its
/// own delay.
#[test]
fn a_scheduler_counts_each_arming_call() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let after = |ms| Timing::after(Duration::from_millis(ms));
    let id = set.add(after(1), &Site::here("x"), ()).unwrap();
    let counts = |set: &TimerSet<()>| {
        let Statistics { armed, rearmed, delays, .. } = set.statistics();
        (armed, rearmed, delays.buckets().map(|(last, n)| (last.as_nanos(), n)).collect::<Vec<_>>())
    };
    assert_eq!(counts(&set), (1, 0, vec![((1 << 20) - 1, 1)]), "1 ms");
    set.start(id, after(100)).unwrap();
    assert_eq!(counts(&set), (2, 1, vec![((1 << 20) - 1, 1), ((1 << 27) - 1, 1)]), "1 ms, 100 ms");
}

/// Every metric that the dashboard queries exists in the text.
#[test]
fn the_dashboard_has_the_names_of_the_text() {
    let scheduler = crate::scheduler::Scheduler::<crate::scheduler::Boxed>::new(Default::default());
    let text = OpenMetrics::default().with("jobs", &scheduler.report()).to_string();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/dashboard.json");
    let dashboard = std::fs::read_to_string(root).unwrap();
    let mut asked = 0;
    for rest in dashboard.split("tickwright_").skip(1) {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap();
        let name = format!("tickwright_{}", &rest[..end]);
        assert!(text.lines().any(|line| line.split('{').next() == Some(&name)), "{name}\n{text}");
        asked += 1;
    }
    assert_eq!(asked, 12);
}

#[cfg(feature = "metrics-facade")]
mod facade {
    use core::time::Duration;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use ::metrics::{
        Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
        with_local_recorder,
    };

    use super::report;
    use crate::metrics::{OpenMetrics, publish};
    use crate::scheduler::{Boxed, Scheduler, Settings};
    use crate::shard::Shards;
    use crate::time::VirtualHost;

    /// Stores values by name and labels, written as in OpenMetrics, and the descriptions.
    #[derive(Default)]
    struct Kept {
        values: Arc<Mutex<BTreeMap<String, f64>>>,
        helps: Mutex<BTreeMap<String, String>>,
    }

    struct Cell {
        name: String,
        values: Arc<Mutex<BTreeMap<String, f64>>>,
    }

    impl Cell {
        fn put(&self, value: f64) {
            self.values.lock().unwrap().insert(self.name.clone(), value);
        }
    }

    impl CounterFn for Cell {
        fn increment(&self, _: u64) {
            panic!("a counter that is not set");
        }
        fn absolute(&self, value: u64) {
            self.put(value as f64);
        }
    }

    impl GaugeFn for Cell {
        fn increment(&self, _: f64) {
            panic!("a gauge that is not set");
        }
        fn decrement(&self, _: f64) {
            panic!("a gauge that is not set");
        }
        fn set(&self, value: f64) {
            self.put(value);
        }
    }

    impl Kept {
        fn cell(&self, key: &Key) -> Arc<Cell> {
            let labels: Vec<String> =
                key.labels().map(|label| format!("{}=\"{}\"", label.key(), label.value())).collect();
            let name = format!("{}{{{}}}", key.name(), labels.join(","));
            Arc::new(Cell { name, values: Arc::clone(&self.values) })
        }

        fn describe(&self, name: &KeyName, help: &SharedString) {
            self.helps.lock().unwrap().insert(name.as_str().to_owned(), help.to_string());
        }
    }

    impl Recorder for Kept {
        fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
            self.describe(&name, &help);
        }
        fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
            self.describe(&name, &help);
        }
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
            panic!("no histogram");
        }
        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            assert!(["_total", "_bucket", "_count"].iter().any(|end| key.name().ends_with(end)), "{key}");
            Counter::from_arc(self.cell(key))
        }
        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(self.cell(key))
        }
        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            panic!("no histogram");
        }
    }

    #[test]
    fn both_exporters_have_the_same_samples() {
        let host = VirtualHost::new();
        let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
        scheduler.add(Duration::from_secs(1), Boxed::once(|_| ())).unwrap();
        scheduler.add(Duration::from_secs(9), Boxed::once(|_| ())).unwrap();
        host.advance(Duration::from_secs(2));
        assert_eq!(scheduler.run_queue(), Ok(1));

        let shards = Shards::new(1);
        shards.shard(0).unwrap().timer(|_| ()).add(5_000_000).unwrap();

        let kept = Kept::default();
        with_local_recorder(&kept, || {
            publish("jobs", &scheduler.report());
            publish("q", &report());
            publish("idle", &shards.statistics());
        });
        let all = OpenMetrics::default().with("jobs", &scheduler.report()).with("q", &report());
        let text = all.with("idle", &shards.statistics()).to_string();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples: BTreeMap<String, f64> = samples
            .map(|line| line.rsplit_once(' ').unwrap())
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect();
        assert!(samples.len() > 100 && samples.values().any(|value| *value == 1.0));
        let delay = r#"tickwright_timer_delay_seconds_bucket{name="idle",kind="shards",le="0.008388607"}"#;
        assert_eq!(samples[delay], 1.0, "5 ms in ticks of 1 ns");
        assert_eq!(*kept.values.lock().unwrap(), samples);
        let helps = kept.helps.lock().unwrap();
        assert_eq!(helps["tickwright_timers_fired_total"], "Runs of timers");
        assert_eq!(helps["tickwright_timers_pending"], "Timers that are pending");
    }
}
