//! Tables of an attack: structures down, calls across.

use core::fmt::Write;

use super::attack::{ALL, Call};
use super::pattern::Pattern;
use super::{Report, Row, Skipped};
use crate::output::table;

/// The whole report for the terminal.
pub(crate) fn show(report: &Report) -> String {
    let mut text = format!("{}\nclock  {}\n", report.host, report.clock);
    for doubt in report.host.doubts() {
        let _ = writeln!(text, "note   {doubt}");
    }
    let _ = writeln!(
        text,
        "\nns of single calls, the clock's reading in each: median / worst (worst in medians); each call's least of {} rounds",
        report.rounds
    );
    let mut tables: Vec<(usize, Pattern)> = Vec::new();
    let rows = report.rows.iter().map(|row| (row.population, row.pattern));
    for key in rows.chain(report.skipped.iter().map(|skip| (skip.population, skip.pattern))) {
        if !tables.contains(&key) {
            tables.push(key);
        }
    }
    for (population, pattern) in tables {
        let _ = write!(text, "\n{}", one(report, population, pattern));
    }
    text
}

fn one(report: &Report, population: usize, pattern: Pattern) -> String {
    let rows: Vec<&Row> =
        report.rows.iter().filter(|row| row.population == population && row.pattern == pattern).collect();
    let heading = ALL.iter().map(|call| match call {
        Call::Insert => "insert".to_owned(),
        Call::Remove => "remove".to_owned(),
        Call::Pop => "pop".to_owned(),
        Call::Advance => "advance".to_owned(),
        Call::AdvanceWithin => format!("advance({})", report.budget),
    });
    let corner = format!("{pattern}, n={}", table::count(population));
    let mut table = table::new([corner].into_iter().chain(heading));
    let mut structures: Vec<&str> = rows.iter().map(|row| row.structure).collect();
    structures.dedup();
    for structure in structures {
        let columns = ALL.iter().map(|call| {
            let row = rows.iter().find(|row| row.structure == structure && row.call == *call)?;
            let ratio = row.ratio.map_or("-".into(), |ratio| format!("{ratio:.0}x"));
            Some(format!("{} / {} ({ratio})", row.median_ns, row.worst_ns))
        });
        let columns: Vec<_> = columns.map(|column| column.unwrap_or_else(|| "-".into())).collect();
        table.add_row([structure.to_owned()].into_iter().chain(columns));
    }
    let mut text = table::show(&table) + "\n";
    let here = |skip: &&Skipped| skip.population == population && skip.pattern == pattern;
    for skip in report.skipped.iter().filter(here) {
        let _ = writeln!(text, " {} not run: {}", skip.structure, skip.why);
    }
    text
}
