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

#[cfg(test)]
mod tests;
