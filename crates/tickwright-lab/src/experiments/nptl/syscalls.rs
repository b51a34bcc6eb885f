//! How many system calls one creation with its join takes, counted by `strace` from outside.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::child::{self, Errand};
use super::column::Column;
use super::published;
use crate::error::LabError;
use crate::interrupt;
use crate::output::table;
use crate::progress::Progress;

/// Calls by name.
type Calls = BTreeMap<String, u64>;

/// One column: calls for each creation with its join.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) column: Column,
    pub(crate) calls: BTreeMap<String, f64>,
}

impl Row {
    fn sum(&self) -> f64 {
        // An empty sum of floats is -0.
        self.calls.values().sum::<f64>() + 0.0
    }
}

/// What was counted, or why nothing was.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Counted {
    Rows(Vec<Row>),
    Skipped(String),
}

/// Creations in the two runs whose difference is divided.
const FEW: u64 = 100;
const MORE: u64 = 600;

/// Counts for each column at P = 1, C = 10, in child processes.
///
/// # Errors
/// When this program cannot be started again.
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
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "--"]).arg(child::program()?).args(child::arguments(errand));
    let ran = interrupt::output(strace.stdin(Stdio::null()));
    let output = match ran {
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

/// Reads the table of `strace -c`: the fourth column is calls, the last the name.
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

/// The difference of two runs, for each creation that the second has more. What does not come to a
/// twentieth of a call is noise.
pub(super) fn per_creation(few: &Calls, more: &Calls, creations: u64) -> BTreeMap<String, f64> {
    let each = |name: &String, count: &u64| {
        let before = few.get(name).copied().unwrap_or(0);
        count.saturating_sub(before) as f64 / creations as f64
    };
    let all = more.iter().map(|(name, count)| (name.clone(), each(name, count)));
    all.filter(|(_, calls)| *calls >= 0.05).collect()
}

pub(super) fn text(counted: &Counted) -> String {
    let rows = match counted {
        Counted::Skipped(why) => return format!("System calls were not counted: {why}\n"),
        Counted::Rows(rows) => rows,
    };
    let mut shown = table::text(["system calls for one", "in all", "which"]);
    for row in rows {
        let mut calls: Vec<(&String, &f64)> = row.calls.iter().collect();
        calls.sort_by(|a, b| b.1.total_cmp(a.1));
        let which: Vec<String> = calls.iter().map(|(name, count)| format!("{name} {count:.1}")).collect();
        shown.add_row([row.column.name().to_owned(), format!("{:.1}", row.sum()), which.join(", ")]);
    }
    format!(
        "{}\nAt P = 1, C = 10, by strace -c -f, the difference of {MORE} and {FEW} creations.\n{}",
        table::show(&shown),
        slowest(rows)
    )
}

/// What stands for LinuxThreads beside what stands for NPTL: which calls are more.
fn slowest(rows: &[Row]) -> String {
    let row = |system: &str| {
        let model = published::model_of(system)?;
        rows.iter().find(|row| row.column == Column::Ours(model))
    };
    let Some((slow, fast)) = row("LinuxThreads").zip(row("NPTL")) else { return String::new() };
    let more = |(name, calls): (&String, &f64)| {
        let more = calls - fast.calls.get(name).copied().unwrap_or(0.0);
        (more >= 0.5).then(|| format!("{name} {more:+.1}"))
    };
    let more: Vec<String> = slow.calls.iter().filter_map(more).collect();
    format!(
        "{} makes {:.1} calls where {} makes {:.1}: {}.\n",
        slow.column.name(),
        slow.sum(),
        fast.column.name(),
        fast.sum(),
        more.join(", ")
    )
}
