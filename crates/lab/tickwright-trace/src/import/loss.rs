//! Lines that say that events were lost.
//!
//! | program | line |
//! |---|---|
//! | ftrace | `CPU:1 [LOST 7 EVENTS]`, or without a number |
//! | trace-cmd | `CPU:1 [7 EVENTS DROPPED]`, or without a number |
//! | perf script | `... PERF_RECORD_LOST lost 7`, `PERF_RECORD_LOST_SAMPLES lost 7` |
//! | perf record | `Processed 900 events and lost 7 chunks!` |
//! | perf trace | `LOST 7 events!` |
//! | bpftrace | `Lost 7 events` |
//! | babeltrace | `[warning] Tracer discarded 7 events between ...`, or `may have discarded` |
//!
//! A browser writes an event for a loss, so a browser's losses need no line here.

/// Returns the number of lost events that a line reports, and 0 if the line reports an unknown
/// number. Returns `None` if the line is about something else.
pub(crate) fn loss(line: &str) -> Option<u64> {
    let line = line.trim();
    if line.starts_with("CPU") {
        let inside = line.split_once('[')?.1.strip_suffix(']')?;
        return match inside.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            ["LOST", "EVENTS"] | ["EVENTS", "DROPPED"] => Some(0),
            ["LOST", count, "EVENTS"] | [count, "EVENTS", "DROPPED"] => Some(count.parse().unwrap_or(0)),
            _ => None,
        };
    }
    if let Some((_, rest)) = line.split_once("PERF_RECORD_LOST") {
        let rest = rest.strip_prefix("_SAMPLES").unwrap_or(rest).trim_start();
        return Some(number(rest.strip_prefix("lost ")?));
    }
    if let Some((_, rest)) = line.split_once("events and lost ").filter(|_| line.starts_with("Processed ")) {
        return rest.contains(" chunks").then_some(0);
    }
    if let Some((_, rest)) = line.split_once("Tracer discarded ") {
        let is_events = rest.split(' ').nth(1) == Some("events");
        return Some(if is_events { number(rest) } else { 0 });
    }
    if line.contains("Tracer may have discarded ") {
        return Some(0);
    }
    // An escape sequence for a color can precede the word.
    let words =
        line.strip_prefix("\x1b[").and_then(|rest| rest.split_once('m')).map_or(line, |(_, rest)| rest);
    let words = words.strip_prefix("WARNING: ").unwrap_or(words);
    let rest = words.strip_prefix("LOST ").or_else(|| words.strip_prefix("Lost "))?;
    let (count, rest) = rest.split_once(' ')?;
    if rest.starts_with("events") { count.parse().ok() } else { None }
}

/// Returns the number at the start of a text, or 0 if there is none.
fn number(text: &str) -> u64 {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recorder_says_it_in_its_words() {
        for (line, count) in [
            ("CPU:1 [LOST 204600 EVENTS]", 204_600),
            ("CPU:1 [LOST EVENTS]", 0),
            ("CPU:1 [204600 EVENTS DROPPED]", 204_600),
            ("CPU:12 [EVENTS DROPPED]", 0),
            ("CPU 3 [LOST 7 EVENTS]", 7),
            ("     swapper     0 [001]  1058.79: PERF_RECORD_LOST lost 19", 19),
            ("PERF_RECORD_LOST_SAMPLES lost 3", 3),
            ("Processed 48211 events and lost 4 chunks!", 0),
            ("LOST 12 events!", 12),
            ("\u{1b}[31mLOST 12 events!", 12),
            ("Lost 5 events", 5),
            ("WARNING: Lost 5 events", 5),
            ("[warning] Tracer discarded 31 events between [13:01] and [13:02] in a trace", 31),
            ("WARNING: Tracer discarded 2 packets between [13:01] and [13:02]", 0),
            ("WARNING: Tracer may have discarded events in a trace", 0),
        ] {
            assert_eq!(loss(line), Some(count), "{line}");
        }
    }

    #[test]
    fn other_lines_say_nothing_of_losses() {
        for line in [
            "",
            "cpus=2",
            "CPU:1",
            "CPU:1 []",
            "##### CPU 2 buffer started ####",
            "# entries-in-buffer/entries-written: 3/3   #P:4",
            "Processed 48211 events and found none",
            "Lost and found",
            "Lost two events",
            "Lost 5 packets",
            "a-1 [000] d... 1.5: sched_switch: prev_comm=x",
            "PERF_RECORD_LOST",
        ] {
            assert_eq!(loss(line), None, "{line}");
        }
    }
}
