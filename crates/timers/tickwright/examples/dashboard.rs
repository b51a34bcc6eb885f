//! Simulates five minutes of a server in virtual time, and reads its metrics each second as
//! Prometheus does. Writes a result file with the four panels of a dashboard:
//!
//! ```text
//! cargo run -p tickwright --features metrics --example dashboard > dashboard.json
//! tickwright show dashboard.json --svg=docs/pictures/dashboard.svg
//! ```
//!
//! Each connection has an idle time-out of 5 s, which each message moves, and 5 jobs run ten times
//! per second. After 100 s, 2000 more connections come at once and stay silent. After 200 s, the
//! process is stopped for 2 s. From 250 s to 260 s, the callback of every second time-out panics.

use core::cell::Cell;
use core::fmt::Write;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, set_hook};
use std::rc::Rc;

use tickwright::metrics::OpenMetrics;
use tickwright::scheduler::{
    Boxed, Local, LocalScheduler, Missed, Next, Refused, Scheduler, Settings, TimerId, Timing,
};
use tickwright::time::VirtualHost;

const SECONDS: u64 = 300;
const IDLE: Duration = Duration::from_secs(5);

/// Xorshift, after Marsaglia 2003.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

struct Server {
    host: VirtualHost,
    scheduler: LocalScheduler<Boxed<Local>>,
    connections: Vec<TimerId>,
    /// How many time-outs ran.
    ended: Rc<Cell<u64>>,
    random: Random,
}

impl Server {
    fn new() -> Result<Self, Refused<Boxed<Local>>> {
        let host = VirtualHost::new();
        let scheduler = Scheduler::local(Settings::new().clock(host.monotonic()));
        for job in 0..5 {
            let grid = Timing::after(Duration::from_millis(100 + 5 * job)).every(Duration::from_millis(100));
            scheduler.timer(grid.missed(Missed::Skip)).named("job").add(Boxed::local(|_| Next::Again))?;
        }
        let random = Random(0x9E37_79B9_7F4A_7C15);
        Ok(Self { host, scheduler, connections: Vec::new(), ended: Rc::default(), random })
    }

    fn connect(&mut self) -> Result<(), Refused<Boxed<Local>>> {
        let (host, clock, ended) = (self.host.clone(), self.scheduler.clock(), Rc::clone(&self.ended));
        let close = Boxed::local(move |_| {
            host.advance(Duration::from_micros(50)); // The work of the callback.
            ended.set(ended.get() + 1);
            let bug = (250..260).contains(&(clock.now().as_nanos() / 1_000_000_000));
            assert!(!(bug && ended.get().is_multiple_of(2)), "a bug");
            Next::Done
        });
        self.connections.push(self.scheduler.timer(Timing::after(IDLE)).named("idle").add(close)?);
        Ok(())
    }

    /// Simulates traffic: a connection comes, goes, or gets a message.
    fn traffic(&mut self) -> Result<(), Refused<Boxed<Local>>> {
        let what = self.random.below(100);
        if what < 4 {
            return self.connect();
        }
        let count = self.connections.len() as u64;
        if count > 0 {
            let at = self.random.below(count) as usize;
            let id = self.connections[at];
            let stays = what > 6 && self.scheduler.start(id, Timing::after(IDLE)).is_ok();
            if !stays {
                drop(self.scheduler.cancel(id));
                self.connections.swap_remove(at);
            }
        }
        Ok(())
    }

    /// Runs the simulation until `end`, in ns. The driver wakes up 20 to 120 us after a timer is
    /// due.
    fn run(&mut self, end: u64) -> Result<(), Refused<Boxed<Local>>> {
        let mut message = 0;
        loop {
            let now = self.scheduler.now().as_nanos();
            if now >= message {
                self.traffic()?;
                message = now + self.random.below(4_000_000);
            }
            let late = Duration::from_micros(20 + self.random.below(100));
            let due = self.scheduler.timeout().map_or(u64::MAX, |wait| {
                now + u64::try_from((wait + late).as_nanos()).unwrap_or(u64::MAX / 2)
            });
            let next = due.min(message).min(end);
            self.host.advance(Duration::from_nanos(next.saturating_sub(now)));
            if next == due {
                // A panic of a callback ends `run_queue`, so it is called again until no callback
                // panics.
                while catch_unwind(AssertUnwindSafe(|| self.scheduler.run_queue())).is_err() {}
            }
            if self.scheduler.now().as_nanos() >= end {
                return Ok(());
            }
        }
    }
}

/// The result of a scrape: the samples without labels, by name, and the buckets, by their bounds in
/// seconds.
#[derive(Clone, Default)]
struct Scrape {
    samples: BTreeMap<String, f64>,
    buckets: Vec<(f64, f64)>,
}

impl Scrape {
    fn of(text: &str) -> Self {
        let mut scrape = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.contains("site=")) {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let value = value.parse().expect("a number");
            match name.split_once("le=\"") {
                Some((name, le)) if name.starts_with("tickwright_timer_lateness") => {
                    let bound = le.trim_end_matches("\"}").parse().expect("a bound");
                    scrape.buckets.push((bound, value));
                }
                Some(_) => {}
                None => drop(scrape.samples.insert(name[..name.find('{').unwrap_or(0)].to_owned(), value)),
            }
        }
        scrape
    }

    fn value(&self, name: &str) -> f64 {
        self.samples[&format!("tickwright_{name}")]
    }

    /// Computes the `histogram_quantile` of the runs between the scrape `before` and this one, in
    /// ns. The result is the bound of the quantile's bucket, or `None` if there were no runs.
    fn quantile(&self, before: &Self, share: f64) -> Option<f64> {
        let old = |at: usize| before.buckets.get(at).map_or(0.0, |(_, count)| *count);
        let since = |at: usize| self.buckets[at].1 - old(at);
        let all = since(self.buckets.len() - 1);
        let found = (0..self.buckets.len()).find(|at| since(*at) >= all * share)?;
        (all > 0.0).then(|| self.buckets[found].0 * 1e9)
    }
}

/// Formats a panel as in the result files of the program `tickwright`.
fn panel(title: &str, axis: (&str, &str, bool), curves: &[(&str, Vec<(usize, f64)>)]) -> String {
    let (name, format, log) = axis;
    let mut drawn = String::new();
    for (at, (name, points)) in curves.iter().enumerate() {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("[{x},{y:.3}]")).collect();
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(drawn, r#"{comma}{{"name":"{name}","points":[{}]}}"#, points.join(","));
    }
    format!(
        r#"{{"plot":{{"title":"{title}","x":{{"name":"s","format":"count","log":false}},"y":{{"name":"{name}","format":{format},"log":{log}}},"mark":"steps","curves":[{drawn}]}}}}"#
    )
}

fn main() -> Result<(), Refused<Boxed<Local>>> {
    set_hook(Box::new(|_| ())); // The panics are on purpose.
    let mut server = Server::new()?;
    let mut scrapes = vec![Scrape::default()];
    for second in 1..=SECONDS {
        match second {
            100 => (0..2000).try_for_each(|_| server.connect())?,
            200 => server.host.advance(Duration::from_secs(2)),
            _ => {}
        }
        server.run(second * 1_000_000_000)?;
        let text = OpenMetrics::default().with("server", &server.scheduler.report()).to_string();
        scrapes.push(Scrape::of(&text));
    }
    let last = &scrapes[SECONDS as usize];
    let started = last.value("timers_armed_total") - last.value("timers_rearmed_total");
    assert!(started > 4000.0 && last.value("timer_overruns_total") > 80.0);
    assert!(last.value("timer_panics_total") > 5.0 && last.value("timers_high_water") > 2000.0);
    assert!(last.quantile(&Scrape::default(), 0.5) < Some(200_000.0));

    // As on a dashboard, gauges are shown unchanged, and rates and quantiles are computed over 5 s.
    // There is a point every 2 s.
    let seconds = || (6..=SECONDS as usize).step_by(2);
    let gauge = |name: &str| seconds().map(|at| (at, scrapes[at].value(name))).collect::<Vec<_>>();
    let rate = |name: &str| {
        let rate = |at: usize| (scrapes[at].value(name) - scrapes[at - 5].value(name)) / 5.0;
        seconds().map(|at| (at, rate(at))).collect::<Vec<_>>()
    };
    let late = |share| {
        seconds()
            .filter_map(|at| Some((at, scrapes[at].quantile(&scrapes[at - 5], share)?)))
            .collect::<Vec<_>>()
    };
    let panels = [
        panel(
            "Capacity",
            ("timers", r#""count""#, false),
            &[
                ("timers", gauge("timers")),
                ("pending", gauge("timers_pending")),
                ("high water", gauge("timers_high_water")),
            ],
        ),
        panel(
            "Traffic",
            ("per second", r#""count""#, false),
            &[
                ("armed", rate("timers_armed_total")),
                ("re-armed", rate("timers_rearmed_total")),
                ("fired", rate("timers_fired_total")),
                ("cancelled", rate("timers_cancelled_total")),
            ],
        ),
        panel(
            "Punctuality",
            ("lateness", r#""span""#, true),
            &[("half at most", late(0.5)), ("99 % at most", late(0.99))],
        ),
        panel(
            "Health",
            ("per second", r#""count""#, false),
            &[("overruns", rate("timer_overruns_total")), ("panics", rate("timer_panics_total"))],
        ),
    ];
    println!(
        r#"{{"schema":2,"experiment":"dashboard","command":"cargo run -p tickwright --features metrics --example dashboard","interrupted":false,"host":{{"cores":0,"rustc":"","profile":""}},"series":[],"findings":[],"sections":[{{"title":"Timers of a server","blocks":[{}]}}]}}"#,
        panels.join(",")
    );
    Ok(())
}
