//! The experiment that settled Linux's threads in 2002: one kernel thread for each thread, M:N, or
//! a manager thread?
//!
//! Ulrich Drepper and Ingo Molnar timed the creation of 100,000 threads that return at once. From 1
//! to 20 creator threads created these threads, and each creator kept 1 to 10 threads alive at
//! once. These two numbers are the dimensions of a table, and the published figures are the least
//! time of each row and of each column. NGPT (M:N) was twice as fast as LinuxThreads (a manager
//! thread), and NPTL (one-to-one) was four times as fast as NGPT. Here the same rules ([`rules`])
//! drive the models of `tickwright-threads` and the threads of other libraries.
//!
//! # What was asked in the replies
//!
//! The replies asked whether M:N lost for reasons other than M:N itself, such as guard pages and
//! stacks that are not recycled. [`ladder`] changes M:N from NGPT's design to this project's
//! design, one setting at a time, until the published order is reversed.

mod args;
mod column;
mod ladder;
mod lanes;
mod manager;
mod model;
mod peers;
mod plan;
mod published;
mod rules;
mod table;
mod tables;
mod turns;
mod verify;

use crate::clock::OsClock;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::row;
use crate::interrupt;
use crate::render::Format;
use crate::result::{Claim, Finding, Section, Series};
use crate::stats::Summary;
pub(crate) use args::NptlArgs;
use column::Column;
use model::Model;
use plan::{Part, Plan};
pub(crate) use published::FILE;
use published::Published;

/// Results of the parts; the result of a part that was left out is empty.
#[derive(Debug, Default)]
pub(crate) struct Data {
    table: Option<table::Table>,
    ladder: Option<ladder::Ladder>,
}

impl Experiment for NptlArgs {
    type Plan = (Plan, Published);
    type Data = Data;

    fn name(&self) -> String {
        "reproduce nptl".into()
    }

    fn plan(&self) -> Result<Self::Plan, LabError> {
        Ok((self.to_plan()?, row::published(FILE)?))
    }

    fn parameters(&self, (plan, _): &Self::Plan) -> Parameters {
        plan.parameters()
    }

    fn seed(&self, (plan, _): &Self::Plan) -> Option<u64> {
        Some(plan.seed)
    }

    /// The threads read the system's clock themselves, so the lab's meter is not used.
    fn run(&self, (plan, _): &Self::Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let clock = OsClock::start();
        let mut data = Data::default();
        for &part in &plan.parts {
            if !interrupt::requested() {
                run(part, plan, clock, &mut data)?;
            }
        }
        lab.interrupted = interrupt::requested();
        Ok(data)
    }

    fn series(&self, _: &Self::Plan, data: &Data) -> Vec<Series> {
        let parts = [
            data.table.as_ref().map(tables::series),
            data.ladder.as_ref().map(|ladder| lanes::series("ladder", &ladder.lanes)),
        ];
        parts.into_iter().flatten().flatten().collect()
    }

    fn findings(&self, (_, published): &Self::Plan, data: &Data) -> Vec<Finding> {
        let mut findings: Vec<Finding> = headline(data, published).into_iter().collect();
        findings.extend(data.table.iter().flat_map(|table| tables::findings(table, published)));
        findings.extend(data.ladder.as_ref().and_then(ladder::Ladder::finding));
        findings
    }

    fn sections(&self, (_, published): &Self::Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        let mut sections = Vec::new();
        if let Some(table) = &data.table {
            sections.extend(tables::sections(table, published, findings));
        }
        sections.extend(data.ladder.as_ref().map(|ladder| ladder.section(published.lost())));
        if cfg!(not(unix)) {
            let text = "M:N threads need Unix, so the columns m:n and ngpt, and the ladder, are left out.";
            sections.push(Section::new("Left out on this system").text(text));
        }
        sections
    }
}

fn run(part: Part, plan: &Plan, clock: OsClock, data: &mut Data) -> Result<(), LabError> {
    let cell = plan.cell(part);
    match part {
        Part::Table => data.table = Some(table::run(plan, clock)?),
        Part::Ladder => {
            let turns = plan.turns(part, "ladder");
            let mut lanes = ladder::lanes(plan.knobs);
            lanes::time(&mut lanes, cell, &turns, clock)?;
            data.ladder = Some(ladder::Ladder { cell, lanes });
        }
    }
    Ok(())
}

/// Returns the headline: whether M:N loses, judged by the time of NGPT's design relative to
/// one-to-one threads, from the table or from the ladder.
fn headline(data: &Data, published: &Published) -> Option<Finding> {
    let one = Column::Ours(Model::OneToOne);
    let of_table = |model| data.table.as_ref().and_then(|table| table.ratio(Column::Ours(model), one));
    let ladder = |of: fn(&ladder::Ladder) -> Option<Summary>| data.ladder.as_ref().and_then(of);
    let ngpt = of_table(Model::Ngpt).or_else(|| ladder(ladder::Ladder::first))?;
    let ours = of_table(Model::ManyToMany).or_else(|| ladder(ladder::Ladder::last));
    let ours =
        ours.map_or(String::new(), |ours| format!(", m:n of today {}", Format::Ratio.write(ours.median)));
    let here = format!("NGPT's way takes {} as long{ours}", Format::Ratio.write(ngpt.median));
    let starts = Format::Thousands.write(published.table.starts as f64);
    let about = format!("do M:N threads lose to kernel threads? ({starts} created and joined, 2002)");
    let was = format!("NGPT took {} as long as NPTL", Format::Ratio.write(published.lost()));
    let finding = Finding::ratio(about, ngpt, here).published(was);
    let claim = Claim::slower(finding.verdict);
    Some(finding.claimed(claim))
}

#[cfg(test)]
mod tests;
