//! Spans of a few nanoseconds to seconds on the command line: `1ms`, `100us`, `500ns`.

use core::time::Duration;

/// The units, with their ns.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Reads a whole number and its unit, between `LOW` and `HIGH` ns; a value parser for the command
/// line.
///
/// # Errors
/// What is wrong, with the range.
pub(super) fn parse<const LOW: u64, const HIGH: u64>(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let range = || {
        let (low, high) = (show(Duration::from_nanos(LOW)), show(Duration::from_nanos(HIGH)));
        format!("from {low} to {high}, written like 500ns, 100us or 1ms")
    };
    let scale = UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .map(|(_, scale)| *scale)
        .ok_or_else(|| format!("'{text}' is not a span {}", range()))?;
    let ns = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    ns.filter(|ns| (LOW..=HIGH).contains(ns))
        .map(Duration::from_nanos)
        .ok_or_else(|| format!("'{text}' is not a span {}", range()))
}

/// Writes a span in the largest unit that leaves it whole.
pub(super) fn show(span: Duration) -> String {
    let ns = span.as_nanos();
    let fits = |scale: u64| ns.is_multiple_of(u128::from(scale));
    let (unit, scale) = UNITS.into_iter().rev().find(|(_, scale)| ns > 0 && fits(*scale)).unwrap_or(UNITS[0]);
    format!("{}{unit}", ns / u128::from(scale))
}
