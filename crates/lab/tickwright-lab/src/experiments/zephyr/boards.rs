//! Instructions that were counted on this project's emulated boards: `records/microcontroller.csv`.

use crate::render::Format;
use crate::result::{Section, Table};

const RECORD: &str = include_str!("../../../../../../records/microcontroller.csv");

/// The processor that is most similar to the processor of the published figures, and the usual
/// optimization level of firmware.
const PROCESSOR: [&str; 2] = ["Cortex-M0 code", "s"];
const STRUCTURES: [&str; 4] = ["list", "heap2-bounded", "heap4-bounded", "wheel-small"];
const OPERATIONS: [&str; 3] = ["insert", "abort", "fire"];

/// Returns the mean number of instructions of an operation with `n` timers.
pub(super) fn instructions(structure: &str, n: usize, operation: &str) -> Option<f64> {
    let [processor, level] = PROCESSOR;
    let head = format!("instructions,{processor},{level},{structure},{n},{operation},");
    let row = RECORD.lines().find_map(|line| line.strip_prefix(head.as_str()))?;
    row.split(',').next()?.parse().ok()
}

/// Returns a short section about the record.
pub(super) fn section() -> Section {
    let mut table = Table::new()
        .column("instructions", Format::Text)
        .column("N", Format::Count)
        .columns(STRUCTURES, Format::Fixed(0));
    for operation in OPERATIONS {
        for n in [1, 4, 16, 64] {
            let cells = STRUCTURES.map(|structure| instructions(structure, n, operation).into());
            table.row([operation.into(), n.into()].into_iter().chain(cells));
        }
    }
    Section::new("Our structures on an emulated board, in instructions").table(table).text(
        "From records/microcontroller: code for a Cortex-M0 at opt-level s, means over random delays. It was counted \
         before, not in this run. Instructions are not cycles, and these are our structures, not Zephyr's.",
    )
}
