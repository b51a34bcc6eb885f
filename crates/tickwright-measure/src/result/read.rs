//! Reading a result file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::{Report, SCHEMA};
use crate::error::LabError;
use crate::text::plain;

/// Bytes that a result may have: the whole NPTL table has two million.
const MOST: u64 = 256 << 20;

/// What every layout of a result has had.
#[derive(Debug, Deserialize)]
struct Head {
    schema: u32,
    command: Option<String>,
}

impl Report {
    /// Reads what `--json` wrote. `-` is standard input.
    ///
    /// # Errors
    /// A usage error that names the file: it cannot be read, is no result, is damaged, or has
    /// another schema; then with the command that makes it again.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let name = plain(&path.display().to_string());
        let mut text = String::new();
        let read = if path == Path::new("-") {
            std::io::stdin().lock().take(MOST + 1).read_to_string(&mut text)
        } else {
            File::open(path).and_then(|file| BufReader::new(file).take(MOST + 1).read_to_string(&mut text))
        };
        read.map_err(|error| LabError::usage(format!("'{name}' cannot be read: {error}")))?;
        if text.len() as u64 > MOST {
            return Err(LabError::usage(format!("'{name}' has more than {MOST} bytes: it is no result")));
        }
        Self::parse(&name, &text)
    }

    /// Reads a report; `name` is for messages.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(name: &str, text: &str) -> Result<Self, LabError> {
        let head: Head = serde_json::from_str(text).map_err(|error| {
            let why = if error.is_eof() { "it ends too early" } else { "it is no result of tickwright" };
            LabError::usage(format!("'{name}': {why} ({error}); a result is what --json=FILE writes"))
        })?;
        let again = || match &head.command {
            Some(command) => format!("make it again with `{} --json=FILE`", plain(&without_json(command))),
            None => "make it again with --json=FILE".to_owned(),
        };
        if head.schema != SCHEMA {
            return Err(LabError::usage(format!(
                "'{name}' has schema {}, and this program reads schema {SCHEMA}: {}",
                head.schema,
                again()
            )));
        }
        let mut report: Self = serde_json::from_str(text)
            .map_err(|error| LabError::usage(format!("'{name}' is damaged: {error}; {}", again())))?;
        report.disarm();
        Ok(report)
    }

    /// Writes out control characters in words that reach a terminal.
    fn disarm(&mut self) {
        let Ok(mut tree) = serde_json::to_value(&*self) else { return };
        if words(&mut tree)
            && let Ok(clean) = serde_json::from_value(tree)
        {
            *self = clean;
        }
    }
}

/// Replaces control characters in every text; whether there were any.
fn words(value: &mut serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            let clean = plain(text);
            let dirty = clean != *text;
            *text = clean;
            dirty
        }
        Value::Array(values) => values.iter_mut().fold(false, |dirty, value| words(value) | dirty),
        Value::Object(fields) => fields.values_mut().fold(false, |dirty, value| words(value) | dirty),
        _ => false,
    }
}

/// A command without the option that says where its JSON went.
fn without_json(command: &str) -> String {
    let words = command.split(' ').filter(|word| *word != "--json" && !word.starts_with("--json="));
    words.collect::<Vec<_>>().join(" ")
}
