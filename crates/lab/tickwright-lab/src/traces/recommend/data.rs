//! The request of `recommend`, and its data.

use crate::structures::registry::Structure;
use crate::traces::replay::{Data as Replayed, Plan as ReplayPlan};

/// A checked request.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) replay: ReplayPlan,
    pub(crate) current: &'static Structure,
    pub(crate) known_by: KnownBy,
    pub(crate) criteria: Criteria,
    /// What identifies the source.
    pub(crate) source: String,
}

/// How the structure is known that the program has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownBy {
    /// `--current` names it.
    Option,
    /// The recorder saw this library.
    Library(&'static Library),
    /// Nothing tells: it is the usual one of the standard library.
    Nothing,
}

/// A library whose timers a recorder sees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Library {
    /// As a trace names it.
    pub(crate) name: &'static str,
    /// The structure that keeps its timers.
    pub(crate) has: &'static str,
    /// The nearest structure of the lab.
    pub(crate) nearest: &'static str,
}

/// The structures are those that the sources of these libraries document.
const LIBRARIES: &[Library] = &[
    Library { name: "libevent", has: "a binary heap with positions", nearest: "heap2/hook" },
    Library { name: "libuv", has: "a binary heap of linked nodes", nearest: "heap2/hook" },
    Library { name: "libev", has: "a heap with four children", nearest: "heap4/hook" },
    Library { name: "hrtimer", has: "a red-black tree with a cached head", nearest: "rb-cached/hook" },
];

/// The structure of a program about which nothing is known.
pub(crate) const USUAL: &str = "binary-heap";

/// The id of the structure that a program has now. It is the one that is `asked` for, or else that
/// of the library whose timers the trace has. `keepers` names the queues of the trace.
pub(crate) fn current(asked: Option<&str>, keepers: &[String]) -> (String, KnownBy) {
    if let Some(id) = asked {
        return (id.to_owned(), KnownBy::Option);
    }
    let known = |name: &String| LIBRARIES.iter().find(|library| library.name == name);
    let mut libraries = keepers.iter().map(known);
    match libraries.next().flatten() {
        Some(first) if libraries.all(|other| other.is_some_and(|other| other.nearest == first.nearest)) => {
            (first.nearest.to_owned(), KnownBy::Library(first))
        }
        _ => (USUAL.to_owned(), KnownBy::Nothing),
    }
}

impl KnownBy {
    /// One word for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Option => "--current",
            Self::Library(library) => library.name,
            Self::Nothing => "assumed",
        }
    }

    /// A sentence on the current structure.
    pub(crate) fn sentence(self, current: &Structure) -> String {
        let id = current.id;
        match self {
            Self::Option => format!("The current structure is {id}, as --current says."),
            Self::Library(library) => format!(
                "The current structure is {id}: the nearest to {} of {}, whose timers the trace has.",
                library.has, library.name
            ),
            Self::Nothing => format!(
                "The current structure is assumed to be {id}: nothing says what the program has. --current names it."
            ),
        }
    }
}

/// The replays.
#[derive(Debug)]
pub(crate) struct Data {
    /// Of the workload as it is.
    pub(crate) own: Replayed,
    /// With more timers at once: copies of the workload, superposed.
    pub(crate) more: Vec<Replayed>,
}

/// What a structure must fulfil to be recommended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Criteria {
    /// It does not allocate.
    pub(crate) no_alloc: bool,
    /// The most bytes for a timer.
    pub(crate) bytes: Option<u32>,
    /// The greatest lateness, in ns. `None`: exact.
    pub(crate) late_ns: Option<f64>,
    /// How far away a timer may be, in ns. 0: as far as in the workload.
    pub(crate) horizon_ns: u64,
    /// Below this share of a CPU, in percent, the choice does not matter.
    pub(crate) negligible: f64,
}
