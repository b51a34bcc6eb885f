//! Plots as pictures.

use core::fmt::{self, Write};

use super::scale::Scale;
use crate::result::{Curve, Mark, Plot};

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

/// The size of a picture that stands alone.
const LARGE: Size = Size { width: 640.0, height: 320.0, legend: 200.0, ticks: (8, 6), title: (LEFT, 15.0) };
/// The size of each of several pictures that stand beside each other.
const SMALL: Size = Size { width: 260.0, height: 170.0, legend: 150.0, ticks: (4, 4), title: (0.0, 13.0) };

/// Space around the area with the curves.
const LEFT: f64 = 80.0;
const TOP: f64 = 44.0;
const BELOW: f64 = 56.0;
/// Height of a line of the legend.
const LINE: f64 = 19.0;

/// Colors that color-blind readers can distinguish (Okabe and Ito 2008), with dashes for prints
/// without color. The yellow is left out, because nobody can read it on white.
const STYLES: [(&str, &str); 8] = [
    ("#0072b2", "none"),
    ("#d55e00", "7 3"),
    ("#009e73", "2 2"),
    ("#cc79a7", "9 3 2 3"),
    ("#e69f00", "5 2 1 2"),
    ("#56b4e9", "12 4"),
    ("#808080", "4 4"),
    ("currentColor", "1 3"),
];

/// Text and grid take the color of the page, so they follow its light or dark mode.
const STYLE: &str = "text{fill:currentColor}.grid{stroke:currentColor;stroke-opacity:.15}\
.frame{stroke:currentColor;stroke-opacity:.5;fill:none}";

/// All plots below each other, as a complete file.
#[must_use]
pub fn svg<'p>(plots: impl IntoIterator<Item = &'p Plot>) -> String {
    let plots: Vec<&Plot> = plots.into_iter().collect();
    let height: f64 = plots.iter().map(|plot| height(plot, LARGE)).sum();
    let mut body = String::new();
    let mut top = 0.0;
    for plot in plots {
        let _ = writeln!(body, r#"<g transform="translate(0 {top})">"#);
        let _ = draw(&mut body, plot, LARGE);
        body += "</g>\n";
        top += self::height(plot, LARGE);
    }
    framed(
        &body,
        (LARGE, height),
        "<style>svg{color:#222;background:#fff}@media(prefers-color-scheme:dark){svg{color:#ddd;background:#1b1b1b}}</style>",
    )
}

/// One plot, for a page that sets the color.
#[must_use]
pub fn svg_of(plot: &Plot) -> String {
    alone(plot, LARGE)
}

/// One of several plots that stand beside each other. The page sets the color.
#[must_use]
pub(super) fn small_svg_of(plot: &Plot) -> String {
    alone(plot, SMALL)
}

fn alone(plot: &Plot, size: Size) -> String {
    let mut body = String::new();
    let _ = draw(&mut body, plot, size);
    framed(&body, (size, height(plot, size)), "")
}

fn framed(body: &str, (size, height): (Size, f64), style: &str) -> String {
    let width = LEFT + size.width + size.legend;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<style>{STYLE}</style>{style}\n{body}</svg>\n"
    )
}

fn height(plot: &Plot, size: Size) -> f64 {
    TOP + size.height.max(plot.curves.len() as f64 * LINE) + BELOW
}

fn draw(out: &mut String, plot: &Plot, size: Size) -> fmt::Result {
    let Size { width, height, title: (left, letters), .. } = size;
    writeln!(out, r#"<title>{}</title>"#, escape(&plot.title))?;
    writeln!(out, r#"<text x="{left}" y="24" font-size="{letters}">{}</text>"#, escape(&plot.title))?;
    writeln!(out, r#"<g transform="translate({LEFT} {TOP})">"#)?;
    writeln!(out, r#"<rect class="frame" width="{width}" height="{height}"/>"#)?;
    if let Some((x, y)) = Scale::of(plot) {
        axes(out, plot, (&x, &y), size)?;
        let place = |(px, py): (f64, f64)| (x.at(px) * width, (1.0 - y.at(py)) * height);
        for (curve, style) in plot.curves.iter().zip(STYLES.iter().cycle()) {
            let points: Vec<(f64, f64)> = curve.points.iter().map(|point| place(*point)).collect();
            line(out, plot.mark, &points, *style)?;
        }
    }
    for (at, (curve, style)) in plot.curves.iter().zip(STYLES.iter().cycle()).enumerate() {
        legend(out, curve, (width + 10.0, 12.0 + at as f64 * LINE), *style)?;
    }
    writeln!(out, "</g>")
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
    let (x, y) = (escape(&plot.x.name), escape(&plot.y.name));
    let (middle, below) = (width / 2.0, height + 38.0);
    writeln!(out, r#"<text x="{middle}" y="{below}" text-anchor="middle">{x}</text>"#)?;
    let turn = format!("translate({} {}) rotate(-90)", 14.0 - LEFT, height / 2.0);
    writeln!(out, r#"<text transform="{turn}" text-anchor="middle">{y}</text>"#)
}

fn line(out: &mut String, mark: Mark, points: &[(f64, f64)], (color, dash): (&str, &str)) -> fmt::Result {
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
    // A line of a single point would be invisible, so points get dots. In a histogram, dots would
    // hide the steps.
    if mark != Mark::Steps {
        for (x, y) in points {
            writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.6" fill="{color}"/>"#)?;
        }
    }
    Ok(())
}

fn legend(out: &mut String, curve: &Curve, (x, y): (f64, f64), (color, dash): (&str, &str)) -> fmt::Result {
    let line = format!(r#"stroke="{color}" stroke-width="2.2" stroke-dasharray="{dash}""#);
    writeln!(out, r#"<path {line} d="M{x} {}h24"/>"#, y - 4.0)?;
    writeln!(out, r#"<text x="{}" y="{y}">{}</text>"#, x + 30.0, escape(&curve.name))
}

/// Escapes a text for XML and HTML.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
