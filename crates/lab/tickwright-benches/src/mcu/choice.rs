//! Which structure is cheapest, for each use of a timer and each number of timers.

use crate::result::Finding;

use super::record::{Kind, Row, distinct};

/// A use of a timer: the calls of which it consists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    pub(super) name: &'static str,
    operations: &'static [&'static str],
    /// Whether the cost of the use is the cost of its worst call, instead of the sum of its calls'
    /// means.
    is_worst: bool,
}

/// The calls of a queue, each of which runs with interrupts masked.
const EACH: [&str; 6] = ["insert", "re-arm", "abort", "fire", "next wake", "look"];

/// The uses, in the order of the table.
pub(super) const USES: [Use; 4] = [
    Use { name: "insert + fire", operations: &["insert", "fire"], is_worst: false },
    Use { name: "insert + abort", operations: &["insert", "abort"], is_worst: false },
    Use { name: "re-arm", operations: &["re-arm"], is_worst: false },
    Use { name: "worst call", operations: &EACH, is_worst: true },
];

impl Use {
    /// Returns the instructions of the use with `structure` at `n`. Returns `None` if one of the
    /// use's calls was not measured. The worst call is taken from the calls that were measured:
    /// with one timer, no abort is measured.
    pub(super) fn cost(&self, rows: &[Row], structure: &str, n: u64) -> Option<u64> {
        let figure = |operation: &&str| {
            rows.iter().find(|row| {
                row.kind == Kind::Instructions
                    && row.structure == structure
                    && row.n == n
                    && row.of == **operation
            })
        };
        if self.is_worst {
            return self.operations.iter().filter_map(figure).filter_map(|row| row.worst).max();
        }
        let means = self.operations.iter().map(|operation| figure(operation).map(|row| row.mean));
        means.sum()
    }

    /// Returns the cheapest structure at `n` and its instructions. If several structures are
    /// equally cheap, returns the first of these structures in the file.
    pub(super) fn cheapest<'r>(&self, rows: &'r [Row], n: u64) -> Option<(&'r str, u64)> {
        let costs = structures(rows)
            .into_iter()
            .filter_map(|structure| Some((structure, self.cost(rows, structure, n)?)));
        costs.min_by_key(|(_, cost)| *cost)
    }

    /// Returns which structure is cheapest at which number of timers, such as
    /// `rb up to n = 1, list up to n = 16, rb-cached from n = 64`. The text is empty if nothing was
    /// measured.
    fn words(&self, rows: &[Row]) -> String {
        let mut runs: Vec<(&str, u64, u64)> = Vec::new();
        for n in sizes(rows) {
            let Some((structure, _)) = self.cheapest(rows, n) else { continue };
            match runs.last_mut() {
                Some((last, _, to)) if *last == structure => *to = n,
                _ => runs.push((structure, n, n)),
            }
        }
        let last = runs.len().saturating_sub(1);
        let said = runs.iter().enumerate().map(|(at, (structure, from, to))| {
            if at < last {
                format!("{structure} up to n = {to}")
            } else if at == 0 {
                format!("{structure} at n = {from} to {to}")
            } else {
                format!("{structure} from n = {from}")
            }
        });
        said.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the structures, in the order of the file.
pub(super) fn structures(rows: &[Row]) -> Vec<&str> {
    distinct(rows.iter().map(|row| row.structure.as_str()))
}

/// Returns the numbers of timers at which the calls of a queue were counted, ascending.
pub(super) fn sizes(rows: &[Row]) -> Vec<u64> {
    let counted = rows.iter().filter(|row| row.kind == Kind::Instructions && EACH.contains(&row.of.as_str()));
    let mut sizes = distinct(counted.map(|row| row.n));
    sizes.sort_unstable();
    sizes
}

/// Returns a finding for each use that was measured.
pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    let of_use = |case: &Use| {
        let words = case.words(rows);
        (!words.is_empty()).then(|| Finding::stated(format!("cheapest for {}", case.name), words))
    };
    USES.iter().filter_map(of_use).collect()
}
