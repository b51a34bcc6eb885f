//! Durations as people write them: `100us`, `500ms`, `5s`, `1m30s`, `2h`.

use core::time::Duration;

/// Units from the longest to the shortest, each with its length in ns.
const UNITS: [(&str, u64); 7] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Parses the duration of a run, from a millisecond to a week; a value parser for the command line.
///
/// # Errors
/// If the text is not such a duration. The error describes the mistake and states the allowed
/// range.
pub fn parse(text: &str) -> Result<Duration, String> {
    within::<1_000_000, 604_800_000_000_000>(text)
}

/// Parses a duration from `LOW` to `HIGH` ns; a value parser for the command line.
///
/// # Errors
/// If the text is not such a duration. The error describes the mistake and states the allowed
/// range.
pub fn within<const LOW: u64, const HIGH: u64>(text: &str) -> Result<Duration, String> {
    let ns = nanoseconds(text).and_then(|ns| match ns {
        ns if ns < LOW => Err(format!("'{text}' is too short")),
        ns if ns > HIGH => Err(too_long(text)),
        ns => Ok(ns),
    });
    ns.map(Duration::from_nanos).map_err(|why| {
        let [low, high] = [LOW, HIGH].map(|ns| show(Duration::from_nanos(ns)));
        format!("{why}: a duration is between {low} and {high}, written like 100us, 500ms, 5s, 1m30s or 2h")
    })
}

fn too_long(text: &str) -> String {
    format!("'{text}' is too long")
}

fn nanoseconds(text: &str) -> Result<u64, String> {
    let mut rest = text.trim();
    if rest.starts_with('-') {
        return Err(format!("'{text}' is negative"));
    }
    if rest.is_empty() {
        return Err("no duration given".into());
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        if number.is_empty() {
            return Err(format!("'{text}' has no number before '{unit}'"));
        }
        let scale = match UNITS.iter().find(|(name, _)| *name == unit.trim()) {
            Some((_, scale)) => *scale,
            None if unit.trim().is_empty() => return Err(format!("'{text}' has no unit")),
            None => return Err(format!("'{text}': '{unit}' is not ns, us, ms, s, m or h")),
        };
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(|| too_long(text))?;
        rest = tail;
    }
    Ok(total)
}

/// Formats a duration in the syntax that [`parse`] reads.
pub fn show(duration: Duration) -> String {
    let mut rest = duration.as_nanos();
    let mut out = String::new();
    for (unit, scale) in UNITS.into_iter().filter(|(unit, _)| *unit != "min") {
        let scale = u128::from(scale);
        if rest >= scale {
            out += &format!("{}{unit}", rest / scale);
            rest %= scale;
        }
    }
    if out.is_empty() { "0s".into() } else { out }
}

#[cfg(test)]
mod tests;
