//! `benches mcu`: the cost of structures without an allocator on emulated
//! microcontrollers.
//!
//! This command does not measure anything. The command reads a CSV file that `ci/mcu.py` has
//! written. Without a file, it prints the project's record, which is compiled in. The figures are
//! instruction counts of an emulator. With one compiler they are the same in each run, so each
//! figure is a single sample and has no interval.

mod choice;
mod data;
mod record;
mod tables;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use self::data::Plan;
use self::record::{Kind, Record, Row, WAKE_UP};
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::output::OutputArgs;
use crate::output::text::{plain, read};
use crate::request;
use crate::result::{Better, Finding, Section, Series, Unit, labels};

/// Arguments of `mcu`.
#[derive(Debug, Clone, Args)]
pub(crate) struct McuArgs {
    /// CSV that `ci/mcu.py --save` wrote, - for standard input; without it the project's record
    #[arg(long, value_name = "CSV")]
    file: Option<PathBuf>,
    /// Processor to show; without it the first of the file
    #[arg(long, value_name = "NAME")]
    processor: Option<String>,
    /// Optimization level of the compiler: s for size, 3 for speed
    #[arg(long, value_name = "LEVEL", default_value = "s")]
    level: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The project's record, which is compiled in.
const OURS: (&str, &str) =
    ("records/microcontroller.csv", include_str!("../../../../records/microcontroller.csv"));

/// The most bytes of a CSV: the record has 86,000.
const MOST: u64 = 16 << 20;

impl McuArgs {
    fn record(&self) -> Result<(String, Record), LabError> {
        let Some(path) = &self.file else {
            let (name, text) = OURS;
            return Ok((name.to_owned(), Record::parse(name, text)?));
        };
        let name = plain(&path.display().to_string());
        let text =
            read(path, MOST).map_err(|error| LabError::usage(format!("'{name}' cannot be read: {error}")))?;
        let record = Record::parse(&name, &text)?;
        Ok((name, record))
    }
}

impl Experiment for McuArgs {
    type Plan = Plan;
    type Data = ();

    fn name(&self) -> String {
        "bench mcu".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let (name, record) = self.record()?;
        let processors = record.distinct(|row| &row.processor);
        let processor = match &self.processor {
            None => processors.first().copied().unwrap_or_default().to_owned(),
            Some(wanted) if processors.contains(&wanted.as_str()) => wanted.clone(),
            Some(wanted) => return Err(unknown("processor", wanted, &name, &processors)),
        };
        let of_it = record.only(|row| row.processor == processor);
        let levels = of_it.distinct(|row| &row.level);
        if !levels.contains(&self.level.as_str()) {
            return Err(unknown("optimization level", &self.level, &name, &levels));
        }
        let rows = of_it.only(|row| row.level == self.level).rows;
        Ok(Plan { name, processor, level: self.level.clone(), rows })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("file", plan.name.clone().into()),
            ("processor", plan.processor.clone().into()),
            ("level", plan.level.clone().into()),
        ])
    }

    /// Returns the words that define what was measured, which are the calls and the numbers of
    /// timers. The name of the file does not matter.
    fn workload(&self, plan: &Plan) -> String {
        let of_row = |row: &Row| format!("n={} {}\n", row.n, row.of);
        let calls: BTreeSet<String> = plan.rows.iter().map(of_row).collect();
        format!("{}, -O{}\n", plan.processor, plan.level) + &calls.into_iter().collect::<String>()
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn inputs(&self) -> Vec<&Path> {
        self.file.as_deref().into_iter().collect()
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<(), LabError> {
        // The notes describe the host that reads the file, which is not the emulated processor.
        lab.notes.clear();
        lab.notes.push(format!(
            "read from {}: instructions on an emulator, not cycles; nothing was measured on this host",
            plan.name
        ));
        Ok(())
    }

    fn series(&self, plan: &Plan, (): &()) -> Vec<Series> {
        let of_row = |row: &Row| {
            let of = || {
                labels([
                    ("processor", row.processor.clone().into()),
                    ("level", row.level.clone().into()),
                    ("structure", row.structure.clone().into()),
                    ("n", row.n.into()),
                ])
            };
            match row.kind {
                Kind::Bytes => {
                    vec![Series::new(row.of.clone(), Unit::Bytes, of()).of([row.mean as f64])]
                }
                Kind::Instructions => [("", Some(row.mean)), (", worst", row.worst)]
                    .into_iter()
                    .filter_map(|(suffix, count)| {
                        let per = if row.of == WAKE_UP { WAKE_UP } else { "call" };
                        let name = format!("{}{suffix}", row.of);
                        let series = Series::new(name, Unit::Instructions, of()).per(per);
                        Some(series.better(Better::Lower).of([count? as f64]))
                    })
                    .collect(),
            }
        };
        plan.rows.iter().flat_map(of_row).collect()
    }

    fn findings(&self, plan: &Plan, (): &()) -> Vec<Finding> {
        choice::findings(&plan.rows)
    }

    fn sections(&self, plan: &Plan, (): &(), _: &[Finding]) -> Vec<Section> {
        tables::sections(plan)
    }
}

fn unknown(what: &str, wanted: &str, file: &str, known: &[&str]) -> LabError {
    let wanted = plain(wanted);
    LabError::usage(format!("no {what} '{wanted}' in '{file}': it has {}", known.join(", ")))
}

#[cfg(test)]
mod tests;
