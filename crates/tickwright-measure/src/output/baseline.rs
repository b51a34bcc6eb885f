//! Reports that are saved under a name, so that later runs can be compared with them.
//!
//! The files are in `$XDG_STATE_HOME/tickwright` (`~/.local/state/tickwright`), in one folder for
//! each command.

use core::str::FromStr;
use std::env;
use std::fs;
use std::path::PathBuf;

use crate::error::LabError;
use crate::result::Report;

/// The name of a saved report: letters, digits, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let named = !text.is_empty() && text.len() <= 100 && text.chars().all(fits) && !text.starts_with('.');
        named.then(|| Self(text.to_owned())).ok_or_else(|| {
            format!("'{text}' is no name: take letters, digits, '.', '_' and '-', at most 100, no '.' first")
        })
    }
}

/// Returns the folder of a command's saved reports.
fn folder(experiment: &str) -> Result<PathBuf, LabError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    let state = state.ok_or_else(|| {
        LabError::usage("--save and --against need a folder: set HOME or XDG_STATE_HOME; nothing was run")
    })?;
    Ok(state.join("tickwright").join(experiment.replace(' ', "-")))
}

fn file(name: &Name, experiment: &str) -> Result<PathBuf, LabError> {
    Ok(folder(experiment)?.join(format!("{}.json", name.0)))
}

/// Reads the report that was saved under `name`.
///
/// # Errors
/// There is no such report (the message lists the existing names), or the file cannot be read.
pub(super) fn read(name: &Name, experiment: &str) -> Result<(String, Report), LabError> {
    let path = file(name, experiment)?;
    if path.exists() {
        return Ok((name.0.clone(), Report::read(&path)?));
    }
    let known = fs::read_dir(folder(experiment)?).into_iter().flatten().flatten();
    let known = known
        .filter_map(|entry| entry.file_name().to_string_lossy().strip_suffix(".json").map(str::to_owned));
    let mut known: Vec<String> = known.collect();
    known.sort_unstable();
    let known = if known.is_empty() {
        "nothing was saved yet".into()
    } else {
        format!("saved are: {}", known.join(", "))
    };
    Err(LabError::usage(format!(
        "no result of `{experiment}` was saved under '{}': {known}; --save={} keeps one; nothing was run",
        name.0, name.0
    )))
}

/// Returns the path for a name, and creates its folder.
///
/// # Errors
/// The folder cannot be created.
pub(super) fn make_room(name: &Name, experiment: &str) -> Result<PathBuf, LabError> {
    let folder = folder(experiment)?;
    fs::create_dir_all(&folder).map_err(|error| {
        LabError::usage(format!("'{}' cannot be made: {error}; nothing was run", folder.display()))
    })?;
    file(name, experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        for good in ["main", "v0.2_a-b"] {
            assert_eq!(good.parse::<Name>().unwrap().0, good);
        }
        for bad in ["", "..", "a/b", ".hidden", "a b", "\u{fc}", &"a".repeat(101)] {
            assert!(bad.parse::<Name>().unwrap_err().contains("is no name"), "{bad}");
        }
    }

    #[test]
    fn a_name_that_nothing_was_saved_under_is_refused() {
        let error = read(&"no-such-name-of-a-test".parse().unwrap(), "bench nothing").unwrap_err();
        let words = error.to_string();
        assert!(words.contains("`bench nothing`") && words.contains("nothing was saved yet"), "{words}");
    }
}
