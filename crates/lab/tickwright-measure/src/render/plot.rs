//! Plots on a terminal.

use core::fmt::Write;

use super::scale::Scale;
use crate::result::{Curve, Plot};
use crate::text::name;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a line for each of the first `most` curves: its name, its points as blocks, and its
/// range. All lines use the scale of the plot, so that they can be compared. A curve of more than
/// `width` points is thinned.
#[must_use]
pub fn sparks(plot: &Plot, width: usize, most: usize) -> Vec<String> {
    let Some((_, y)) = Scale::of(plot) else { return Vec::new() };
    let shown = || plot.curves.iter().filter(|curve| !curve.points.is_empty()).take(most);
    let wide = shown().map(|curve| name(&curve.name).chars().count()).max().unwrap_or(0);
    let line = |curve: &Curve| {
        let every = curve.points.len().div_ceil(width.max(1)).max(1);
        let heights = curve.points.iter().step_by(every).map(|point| y.at(point.1));
        let blocks: String = heights.map(|height| BLOCKS[((height * 7.0).round() as usize).min(7)]).collect();
        let values = || curve.points.iter().map(|point| point.1);
        let least = values().fold(f64::INFINITY, f64::min);
        let greatest = values().fold(f64::NEG_INFINITY, f64::max);
        let (least, greatest) = (plot.y.format.write(least), plot.y.format.write(greatest));
        let range = if least == greatest { least } else { format!("{least} to {greatest}") };
        format!("{:wide$}  {blocks}  {range} {}", name(&curve.name), name(&plot.y.name))
    };
    shown().map(line).collect()
}

/// Columns and lines of the drawing area.
const WIDTH: usize = 64;
const HEIGHT: usize = 12;

/// Draws each curve with its own letter. If two curves meet, the later curve covers the earlier
/// one.
#[must_use]
pub fn plot(plot: &Plot) -> String {
    let Some((x, y)) = Scale::of(plot) else { return String::new() };
    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    let letters = ('a'..='z').chain('A'..='Z').cycle();
    for (curve, letter) in plot.curves.iter().zip(letters.clone()) {
        for point in &curve.points {
            let column = (x.at(point.0) * (WIDTH - 1) as f64).round() as usize;
            let line = ((1.0 - y.at(point.1)) * (HEIGHT - 1) as f64).round() as usize;
            grid[line][column] = letter;
        }
    }
    let mut marks = vec![String::new(); HEIGHT];
    for mark in y.marks(4) {
        let line = ((1.0 - y.at(mark)) * (HEIGHT - 1) as f64).round() as usize;
        marks[line] = plot.y.format.write(mark);
    }
    let wide = marks.iter().map(|mark| mark.chars().count()).max().unwrap_or(0);
    // Writing to a string does not fail.
    let mut out = String::new();
    let _ = writeln!(out, "{}\n{:wide$} {}", name(&plot.title), "", name(&plot.y.name));
    for (mark, line) in marks.iter().zip(&grid) {
        let line: String = line.iter().collect();
        let _ = writeln!(out, "{mark:>wide$} |{}", line.trim_end());
    }
    let _ = writeln!(out, "{:wide$} +{}", "", "-".repeat(WIDTH));
    let _ = writeln!(out, "{:wide$}  {}  {}", "", below(plot, &x).trim_end(), name(&plot.x.name));
    let names =
        plot.curves.iter().zip(letters).map(|(curve, letter)| format!("{letter} {}", name(&curve.name)));
    for line in legend(names, WIDTH + 20) {
        let _ = writeln!(out, "{:wide$}  {line}", "");
    }
    out
}

/// Breaks the names into lines of at most `width` columns.
fn legend(names: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + name.chars().count() <= width => {
                line.push_str("   ");
                line.push_str(&name);
            }
            _ => lines.push(name),
        }
    }
    lines
}

/// Returns the marks of the horizontal axis. A mark that would touch its neighbor is left out.
fn below(plot: &Plot, x: &Scale) -> String {
    let mut line = String::new();
    for mark in x.marks(6) {
        let text = plot.x.format.write(mark);
        let at = (x.at(mark) * (WIDTH - 1) as f64).round() as usize;
        let begin = at.saturating_sub(text.chars().count() / 2);
        let used = line.chars().count();
        if used == 0 || begin > used {
            let _ = write!(line, "{:1$}{text}", "", begin - used);
        }
    }
    line
}
