//! The figures of `zephyr.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file of the experiment.
pub(crate) const FILE: &str = include_str!("zephyr.toml");

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(super) source: String,
    /// What the documentation says about the list.
    pub(super) claim: String,
    /// The largest number of time-outs that counts as the "handful" of a device.
    pub(super) handful: usize,
    pub(super) times: Times,
    /// The nodes by the name of the back end.
    pub(super) nodes: BTreeMap<String, Node>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Times {
    pub(super) machine: String,
    /// How many time-outs were pending.
    pub(super) n: usize,
    pub(super) list: Ns,
    pub(super) heap: Ns,
}

/// Times in ns per operation.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ns {
    pub(super) insert: f64,
    pub(super) abort: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    /// Bytes of a time-out, if they were published.
    pub(super) bytes: Option<usize>,
    /// Whether time-outs of one tick fire in the order of their insertion.
    pub(super) in_order: bool,
}
