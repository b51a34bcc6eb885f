//! A short run of everything, for `tickwright check`: counts, no times.

use clap::ValueEnum;

use super::cli::takes_part;
use super::clock::{Clock, Driver, System};
use super::slice::{Drive, Seen, Turn};
use crate::error::LabError;
use crate::interrupt;
use crate::structures::registry::{self, STRUCTURES, Structure};

const POINTS: u64 = 20;
/// Half a millisecond; the host ticks at each fifth point.
const TURN: Turn = Turn { period: 500_000, points: POINTS, host_period: 2_500_000 };

/// Every structure with the usual driver, and every driver with every clock.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let usual = registry::find(super::order::PUBLISHED[0]).map_err(|error| error.to_string())?;
    let mut runs: Vec<(&'static Structure, Clock, Driver)> = STRUCTURES
        .iter()
        .filter(|structure| takes_part(structure))
        .map(|structure| (structure, Clock::Monotonic, Driver::Nanosleep))
        .collect();
    for &driver in Driver::value_variants() {
        runs.extend(Clock::value_variants().iter().map(|clock| (usual, *clock, driver)));
    }
    let mut seen = Seen::new(POINTS);
    let mut periods = 0;
    for (structure, clock, driver) in &runs {
        let name = || format!("{} by {} and {}", structure.id, clock.word(), driver.word());
        let words = |error: LabError| format!("{}: {error}", name());
        let mut host = System::new(*clock, *driver).map_err(words)?;
        let drive = Drive { turn: TURN, host: &mut host, seen: &mut seen, stop: &interrupt::requested };
        registry::visit(structure, drive).map_err(words)?;
        if interrupt::requested() {
            return Err("interrupted".into());
        }
        // The last wake-up may have come after the end, for more.
        let counted = seen.lateness.len() as u64 + seen.gaps.iter().map(|gap| gap.periods).sum::<u64>();
        if counted < POINTS || seen.host_ticks == 0 {
            return Err(format!("{}: {counted} of {POINTS} periods, {} host ticks", name(), seen.host_ticks));
        }
        periods += counted;
    }
    Ok(format!("{periods} periods in {} runs, each a sample or told as a gap", runs.len()))
}
