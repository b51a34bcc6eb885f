//! Durations as people write them: `5s`, `500ms`, `2h`, `1m30s`.

use core::time::Duration;

/// The longest run that is accepted: a week.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The shortest run that is accepted.
pub const SHORTEST: Duration = Duration::from_millis(1);

const RANGE: &str = "a duration is between 1ms and 168h, written like 500ms, 5s, 1m30s or 2h";

/// Reads a duration; a value parser for the command line.
///
/// # Errors
/// What is wrong, with the allowed range.
pub fn parse(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.starts_with('-') {
        return Err(format!("'{text}' is negative: {RANGE}"));
    }
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(format!("no duration given: {RANGE}"));
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        if number.is_empty() {
            return Err(format!("'{text}' has no number before '{unit}': {RANGE}"));
        }
        let nanos: u64 = match unit.trim() {
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" => return Err(format!("'{text}' has no unit: {RANGE}")),
            other => return Err(format!("'{text}': '{other}' is not ms, s, m or h: {RANGE}")),
        };
        let part = number.parse::<u64>().ok().and_then(|n| n.checked_mul(nanos)).map(Duration::from_nanos);
        total = part
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| format!("'{text}' is too long: {RANGE}"))?;
        rest = tail;
    }
    if total < SHORTEST {
        return Err(format!("'{text}' is too short: {RANGE}"));
    }
    if total > LONGEST {
        return Err(format!("'{text}' is too long: {RANGE}"));
    }
    Ok(total)
}

/// Writes a duration the way [`parse`] reads it, to the millisecond.
pub fn show(duration: Duration) -> String {
    let millis = duration.as_millis();
    let (hours, minutes, seconds, millis) =
        (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60, millis % 1000);
    let parts: String = [(hours, "h"), (minutes, "m"), (seconds, "s"), (millis, "ms")]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if parts.is_empty() { "0s".into() } else { parts }
}

#[cfg(test)]
mod tests;
