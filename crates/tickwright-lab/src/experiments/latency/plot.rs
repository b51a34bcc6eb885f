//! The histograms of all structures over each other: as a picture with a logarithmic count, and as
//! blocks on the terminal.

use core::fmt::{self, Write};

use super::histogram::Cells;

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A structure's histogram with what the legend says of it.
#[derive(Debug, Clone)]
pub(super) struct Curve<'a> {
    pub(super) id: &'a str,
    pub(super) average_us: f64,
    pub(super) cells: &'a Cells,
}

/// The cells that hold all but the rarest of what all curves hold: from, and up to but not, by
/// their numbers.
fn window(curves: &[Curve<'_>], rarest: f64) -> (usize, usize) {
    let cells = curves.iter().map(|curve| curve.cells.counts().len()).max().unwrap_or(0);
    let sum = |at: usize| curves.iter().filter_map(|curve| curve.cells.counts().get(at)).sum::<u64>();
    let total: u64 = (0..cells).map(sum).sum();
    let spare = (total as f64 * rarest) as u64;
    let from = (0..cells).find(|at| sum(*at) > 0).unwrap_or(0);
    let mut left = 0;
    let to = (0..cells).rev().find(|at| {
        left += sum(*at);
        left > spare
    });
    (from, to.map_or(from + 1, |to| to + 1))
}

/// A line of at most `width` blocks for each curve, all over the same range; the height is the
/// logarithm of the count. And the range, in us.
pub(super) fn blocks(curves: &[Curve<'_>], width: usize) -> (Vec<String>, f64, f64) {
    let (from, to) = window(curves, 0.005);
    let share = (to - from).div_ceil(width.max(1)).max(1);
    let sums = |curve: &Curve<'_>| -> Vec<u64> {
        let counts = curve.cells.counts().get(from..to).unwrap_or_default();
        counts.chunks(share).map(|chunk| chunk.iter().sum()).collect()
    };
    let most = curves.iter().flat_map(sums).max().unwrap_or(0);
    let scale = (most as f64 + 1.0).ln().max(f64::MIN_POSITIVE);
    let lines = curves
        .iter()
        .map(|curve| {
            let height = |count: u64| ((count as f64 + 1.0).ln() / scale * 8.0).ceil() as usize;
            sums(curve).into_iter().map(|count| BLOCKS[height(count).min(8)]).collect()
        })
        .collect();
    let edge = |cell: usize| curves.first().map_or(0.0, |curve| curve.cells.lower_us(cell));
    (lines, edge(from), edge(to))
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 60.0;
const BELOW: f64 = 60.0;

/// Colours that colour-blind readers tell apart (Okabe and Ito 2008), and dashes for who prints
/// without colours.
const STYLES: [(&str, &str); 6] = [
    ("#0072b2", "none"),
    ("#d55e00", "6 2"),
    ("#009e73", "2 2"),
    ("#cc79a7", "8 2 2 2"),
    ("#e69f00", "1 3"),
    ("#56b4e9", "10 4"),
];

/// The overlay plot: samples per cell, logarithmic, over the lateness in us.
pub(super) fn svg(title: &str, below: &str, curves: &[Curve<'_>]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = draw(&mut out, title, below, curves);
    out
}

fn draw(out: &mut String, title: &str, below: &str, curves: &[Curve<'_>]) -> fmt::Result {
    let (from, to) = window(curves, 0.0);
    let counts = curves.iter().flat_map(|curve| curve.cells.counts()).copied();
    let decades = ((counts.max().unwrap_or(0) + 1) as f64).log10().ceil().max(1.0);
    let edge = |cell: usize| curves.first().map_or(0.0, |curve| curve.cells.lower_us(cell));
    let (low, high) = (edge(from), edge(to).max(edge(from) + 1e-3));
    let x = |us: f64| LEFT + (us - low) / (high - low) * WIDTH;
    let y = |count: u64| TOP + HEIGHT - ((count + 1) as f64).log10() / decades * HEIGHT;
    let (width, height) = (LEFT + WIDTH + 20.0, TOP + HEIGHT + BELOW);
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">
<rect width="{width}" height="{height}" fill="#fff"/>
<text x="{LEFT}" y="24" font-size="15">{}</text>
<text x="{LEFT}" y="43">{}</text>"##,
        escaped(title),
        escaped(below)
    )?;
    for decade in 0..=decades as i32 {
        let at = TOP + HEIGHT - f64::from(decade) / decades * HEIGHT;
        let count = 10f64.powi(decade);
        writeln!(
            out,
            r##"<path d="M{LEFT} {at:.1}h{WIDTH}" stroke="#ddd"/><text x="{}" y="{:.1}" text-anchor="end">{count}</text>"##,
            LEFT - 6.0,
            at + 4.0
        )?;
    }
    let step = tidy((high - low) / 10.0);
    let mut mark = (low / step).ceil() * step;
    while mark <= high {
        let at = x(mark);
        writeln!(
            out,
            r##"<path d="M{at:.1} {TOP}v{HEIGHT}" stroke="#eee"/><text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"##,
            TOP + HEIGHT + 18.0,
            trimmed(mark)
        )?;
        mark += step;
    }
    writeln!(
        out,
        r#"<text x="{}" y="{}" text-anchor="middle">lateness, us (the last cell also holds what is later)</text>
<text transform="translate(16 {}) rotate(-90)" text-anchor="middle">samples + 1</text>"#,
        LEFT + WIDTH / 2.0,
        TOP + HEIGHT + 42.0,
        TOP + HEIGHT / 2.0
    )?;
    for (curve, (colour, dash)) in curves.iter().zip(STYLES.iter().cycle()) {
        write!(
            out,
            r#"<path fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="{dash}" d="M"#
        )?;
        for cell in from..to {
            let count = curve.cells.counts().get(cell).copied().unwrap_or(0);
            write!(out, "{:.1} {:.1} ", x(curve.cells.middle_us(cell)), y(count))?;
        }
        writeln!(out, r#""/>"#)?;
    }
    let column = LEFT + WIDTH - 330.0;
    for (row, (curve, (colour, dash))) in curves.iter().zip(STYLES.iter().cycle()).enumerate() {
        let at = TOP + 20.0 + 18.0 * row as f64;
        let average = match curve.average_us {
            none if none.is_nan() => "no samples".into(),
            us => format!("average {us:.3} us"),
        };
        writeln!(
            out,
            r##"<rect x="{column}" y="{:.1}" width="330" height="18" fill="#fff" fill-opacity="0.85"/><path d="M{} {:.1}h28" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/><text x="{}" y="{at:.1}">{}: {average}</text>"##,
            at - 13.0,
            column + 6.0,
            at - 4.0,
            column + 42.0,
            escaped(curve.id),
        )?;
    }
    writeln!(out, "</svg>")
}

/// The next of 1, 2, 5, 10, 20 ... that is not less.
fn tidy(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|tidy| *tidy >= step).unwrap_or(power)
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
