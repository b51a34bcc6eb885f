//! One sample: N adds, a look-up of each timer, and N deletes by id in the order of the adds.

use std::fs::File;
use std::io::Read;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::column::{Column, Mode, Subject, Visitor};
use crate::clock::Meter;
use crate::error::LabError;
use crate::interrupt;

/// The upper bound of delays: 60 s, in whole ms.
pub(crate) const DELAYS_MS: u32 = 60_000;

/// The random source of the system.
const SOURCE: &str = "/dev/urandom";

/// The times of N adds and N deletes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) add_ns: u64,
    pub(crate) delete_ns: u64,
}

/// The source of the delays.
#[derive(Debug)]
pub(crate) enum Delays {
    /// Each delay is drawn from eight bytes of the system's random source, as in 2009.
    System(File),
    /// The delays are drawn before the clock starts.
    Drawn { delays: Vec<u32>, at: usize },
}

impl Delays {
    /// Returns the delays of a mode. If the mode draws its delays in advance, `most` delays are
    /// drawn.
    ///
    /// # Errors
    /// If the mode is the faithful one, and the system's random source cannot be read.
    pub(crate) fn of(mode: Mode, most: usize, seed: u64) -> Result<Self, LabError> {
        match mode {
            Mode::Ours => Ok(Self::drawn(most, seed)),
            Mode::Faithful => File::open(SOURCE).map(Self::System).map_err(|error| {
                LabError::usage(format!(
                    "the faithful mode reads {SOURCE}, which cannot be opened here: {error}; \
                     use --mode ours (nothing was run)"
                ))
            }),
        }
    }

    /// Draws `most` delays. After the last delay has been used, the delays repeat from the first.
    pub(crate) fn drawn(most: usize, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let delays = (0..most.max(1)).map(|_| random.random_range(0..DELAYS_MS)).collect();
        Self::Drawn { delays, at: 0 }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        match self {
            Self::System(file) => {
                let mut bytes = [0; 8];
                // If the source fails, the bytes are zeros, which is allowed because the
                // verification does not depend on the values.
                let _ = file.read_exact(&mut bytes);
                (u64::from_ne_bytes(bytes) % u64::from(DELAYS_MS)) as u32
            }
            Self::Drawn { delays, at } => {
                let delay = delays[*at];
                *at = if *at + 1 < delays.len() { *at + 1 } else { 0 };
                delay
            }
        }
    }
}

/// The number of calls between two checks of the clock and of Ctrl-C.
const CHUNK: usize = 4096;

/// What to measure.
pub(crate) struct Measure<'a> {
    pub(crate) n: usize,
    pub(crate) delays: &'a mut Delays,
    pub(crate) meter: &'a dyn Meter,
    /// The time at which the sample is given up.
    pub(crate) until: u64,
}

impl Measure<'_> {
    /// Measures `column`. Returns `None` if the sample was given up.
    ///
    /// # Errors
    /// If an answer is wrong.
    pub(crate) fn take(self, column: Column) -> Result<Option<Sample>, LabError> {
        let what = format!("{}, N = {}", column.name(), self.n);
        column.visit(self).map_err(|wrong| LabError::failed(format!("{what}: {wrong}")))
    }
}

impl Visitor for Measure<'_> {
    type Out = Result<Option<Sample>, String>;

    fn visit<S: Subject>(self, scheduler: S) -> Self::Out {
        let Self { n, delays, meter, until } = self;
        let over = || interrupt::requested() || meter.now() > until;
        let mut ids = Vec::with_capacity(n);
        let mut asked = Vec::with_capacity(n);
        let begun = scheduler.now();
        let start = meter.now();
        while ids.len() < n {
            for _ in 0..CHUNK.min(n - ids.len()) {
                let delay = delays.next();
                let Some(id) = scheduler.add(delay) else { return Err("an add was refused".into()) };
                ids.push(id);
                asked.push(delay);
            }
            if over() {
                return Ok(None);
            }
        }
        let add_ns = meter.now().saturating_sub(start);
        let pending = scheduler.pending();
        if pending != n {
            return Err(format!("{pending} are pending"));
        }
        in_time(&scheduler, ids.iter().copied().zip(asked), begun)?;
        if let Some(fault) = scheduler.fault() {
            return Err(fault);
        }
        let (mut deleted, start) = (0, meter.now());
        for chunk in ids.chunks(CHUNK) {
            for &id in chunk {
                deleted += usize::from(scheduler.del(id));
            }
            if over() {
                return Ok(None);
            }
        }
        let delete_ns = meter.now().saturating_sub(start);
        match (deleted, scheduler.pending()) {
            (deleted, 0) if deleted == n => Ok(Some(Sample { add_ns, delete_ns })),
            (deleted, left) => Err(format!("{deleted} were deleted and {left} are left")),
        }
    }
}

/// Returns whether every timer is pending and is due `delay` after its add. The adds happened in
/// order between `begun` and now.
fn in_time<S: Subject>(
    scheduler: &S,
    asked: impl Iterator<Item = (S::Id, u32)>,
    begun: u64,
) -> Result<(), String> {
    let ended = scheduler.now() / 1000;
    let mut last = begun / 1000;
    for (at, (id, delay)) in asked.enumerate() {
        let when = scheduler.when(id).ok_or_else(|| format!("the {at}th is not pending"))?;
        let added = (when / 1000).checked_sub(u64::from(delay) * 1000);
        match added {
            Some(added) if last <= added && added <= ended => last = added,
            _ => return Err(format!("the {at}th, of {delay} ms, is due at {when} ns")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
