//! The structures of the published experiment, and the structures that a request names.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::error::LabError;
use crate::structures::registry::{self, Structure};

/// The content of `scenarios/latency.toml`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Published {
    /// Families in the published order, earliest first.
    pub(super) order: Vec<String>,
    /// The published order in the words of the source.
    pub(super) words: String,
    pub(super) source: String,
}

/// The published result. A test checks that the file can be read.
pub(super) static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    let file = include_str!("../../../../../../scenarios/latency.toml");
    toml::from_str(file).and_then(toml::Table::try_into).unwrap_or_default()
});

impl Published {
    /// Returns the published structures in one storage, earliest first.
    pub(super) fn stored(&self, storage: &str) -> Vec<String> {
        self.order.iter().map(|family| format!("{family}/{storage}")).collect()
    }
}

/// Returns the structures that the patterns name or, without patterns, the published structures
/// with hooks, as in a kernel. A structure that cannot run is left out, and a note states the
/// reason.
pub(super) fn choose(patterns: &[String]) -> Result<(Vec<&'static Structure>, Vec<String>), LabError> {
    let usual = PUBLISHED.stored("hook");
    let chosen = registry::select(if patterns.is_empty() { &usual } else { patterns })?;
    let (able, unable): (Vec<&'static Structure>, Vec<_>) = chosen.into_iter().partition(|s| takes_part(s));
    let why = |s: &&Structure| format!("{} is left out: a period needs an exact head", s.id);
    let notes: Vec<String> = unable.iter().map(why).collect();
    if able.is_empty() { Err(LabError::usage(notes.join("; "))) } else { Ok((able, notes)) }
}

/// Returns whether a structure wakes up exactly at its deadlines.
fn takes_part(structure: &Structure) -> bool {
    structure.exact_head && structure.ties.exact()
}
