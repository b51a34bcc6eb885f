//! The table of rates.

use core::time::Duration;

use super::registry::Tree;
use super::verdict::Pair;
use crate::duration;
use crate::output::table;
use crate::render::Format;

/// The original's table, with the test.
pub(crate) fn rates(pairs: &[Pair], tree: Tree, duration: Duration, place: &str) -> String {
    let odict = tree.name();
    let mut rows = table::new([
        format!("round trips per s, {place}"),
        "N".into(),
        odict.to_owned(),
        "sd".into(),
        "avl".into(),
        "sd".into(),
        format!("{odict} gains"),
        "from".into(),
        "to".into(),
        "p".into(),
        "Welch".into(),
    ]);
    for pair in pairs {
        let percent = |rate| format!("{:+.1} %", pair.percent(rate));
        rows.add_row([
            format!("{} {} {}", pair.method.name(), pair.transport.name(), pair.tasks.name()),
            table::count(pair.population),
            Format::Thousands.write(pair.odict.0),
            Format::Thousands.write(pair.odict.1),
            Format::Thousands.write(pair.avl.0),
            Format::Thousands.write(pair.avl.1),
            percent(pair.test.difference),
            percent(pair.test.low),
            percent(pair.test.high),
            format!("{:.3}", pair.test.p),
            pair.words().to_owned(),
        ]);
    }
    let show = duration::show(duration);
    format!(
        "{}\nv1: 100 round trips per look at the clock for {show}; v2: the power of two that takes {show}, again and again.",
        table::show(&rows)
    )
}
