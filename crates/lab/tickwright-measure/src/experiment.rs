//! The interface of every bench and every reproduction, and the driver that runs them.
//!
//! ```text
//! arguments ─ plan ─▶ Plan ─ run ─▶ Data ─┬─ series     every sample
//!            refuses        verifies,     ├─ findings   what follows from them
//!            or never       then times    └─ sections   what a reader sees
//!                                          └──────────▶ Report ─▶ text, JSON, CSV, Markdown, SVG
//! ```
//!
//! `plan` refuses every request that can be refused before a run. No file is opened and nothing is
//! measured before `plan` returns. `series`, `findings` and `sections` are pure functions, so tests
//! call them without a clock. The driver opens the files, prints the report, and marks the report
//! of an interrupted run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::clock::{Calibration, Meter, OsClock, calibrate};
use crate::error::LabError;
use crate::format::Format;
use crate::host::Host;
use crate::interrupt;
use crate::output::{OutputArgs, command_line};
use crate::result::{
    Claim, Finding, Label, Report, SCHEMA, Section, Series, default, findings_table, workload,
};

/// What a run is allowed to use: a clock, other resources, and a list for notes.
pub struct Lab<'m> {
    /// The clock that measures.
    pub meter: &'m dyn Meter,
    /// Notes: the reasons to doubt figures, and the parts that were left out.
    pub notes: Vec<String>,
    /// Whether a signal stopped the run early.
    pub interrupted: bool,
}

impl fmt::Debug for Lab<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").field("notes", &self.notes).finish_non_exhaustive()
    }
}

/// The parameters of the request, by name.
pub type Parameters = BTreeMap<String, Label>;

/// A bench or a reproduction; the value holds its arguments.
pub trait Experiment {
    /// The checked request.
    type Plan;
    /// The measured samples and counts, neither rounded nor formatted.
    type Data;

    /// Returns the name on the command line, such as `bench hold`.
    fn name(&self) -> String;

    /// Checks the request.
    ///
    /// # Errors
    /// If the request has a mistake. The error describes the mistake and states what would be
    /// valid.
    fn plan(&self) -> Result<Self::Plan, LabError>;

    /// Returns the request, including defaults, as names and values for the report.
    fn parameters(&self, plan: &Self::Plan) -> Parameters;

    /// Returns the seed of all random choices.
    fn seed(&self, _plan: &Self::Plan) -> Option<u64> {
        None
    }

    /// Returns the words that define the work. Two results with different words measured different
    /// work. Override this method if something other than the seed and the parameters, such as a
    /// file, also defines the work.
    fn workload(&self, plan: &Self::Plan) -> String {
        workload::words(self.seed(plan), &self.parameters(plan))
    }

    /// Returns the files that the experiment reads. No output is allowed to replace one of these
    /// files.
    fn inputs(&self) -> Vec<&Path> {
        Vec::new()
    }

    /// Returns the series that the run will measure, without samples, so that a condition about
    /// another series is refused before the run. An empty list means that the series are not known
    /// yet.
    fn expected(&self, _plan: &Self::Plan) -> Vec<Series> {
        Vec::new()
    }

    /// Returns whether the run reads the clock. If so, the report states the cost of a reading.
    fn is_timed(&self) -> bool {
        true
    }

    /// Verifies answers, then measures.
    ///
    /// # Errors
    /// If an answer is wrong (the error describes the first wrong answer) or the system refuses
    /// memory. An interruption is not an error: it is noted in `lab`, and `run` returns the data
    /// measured so far.
    fn run(&self, plan: &Self::Plan, lab: &mut Lab<'_>) -> Result<Self::Data, LabError>;

    /// Returns every sample. This is a pure function.
    fn series(&self, plan: &Self::Plan, data: &Self::Data) -> Vec<Series>;

    /// Returns the conclusions from the samples. This is a pure function.
    fn findings(&self, plan: &Self::Plan, data: &Self::Data) -> Vec<Finding>;

    /// Returns the sections that a reader sees. This is a pure function. By default, these are the
    /// tables and plots of the samples, and the findings.
    fn sections(&self, plan: &Self::Plan, data: &Self::Data, findings: &[Finding]) -> Vec<Section> {
        let mut sections = default::sections(&self.series(plan, data));
        let bounded = findings.iter().any(|finding| finding.bound.is_some());
        let (heading, format) = if bounded { ("target", Format::Fixed(2)) } else { ("", Format::Ratio) };
        sections.push(Section::new("In short").table(findings_table(heading, format, findings)));
        sections.retain(|section| !section.blocks.is_empty());
        sections
    }
}

/// Runs an experiment and returns its report.
///
/// # Errors
/// The errors of [`Experiment::plan`] and [`Experiment::run`].
pub fn conduct<E: Experiment>(experiment: &E) -> Result<Report, LabError> {
    let plan = experiment.plan()?;
    conduct_plan(experiment, &plan, &OsClock::start())
}

/// Runs an experiment whose request has been checked.
///
/// # Errors
/// The errors of [`Experiment::run`].
pub fn conduct_plan<E: Experiment>(
    experiment: &E,
    plan: &E::Plan,
    meter: &dyn Meter,
) -> Result<Report, LabError> {
    let started = meter.date();
    let host = Host::read();
    let clock: Option<Calibration> = experiment.is_timed().then(|| calibrate(meter));
    let mut lab = Lab { meter, notes: host.doubts(), interrupted: false };
    let data = experiment.run(plan, &mut lab)?;
    let findings = experiment.findings(plan, &data);
    if findings.iter().any(|finding| finding.claim().is_some()) {
        lab.notes.push(Claim::MEANING.into());
    }
    Ok(Report {
        schema: SCHEMA,
        experiment: experiment.name(),
        command: command_line(),
        started,
        interrupted: lab.interrupted || interrupt::requested(),
        host,
        clock,
        seed: experiment.seed(plan),
        workload: Some(experiment.workload(plan))
            .filter(|words| !words.is_empty())
            .map(|words| workload::hash(&experiment.name(), &words)),
        parameters: experiment.parameters(plan),
        notes: lab.notes,
        series: experiment.series(plan, &data),
        sections: experiment.sections(plan, &data, &findings),
        findings,
    })
}

/// Runs an experiment, prints its report, and writes the report to the requested outputs.
///
/// # Errors
/// The errors of [`conduct`], an error if a file cannot be written, and [`LabError::Interrupted`]
/// for a partial report.
pub fn execute<E: Experiment>(experiment: &E, output: &OutputArgs) -> Result<(), LabError> {
    let plan = experiment.plan()?;
    let files = output.open(&experiment.inputs())?;
    files.expect(&experiment.expected(&plan))?;
    let report = conduct_plan(experiment, &plan, &OsClock::start())?;
    files.deliver(&report)
}
