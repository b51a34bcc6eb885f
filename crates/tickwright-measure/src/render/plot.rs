//! Plots on a terminal.

use core::fmt::Write;

use super::scale::Scale;
use crate::result::Plot;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// At most `width` blocks between 0 and the greatest value, each the mean of its share of them.
#[must_use]
pub fn spark(values: &[f64], width: usize) -> String {
    let share = values.len().div_ceil(width.max(1)).max(1);
    let means: Vec<f64> =
        values.chunks(share).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let block = |mean: f64| if most > 0.0 { (mean / most * 7.0).round() as usize } else { 0 };
    means.iter().map(|&mean| BLOCKS[block(mean.max(0.0)).min(7)]).collect()
}

/// Columns and lines of the area that is drawn on.
const WIDTH: usize = 64;
const HEIGHT: usize = 12;

/// A letter a curve. Where two meet, the later one is seen.
#[must_use]
pub fn plot(plot: &Plot) -> String {
    let Some((x, y)) = Scale::of(plot) else { return String::new() };
    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    let letters = ('a'..='z').cycle();
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
    let _ = writeln!(out, "{}\n{:wide$} {}", plot.title, "", plot.y.name);
    for (mark, line) in marks.iter().zip(&grid) {
        let line: String = line.iter().collect();
        let _ = writeln!(out, "{mark:>wide$} |{}", line.trim_end());
    }
    let _ = writeln!(out, "{:wide$} +{}", "", "-".repeat(WIDTH));
    let _ = writeln!(out, "{:wide$}  {}  {}", "", below(plot, &x).trim_end(), plot.x.name);
    let names: Vec<String> =
        plot.curves.iter().zip(letters).map(|(curve, letter)| format!("{letter} {}", curve.name)).collect();
    let _ = writeln!(out, "{:wide$}  {}", "", names.join("   "));
    out
}

/// The marks of the horizontal axis; one that would touch its neighbour is left out.
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
