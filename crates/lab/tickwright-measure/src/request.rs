//! Converts arguments of experiments from words to values, and back.

use clap::{Args, Parser, ValueEnum};

use crate::error::LabError;
use crate::experiment::Parameters;
use crate::number::Population;
use crate::result::{Label, labels};

/// Parses arguments as a user would type them. The tour, `check` and tests use this function.
///
/// # Errors
/// If the parser refuses the words.
pub fn words<A: Args>(words: &[&str]) -> Result<A, LabError> {
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
pub fn sizes(populations: &[Population]) -> Vec<usize> {
    populations.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect()
}

/// Builds the parameters of a report.
pub fn parameters<const N: usize>(pairs: [(&str, Label); N]) -> Parameters {
    labels(pairs)
}

/// Returns the command-line word of a value.
pub fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// Joins values with commas, as in `a,b,c`.
pub fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the command-line words of values, separated by commas.
pub fn names<V: ValueEnum>(choices: &[V]) -> String {
    choices.iter().map(word).collect::<Vec<_>>().join(",")
}

/// Returns the chosen values without repetition, in the order of their declaration.
pub fn once<V: ValueEnum + PartialEq>(chosen: &[V]) -> Vec<V> {
    V::value_variants().iter().filter(|choice| chosen.contains(choice)).cloned().collect()
}
