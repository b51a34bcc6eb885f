//! Helpers for the arguments of several experiments.

pub(crate) use tickwright_measure::request::{list, names, once, parameters, sizes, word, words};

use crate::structures::registry::Structure;

/// Returns the ids of structures, separated by commas.
pub(crate) fn ids(structures: &[&'static Structure]) -> String {
    structures.iter().map(|structure| structure.id).collect::<Vec<_>>().join(",")
}

/// Returns the structures that were not run, and why, one line for each structure and reason, such
/// as `list/slab not run at n=2k, 10k: insertion is O(n)`.
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
