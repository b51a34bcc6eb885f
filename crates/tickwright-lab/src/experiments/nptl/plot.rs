//! Figures over whole numbers, one line each, on a logarithmic axis: on the terminal and as a
//! picture.

use core::fmt::Write;

/// Figures of one name, one for each key of the plot; a missing one has no point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) figures: Vec<Option<f64>>,
}

/// The decades that hold all figures; none when there is nothing to show.
fn decades(series: &[Series]) -> Option<(f64, f64)> {
    let all = series.iter().flat_map(|one| &one.figures).flatten();
    let logs: Vec<f64> = all.filter(|figure| **figure > 0.0).map(|figure| figure.log10()).collect();
    let low = logs.iter().copied().min_by(f64::total_cmp)?.floor();
    let high = logs.iter().copied().max_by(f64::total_cmp)?.ceil();
    Some((low, high.max(low + 1.0)))
}

/// Lines of a decade on the terminal.
const LINES: f64 = 4.0;

/// Letters on lines from the greatest decade down, three columns for each key. Where two meet, the
/// later one is seen.
pub(super) fn text(series: &[Series], keys: &[usize], unit: &str) -> String {
    let Some((low, high)) = decades(series) else { return String::new() };
    let height = ((high - low) * LINES) as usize;
    let mut grid = vec![vec![' '; keys.len() * 3]; height + 1];
    let letters = ('a'..='z').cycle();
    for (one, letter) in series.iter().zip(letters.clone()) {
        for (at, figure) in one.figures.iter().enumerate() {
            let Some(figure) = figure.filter(|figure| *figure > 0.0) else { continue };
            let line = ((high - figure.log10()) * LINES).round() as usize;
            if let Some(cell) = grid.get_mut(line).and_then(|line| line.get_mut(at * 3 + 2)) {
                *cell = letter;
            }
        }
    }
    let mut out = String::new();
    for (at, line) in grid.iter().enumerate() {
        let decade = high - at as f64 / LINES;
        let mark = if decade.fract() == 0.0 { label(decade, unit) } else { String::new() };
        let line: String = line.iter().collect();
        // Writing to a string does not fail.
        let _ = writeln!(out, "{mark:>8} |{}", line.trim_end());
    }
    let keys: String = keys.iter().map(|key| format!("{key:>3}")).collect();
    let names: Vec<String> =
        series.iter().zip(letters).map(|(one, letter)| format!("{letter} {}", one.name)).collect();
    let _ = writeln!(
        out,
        "{:>8} +{}\n{:>8}  {keys}\n{:>8}  {}",
        "",
        "-".repeat(keys.len()),
        "",
        "",
        names.join("   ")
    );
    out
}

fn label(decade: f64, unit: &str) -> String {
    let value = 10f64.powf(decade);
    if value < 1.0 { format!("{value} {unit}") } else { format!("{value:.0} {unit}") }
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 40.0;
const LEGEND: f64 = 160.0;
const COLOURS: [&str; 8] =
    ["#1b6ca8", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0f766e", "#a16207", "#475569"];

/// A panel of a picture.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) across: String,
    pub(super) keys: Vec<usize>,
    pub(super) series: Vec<Series>,
}

/// Panels below each other.
pub(super) fn svg(panels: &[Panel], unit: &str) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = draw(&mut out, panels, unit);
    out
}

fn draw(out: &mut String, panels: &[Panel], unit: &str) -> core::fmt::Result {
    let step = HEIGHT + 2.0 * TOP + 20.0;
    let (width, height) = (LEFT + WIDTH + LEGEND, panels.len() as f64 * step);
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">"#
    )?;
    for (at, panel) in panels.iter().enumerate() {
        writeln!(out, r#"<g transform="translate({LEFT} {})">"#, at as f64 * step + TOP)?;
        draw_panel(out, panel, unit)?;
        writeln!(out, "</g>")?;
    }
    writeln!(out, "</svg>")
}

fn draw_panel(out: &mut String, panel: &Panel, unit: &str) -> core::fmt::Result {
    writeln!(out, r#"<text x="0" y="-12" font-size="14">{}</text>"#, escape(&panel.title))?;
    writeln!(out, r##"<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>"##)?;
    let Some((low, high)) = decades(&panel.series) else { return Ok(()) };
    let y = |figure: f64| (high - figure.log10()) / (high - low) * HEIGHT;
    let x = |at: usize| (at as f64 + 0.5) / panel.keys.len().max(1) as f64 * WIDTH;
    let mut decade = low;
    while decade <= high {
        let at = y(10f64.powf(decade));
        writeln!(out, r##"<path d="M0 {at:.1}H{WIDTH}" stroke="#ddd"/>"##)?;
        writeln!(
            out,
            r#"<text x="-6" y="{:.1}" text-anchor="end">{}</text>"#,
            at + 4.0,
            label(decade, unit)
        )?;
        decade += 1.0;
    }
    for (at, key) in panel.keys.iter().enumerate() {
        writeln!(out, r#"<text x="{:.1}" y="{}" text-anchor="middle">{key}</text>"#, x(at), HEIGHT + 16.0)?;
    }
    let middle = WIDTH / 2.0;
    writeln!(
        out,
        r#"<text x="{middle}" y="{}" text-anchor="middle">{}</text>"#,
        HEIGHT + 32.0,
        escape(&panel.across)
    )?;
    for (at, (one, colour)) in panel.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let mut points = Vec::new();
        for (at, figure) in one.figures.iter().enumerate() {
            let Some(figure) = figure.filter(|figure| *figure > 0.0) else { continue };
            // A line of one point is not seen.
            writeln!(out, r#"<circle cx="{:.1}" cy="{:.1}" r="2.5" fill="{colour}"/>"#, x(at), y(figure))?;
            points.push(format!("{:.1},{:.1}", x(at), y(figure)));
        }
        writeln!(
            out,
            r#"<polyline fill="none" stroke="{colour}" stroke-width="2" points="{}"/>"#,
            points.join(" ")
        )?;
        let line = 14.0 + at as f64 * 18.0;
        writeln!(
            out,
            r#"<text x="{}" y="{line}" fill="{colour}">{}</text>"#,
            WIDTH + 10.0,
            escape(&one.name)
        )?;
    }
    Ok(())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
