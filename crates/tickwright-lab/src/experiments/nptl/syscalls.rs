//! System calls per creation and join of a thread, counted from outside by `strace`.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use super::column::Column;
use super::errand::Errand;
use super::model::Model;
use super::published;
use crate::child;
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;
use crate::render::Format;
use crate::result::{Cell, Finding, Section, Series, Table, Unit, labels};

/// Number of calls by name.
type Calls = BTreeMap<String, u64>;

/// Calls per creation and join in one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) column: Column,
    pub(crate) calls: BTreeMap<String, f64>,
}

impl Row {
    fn sum(&self) -> f64 {
        // An empty sum of floats is -0, and adding 0 makes it 0.
        self.calls.values().sum::<f64>() + 0.0
    }
}

/// The counts, or the reason why nothing was counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Counted {
    Rows(Vec<Row>),
    Skipped(String),
}

/// Numbers of creations in two runs. The additional calls of the longer run are divided by its
/// additional creations.
const FEW: u64 = 100;
const MORE: u64 = 600;

/// Counts the calls of each column at P = 1, C = 10, in child processes.
///
/// # Errors
/// This program cannot be started again.
pub(crate) fn run(columns: &[Column], workers: Option<usize>) -> Result<Counted, LabError> {
    let progress = Progress::steps(2 * columns.len() as u64, "system calls");
    let mut rows = Vec::new();
    for &column in columns {
        let mut counts = Vec::new();
        for starts in [FEW, MORE] {
            if interrupt::requested() {
                return Ok(Counted::Rows(rows));
            }
            progress.doing(column.name());
            match count(&Errand::Create { column, starts, workers })? {
                Ok(calls) => counts.push(calls),
                // Ctrl-C ends strace too.
                Err(_) if interrupt::requested() => return Ok(Counted::Rows(rows)),
                Err(why) => return Ok(Counted::Skipped(why)),
            }
            progress.step();
        }
        if let [few, more] = counts.as_slice() {
            rows.push(Row { column, calls: per_creation(few, more, MORE - FEW) });
        }
    }
    Ok(Counted::Rows(rows))
}

fn count(errand: &Errand) -> Result<Result<Calls, String>, LabError> {
    let own = errand.command()?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "--"]).arg(own.get_program()).args(own.get_args()).stdin(Stdio::null());
    let output = match child::output(&mut strace) {
        Ok(output) => output,
        Err(error) => {
            return Ok(Err(format!("strace does not start ({error}): install it to count system calls")));
        }
    };
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let last = text.lines().last().unwrap_or("no message").to_owned();
        return Ok(Err(format!("strace could not follow the child ({}): {last}", output.status)));
    }
    let calls = parse(&text);
    Ok(if calls.is_empty() { Err("strace printed no table".into()) } else { Ok(calls) })
}

/// Parses the table of `strace -c`: the fourth column is the number of calls, the last one the
/// name.
pub(super) fn parse(text: &str) -> Calls {
    let mut calls = Calls::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [percent, _, _, count, .., name] = words.as_slice() else { continue };
        let (Ok(_), Ok(count)) = (percent.parse::<f64>(), count.parse::<u64>()) else { continue };
        if *name != "total" {
            *calls.entry((*name).to_owned()).or_default() += count;
        }
    }
    calls
}

/// Calls per additional creation in the longer of two runs. Less than a twentieth of a call is
/// noise and is left out.
pub(super) fn per_creation(few: &Calls, more: &Calls, creations: u64) -> BTreeMap<String, f64> {
    let each = |name: &String, count: &u64| {
        let before = few.get(name).copied().unwrap_or(0);
        count.saturating_sub(before) as f64 / creations as f64
    };
    let all = more.iter().map(|(name, count)| (name.clone(), each(name, count)));
    all.filter(|(_, calls)| *calls >= 0.05).collect()
}

impl Counted {
    fn rows(&self) -> &[Row] {
        match self {
            Self::Rows(rows) => rows,
            Self::Skipped(_) => &[],
        }
    }

    fn of(&self, system: &str) -> Option<&Row> {
        let model = published::model_of(system)?;
        self.rows().iter().find(|row| row.column == Column::Ours(model))
    }

    pub(super) fn series(&self) -> Vec<Series> {
        let of_row = |row: &Row| {
            let of = |(name, calls): (&String, &f64)| {
                let of = labels([("model", row.column.name().into()), ("call", name.clone().into())]);
                Series::new("system calls", Unit::Count, of).per("thread").of([*calls])
            };
            row.calls.iter().map(of).collect::<Vec<_>>()
        };
        self.rows().iter().flat_map(of_row).collect()
    }

    /// The model of LinuxThreads relative to the model of NPTL.
    pub(super) fn finding(&self) -> Option<Finding> {
        let (slow, fast) = self.of("LinuxThreads").zip(self.of("NPTL"))?;
        let many = self.rows().iter().find(|row| row.column == Column::Ours(Model::ManyToMany));
        let many = many.map_or(String::new(), |row| format!(", m:n {:.1}", row.sum()));
        let here = format!("manager {:.1}, one-to-one {:.1}{many}", slow.sum(), fast.sum());
        Some(Finding::stated("system calls to create and join one thread", here))
    }

    pub(super) fn section(&self) -> Section {
        let section = Section::new("System calls to create and join one thread");
        let rows = match self {
            Self::Skipped(why) => return section.text(format!("They were not counted: {why}")),
            Self::Rows(rows) => rows,
        };
        let mut names: Vec<&String> = rows.iter().flat_map(|row| row.calls.keys()).collect();
        let most =
            |name: &String| rows.iter().filter_map(|row| row.calls.get(name)).copied().fold(0.0, f64::max);
        names.sort_by(|a, b| most(b).total_cmp(&most(a)).then(a.cmp(b)));
        names.dedup();
        let mut table = Table::new().column("call", Format::Text);
        for row in rows {
            table = table.column(row.column.name(), Format::Fixed(1));
        }
        let line = |name: &str, figure: &dyn Fn(&Row) -> Option<f64>| {
            [Cell::from(name)]
                .into_iter()
                .chain(rows.iter().map(|row| Cell::maybe(figure(row))))
                .collect::<Vec<_>>()
        };
        table.row(line("all of them", &|row| Some(row.sum())));
        for name in names {
            table.row(line(name, &|row| row.calls.get(name).copied()));
        }
        if rows.is_empty() {
            return section;
        }
        section.table(table).text(format!(
            "At P = 1, C = 10, by strace -c -f: the difference of {MORE} and {FEW} creations. Less than a twentieth \
             of a call is noise."
        ))
    }
}
