//! Tables of an attack: a row per structure, a column per kind of call.

use super::attack::{ALL, Call};
use super::data::{Data, Plan, Row};
use super::pattern::Pattern;
use crate::experiments::request::left_out;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Cell, Section, Table};

/// All attacks, in the order of the plan.
pub(super) fn attacks(plan: &Plan) -> impl Iterator<Item = (usize, Pattern)> {
    plan.populations.iter().flat_map(|n| plan.patterns.iter().map(move |pattern| (*n, *pattern)))
}

/// One table per attack.
pub(super) fn sections(plan: &Plan, data: &Data) -> Vec<Section> {
    let above = format!(
        "Single calls, the clock's reading in each. Under a call's name its median in ns; worst: the worst in \
         ns; x: the worst in medians. Each call counts with the least of {} rounds.",
        plan.rounds
    );
    let tables = attacks(plan).map(|(n, pattern)| one(plan, data, n, pattern));
    [Section::new("Deadlines that an attacker chooses").text(above)].into_iter().chain(tables).collect()
}

fn one(plan: &Plan, data: &Data, n: usize, pattern: Pattern) -> Section {
    let count = count(n);
    let skipped = data.skipped.iter().filter(|skip| skip.population == n && skip.pattern == pattern);
    let skipped = skipped.map(|skip| (skip.structure.id, count.clone(), skip.why.clone()));
    let here = |row: &&Row| row.population == n && row.pattern == pattern;
    let rows: Vec<&Row> = data.rows.iter().filter(here).collect();
    let (single, advances) = ALL.split_at(3);
    Section::new(format!("{pattern}, n={count}"))
        .table(calls(plan, &rows, single))
        .table(calls(plan, &rows, advances))
        .text(left_out(skipped))
}

fn calls(plan: &Plan, rows: &[&Row], calls: &[Call]) -> Table {
    let mut table = Table::new().column("", Format::Text);
    for call in calls {
        let name = match call {
            Call::AdvanceWithin => format!("advance({})", plan.budget),
            call => call.to_string(),
        };
        table = table.column(name, Format::Ns).column("worst", Format::Ns).column("x", Format::Fixed(1));
    }
    for structure in &plan.structures {
        let of_structure = || rows.iter().filter(|row| row.structure == *structure);
        if of_structure().next().is_none() {
            continue;
        }
        let columns = calls.iter().flat_map(|call| {
            let row = of_structure().find(|row| row.call == *call);
            [
                row.map(|row| row.median_ns()).into(),
                row.map(|row| row.worst_ns()).into(),
                Cell::maybe(row.and_then(|row| row.ratio())),
            ]
        });
        table.row([structure.id.into()].into_iter().chain(columns));
    }
    table
}
