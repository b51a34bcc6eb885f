//! The best of ours beside the best of others, at each population.

use crate::experiments::bench::cell::Cell;
use crate::experiments::bench::tables::groups;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Finding, Section, findings_table, labels};
use crate::stats::Summary;
use crate::structures::registry::Kind;

/// Ours beside the baseline, and beside the fastest wheel where that is another.
pub(crate) fn of(cell: &Cell) -> Vec<Finding> {
    let named = |about: &str, finding: Finding| {
        finding.labelled(labels([
            ("scenario", cell.scenario.clone().into()),
            ("measure", cell.measure.to_string().into()),
            ("n", cell.population.into()),
            ("beside", about.to_owned().into()),
        ]))
    };
    let at = format!("{}, {}, n={}", cell.scenario, cell.measure, count(cell.population));
    let mut findings = Vec::new();
    findings.extend(against_baseline(cell, &at).map(|finding| named("baseline", finding)));
    findings.extend(against_wheel(cell, &at).map(|finding| named("wheel", finding)));
    findings
}

/// Which of ours is fastest at each population, a finding for each scenario and measure:
/// `list/hook at 16; coarse/hook at 500, 10k`.
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

/// Those with a ratio as a table. The best of ours is the one with the least median: it was chosen by the
/// same samples, and the interval does not know that.
pub(crate) fn section(findings: &[Finding]) -> Section {
    let heading = "best of ours beside the fastest of others";
    let compared: Vec<Finding> =
        findings.iter().filter(|finding| finding.labels.contains_key("beside")).cloned().collect();
    Section::new("In short").table(findings_table(heading, Format::Ratio, &compared))
}

fn against_baseline(cell: &Cell, at: &str) -> Option<Finding> {
    let ours = cell.best(Kind::Ours)?;
    let baseline = cell.baseline.and_then(|id| cell.row(id))?;
    let (time, base) = (ours.summary?, baseline.summary?);
    let ns = |summary: &Summary| Format::Ns.write(summary.median);
    let Some(ratio) = ours.ratio else {
        let here = format!("{} {} ns: the fastest, and the baseline itself", ours.structure.id, ns(&time));
        return Some(Finding::stated(at, here));
    };
    let here = format!("{} {} ns, {} {} ns", ours.structure.id, ns(&time), baseline.structure.id, ns(&base));
    Some(Finding::ratio(at, ratio, here))
}

/// By our fastest wheel, or else by our fastest.
fn against_wheel(cell: &Cell, at: &str) -> Option<Finding> {
    let wheel = cell.wheel.filter(|id| cell.baseline != Some(id)).and_then(|id| cell.row(id))?;
    let ours = cell.best_wheel(Kind::Ours).or_else(|| cell.best(Kind::Ours))?;
    let ns = |summary: Summary| Format::Ns.write(summary.median);
    let here = format!(
        "{} {} ns, {} {} ns",
        ours.structure.id,
        ns(ours.summary?),
        wheel.structure.id,
        ns(wheel.summary?)
    );
    Some(Finding::ratio(format!("{at}, the fastest wheel"), ours.to_wheel?, here))
}
