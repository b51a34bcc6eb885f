//! Helpers for the arguments of several experiments.

use clap::{Args, Parser, ValueEnum};

use crate::error::LabError;
use crate::experiment::Parameters;
use crate::models::scenario::Population;
use crate::result::Label;
use crate::structures::registry::Structure;

/// Parses arguments as a user would type them. The tour, `check` and tests use this function.
///
/// # Errors
/// An error of the parser.
pub(crate) fn words<A: Args>(words: &[&str]) -> Result<A, LabError> {
    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct Own<A: Args> {
        #[command(flatten)]
        args: A,
    }
    let parsed = Own::<A>::try_parse_from(words).map_err(|error| LabError::Command(error.to_string()))?;
    Ok(parsed.args)
}

/// Converts populations into sizes.
pub(crate) fn sizes(populations: &[Population]) -> Vec<usize> {
    populations.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect()
}

/// Builds the parameters of a report.
pub(crate) fn parameters<const N: usize>(pairs: [(&str, Label); N]) -> Parameters {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the command-line word of a value.
pub(crate) fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// Joins values with commas: `a,b,c`.
pub(crate) fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the command-line words of values, separated by commas.
pub(crate) fn names<V: ValueEnum>(choices: &[V]) -> String {
    choices.iter().map(word).collect::<Vec<_>>().join(",")
}

/// The chosen values without repetition, in the order of their declaration.
pub(crate) fn once<V: ValueEnum + PartialEq>(chosen: &[V]) -> Vec<V> {
    V::value_variants().iter().filter(|choice| chosen.contains(choice)).cloned().collect()
}

/// The ids of structures, separated by commas.
pub(crate) fn ids(structures: &[&'static Structure]) -> String {
    structures.iter().map(|structure| structure.id).collect::<Vec<_>>().join(",")
}

/// The structures that were not run, and why, one line for each structure and reason:
/// `list/slab not run at n=2k, 10k: insertion is O(n)`.
pub(crate) fn left_out(skipped: impl IntoIterator<Item = (&'static str, String, String)>) -> String {
    let mut lines: Vec<(&str, Vec<String>, String)> = Vec::new();
    for (id, n, why) in skipped {
        match lines.iter_mut().find(|line| line.0 == id && line.2 == why) {
            Some(line) if line.1.contains(&n) => {}
            Some(line) => line.1.push(n),
            None => lines.push((id, vec![n], why)),
        }
    }
    let said = lines.iter().map(|(id, n, why)| format!("{id} not run at n={}: {why}", n.join(", ")));
    said.collect::<Vec<_>>().join("\n")
}
