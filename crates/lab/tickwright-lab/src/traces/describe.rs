//! `tickwright describe`: prints one page about the timers of a program.

use std::path::{Path, PathBuf};

use clap::Args;
use tickwright_trace::Profile;
use tickwright_trace::profile::{Bar, Share, Spread};

use super::input::{Described, Input};
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::output::OutputArgs;
use crate::render::Format;
use crate::result::{Axis, Better, Cell, Finding, Mark, Plot, Section, Series, Table, Unit, labels};

/// Which events of which trace.
#[derive(Debug, Clone, Args)]
pub(crate) struct TraceArgs {
    /// Trace (.twt), as `record` and `import` write it; sample:NAME; or a profile (.toml)
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Take the timers of these queues alone, as the trace names them; `!NAME` leaves one out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) base: Vec<String>,
}

/// Arguments of `describe`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DescribeArgs {
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// Count the timers that expire together in ticks of this length
    /// [default: the tick of the trace, or 1ms]
    #[arg(long, value_name = "DURATION", value_parser = super::tick)]
    pub(crate) tick: Option<core::time::Duration>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Experiment for DescribeArgs {
    type Plan = Input;
    type Data = Described;

    fn name(&self) -> String {
        "describe".into()
    }

    fn plan(&self) -> Result<Input, LabError> {
        match &self.trace.trace {
            // Standard input can be read only once.
            path if path.as_os_str() == "-" => {
                Ok(Input::File { path: path.clone(), bases: self.trace.base.clone(), most: u64::MAX })
            }
            path => Input::of(path, &self.trace.base, 1),
        }
    }

    fn parameters(&self, input: &Input) -> Parameters {
        request::parameters([
            ("trace", input.name().into()),
            ("base", request::list(&self.trace.base).into()),
        ])
    }

    fn workload(&self, input: &Input) -> String {
        input.workload(None, &self.parameters(input))
    }

    fn inputs(&self) -> Vec<&Path> {
        vec![self.trace.trace.as_path()]
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, input: &Input, lab: &mut Lab<'_>) -> Result<Described, LabError> {
        // The notes are about the host of this run, which is unrelated to the trace.
        lab.notes.clear();
        let asked = self.tick.map(|tick| u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX));
        let tick_ns = asked.or_else(|| input.tick_ns()).unwrap_or(0);
        let (profile, found) = input.describe(tick_ns)?;
        lab.notes.extend(found.notes.iter().cloned());
        lab.notes.extend(found.doubts());
        Ok(Described { profile, found })
    }

    fn series(&self, _: &Input, data: &Described) -> Vec<Series> {
        series(data)
    }

    fn findings(&self, _: &Input, data: &Described) -> Vec<Finding> {
        vec![Finding::stated("the workload", workload_line(&data.profile))]
    }

    fn sections(&self, _: &Input, data: &Described, _: &[Finding]) -> Vec<Section> {
        sections(data)
    }
}

/// Returns the figures as series, for programs.
fn series(data: &Described) -> Vec<Series> {
    let profile = &data.profile;
    let figure = |name: &str, unit, of, value: u64| {
        Series::new(name, unit, of).better(Better::Neither).of([value as f64])
    };
    let (p, d, age, late) = (&profile.population, &profile.delays, &profile.cancel_age, &profile.late_ns);
    let counts = [
        ("events", profile.events),
        ("arms", profile.arms),
        ("re-arms", profile.rearms),
        ("cancels", profile.cancels),
        ("fires", profile.fires),
        ("periodic fires", profile.periodic_fires),
        ("distinct delays", d.distinct),
        ("unseen arms", profile.unseen_arms),
        ("unknown delays", profile.unknown_delays),
    ];
    let spreads = [
        ("population", Unit::Count, [p.p50, p.p99, p.max]),
        ("delay", Unit::Ns, [d.p50, d.p99, d.max]),
        ("late", Unit::Ns, [late.p50, late.p99, late.max]),
        ("cancel age", Unit::Ns, [age.p50, age.p99, age.max]),
    ];
    let mut all: Vec<Series> =
        counts.into_iter().map(|(name, value)| figure(name, Unit::Count, labels([]), value)).collect();
    all.push(figure("span", Unit::Ns, labels([]), profile.span_ns));
    for (name, unit, values) in spreads {
        let at = ["p50", "p99", "max"].into_iter().zip(values);
        all.extend(at.map(|(at, value)| figure(name, unit, labels([("at", at.into())]), value)));
    }
    all.extend(data.found.gaps.series());
    all
}

/// Returns the workload in one line.
pub(super) fn workload_line(profile: &Profile) -> String {
    let p = &profile.population;
    let top: u64 = profile.delays.top.iter().map(|share| share.count).sum();
    let by = |count| percent(count, ends(profile));
    let all = [by(profile.fires), by(profile.cancels), by(profile.rearms)];
    let ended = match all {
        [Some(expiry), Some(cancel), Some(rearm)] => {
            format!("of all waits {expiry} end by expiry, {cancel} by cancel, {rearm} by re-arm")
        }
        _ => "no wait ended".into(),
    };
    let top = percent(top, profile.arms + profile.rearms);
    format!(
        "pending timers: median {} (p99 {}, max {}); a second {} arms and {} re-arms; {ended}; {} distinct delays{}",
        Format::Thousands.write(p.p50 as f64),
        Format::Thousands.write(p.p99 as f64),
        Format::Thousands.write(p.max as f64),
        rate(profile.arms, profile),
        rate(profile.rearms, profile),
        profile.delays.distinct,
        top.map_or(String::new(), |top| format!(", the top five are {top}")),
    )
}

/// Returns the number of waits that ended.
fn ends(profile: &Profile) -> u64 {
    profile.fires + profile.cancels + profile.rearms
}

/// Returns a part of a whole in percent, or `None` if the whole is empty.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

fn percent(part: u64, whole: u64) -> Option<String> {
    share(part, whole).map(|share| Format::Percent.write(share))
}

/// Returns a count per second, as text.
fn rate(count: u64, profile: &Profile) -> String {
    let seconds = profile.span_ns as f64 / 1e9;
    if count == 0 {
        return "0".into();
    }
    if seconds > 0.0 { Format::Ns.write(count as f64 / seconds) } else { "-".into() }
}

fn span(ns: u64) -> String {
    Format::Span.write(ns as f64)
}

/// Returns all sections.
fn sections(data: &Described) -> Vec<Section> {
    let profile = &data.profile;
    let mut all = vec![about(data), rates(profile), population(profile), delays(profile)];
    all.extend([ends_of(profile), threads(profile), sites(profile)].into_iter().flatten());
    let unseen = &data.found.header.unseen;
    if !unseen.is_empty() {
        all.push(Section::new("Not seen by the recorder").text(unseen.join("\n")));
    }
    all
}

fn about(data: &Described) -> Section {
    let header = &data.found.header;
    let of = if header.of.is_empty() { "an unnamed program".to_owned() } else { header.of.clone() };
    let mut words = format!("{of}; {} events in {}", data.profile.events, span(data.profile.span_ns));
    for (what, value) in [("source", &header.source), ("clock", &header.clock), ("started", &header.started)]
    {
        if !value.is_empty() {
            words += &format!("; {what} {value}");
        }
    }
    let queues: Vec<String> = header
        .bases
        .iter()
        .map(|base| match base.tick_ns {
            0 => base.name.clone(),
            tick => format!("{} (tick {})", base.name, span(tick)),
        })
        .collect();
    let queues = if queues.is_empty() { String::new() } else { format!("queues: {}", queues.join(", ")) };
    Section::new("The trace").text(words).text(queues).text(workload_line(&data.profile))
}

fn rates(profile: &Profile) -> Section {
    let mut table = Table::new()
        .column("operation", Format::Text)
        .column("count", Format::Thousands)
        .column("a second", Format::Text)
        .column("of all waits", Format::Percent);
    let all = ends(profile);
    let rows = [
        ("arm", profile.arms, None),
        ("re-arm", profile.rearms, Some(profile.rearms)),
        ("cancel", profile.cancels, Some(profile.cancels)),
        ("expiry", profile.fires, Some(profile.fires)),
        ("of these periodic", profile.periodic_fires, Some(profile.periodic_fires)),
    ];
    for (name, count, part) in rows {
        let part = part.and_then(|part| share(part, all));
        table.row([name.into(), count.into(), rate(count, profile).into(), Cell::from(part)]);
    }
    Section::new("Operations").table(table)
}

fn population(profile: &Profile) -> Section {
    let p = &profile.population;
    let words = format!(
        "Pending timers: mean {:.1}, half of the time at most {}, 99 % of the time at most {}, at most {}; {} at the end.",
        p.mean, p.p50, p.p99, p.max, profile.pending_at_end
    );
    let seconds = |ns: u64| ns as f64 / 1e9;
    let course = |of: &dyn Fn(&tickwright_trace::profile::Moment) -> f64| {
        p.course.iter().map(|moment| (seconds(moment.from_ns), of(moment))).collect::<Vec<_>>()
    };
    let axes = (Axis::linear("seconds", Format::Text), Axis::linear("pending timers", Format::Text));
    let plot = Plot::new("Pending timers over time", axes.0, axes.1)
        .curve("mean", course(&|moment| moment.mean))
        .curve("most", course(&|moment| moment.max as f64));
    Section::new("Population").text(words).plot(plot)
}

fn delays(profile: &Profile) -> Section {
    let d = &profile.delays;
    let unknown = match profile.unknown_delays {
        0 => String::new(),
        unknown => format!(" {unknown} arms have no known deadline and are left out."),
    };
    let words = format!(
        "Delays: p1 {}, median {}, p90 {}, p99 {}, longest {}; {} distinct ones to two digits.{unknown}",
        span(d.p1),
        span(d.p50),
        span(d.p90),
        span(d.p99),
        span(d.max),
        d.distinct
    );
    let points: Vec<(f64, f64)> =
        d.bars.iter().map(|Bar { from_ns, count }| ((*from_ns).max(1) as f64, *count as f64)).collect();
    let axes = (Axis::log("delay in ns", Format::Span), Axis::log("timers", Format::Count));
    let plot = Plot::new("Timers by delay", axes.0, axes.1).marked(Mark::Steps).curve("timers", points);
    let periods = match profile.periods.as_slice() {
        [] => String::new(),
        some => {
            let all: Vec<String> =
                some.iter().map(|one| format!("{} x {}", span(one.ns), one.count)).collect();
            format!(
                "Periodic timers expire {} times; the commonest periods: {}.",
                profile.periodic_fires,
                all.join(", ")
            )
        }
    };
    Section::new("Delays").text(words).table(top(&d.top, d.count)).text(periods).plot(plot)
}

fn top(shares: &[Share], all: u64) -> Table {
    let mut table = Table::new()
        .column("commonest delays", Format::Span)
        .column("timers", Format::Thousands)
        .column("of all", Format::Percent);
    for one in shares {
        table.row([one.ns.into(), one.count.into(), share(one.count, all).into()]);
    }
    table
}

fn ends_of(profile: &Profile) -> Option<Section> {
    let mut table = Table::new()
        .column("at the end of a wait", Format::Text)
        .column("count", Format::Thousands)
        .columns(["median", "p99", "most"], Format::Text);
    let mut row = |name: &str, spread: &Spread, write: &dyn Fn(u64) -> String| {
        if spread.count > 0 {
            let cells = [spread.p50, spread.p99, spread.max].map(|value| Cell::from(write(value)));
            table.row([name.into(), spread.count.into()].into_iter().chain(cells));
        }
    };
    let percent = |value: u64| format!("{value} %");
    row("cancel: time since the arm", &profile.cancel_age, &span);
    row("cancel: part of the delay that was left", &profile.cancel_left, &percent);
    row("re-arm: part of the delay that was left", &profile.rearm_left, &percent);
    row("expiry: after the deadline", &profile.late_ns, &span);
    let cluster = format!("expiries in one tick of {}", span(profile.tick_ns));
    row(&cluster, &profile.cluster, &|value| value.to_string());
    let odd = [
        (profile.early, "expiries came more than a tick before their deadline"),
        (profile.unseen_arms, "cancels and expiries are of timers that were not pending"),
    ];
    let odd: Vec<String> =
        odd.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}.")).collect();
    (!table.rows.is_empty()).then(|| Section::new("Ends").table(table).text(odd.join(" ")))
}

fn threads(profile: &Profile) -> Option<Section> {
    let known = profile.threads.iter().any(|thread| !thread.name.is_empty());
    let mut table = Table::new()
        .column("thread", Format::Text)
        .columns(["arms", "cancels", "expiries"], Format::Thousands);
    for thread in &profile.threads {
        let name = if thread.name.is_empty() { "unknown" } else { &thread.name };
        table.row([name.into(), thread.arms.into(), thread.cancels.into(), thread.fires.into()]);
    }
    let remote = percent(profile.remote, profile.cancels + profile.rearms).map_or(String::new(), |part| {
        format!("{part} of cancels and re-arms come from another thread than the arm.")
    });
    known.then(|| Section::new("Threads").table(table).text(remote))
}

fn sites(profile: &Profile) -> Option<Section> {
    let known = profile.sites.iter().any(|site| !site.name.is_empty());
    let mut table = Table::new()
        .column("site", Format::Text)
        .column("arms", Format::Thousands)
        .column("of all", Format::Percent);
    let all = profile.arms + profile.rearms;
    for site in &profile.sites {
        let name = if site.name.is_empty() { "unknown" } else { &site.name };
        table.row([name.into(), site.arms.into(), share(site.arms, all).into()]);
    }
    known.then(|| Section::new("Sites").table(table))
}
