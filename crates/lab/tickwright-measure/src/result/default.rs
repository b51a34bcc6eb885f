//! The table and the plot of samples, for every result that needs no table or plot of its own.
//!
//! ```text
//! series    re-arm (threads 1, way locked)   re-arm (threads 1, way ours, base: way locked)   ...
//!
//! threads  way     re-arm, ns per re-arm  from   to  to locked   from     to  verdict
//!       1  locked                     10   9.8   11          -      -      -
//!       1  ours                      5.0   4.9  5.2      0.50x  0.48x  0.52x  faster
//! ```

use std::collections::BTreeSet;

use super::{Axis, Better, Cell, Label, Labels, Plot, Section, Series, Table, Unit};
use crate::format::Format;
use crate::stats::{self, Summary, Verdict};

/// Returns the sections of all samples. Quantities whose labels have the same names share a section
/// with one table. The section has a plot if a label is a number and has at least three values.
#[must_use]
pub fn sections(series: &[Series]) -> Vec<Section> {
    let keys = |one: &Series| one.labels.keys().cloned().collect::<Vec<_>>();
    let mut groups: Vec<Vec<&Series>> = Vec::new();
    for one in series {
        match groups.iter_mut().find(|group| group.iter().any(|other| keys(other) == keys(one))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let section = |group: Vec<&Series>| {
        let quantities = names(&group);
        let section = Section::new(quantities.join(", ")).table(table(&group));
        let of = |name: &String| group.iter().copied().filter(|one| one.name == *name).collect::<Vec<_>>();
        quantities.iter().map(|name| plot(name, &of(name))).fold(section, |section, plot| match plot {
            Some(plot) if plot.has_course() => section.plot(plot),
            _ => section,
        })
    };
    groups.into_iter().map(section).collect()
}

/// Returns the quantities of some series, each once.
fn names(series: &[&Series]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for one in series {
        if !names.contains(&one.name) {
            names.push(one.name.clone());
        }
    }
    names
}

impl Series {
    /// Returns the quantity with its unit, such as `insert, ns per operation`.
    #[must_use]
    pub fn heading(&self) -> String {
        let unit = match self.unit {
            Unit::Ns => ", ns",
            Unit::Bytes => ", bytes",
            Unit::Instructions => ", instructions",
            Unit::PerSecond => ", per s",
            Unit::Percent => ", percent",
            Unit::Count | Unit::Ratio => "",
        };
        let per = self.per.as_ref().map_or(String::new(), |per| format!(" per {per}"));
        format!("{}{unit}{per}", self.name)
    }
}

/// From this time in ns on, a column of times has thousands separators and no fraction.
const LONG_NS: f64 = 10_000.0;

/// Returns the format of one quantity's figures.
fn format(series: &[&Series]) -> Format {
    let samples = || series.iter().flat_map(|one| &one.samples).filter(|sample| sample.is_finite());
    match series.first().map(|one| one.unit) {
        Some(Unit::Ns) if samples().all(|sample| *sample < LONG_NS) => Format::Ns,
        Some(Unit::Ratio) => Format::Ratio,
        Some(Unit::Percent) => Format::Fixed(1),
        Some(Unit::Ns) => Format::Thousands,
        _ if samples().all(|sample| sample.fract() == 0.0) => Format::Thousands,
        _ => Format::Fixed(1),
    }
}

/// Returns the columns of labels. A column has the format of a number if all its values are
/// numbers.
fn label_columns(keys: &BTreeSet<&String>, series: &[&Series]) -> Table {
    let is_number = |key: &String| {
        series.iter().filter_map(|one| one.labels.get(key)).all(|label| label.number().is_some())
    };
    Table::of(keys.iter().map(|key| {
        let format = if is_number(key) { Format::Count } else { Format::Text };
        (key.as_str(), format)
    }))
}

impl From<&Label> for Cell {
    fn from(label: &Label) -> Self {
        label.number().map_or_else(|| Self::Text(label.to_string()), Self::Number)
    }
}

impl Label {
    /// Returns the label as a number, if it is one.
    fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }
}

/// Returns a table with a row for each combination of labels. For each quantity, the table has the
/// median, the interval if at least one series has enough samples, and the ratio to the base that a
/// series names.
#[must_use]
pub fn table(series: &[&Series]) -> Table {
    let mut rows: Vec<&Labels> = Vec::new();
    for one in series {
        if !rows.contains(&&one.labels) {
            rows.push(&one.labels);
        }
    }
    let keys: BTreeSet<&String> = rows.iter().flat_map(|labels| labels.keys()).collect();
    let mut table = label_columns(&keys, series);
    let cell = |labels: &Labels, key: &String| labels.get(key).map(Cell::from).into();
    let mut cells: Vec<Vec<Cell>> =
        rows.iter().map(|labels| keys.iter().map(|key| cell(labels, key)).collect()).collect();
    for name in names(series) {
        let of_name = |labels: &Labels| series.iter().find(|one| one.name == name && one.labels == *labels);
        let own: Vec<Option<&Series>> = rows.iter().map(|labels| of_name(labels).copied()).collect();
        let Some(first) = own.iter().flatten().next() else { continue };
        let format = format(&own.iter().flatten().copied().collect::<Vec<_>>());
        let summaries: Vec<_> =
            own.iter().map(|one| stats::summarise((*one)?.samples.iter().copied())).collect();
        table = add(table, &mut cells, first.heading(), format, &summaries);
        let Some(based) = own.iter().flatten().find(|one| !one.base.is_empty()) else { continue };
        let to = |one: &Series| {
            let mut base = one.labels.clone();
            base.extend(one.base.clone());
            let base = of_name(&base).filter(|base| !one.base.is_empty() && base.labels != one.labels)?;
            stats::ratios(&one.samples, &base.samples)
        };
        let ratios: Vec<_> = own.iter().map(|one| to((*one)?)).collect();
        if ratios.iter().all(Option::is_none) {
            continue;
        }
        let base: Vec<String> = based.base.values().map(ToString::to_string).collect();
        table = add(table, &mut cells, format!("to {}", base.join(", ")), Format::Ratio, &ratios);
        table = table.column("verdict", Format::Text);
        for ((row, one), ratio) in cells.iter_mut().zip(&own).zip(ratios) {
            row.push(one.zip(ratio).map_or("", |(one, ratio)| words(one, &ratio)).into());
        }
    }
    cells.into_iter().for_each(|row| table.row(row));
    table
}

/// Adds the column of a figure, and the columns of its interval if at least one row has an
/// interval.
fn add(
    table: Table,
    cells: &mut [Vec<Cell>],
    heading: String,
    format: Format,
    figures: &[Option<Summary>],
) -> Table {
    let interval = |one: &Summary| Some(one.interval).filter(|interval| interval.coverage > 0.0);
    let has_interval = figures.iter().flatten().any(|one| interval(one).is_some());
    for (row, figure) in cells.iter_mut().zip(figures) {
        row.push(figure.map(|figure| figure.median).into());
        if has_interval {
            let interval = figure.as_ref().and_then(interval);
            row.extend([interval.map(|one| one.low).into(), interval.map(|one| one.high).into()]);
        }
    }
    let table = table.column(heading, format);
    if has_interval { table.columns(["from", "to"], format) } else { table }
}

/// Returns the verdict on a ratio. For rates, a higher figure is faster.
fn words(series: &Series, ratio: &Summary) -> &'static str {
    match (Verdict::on(ratio), series.better) {
        (Verdict::NoDifferenceShown, _) => Verdict::NoDifferenceShown.words(),
        (Verdict::Faster, Better::Higher) => Verdict::Slower.words(),
        (Verdict::Slower, Better::Higher) => Verdict::Faster.words(),
        (Verdict::Faster, Better::Neither) => "less",
        (Verdict::Slower, Better::Neither) => "more",
        (verdict, Better::Lower) | (verdict, _) => verdict.words(),
    }
}

/// Returns a table of medians with a column for each value of the label `across`, for instance for
/// each structure, and a row for each combination of the other labels.
#[must_use]
pub fn table_across(across: &str, series: &[&Series]) -> Table {
    let without = |one: &Series| {
        let mut labels = one.labels.clone();
        labels.remove(across);
        labels
    };
    let (mut rows, mut columns): (Vec<Labels>, Vec<&Label>) = Default::default();
    for one in series {
        if !rows.contains(&without(one)) {
            rows.push(without(one));
        }
        columns.extend(one.labels.get(across).filter(|value| !columns.contains(value)));
    }
    let keys: BTreeSet<&String> = rows.iter().flat_map(Labels::keys).collect();
    let mut table = label_columns(&keys, series);
    let format = format(series);
    table = table.columns(columns.iter().map(ToString::to_string), format);
    for row in &rows {
        let figure = |value: &&Label| -> Cell {
            let one =
                series.iter().find(|one| one.labels.get(across) == Some(*value) && without(one) == *row);
            one.and_then(|one| stats::median(&one.samples)).into()
        };
        let cells = keys.iter().map(|key| Cell::from(row.get(*key).map(Cell::from)));
        table.row(cells.chain(columns.iter().map(figure)));
    }
    table
}

/// Returns the plot of a quantity over the numeric label that has the most values. The plot has a
/// curve for each combination of the other labels. Returns `None` without such a label.
#[must_use]
pub fn plot(title: &str, series: &[&Series]) -> Option<Plot> {
    let first = series.first()?;
    let values = |key: &String| {
        let mut values: Vec<f64> = series.iter().filter_map(|one| one.labels.get(key)?.number()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let over = first.labels.keys().max_by_key(|key| values(key).len()).filter(|key| values(key).len() > 1)?;
    let wide = |values: &[f64]| match values {
        [low, .., high] => *low > 0.0 && high / low >= 10.0,
        _ => false,
    };
    let axis = |name: &str, format, values: &[f64]| Axis { name: name.into(), format, log: wide(values) };
    let mut figures: Vec<f64> = series.iter().filter_map(|one| stats::median(&one.samples)).collect();
    figures.sort_by(f64::total_cmp);
    let (x, y) = (axis(over, Format::Count, &values(over)), axis(&first.heading(), format(series), &figures));
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for one in series {
        let others = one.labels.iter().filter(|(key, _)| *key != over);
        let varies =
            |(key, value): &(&String, &Label)| series.iter().any(|one| one.labels.get(*key) != Some(*value));
        let others: Vec<String> = others.filter(varies).map(|(_, value)| value.to_string()).collect();
        let name = if others.is_empty() { one.name.clone() } else { others.join(", ") };
        let point = one.labels.get(over).and_then(Label::number).zip(stats::median(&one.samples));
        match curves.iter_mut().find(|curve| curve.0 == name) {
            Some(curve) => curve.1.extend(point),
            None => curves.push((name, point.into_iter().collect())),
        }
    }
    Some(curves.into_iter().fold(Plot::new(title, x, y), |plot, (name, points)| plot.curve(name, points)))
}

#[cfg(test)]
mod tests;
