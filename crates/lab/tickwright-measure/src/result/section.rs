//! The readable part of a report: titles over text, tables with declared columns, and plots.

use serde::{Deserialize, Serialize};

use crate::format::Format;

/// A titled part of a report.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Section {
    /// Empty if the section needs no title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The blocks, from top to bottom.
    pub blocks: Vec<Block>,
}

impl Section {
    /// Creates an empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds a paragraph. An empty paragraph is ignored.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.trim().is_empty() {
            self.blocks.push(Block::Text(text));
        }
        self
    }

    /// Adds a table. A table without rows is ignored.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
        self
    }

    /// Adds a plot. A plot without a point is ignored.
    #[must_use]
    pub fn plot(mut self, plot: Plot) -> Self {
        if plot.curves.iter().any(|curve| !curve.points.is_empty()) {
            self.blocks.push(Block::Plot(plot));
        }
        self
    }
}

impl Section {
    /// Returns whether the section has only plots with fewer than three points per curve, which a
    /// text report leaves out.
    #[must_use]
    pub fn is_picture_alone(&self) -> bool {
        let is_left_out = |block: &Block| matches!(block, Block::Plot(plot) if !plot.has_course());
        !self.blocks.is_empty() && self.blocks.iter().all(is_left_out)
    }
}

/// A piece of a section.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Paragraphs, one for each line. The program that shows the paragraphs breaks them into lines.
    Text(String),
    /// Rows under a heading.
    Table(Table),
    /// A picture.
    Plot(Plot),
}

/// A column of a table.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The column's heading.
    pub name: String,
    /// The format of the column's numbers. Columns of text are aligned to the left, other columns
    /// to the right.
    pub format: Format,
}

/// One field of a table.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A figure, written in the column's format.
    Number(f64),
    /// Words.
    Text(String),
    /// Nothing was measured.
    Empty(()),
}

impl Cell {
    /// Creates a figure, or an empty cell for `None`.
    pub fn maybe(value: Option<f64>) -> Self {
        value.map_or(Self::Empty(()), Self::Number)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        // JSON has no infinity, so the cell is empty.
        if value.is_finite() { Self::Number(value) } else { Self::Empty(()) }
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Number(value as f64)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Number(value as f64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty(()), Into::into)
    }
}

/// Rows under declared columns.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// The columns, from left to right.
    pub columns: Vec<Column>,
    /// The rows. A row has at most as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty table with these columns.
    pub fn of<S: Into<String>>(columns: impl IntoIterator<Item = (S, Format)>) -> Self {
        columns.into_iter().fold(Self::new(), |table, (name, format)| table.column(name, format))
    }

    /// Adds a column on the right.
    #[must_use]
    pub fn column(mut self, name: impl Into<String>, format: Format) -> Self {
        self.columns.push(Column { name: name.into(), format });
        self
    }

    /// Adds columns of one format on the right.
    #[must_use]
    pub fn columns<S: Into<String>>(self, names: impl IntoIterator<Item = S>, format: Format) -> Self {
        names.into_iter().fold(self, |table, name| table.column(name, format))
    }

    /// Adds a row below.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// One axis of a plot.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity of the axis, with the unit, such as `timers` or `ns per operation`.
    pub name: String,
    /// The format of the ticks.
    pub format: Format,
    /// Whether the axis is logarithmic, so that equal distances stand for equal ratios.
    pub log: bool,
}

impl Axis {
    /// Creates a linear axis.
    pub fn linear(name: impl Into<String>, format: Format) -> Self {
        Self { name: name.into(), format, log: false }
    }

    /// Creates a logarithmic axis.
    pub fn log(name: impl Into<String>, format: Format) -> Self {
        Self { name: name.into(), format, log: true }
    }
}

/// How points are drawn.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A dot at each point, joined by a line.
    #[default]
    Line,
    /// A step from each point to the next, for the counts of a histogram.
    Steps,
    /// Dots that are not joined.
    Dots,
}

/// Points that belong together under one name.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The name of the curve in the legend.
    pub name: String,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A picture of curves over two axes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What the plot shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// How points are drawn.
    pub mark: Mark,
    /// The curves, in the order of drawing and of the legend.
    pub curves: Vec<Curve>,
}

impl Plot {
    /// Creates an empty plot of lines.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, mark: Mark::Line, curves: Vec::new() }
    }

    /// Returns whether a curve has at least three points. If there are fewer points, a text and a
    /// page show only a table, which is easier to read. A separate picture shows any number of
    /// points.
    #[must_use]
    pub fn has_course(&self) -> bool {
        self.curves.iter().any(|curve| curve.points.len() > 2)
    }

    /// Returns whether the plot compares single figures: at least three curves, each of at most one
    /// point. Such a plot is drawn with one row per curve.
    #[must_use]
    pub fn is_rows(&self) -> bool {
        self.curves.len() > 2 && self.curves.iter().all(|curve| curve.points.len() <= 1)
    }

    /// Sets how points are drawn.
    #[must_use]
    pub fn marked(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    /// Adds a curve. A point is ignored if it is not finite, or not above 0 on a logarithmic axis.
    #[must_use]
    pub fn curve(mut self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.curves.push(Curve { name: name.into(), points: points.into_iter().collect() });
        self.keep_drawable();
        self
    }

    /// Drops points that are not finite, or not above 0 on a logarithmic axis.
    pub(crate) fn keep_drawable(&mut self) {
        let fits = |value: f64, axis: &Axis| value.is_finite() && (!axis.log || value > 0.0);
        for curve in &mut self.curves {
            curve.points.retain(|(x, y)| fits(*x, &self.x) && fits(*y, &self.y));
        }
    }
}
