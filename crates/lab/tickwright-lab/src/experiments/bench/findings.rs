//! Compares our fastest structure with the fastest baseline at each population.

use crate::experiments::bench::cell::{Cell, Row};
use crate::experiments::bench::tables::groups;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Finding, Section, findings_table, labels};
use crate::stats::{self, Summary, TIE};
use crate::structures::registry::Kind;

/// One of our structures, and one structure of another project.
struct Pair<'c> {
    beside: &'static str,
    ours: &'c Row,
    rival: &'c Row,
    /// `None` if our structure is itself the baseline.
    ratio: Option<Summary>,
}

/// Pairs our fastest structure with the baseline. If the fastest other wheel is not the baseline,
/// our fastest wheel is also paired with that wheel. If none of our wheels ran, our fastest
/// structure is paired with that wheel instead.
fn pairs(cell: &Cell) -> impl Iterator<Item = Pair<'_>> {
    let (best, baseline) = (cell.best(Kind::Ours), cell.baseline.and_then(|id| cell.row(id)));
    let wheel = cell.best_wheel(Kind::Baseline).filter(|row| cell.baseline != Some(row.structure.id));
    let pairs = [("baseline", best, baseline), ("wheel", cell.best_wheel(Kind::Ours).or(best), wheel)];
    pairs.into_iter().filter_map(|(beside, ours, rival)| {
        let (ours, rival) = (ours?, rival?);
        let differ = ours.structure != rival.structure;
        let ratio = differ.then(|| stats::ratios(&ours.samples, &rival.samples)).flatten();
        Some(Pair { beside, ours, rival, ratio })
    })
}

/// Returns a finding for each pair.
pub(crate) fn of(cell: &Cell) -> impl Iterator<Item = Finding> {
    pairs(cell).map(|Pair { beside, ours, rival, ratio }| {
        let at = format!("{}, {}, n={}", cell.scenario, cell.measure, count(cell.population));
        let about = if beside == "wheel" { format!("{at}, the fastest wheel") } else { at };
        let said = |row: &Row| {
            let ns = row.median().map(|ns| Format::Ns.write(ns));
            format!("{} {} ns", cell.named(row.structure.id), ns.unwrap_or_default())
        };
        let finding = match ratio {
            Some(ratio) => Finding::ratio(about, ratio, format!("{}, {}", said(ours), said(rival))),
            None => Finding::stated(about, format!("{}: the fastest, and the baseline itself", said(ours))),
        };
        finding.labelled(labels([
            ("scenario", cell.scenario.clone().into()),
            ("measure", cell.measure.to_string().into()),
            ("n", cell.population.into()),
            ("beside", beside.into()),
        ]))
    })
}

/// Returns our fastest structure at each population, as a finding for each scenario and measure,
/// such as `list/hook at 16; coarse/hook at 500, 10k`.
pub(crate) fn fastest(cells: &[Cell]) -> Vec<Finding> {
    groups(cells).iter().filter_map(|cells| fastest_of(cells)).collect()
}

fn fastest_of(cells: &[&Cell]) -> Option<Finding> {
    let first = cells.first()?;
    let mut by_structure: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in cells {
        let best = cell.best(Kind::Ours)?.structure.id;
        match by_structure.last_mut() {
            Some((id, at)) if *id == best => at.push(count(cell.population)),
            _ => by_structure.push((best, vec![count(cell.population)])),
        }
    }
    let here: Vec<String> =
        by_structure.iter().map(|(id, at)| format!("{id} at n={}", at.join(", "))).collect();
    let about = format!("fastest of ours, {}, {}", first.scenario, first.measure);
    let of =
        labels([("scenario", first.scenario.clone().into()), ("measure", first.measure.to_string().into())]);
    Some(Finding::stated(about, here.join("; ")).labelled(of))
}

/// Returns the section with all findings. Our fastest structure is chosen by its median from the
/// same samples, and the interval does not account for that choice.
pub(crate) fn section(findings: &[Finding]) -> Section {
    let above =
        format!("A difference is shown from {:.0} % on, where the interval leaves out 1.", TIE * 100.0);
    let title = "The best of ours beside the fastest of others, and the fastest wheel";
    Section::new(title).text(above).table(findings_table("", Format::Fixed(2), findings))
}
