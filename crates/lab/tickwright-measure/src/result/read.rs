//! Reads a result file.

use std::path::Path;

use serde_json::Value;

use super::{Block, Report, SCHEMA, default};
use crate::error::LabError;
use crate::text::{self, plain};

/// The most bytes of a result file. The result of the whole NPTL table has two million bytes.
const MOST: u64 = 256 << 20;

impl Report {
    /// Reads a report that `--json` wrote. `-` is standard input.
    ///
    /// # Errors
    /// A usage error that names the file, if the file cannot be read, is not a result, is damaged,
    /// or has another schema. For another schema, the error also names the command that produces
    /// the result again.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let name = text::name(&path.display().to_string());
        let text = text::read(path, MOST)
            .map_err(|error| LabError::usage(format!("'{name}' cannot be read: {error}")))?;
        Self::parse(&name, &text)
    }

    /// Reads a report; `name` is for messages.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn parse(name: &str, text: &str) -> Result<Self, LabError> {
        let mut tree: Value = serde_json::from_str(text).map_err(|error| {
            let why = if error.is_eof() { "it ends too early" } else { "it is no JSON" };
            LabError::usage(format!("'{name}': {why} ({error}); a result is what --json=FILE writes"))
        })?;
        disarm(&mut tree);
        let again = match tree.get("command").and_then(Value::as_str) {
            Some(command) => format!("make it again with `{} --json=FILE`", without_json(command)),
            None => "make it again with --json=FILE".to_owned(),
        };
        match tree.get("schema").and_then(Value::as_u64) {
            Some(schema) if schema == u64::from(SCHEMA) => {}
            Some(schema) => {
                return Err(LabError::usage(format!(
                    "'{name}' has schema {schema}, and this program reads schema {SCHEMA}: {again}"
                )));
            }
            None => {
                return Err(LabError::usage(format!(
                    "'{name}' is no result of tickwright: it has no schema; a result is what --json=FILE writes"
                )));
            }
        }
        let mut report: Self = serde_json::from_value(tree)
            .map_err(|error| LabError::usage(format!("'{name}' is damaged: {error}; {again}")))?;
        // An untrusted file can have points that our plots never have.
        for block in report.sections.iter_mut().flat_map(|section| &mut section.blocks) {
            if let Block::Plot(plot) = block {
                plot.keep_drawable();
            }
        }
        if report.sections.is_empty() {
            report.sections = default::sections(&report.series);
        }
        Ok(report)
    }
}

/// Escapes the control characters in every text, because a terminal will show the texts of the
/// file.
fn disarm(value: &mut Value) {
    match value {
        Value::String(text) => *text = plain(text),
        Value::Array(values) => values.iter_mut().for_each(disarm),
        Value::Object(fields) => fields.values_mut().for_each(disarm),
        _ => {}
    }
}

/// Returns a command line without the option that names the JSON output.
fn without_json(command: &str) -> String {
    let words = command.split(' ').filter(|word| *word != "--json" && !word.starts_with("--json="));
    words.collect::<Vec<_>>().join(" ")
}
