//! Tables of an attack: a row for each structure, and columns with the figures of one or two kinds
//! of calls.

use super::attack::{ALL, Call};
use super::{Data, FIGURES, Pattern, Plan, Row};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell, Plot, Section, Table};
use crate::structures::registry::Structure;

/// Returns one section per attack.
pub(crate) fn sections(plan: &Plan, data: &Data) -> Vec<Section> {
    let above = format!(
        "Single calls, the clock's reading in each. Under a call's name its median in ns; x: the worst in \
         medians. Each call counts with the least of {} rounds.",
        plan.rounds
    );
    let sections = plan.attacks().map(|(n, pattern)| one(plan, data, n, pattern));
    [Section::new("Deadlines that an attacker chooses").text(above)].into_iter().chain(sections).collect()
}

fn one(plan: &Plan, data: &Data, n: usize, pattern: Pattern) -> Section {
    let title = format!("{pattern}, n={}", count(n));
    let here = |row: &&Row| row.population == n && row.pattern == pattern;
    let rows: Vec<&Row> = data.rows.iter().filter(here).collect();
    let mut section = Section::new(title.as_str());
    for pair in ALL.chunks(2) {
        section = section.table(calls(plan, &rows, pair));
    }
    section.plot(tails(plan, &rows, &title)).text(data.left_out(|of, kind| (of, kind) == (n, pattern)))
}

fn calls(plan: &Plan, rows: &[&Row], calls: &[Call]) -> Table {
    let mut table = Table::new().column("", Format::Text);
    for call in calls {
        let name = match call {
            Call::AdvanceWithin => format!("advance({})", plan.budget),
            call => call.name().to_owned(),
        };
        table = table.columns([name.as_str(), "p99", "p99.99", "worst"], Format::Ns);
        table = table.column("x", Format::Fixed(1));
    }
    for structure in &plan.structures {
        let of_structure = || rows.iter().filter(|row| row.structure == *structure);
        if of_structure().next().is_none() {
            continue;
        }
        let columns = calls.iter().flat_map(|call| {
            let row = of_structure().find(|row| row.call == *call);
            let figures = (0..FIGURES.len()).map(move |at| Cell::from(row.map(|row| row.figures()[at])));
            figures.chain([Cell::maybe(row.and_then(|row| row.times.ratio()))])
        });
        table.row([structure.id.into()].into_iter().chain(columns));
    }
    table
}

/// Returns a plot of the tail of each structure's histograms. At each share, it shows the longest
/// time of any kind of call except advances without a budget, because such an advance takes as long
/// as the caller asks for.
fn tails(plan: &Plan, rows: &[&Row], title: &str) -> Plot {
    let x = Axis::log("one call in", Format::Count);
    let plot = Plot::new(title, x, Axis::log("takes longer than, ns", Format::Ns));
    let of = |structure: &&'static Structure| {
        let counted = |row: &&&Row| row.structure == *structure && row.call != Call::Advance;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, ns) in rows.iter().filter(counted).flat_map(|row| row.times.tail()) {
            match points.iter_mut().find(|point| point.0 == at) {
                Some(point) => point.1 = point.1.max(ns),
                None => points.push((at, ns)),
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The kinds of calls differ in their numbers of calls, so only frequent kinds have a point
        // at a small share. Each point is therefore raised to the longest time at any larger share.
        let mut longest = 0.0_f64;
        for point in &mut points {
            longest = longest.max(point.1);
            point.1 = longest;
        }
        (structure.id, points, longest)
    };
    let mut curves: Vec<_> = plan.structures.iter().map(of).filter(|curve| !curve.1.is_empty()).collect();
    // The structure with the least worst call comes first.
    curves.sort_by(|a, b| a.2.total_cmp(&b.2));
    curves.into_iter().fold(plot, |plot, (id, points, _)| plot.curve(id, points))
}
