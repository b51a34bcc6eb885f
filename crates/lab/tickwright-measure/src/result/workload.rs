//! The hash of the work that a result measured.

use std::collections::BTreeMap;

use super::{Label, Report};

/// Parameters that do not define the work: those that say what is compared and for how long, and
/// the names of traces, because only the content of a trace counts.
const COMPARED: [&str; 11] = [
    "structures",
    "structure",
    "models",
    "method",
    "baseline",
    "current",
    "current_from",
    "slice",
    "turns",
    "trace",
    "source",
];

/// Returns whether a parameter defines the work.
fn defines(name: &str) -> bool {
    !COMPARED.contains(&name) && !name.starts_with("rounds")
}

/// Returns the words that define the work of a request: its seed, and all parameters except those
/// that say what is compared, and how often.
#[must_use]
pub fn words(seed: Option<u64>, parameters: &BTreeMap<String, Label>) -> String {
    let own = parameters.iter().filter(|(name, _)| defines(name));
    let own = own.map(|(name, value)| format!("{name}={value}\n"));
    seed.map(|seed| format!("seed={seed}\n")).into_iter().chain(own).collect()
}

/// Returns the hash of an experiment's words: FNV-1a with 64 bits, in hexadecimal.
#[must_use]
pub fn hash(experiment: &str, words: &str) -> String {
    let bytes = experiment.bytes().chain([0]).chain(words.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Returns the reason to doubt a comparison of two results, if they measured different work.
/// Returns `None` if the work is the same, or if one of the results is too old to tell.
#[must_use]
pub fn doubt(first: &Report, second: &Report) -> Option<String> {
    let (one, other) = (first.workload.as_ref()?, second.workload.as_ref()?);
    if one == other {
        return None;
    }
    let said = |value: Option<&Label>| value.map_or("none".to_owned(), ToString::to_string);
    let mut differ: Vec<String> = Vec::new();
    if first.seed != second.seed {
        let [one, other] = [first.seed, second.seed].map(|seed| said(seed.map(Label::from).as_ref()));
        differ.push(format!("seed {one} and {other}"));
    }
    let names = first
        .parameters
        .keys()
        .chain(second.parameters.keys().filter(|name| !first.parameters.contains_key(*name)));
    for name in names.filter(|name| defines(name)) {
        let (a, b) = (first.parameters.get(name), second.parameters.get(name));
        if a != b {
            differ.push(format!("{name} {} and {}", said(a), said(b)));
        }
    }
    let how = if differ.is_empty() { String::new() } else { format!(": {}", differ.join("; ")) };
    Some(format!(
        "the two results have different workloads ({one} and {other}){how}; what differs may be the work"
    ))
}
