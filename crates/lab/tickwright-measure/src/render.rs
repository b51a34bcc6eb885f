//! Renders a report: as text for a terminal, Markdown, SVG, and an HTML page.

mod html;
mod markdown;
mod plot;
mod scale;
mod svg;
mod text;

pub use self::html::html;
pub use self::markdown::markdown;
pub use self::plot::{plot, sparks};
pub use self::svg::{escape, svg, svg_of};
pub use self::text::{filled, sections, text};
pub use crate::format::Format;

use crate::result::Report;
use crate::text::{name, plain};

/// Returns the machine, the build, the date, the clock and the hash of the work, each on its own
/// line.
fn about(report: &Report) -> String {
    let date = report.started.as_ref().map(|date| format!("date   {}\n", name(date)));
    let clock = report.clock.as_ref().map(|clock| format!("clock  {clock}\n"));
    let work = report.workload.as_ref().map(|work| format!("work   {}\n", name(work)));
    let facts: String = [date, clock, work].into_iter().flatten().collect();
    format!("{}\n{facts}", plain(&report.host.to_string()))
}

#[cfg(test)]
mod tests;
