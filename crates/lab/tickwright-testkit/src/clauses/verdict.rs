//! The verdict about one clause, and what the process provides to reach the verdict.

use core::fmt;

/// Whether a queue keeps a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No run of the suite broke the clause.
    Kept,
    /// A run of the suite broke the clause. The text is the witness.
    Broken(String),
    /// The queue lacks an operation that the clause needs.
    NotOffered,
    /// The clause needs something that this process does not have.
    NotRun(&'static str),
}

impl Verdict {
    /// Returns whether a run broke the clause.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(self, Self::Broken(_))
    }

    pub(super) fn from_witness(witness: Option<String>) -> Self {
        witness.map_or(Self::Kept, Self::Broken)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Broken(witness) => write!(f, "broken: {witness}"),
            Self::NotOffered => f.write_str("not offered"),
            Self::NotRun(why) => write!(f, "not run: {why}"),
        }
    }
}

/// What the process provides for the suite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tools {
    /// A function that returns the number of allocations that this thread has made so far, if the
    /// allocator counts them.
    pub allocations: Option<fn() -> u64>,
}
