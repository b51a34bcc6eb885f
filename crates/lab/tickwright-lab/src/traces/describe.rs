//! `tickwright describe`: one page on the timers of a program.

mod sections;

use std::path::PathBuf;

use clap::Args;

use super::input::{Described, Input};
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::output::OutputArgs;
use crate::result::{Better, Finding, Section, Series, Unit, labels};

pub(super) use self::sections::workload_line;

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
            // Standard input can be read once.
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

    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, input: &Input, lab: &mut Lab<'_>) -> Result<Described, LabError> {
        // The host of this run says nothing about the trace.
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
        sections::sections(data)
    }
}

/// The figures for programs.
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
