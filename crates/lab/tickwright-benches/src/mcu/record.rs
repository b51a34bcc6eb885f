//! The CSV of `ci/mcu.py`: one figure per row. A mistake in the file is reported with its line.

use std::collections::HashMap;

use crate::error::LabError;
use crate::output::text::plain;

/// The columns, in their order in the file.
const HEADER: [&str; 8] = ["what", "processor", "level", "structure", "n", "of", "mean", "worst"];

/// The name of the operation that comprises all calls for one wake-up of an Embassy task.
pub(super) const WAKE_UP: &str = "wake-up";

/// The unit that a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Instructions of a call.
    Instructions,
    /// Bytes of flash, of RAM, of a queue or of a timer.
    Bytes,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) processor: String,
    /// The optimization level: `3` or `s`.
    pub(super) level: String,
    pub(super) structure: String,
    /// The number of pending timers; for a figure in bytes, the number of existing timers.
    pub(super) n: u64,
    /// The operation, or the item that takes the bytes.
    pub(super) of: String,
    /// The mean of the calls, or the bytes.
    pub(super) mean: u64,
    /// The most instructions that one call took. A figure of bytes has no worst call.
    pub(super) worst: Option<u64>,
}

/// All figures, in the order of the file. There is at least one figure, and no figure occurs twice.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) rows: Vec<Row>,
}

impl Record {
    /// Reads a CSV; `name` is for messages.
    ///
    /// # Errors
    /// A usage error with the file, the line and the remedy, if the file has a wrong header, a
    /// missing or extra field, a bad number, a repeated figure, or no figure at all.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, LabError> {
        let mut lines = text.lines().zip(1usize..);
        let header = lines.next().map_or("", |(line, _)| line);
        if header.trim_start_matches('\u{feff}') != HEADER.join(",") {
            let message = format!("the header must be `{}`", HEADER.join(","));
            return Err(damaged(name, 1, &message));
        }
        let mut rows = Vec::new();
        let mut seen = HashMap::new();
        for (line, at) in lines.filter(|(line, _)| !line.is_empty()) {
            let row = Row::parse(line).map_err(|why| damaged(name, at, &why))?;
            if let Some(first) = seen.insert(row.key(), at) {
                return Err(damaged(name, at, &format!("line {first} has this figure already")));
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(damaged(name, 2, "a figure is missing: there is nothing behind the header"));
        }
        Ok(Self { rows })
    }

    /// Returns the distinct values of a field, in the order of the file.
    pub(super) fn distinct<'r>(&'r self, field: impl Fn(&'r Row) -> &'r String) -> Vec<&'r str> {
        distinct(self.rows.iter().map(|row| field(row).as_str()))
    }

    /// Returns the figures for which `keep` is true.
    pub(super) fn only(&self, keep: impl Fn(&Row) -> bool) -> Self {
        Self { rows: self.rows.iter().filter(|row| keep(row)).cloned().collect() }
    }
}

impl Row {
    fn parse(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split(',').collect();
        let [what, processor, level, structure, n, of, mean, worst] = *fields.as_slice() else {
            return Err(format!("it has {} fields, not {}", fields.len(), HEADER.len()));
        };
        let kind = match what {
            "instructions" => Kind::Instructions,
            "bytes" => Kind::Bytes,
            _ => return Err(format!("what is '{}', not 'instructions' or 'bytes'", plain(what))),
        };
        for (field, text) in
            [("processor", processor), ("level", level), ("structure", structure), ("of", of)]
        {
            if text.is_empty() {
                return Err(format!("{field} is empty"));
            }
        }
        let mean = number("mean", mean)?;
        let worst = match kind {
            Kind::Instructions => Some(number("worst", worst)?),
            Kind::Bytes if worst.is_empty() => None,
            Kind::Bytes => return Err(format!("worst is '{}', and bytes have none", plain(worst))),
        };
        if let Some(worst) = worst.filter(|worst| *worst < mean) {
            return Err(format!("worst is {worst}, less than the mean of {mean}"));
        }
        Ok(Self {
            kind,
            processor: plain(processor),
            level: plain(level),
            structure: plain(structure),
            n: number("n", n)?,
            of: plain(of),
            mean,
            worst,
        })
    }

    /// Returns the fields that distinguish a figure from all others.
    fn key(&self) -> (Kind, [String; 4], u64) {
        let Self { kind, processor, level, structure, n, of, .. } = self.clone();
        (kind, [processor, level, structure, of], n)
    }
}

/// Returns the distinct values, in the order of their first appearance.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut found, value| {
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}

/// Parses a whole number that a floating-point figure can represent exactly.
fn number(field: &str, text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value: Option<u64> = digits.then(|| text.parse().ok()).flatten();
    value
        .filter(|value| *value < 1 << 53)
        .ok_or_else(|| format!("{field} is '{}', no whole number below 2^53", plain(text)))
}

fn damaged(name: &str, line: usize, why: &str) -> LabError {
    LabError::usage(format!("'{name}', line {line}: {why}; `ci/mcu.py --save` writes such a file"))
}
