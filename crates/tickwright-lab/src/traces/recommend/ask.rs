//! Four questions at the prompt, for a program without a trace.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::error::LabError;
use crate::traces::profile::{Delay, Workload};

/// Asks for a workload on standard error and reads the answers from standard input.
///
/// # Errors
/// Standard input is no terminal; an answer that is no number; no answer.
pub(super) fn workload() -> Result<Workload, LabError> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(LabError::usage(
            "name a trace or a profile; without one, four questions are asked, which needs a terminal",
        ));
    }
    answers(&mut input.lock(), &mut io::stderr())
}

/// The same from any reader.
///
/// # Errors
/// As [`workload`].
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
    let delays = numbers(&ask("How long do they run, in ms? Several: separated by blanks", "30000")?)?;
    let ends = numbers(&ask("Of 100 waits, how many expire, are cancelled, are re-armed?", "10 90 0")?)?;
    let touched = numbers(&ask("After how many ms is a timer cancelled or re-armed, on average?", "50")?)?;
    let end = |at: usize| ends.get(at).copied().unwrap_or(0.0);
    let workload = Workload {
        title: "your answers".into(),
        timers,
        expire: end(0),
        cancel: end(1),
        rearm: end(2),
        touched_after_ms: touched.first().copied(),
        delays: delays.into_iter().map(|ms| Delay { ms, to_ms: None, share: 1.0 }).collect(),
        periodic: Vec::new(),
    };
    workload.checked().map_err(LabError::usage)
}

fn whole(text: &str) -> Result<u32, LabError> {
    let digits: String = text.chars().filter(|letter| !matches!(letter, '_' | ',' | ' ')).collect();
    digits.parse().map_err(|_| LabError::usage(format!("'{text}' is no number of timers")))
}

fn numbers(text: &str) -> Result<Vec<f64>, LabError> {
    let number = |word: &str| {
        let word = word.trim_end_matches('%').trim_end_matches("ms");
        word.parse().map_err(|_| LabError::usage(format!("'{word}' is no number")))
    };
    text.split([' ', ',', '/', ';']).filter(|word| !word.is_empty()).map(number).collect()
}
