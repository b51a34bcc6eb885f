//! Plots as pictures.

use core::fmt::{self, Write};

use super::scale::Scale;
use crate::result::{Curve, Mark, Plot};

/// Size of the area that is drawn on, and of what is around it.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 44.0;
const BELOW: f64 = 56.0;
/// Width of the legend, and height of its lines.
const LEGEND: f64 = 200.0;
const LINE: f64 = 19.0;

/// Colors that color-blind readers tell apart (Okabe and Ito 2008), with dashes for prints without
/// color. The yellow is left out: it cannot be read on white.
const STYLES: [(&str, &str); 7] = [
    ("#0072b2", "none"),
    ("#d55e00", "7 3"),
    ("#009e73", "2 2"),
    ("#cc79a7", "9 3 2 3"),
    ("#e69f00", "5 2 1 2"),
    ("#56b4e9", "12 4"),
    ("#808080", "4 4"),
];

/// Text and grid take the color of the page, so they follow its light or dark mode.
const STYLE: &str = "text{fill:currentColor}.grid{stroke:currentColor;stroke-opacity:.15}\
.frame{stroke:currentColor;stroke-opacity:.5;fill:none}";

/// All plots below each other, as a file of its own.
#[must_use]
pub fn svg<'p>(plots: impl IntoIterator<Item = &'p Plot>) -> String {
    let plots: Vec<&Plot> = plots.into_iter().collect();
    let height: f64 = plots.iter().map(|plot| height(plot)).sum();
    let mut body = String::new();
    let mut top = 0.0;
    for plot in plots {
        let _ = writeln!(body, r#"<g transform="translate(0 {top})">"#);
        let _ = draw(&mut body, plot);
        body += "</g>\n";
        top += self::height(plot);
    }
    framed(
        &body,
        height,
        "<style>svg{color:#222;background:#fff}@media(prefers-color-scheme:dark){svg{color:#ddd;background:#1b1b1b}}</style>",
    )
}

/// One plot, for a page that gives the color.
#[must_use]
pub fn svg_of(plot: &Plot) -> String {
    let mut body = String::new();
    let _ = draw(&mut body, plot);
    framed(&body, height(plot), "")
}

fn framed(body: &str, height: f64, style: &str) -> String {
    let width = LEFT + WIDTH + LEGEND;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<style>{STYLE}</style>{style}\n{body}</svg>\n"
    )
}

fn height(plot: &Plot) -> f64 {
    TOP + HEIGHT.max(plot.curves.len() as f64 * LINE) + BELOW
}

fn draw(out: &mut String, plot: &Plot) -> fmt::Result {
    writeln!(out, r#"<title>{}</title>"#, escape(&plot.title))?;
    writeln!(out, r#"<text x="{LEFT}" y="24" font-size="15">{}</text>"#, escape(&plot.title))?;
    writeln!(out, r#"<g transform="translate({LEFT} {TOP})">"#)?;
    writeln!(out, r#"<rect class="frame" width="{WIDTH}" height="{HEIGHT}"/>"#)?;
    if let Some((x, y)) = Scale::of(plot) {
        axes(out, plot, &x, &y)?;
        let place = |(px, py): (f64, f64)| (x.at(px) * WIDTH, (1.0 - y.at(py)) * HEIGHT);
        for (curve, style) in plot.curves.iter().zip(STYLES.iter().cycle()) {
            let points: Vec<(f64, f64)> = curve.points.iter().map(|point| place(*point)).collect();
            line(out, plot.mark, &points, *style)?;
        }
    }
    for (at, (curve, style)) in plot.curves.iter().zip(STYLES.iter().cycle()).enumerate() {
        legend(out, curve, at, *style)?;
    }
    writeln!(out, "</g>")
}

fn axes(out: &mut String, plot: &Plot, x: &Scale, y: &Scale) -> fmt::Result {
    for mark in y.marks(6) {
        let at = (1.0 - y.at(mark)) * HEIGHT;
        let text = escape(&plot.y.format.write(mark));
        writeln!(out, r#"<path class="grid" d="M0 {at:.1}h{WIDTH}"/>"#)?;
        writeln!(out, r#"<text x="-6" y="{:.1}" text-anchor="end">{text}</text>"#, at + 4.0)?;
    }
    for mark in x.marks(8) {
        let at = x.at(mark) * WIDTH;
        let text = escape(&plot.x.format.write(mark));
        writeln!(out, r#"<path class="grid" d="M{at:.1} 0v{HEIGHT}"/>"#)?;
        writeln!(out, r#"<text x="{at:.1}" y="{}" text-anchor="middle">{text}</text>"#, HEIGHT + 17.0)?;
    }
    let (x, y) = (escape(&plot.x.name), escape(&plot.y.name));
    let (middle, below) = (WIDTH / 2.0, HEIGHT + 38.0);
    writeln!(out, r#"<text x="{middle}" y="{below}" text-anchor="middle">{x}</text>"#)?;
    let turn = format!("translate({} {}) rotate(-90)", 14.0 - LEFT, HEIGHT / 2.0);
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
    // A line of one point is not seen; a dot a cell would hide a histogram.
    if mark != Mark::Steps {
        for (x, y) in points {
            writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.6" fill="{color}"/>"#)?;
        }
    }
    Ok(())
}

fn legend(out: &mut String, curve: &Curve, at: usize, (color, dash): (&str, &str)) -> fmt::Result {
    let (x, y) = (WIDTH + 10.0, 12.0 + at as f64 * LINE);
    let line = format!(r#"stroke="{color}" stroke-width="2.2" stroke-dasharray="{dash}""#);
    writeln!(out, r#"<path {line} d="M{x} {}h24"/>"#, y - 4.0)?;
    writeln!(out, r#"<text x="{}" y="{y}">{}</text>"#, x + 30.0, escape(&curve.name))
}

/// A text as XML and HTML take it.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
