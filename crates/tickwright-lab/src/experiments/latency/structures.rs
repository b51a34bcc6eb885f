//! The structures of the published experiment, and those that a request names.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::error::LabError;
use crate::structures::registry::{self, Structure};

/// `scenarios/latency.toml`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Published {
    /// Families in the published order, earliest first.
    pub(super) order: Vec<String>,
    /// The same in the words of the source.
    pub(super) words: String,
    pub(super) source: String,
}

/// What was published. A test holds that the file can be read.
pub(super) static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../../scenarios/latency.toml")).unwrap_or_default()
});

impl Published {
    /// The published structures in one storage, earliest first.
    pub(super) fn stored(&self, storage: &str) -> Vec<String> {
        self.order.iter().map(|family| format!("{family}/{storage}")).collect()
    }
}

/// What patterns name, or else the published structures as a kernel holds them. A structure that
/// cannot take part is left out, with a note that says why.
pub(super) fn choose(
    patterns: &[String],
    able: fn(&Structure) -> bool,
    why: &str,
) -> Result<(Vec<&'static Structure>, Vec<String>), LabError> {
    let usual = PUBLISHED.stored("hook");
    let chosen = registry::select(if patterns.is_empty() { &usual } else { patterns })?;
    let (able, unable): (Vec<&'static Structure>, Vec<_>) = chosen.into_iter().partition(|s| able(s));
    let notes: Vec<String> = unable.iter().map(|s| format!("{} is left out: {why}", s.id)).collect();
    if able.is_empty() { Err(LabError::usage(notes.join("; "))) } else { Ok((able, notes)) }
}
