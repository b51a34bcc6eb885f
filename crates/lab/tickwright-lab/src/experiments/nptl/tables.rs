//! Sections about the table: the published ratios compared with ours, the two summaries, and the
//! goals.

use super::column::Column;
use super::published::{Published, Ratio, model_of};
use super::table::{By, Measured, Table};
use crate::render::Format;
use crate::result::{
    Axis, Cell, Claim, Finding, Plot, Section, Series, Table as Rows, Unit, default, findings_table, labels,
};

/// The cell of the goals: P = 1, C = 10.
const GOALS: (usize, usize) = (1, 10);

pub(super) fn series(table: &Table) -> Vec<Series> {
    let of_cell = |cell: &Measured| {
        let of = |(column, ns): (&Column, &Vec<f64>)| {
            let labels = labels([
                ("model", column.name().into()),
                ("toplevel", cell.toplevel.into()),
                ("children", cell.children.into()),
                ("starts", table.starts.into()),
            ]);
            Series::new("create and join", Unit::Ns, labels).per("thread").of(ns.iter().copied())
        };
        let all = table.columns.iter().zip(&cell.ns);
        all.filter(|(_, ns)| !ns.is_empty()).map(of).collect::<Vec<_>>()
    };
    table.cells.iter().flat_map(of_cell).collect()
}

/// Names two systems of 2002, with the models that represent them.
fn about(of: &Ratio) -> String {
    let named = |system: &String| {
        model_of(system).map_or(system.clone(), |model| format!("{system} ({})", model.name()))
    };
    format!("{} to {}", named(&of.slow), named(&of.fast))
}

/// Returns findings for the published ratios and for the goals. Figures that were not measured are
/// left out.
pub(super) fn findings(table: &Table, published: &Published) -> Vec<Finding> {
    let of_ratio = |of: &Ratio| {
        let (slow, fast) = of.models()?;
        let figure = table.ratio(Column::Ours(slow), Column::Ours(fast))?;
        let here = Format::Ratio.write(figure.median);
        let finding = Finding::ratio(about(of), figure, here).published(Format::Ratio.write(of.times));
        let claim = Claim::slower(finding.verdict);
        Some(finding.claimed(claim))
    };
    let mut findings: Vec<Finding> = published.ratios.iter().filter_map(of_ratio).collect();
    findings.extend(published.targets.iter().filter_map(|target| {
        let (slow, fast) = target.columns()?;
        let figure = table.cell_ratio(slow, fast, GOALS)?;
        Some(Finding::bounded(target.about(), figure, target.bound))
    }));
    findings
}

/// Returns the sections of the report. `findings` is the result of [`findings`].
pub(super) fn sections(table: &Table, published: &Published, findings: &[Finding]) -> Vec<Section> {
    let mut models = Rows::new().column("model", Format::Text).column("its threads", Format::Text);
    for column in &table.columns {
        models.row([column.name().into(), column.label().into()]);
    }
    let starts = Format::Count.write(table.starts as f64);
    let mut about = format!(
        "{starts} threads are created in a cell: P threads create them, and each keeps C at once. It joins them \
         in the order of creation. A thread returns at once."
    );
    if table.verified > 0 {
        about += &format!(
            "\n{} threads looked at themselves before: each had an id of its own, was registered, and stood on a \
             stack of its own.",
            table.verified
        );
    }
    let goals: Vec<Finding> = findings.iter().filter(|finding| finding.bound.is_some()).cloned().collect();
    let heading = format!("ratio of times at P = {}, C = {}", GOALS.0, GOALS.1);
    vec![
        Section::new("Create and join a thread").text(about).table(models),
        beside(findings, published),
        summary(table, By::Toplevel),
        summary(table, By::Children),
        Section::new("Goals").table(findings_table(&heading, Format::Fixed(2), &goals)),
        Section::new("All cells, ns to create and join one")
            .table(default::table_across("model", &series(table).iter().collect::<Vec<_>>())),
    ]
    .into_iter()
    .filter(|section| !section.blocks.is_empty())
    .collect()
}

fn beside(findings: &[Finding], published: &Published) -> Section {
    let is_ratio = |one: &&Finding| published.ratios.iter().any(|of| about(of) == one.about);
    let ratios: Vec<Finding> = findings.iter().filter(is_ratio).cloned().collect();
    let section = Section::new("Beside the ratios of 2002").table(findings_table(
        "times as long",
        Format::Ratio,
        &ratios,
    ));
    if section.blocks.is_empty() {
        return section;
    }
    section.text(format!(
        "Published: {}\nHere: sums over P of the least times over C, round by round.",
        published.source
    ))
}

/// Returns a published summary as a table and as a plot.
fn summary(table: &Table, by: By) -> Section {
    let (letter, across, title) = match by {
        By::Toplevel => ("P", "threads that create (P)", "The least time over C, by threads that create"),
        By::Children => {
            ("C", "threads that each keeps (C)", "The least time over P, by threads kept at once")
        }
    };
    let keys = table.keys(by);
    if keys.len() < 2 || table.cells.iter().all(|cell| cell.ns.iter().all(Vec::is_empty)) {
        return Section::default();
    }
    let (x, y) =
        (Axis::linear(across, Format::Count), Axis::log("ns to create and join one", Format::Thousands));
    let mut plot = Plot::new(title, x, y);
    let mut rows = Rows::new().column(letter, Format::Count);
    for &column in &table.columns {
        rows = rows.column(column.name(), Format::Thousands);
        let point = |&key: &usize| Some((key as f64, table.least(column, by, key)?));
        plot = plot.curve(column.name(), keys.iter().filter_map(point));
    }
    for &key in keys {
        let figures = table.columns.iter().map(|&column| table.least(column, by, key).into());
        rows.row([Cell::from(key)].into_iter().chain(figures));
    }
    Section::new(format!("{title}, ns")).table(rows).plot(plot)
}
