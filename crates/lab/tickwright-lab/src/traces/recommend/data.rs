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
    /// The words that identify the source.
    pub(crate) source: String,
}

/// How `recommend` knows which structure the program has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownBy {
    /// `--current` names it.
    Option,
    /// The recorder saw this library.
    Library(&'static Library),
    /// Nothing shows it, so the usual structure of the standard library is assumed.
    Nothing,
}

/// A library whose timers a recorder sees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Library {
    /// The name of the library in traces.
    pub(crate) name: &'static str,
    /// The structure in which the library keeps its timers.
    pub(crate) has: &'static str,
    /// The lab's most similar structure.
    pub(crate) nearest: &'static str,
}

/// The structures are taken from the source code of these libraries.
const LIBRARIES: &[Library] = &[
    Library { name: "libevent", has: "a binary heap with positions", nearest: "heap2/hook" },
    Library { name: "libuv", has: "a binary heap of linked nodes", nearest: "heap2/hook" },
    Library { name: "libev", has: "a heap with four children", nearest: "heap4/hook" },
    Library { name: "hrtimer", has: "a red-black tree with a cached head", nearest: "rb-cached/hook" },
];

/// The structure of a program about which nothing is known.
pub(crate) const USUAL: &str = "binary-heap";

/// Returns the id of the structure that a program has now. This is the structure `asked`, or else
/// the structure of the library whose timers are in the trace. `keepers` names the queues of the
/// trace.
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
    /// Returns one word, for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Option => "--current",
            Self::Library(library) => library.name,
            Self::Nothing => "assumed",
        }
    }

    /// Returns a sentence about the current structure.
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

/// The results of the replays.
#[derive(Debug)]
pub(crate) struct Data {
    /// The replay of the workload itself.
    pub(crate) own: Replayed,
    /// Replays with more timers at once, in which copies of the workload are superposed.
    pub(crate) more: Vec<Replayed>,
}

/// The conditions that a structure must meet to be recommended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Criteria {
    /// The structure does not allocate.
    pub(crate) no_alloc: bool,
    /// The most bytes per timer.
    pub(crate) bytes: Option<u32>,
    /// The greatest lateness, in ns. `None`: the structure must be exact.
    pub(crate) late_ns: Option<f64>,
    /// How far away a deadline can be, in ns. 0: as far as in the workload.
    pub(crate) horizon_ns: u64,
    /// Below this share of a CPU, in percent, the choice does not matter.
    pub(crate) negligible: f64,
}
