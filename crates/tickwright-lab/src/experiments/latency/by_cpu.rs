//! The table "by CPU" of `latency run --cpus`.

use super::lane::Lane;
use crate::render::Format;
use crate::result::{Cell, Section, Table};

/// Lateness on each CPU, for each structure. `None` without `--cpus`.
pub(super) fn section(by_cpu: &[(usize, Vec<Lane>)]) -> Option<Section> {
    if by_cpu.is_empty() {
        return None;
    }
    let mut table = Table::new()
        .column("CPU", Format::Text)
        .column("lateness, us", Format::Text)
        .column("samples", Format::Thousands);
    for name in ["min", "avg", "p99", "max"] {
        table = table.column(name, Format::Fixed(3));
    }
    let mut table = table.column("overruns", Format::Thousands);
    for (cpu, lanes) in by_cpu {
        for lane in lanes {
            let figures = [
                lane.us(|all| all.running().min() as f64),
                lane.us(|all| all.running().avg()),
                lane.us(|all| all.percentile(99.0) as f64),
                lane.us(|all| all.running().max() as f64),
            ];
            let before =
                [cpu.to_string().into(), lane.structure.id.into(), lane.all.running().count().into()];
            let figures = figures.map(Cell::maybe);
            table.row(before.into_iter().chain(figures).chain([lane.overruns.into()]));
        }
    }
    Some(Section::new("Wake-up lateness by CPU").table(table))
}
