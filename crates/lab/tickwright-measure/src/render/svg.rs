//! Plots as pictures.

use core::fmt::{self, Write};

use super::scale::Scale;
use crate::result::{Curve, Mark, Plot};
use crate::text::{name, plain};

/// Size of a picture.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Width and height of the area with the curves.
    width: f64,
    height: f64,
    /// Width of the legend, which is to the right of that area.
    legend: f64,
    /// The most ticks on each of the two axes.
    ticks: (usize, usize),
    /// The horizontal position of the title, and the size of its letters.
    title: (f64, f64),
}

/// The size of a single picture.
const LARGE: Size = Size { width: 640.0, height: 320.0, legend: 200.0, ticks: (8, 6), title: (LEFT, 15.0) };
/// The size of one of several pictures that are placed side by side.
const SMALL: Size = Size { width: 260.0, height: 170.0, legend: 158.0, ticks: (4, 4), title: (0.0, 13.0) };

/// Space around the area with the curves.
const LEFT: f64 = 80.0;
const TOP: f64 = 44.0;
const BELOW: f64 = 56.0;
/// The height of a line of the title, the height of a line of the legend, and the space after an
/// entry of the legend.
const TITLE_LINE: f64 = 18.0;
const LINE: f64 = 15.0;
const AFTER: f64 = 4.0;
/// Width of the sample of a curve in the legend, with the space around it.
const SAMPLE: f64 = 40.0;
/// An upper bound of the average width of a letter, as a fraction of the font size. A sans-serif
/// font with wide letters has about 0.57.
const LETTER: f64 = 0.58;
/// The usual font size.
const LETTERS: f64 = 12.0;

/// Colors that color-blind readers can distinguish (Okabe and Ito 2008). The yellow is left out,
/// because nobody can read it on white.
const COLORS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#808080", "currentColor"];
/// Dash patterns, for prints without color.
const DASHES: [&str; 8] = ["none", "7 3", "2 2", "9 3 2 3", "5 2 1 2", "12 4", "4 4", "1 3"];
/// Shapes of points, as paths around the point.
const SHAPES: [&str; 6] = [
    "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0z",
    "m-2.7 -2.7h5.4v5.4h-5.4z",
    "m0 -3.6l3.5 6h-7z",
    "m0 -3.8l3.8 3.8l-3.8 3.8l-3.8 -3.8z",
    "m-3 -3l3 2l3 -2l-2 3l2 3l-3 -2l-3 2l2 -3z",
    "m-1 -3.5h2v2.5h2.5v2h-2.5v2.5h-2v-2.5h-2.5v-2h2.5z",
];

/// How a curve looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    color: &'static str,
    dash: &'static str,
    shape: &'static str,
}

impl Look {
    /// Returns the look of the curve with this number. The first 48 curves differ in color or in
    /// shape, and the first 64 in color or in dash.
    fn of(number: usize) -> Self {
        let turn = number / COLORS.len();
        Self {
            color: COLORS[number % COLORS.len()],
            dash: DASHES[(number + turn) % DASHES.len()],
            shape: SHAPES[turn % SHAPES.len()],
        }
    }
}

/// Text and grid take the color of the page, so they follow its light or dark mode.
const STYLE: &str = "text{fill:currentColor}.grid{stroke:currentColor;stroke-opacity:.15}\
.frame{stroke:currentColor;stroke-opacity:.5;fill:none}";

/// Returns a complete file with all plots below each other. The file is also suitable for print,
/// because it is dark on white on every page. Without a plot, the file says that there is no plot.
#[must_use]
pub fn svg<'p>(plots: impl IntoIterator<Item = &'p Plot>) -> String {
    let plots: Vec<&Plot> = plots.into_iter().collect();
    let mut body = String::new();
    let mut top = 0.0;
    if plots.is_empty() {
        top += BELOW;
        let _ = writeln!(body, r#"<text x="{LEFT}" y="32">Nothing was measured that can be drawn.</text>"#);
    }
    for plot in plots {
        let _ = writeln!(body, r#"<g transform="translate(0 {top})">"#);
        let _ = draw(&mut body, plot, LARGE);
        body += "</g>\n";
        top += self::height(plot, LARGE);
    }
    framed(&body, (LARGE, top), "<style>svg{color:#222;background:#fff}</style>")
}

/// Returns one plot for a page that sets the color.
#[must_use]
pub fn svg_of(plot: &Plot) -> String {
    alone(plot, LARGE)
}

/// Returns one of several plots that are placed side by side. The page sets the color.
#[must_use]
pub(super) fn small_svg_of(plot: &Plot) -> String {
    alone(plot, SMALL)
}

fn alone(plot: &Plot, size: Size) -> String {
    let mut body = String::new();
    let _ = draw(&mut body, plot, size);
    framed(&body, (size, height(plot, size)), "")
}

impl Size {
    /// Returns the width of the whole picture.
    fn whole(&self) -> f64 {
        LEFT + self.width + self.legend
    }
}

fn framed(body: &str, (size, height): (Size, f64), style: &str) -> String {
    let width = size.whole();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"{LETTERS}\" role=\"img\">\n<style>{STYLE}</style>{style}\n{body}</svg>\n"
    )
}

/// Breaks a text into lines that fit into `width`, at blanks where that is possible.
fn wrapped(text: &str, width: f64, letters: f64) -> Vec<String> {
    let most = (width / (letters * LETTER)).max(4.0) as usize;
    let mut lines = vec![String::new()];
    for word in name(text).split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().map_or(0, |line| line.chars().count());
            let blank = usize::from(line > 0);
            let fits = line + blank + rest.len() <= most;
            if !fits && line > 0 {
                lines.push(String::new());
                continue;
            }
            let part: String = rest.drain(..rest.len().min(most)).collect();
            if let Some(last) = lines.last_mut() {
                *last += if blank > 0 { " " } else { "" };
                *last += &part;
            }
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// Writes lines of text below each other; each line gets `attributes`.
fn lines(out: &mut String, lines: &[String], (x, y): (f64, f64), line: f64, attributes: &str) -> fmt::Result {
    for (at, text) in lines.iter().enumerate() {
        let y = y + at as f64 * line;
        writeln!(out, r#"<text x="{x}" y="{y}"{attributes}>{}</text>"#, escape(text))?;
    }
    Ok(())
}

/// Returns the lines of the title. If all points have the same position, the title includes this
/// position.
fn title(plot: &Plot, size: Size) -> Vec<String> {
    let mut places = plot.curves.iter().flat_map(|curve| &curve.points).map(|point| point.0);
    let first = places.next().filter(|first| plot.is_rows() && places.all(|other| other == *first));
    let place = first.map_or(String::new(), |x| format!(", {} {}", plot.x.format.write(x), plot.x.name));
    let (left, letters) = size.title;
    wrapped(&(plot.title.clone() + &place), size.whole() - left, letters)
}

/// Returns the curves' names in the legend, each as lines.
fn names(plot: &Plot, size: Size) -> Vec<Vec<String>> {
    plot.curves.iter().map(|curve| wrapped(&curve.name, size.legend - SAMPLE, LETTERS)).collect()
}

fn top(plot: &Plot, size: Size) -> f64 {
    TOP + title(plot, size).len().saturating_sub(1) as f64 * TITLE_LINE
}

fn height(plot: &Plot, size: Size) -> f64 {
    let inside = if plot.is_rows() {
        Rows::of(plot, size).height
    } else {
        let legend = names(plot, size).iter().map(|name| name.len() as f64 * LINE + AFTER).sum();
        size.height.max(legend)
    };
    top(plot, size) + inside + BELOW
}

fn draw(out: &mut String, plot: &Plot, size: Size) -> fmt::Result {
    let (left, letters) = size.title;
    writeln!(out, r#"<title>{}</title>"#, escape(&name(&plot.title)))?;
    lines(out, &title(plot, size), (left, 24.0), TITLE_LINE, &format!(r#" font-size="{letters}""#))?;
    if plot.is_rows() {
        return Rows::of(plot, size).draw(out, plot, size);
    }
    let Size { width, height, .. } = size;
    writeln!(out, r#"<g transform="translate({LEFT} {})">"#, top(plot, size))?;
    writeln!(out, r#"<rect class="frame" width="{width}" height="{height}"/>"#)?;
    if let Some((x, y)) = Scale::of(plot) {
        axes(out, plot, (&x, &y), size)?;
        let place = |(px, py): (f64, f64)| (x.at(px) * width, (1.0 - y.at(py)) * height);
        for (at, curve) in plot.curves.iter().enumerate() {
            let points: Vec<(f64, f64)> = curve.points.iter().map(|point| place(*point)).collect();
            line(out, plot.mark, &points, Look::of(at))?;
        }
    }
    let mut y = LETTERS;
    for (at, name) in names(plot, size).iter().enumerate() {
        legend(out, name, plot.mark, (width + 10.0, y), Look::of(at))?;
        y += name.len() as f64 * LINE + AFTER;
    }
    writeln!(out, "</g>")
}

/// A picture of single figures, with one row for each curve. The least figure comes first.
struct Rows<'p> {
    rows: Vec<(&'p Curve, Vec<String>, f64)>,
    /// The width of the names.
    names: f64,
    height: f64,
}

/// Height of a row in addition to the height of its lines of text.
const ROW: f64 = 7.0;
/// Space for a figure to the right of its point.
const FIGURE: f64 = 90.0;

impl<'p> Rows<'p> {
    fn of(plot: &'p Plot, size: Size) -> Self {
        let widest = plot.curves.iter().map(|curve| name(&curve.name).chars().count()).max().unwrap_or(0);
        let names = (widest as f64 * LETTERS * LETTER).clamp(60.0, size.whole() * 0.45);
        let row =
            |curve: &'p Curve| Some((curve, wrapped(&curve.name, names, LETTERS), curve.points.first()?.1));
        let mut rows: Vec<_> = plot.curves.iter().filter_map(row).collect();
        rows.sort_by(|a, b| a.2.total_cmp(&b.2));
        let height = rows.iter().map(|(_, name, _)| name.len() as f64 * LINE + ROW).sum();
        Self { rows, names, height }
    }

    fn draw(&self, out: &mut String, plot: &Plot, size: Size) -> fmt::Result {
        let Some((_, scale)) = Scale::of(plot) else { return Ok(()) };
        let left = self.names + 20.0;
        let width = size.whole() - left - FIGURE;
        let height = self.height;
        writeln!(out, r#"<g transform="translate({left:.1} {})">"#, top(plot, size))?;
        for mark in scale.marks(size.ticks.0) {
            let at = scale.at(mark) * width;
            let text = escape(&plot.y.format.write(mark));
            writeln!(out, r#"<path class="grid" d="M{at:.1} 0v{height}"/>"#)?;
            writeln!(out, r#"<text x="{at:.1}" y="{}" text-anchor="middle">{text}</text>"#, height + 17.0)?;
        }
        let mut y = 0.0;
        for (_, name, value) in &self.rows {
            let row = name.len() as f64 * LINE + ROW;
            let (x, middle) = (scale.at(*value) * width, y + row / 2.0);
            writeln!(out, r#"<path class="grid" d="M0 {middle:.1}H{x:.1}"/>"#)?;
            let first = middle + 4.0 - (name.len() - 1) as f64 * LINE / 2.0;
            lines(out, name, (-10.0, first), LINE, r#" text-anchor="end""#)?;
            writeln!(out, r#"<circle cx="{x:.1}" cy="{middle:.1}" r="5" fill="{}"/>"#, COLORS[0])?;
            let text = escape(&plot.y.format.write(*value));
            writeln!(out, r#"<text x="{:.1}" y="{:.1}">{text}</text>"#, x + 10.0, middle + 4.0)?;
            y += row;
        }
        let (middle, below) = (width / 2.0, height + 38.0);
        let axis = escape(&name(&plot.y.name));
        writeln!(out, r#"<text x="{middle:.1}" y="{below}" text-anchor="middle">{axis}</text>"#)?;
        writeln!(out, "</g>")
    }
}

fn axes(out: &mut String, plot: &Plot, (x, y): (&Scale, &Scale), size: Size) -> fmt::Result {
    let Size { width, height, ticks, .. } = size;
    for mark in y.marks(ticks.1) {
        let at = (1.0 - y.at(mark)) * height;
        let text = escape(&plot.y.format.write(mark));
        writeln!(out, r#"<path class="grid" d="M0 {at:.1}h{width}"/>"#)?;
        writeln!(out, r#"<text x="-6" y="{:.1}" text-anchor="end">{text}</text>"#, at + 4.0)?;
    }
    for mark in x.marks(ticks.0) {
        let at = x.at(mark) * width;
        let text = escape(&plot.x.format.write(mark));
        writeln!(out, r#"<path class="grid" d="M{at:.1} 0v{height}"/>"#)?;
        writeln!(out, r#"<text x="{at:.1}" y="{}" text-anchor="middle">{text}</text>"#, height + 17.0)?;
    }
    let (x, y) = (escape(&name(&plot.x.name)), escape(&name(&plot.y.name)));
    let (middle, below) = (width / 2.0, height + 38.0);
    writeln!(out, r#"<text x="{middle}" y="{below}" text-anchor="middle">{x}</text>"#)?;
    let turn = format!("translate({} {}) rotate(-90)", 14.0 - LEFT, height / 2.0);
    writeln!(out, r#"<text transform="{turn}" text-anchor="middle">{y}</text>"#)
}

fn line(out: &mut String, mark: Mark, points: &[(f64, f64)], look: Look) -> fmt::Result {
    let Look { color, dash, .. } = look;
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        match (at, mark) {
            (0, _) => write!(path, "M{x:.1} {y:.1}")?,
            (_, Mark::Steps) => write!(path, "H{x:.1}V{y:.1}")?,
            _ => write!(path, "L{x:.1} {y:.1}")?,
        }
    }
    if mark != Mark::Dots {
        let stroke = format!(r#"stroke="{color}" stroke-width="1.8" stroke-dasharray="{dash}""#);
        writeln!(out, r#"<path fill="none" {stroke} d="{path}"/>"#)?;
    }
    // A line through a single point would be invisible, so points get marks. In a histogram, marks
    // would hide the steps.
    if mark != Mark::Steps {
        for place in points {
            point(out, *place, look)?;
        }
    }
    Ok(())
}

fn point(out: &mut String, (x, y): (f64, f64), Look { color, shape, .. }: Look) -> fmt::Result {
    writeln!(out, r#"<path class="point" fill="{color}" d="M{x:.1} {y:.1}{shape}"/>"#)
}

/// Writes an entry of the legend: a sample of the curve's line and point, then the curve's name.
fn legend(out: &mut String, name: &[String], mark: Mark, (x, y): (f64, f64), look: Look) -> fmt::Result {
    let Look { color, dash, .. } = look;
    if mark != Mark::Dots {
        let line = format!(r#"stroke="{color}" stroke-width="2.2" stroke-dasharray="{dash}""#);
        writeln!(out, r#"<path {line} d="M{x} {}h24"/>"#, y - 4.0)?;
    }
    if mark != Mark::Steps {
        point(out, (x + 12.0, y - 4.0), look)?;
    }
    lines(out, name, (x + 30.0, y), LINE, "")
}

/// Escapes a text for XML and HTML. Control characters, which XML does not allow, become visible
/// escapes.
#[must_use]
pub fn escape(text: &str) -> String {
    plain(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
