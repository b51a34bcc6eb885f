//! What the models are meant to reach, and whether they did.

use super::column::Column;
use super::model::Model;
use super::table::Table;
use crate::render::{self, Format};
use crate::result::{Finding, Section, findings_table};
use crate::stats::Bound;

/// The targets of creation, in the cell that they are set for: P = 1, C = 10. A target whose ratio
/// was not measured is left out.
pub(crate) fn of_table(table: &Table) -> Vec<Finding> {
    let (p, c) = (1, 10);
    let ratio = |slow, fast| table.cell_ratio(slow, fast, p, c);
    let (one, many) = (Column::Ours(Model::OneToOne), Column::Ours(Model::ManyToMany));
    let all = [
        ("m:n, times as fast as one-to-one", Bound::AtLeast(80.0), ratio(one, many)),
        ("m:n to may, ratio", Bound::AtMost(0.25), ratio(many, Column::May)),
        ("m:n to tokio, ratio", Bound::AtMost(0.6), ratio(many, Column::Tokio)),
        ("one-to-one to std, ratio", Bound::AtMost(1.1), ratio(one, Column::Std)),
    ];
    let measured = all.into_iter().filter_map(|(about, bound, figure)| Some((about, bound, figure?)));
    measured.map(|(about, bound, figure)| Finding::bounded(about, figure, bound)).collect()
}

/// The targets as a table.
pub(crate) fn text(targets: &[Finding]) -> String {
    let table = findings_table("target", Format::Fixed(2), targets);
    render::sections(&[Section::new("").table(table)]).trim_start_matches('\n').to_owned()
}
