//! Four questions at the prompt, for a program without a trace.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::error::LabError;
use crate::traces::profile::{Delay, Workload};

/// Asks for a workload on standard error and reads the answers from standard input.
///
/// # Errors
/// A usage error if standard input is not a terminal, if an answer is not a number, or if there is
/// no answer.
pub(super) fn workload() -> Result<Workload, LabError> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(LabError::usage(
            "name a trace or a profile; without one, four questions are asked, which needs a terminal",
        ));
    }
    answers(&mut input.lock(), &mut io::stderr())
}

/// Does the same as [`workload`], but reads the answers from any reader.
///
/// # Errors
/// The errors of [`workload`].
pub(super) fn answers(from: &mut dyn BufRead, to: &mut dyn Write) -> Result<Workload, LabError> {
    let mut ask = |question: &str, usual: &str| -> Result<String, LabError> {
        let failed = |error| LabError::io("asking", error);
        write!(to, "{question} [{usual}] ").and_then(|()| to.flush()).map_err(failed)?;
        let mut line = String::new();
        if from.read_line(&mut line).map_err(failed)? == 0 {
            return Err(LabError::usage("the answers ended too early: nothing was run"));
        }
        let line = line.trim();
        Ok(if line.is_empty() { usual.to_owned() } else { line.to_owned() })
    };
    let timers = whole(&ask("How many timers are pending at once?", "1000")?)?;
    let delays =
        numbers(&ask("How long do they run, in ms (or 30s)? Several: separated by blanks", "30000")?)?;
    let ends = numbers(&ask("Of 100 waits, how many expire, are cancelled, are re-armed?", "10 90 0")?)?;
    let touched = numbers(&ask("After how many ms is a timer cancelled or re-armed, on average?", "50")?)?;
    let &[expire, cancel, rearm] = &ends[..] else {
        return Err(LabError::usage(
            "question 3 takes three numbers, such as 10 90 0: those that expire, are cancelled, are re-armed",
        ));
    };
    let workload = Workload {
        title: "your answers".into(),
        timers,
        expire,
        cancel,
        rearm,
        touched_after_ms: touched.first().copied(),
        delays: delays.into_iter().map(|ms| Delay { ms, to_ms: None, share: 1.0 }).collect(),
        periodic: Vec::new(),
    };
    let workload = workload.checked().map_err(LabError::usage)?;
    let delays: Vec<String> = workload.delays.iter().map(|delay| format!("{} ms", delay.ms)).collect();
    let understood = format!(
        "So: {} timers of {}; of 100 waits {expire} expire, {cancel} are cancelled, {rearm} are re-armed; after {} ms.",
        workload.timers,
        delays.join(", "),
        workload.touched_after_ms.unwrap_or(0.0)
    );
    writeln!(to, "{understood}").map_err(|error| LabError::io("asking", error))?;
    Ok(workload)
}

fn whole(text: &str) -> Result<u32, LabError> {
    let digits: String = text.chars().filter(|letter| !matches!(letter, '_' | ',' | ' ')).collect();
    digits.parse().map_err(|_| LabError::usage(format!("'{text}' is no number of timers")))
}

/// Parses numbers with blanks between them. A comma before three digits separates thousands. `s`
/// and `ms` are units of time, and `%` is ignored.
fn numbers(text: &str) -> Result<Vec<f64>, LabError> {
    let mut all: Vec<f64> = Vec::new();
    for word in text.split([' ', '/', ';']).filter(|word| !word.is_empty()) {
        let (digits, unit) = match word.find(|letter: char| letter.is_ascii_alphabetic() || letter == '%') {
            Some(at) => word.split_at(at),
            None => (word, ""),
        };
        let factor = match unit {
            "" | "ms" | "%" => 1.0,
            "s" => 1000.0,
            "min" => 60_000.0,
            _ => return Err(LabError::usage(format!("'{word}' is no number: write 30000, 30,000 or 30s"))),
        };
        if digits.is_empty() {
            // A unit that is a separate word belongs to the previous number.
            if let Some(last) = all.last_mut() {
                *last *= factor;
                continue;
            }
        }
        let number = without_thousands(digits).and_then(|digits| digits.parse::<f64>().ok());
        let wrong = || LabError::usage(format!("'{word}' is no number: write 30000, 30,000 or 30s"));
        all.push(number.ok_or_else(wrong)? * factor);
    }
    Ok(all)
}

/// Converts `30,000` into `30000`. Returns `None` if a comma does not separate thousands.
fn without_thousands(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
    let mut parts = whole.split(',');
    let mut digits = parts.next()?.to_owned();
    for part in parts {
        if part.len() != 3 || digits.is_empty() {
            return None;
        }
        digits.push_str(part);
    }
    Some(fraction.map_or(digits.clone(), |fraction| format!("{digits}.{fraction}")))
}
