//! Series as a picture.

use core::fmt::Write;

/// Size of a panel.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 160.0;
const GAP: f64 = 40.0;

/// One panel per series, each from its least (at most 0) to its greatest.
pub(super) fn svg(panels: &[(String, Vec<f64>)]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, panels);
    out
}

fn write(out: &mut String, panels: &[(String, Vec<f64>)]) -> core::fmt::Result {
    let height = panels.len() as f64 * (HEIGHT + GAP) + GAP;
    let width = WIDTH + 2.0 * GAP;
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">"#
    )?;
    for (at, (title, series)) in panels.iter().enumerate() {
        let top = GAP + at as f64 * (HEIGHT + GAP);
        let least = series.iter().copied().fold(0.0, f64::min);
        let most = series.iter().copied().fold(0.0, f64::max);
        let scale = if most > least { HEIGHT / (most - least) } else { 0.0 };
        writeln!(out, r#"<text x="{GAP}" y="{}">{title}: {least:.2} to {most:.2}</text>"#, top - 6.0)?;
        writeln!(
            out,
            r##"<rect x="{GAP}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#bbb"/>"##
        )?;
        write!(out, r##"<polyline fill="none" stroke="#246" points=""##)?;
        let step = WIDTH / series.len().saturating_sub(1).max(1) as f64;
        for (i, value) in series.iter().enumerate() {
            write!(out, "{:.1},{:.1} ", GAP + i as f64 * step, top + HEIGHT - (value - least) * scale)?;
        }
        writeln!(out, r#""/>"#)?;
    }
    writeln!(out, "</svg>")
}
