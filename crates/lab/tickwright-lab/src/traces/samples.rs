//! Recordings that ship with the program: `sample:NAME` stands for the file of a trace.

use std::path::Path;

/// A recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// The recording's name. On the command line, `sample:` precedes it.
    pub(crate) name: &'static str,
    /// What was recorded.
    pub(crate) about: &'static str,
    /// The trace.
    pub(crate) bytes: &'static [u8],
}

/// All recordings. `samples/README.md` says how they were made.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        name: "bind9",
        about: "a name server over libuv: a time-out for each query, and all are cancelled",
        bytes: include_bytes!("../../samples/bind9.twt"),
    },
    Sample {
        name: "unbound",
        about: "a name server over libevent: half of the timers are cancelled, half expire at once",
        bytes: include_bytes!("../../samples/unbound.twt"),
    },
];

/// Returns the recording that a path stands for. The error lists the recordings that exist.
pub(crate) fn find(path: &Path) -> Option<Result<&'static Sample, String>> {
    let name = path.to_str()?.strip_prefix("sample:")?;
    let names = || SAMPLES.iter().map(|sample| format!("sample:{}", sample.name)).collect::<Vec<_>>();
    let found = SAMPLES.iter().find(|sample| sample.name == name);
    Some(found.ok_or_else(|| format!("there is no such sample; there are {}", names().join(", "))))
}
