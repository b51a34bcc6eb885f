//! The benchmarks and the reproductions, one module each, and the list of the reproductions.

pub(crate) mod asterisk;
pub(crate) mod bench;
#[cfg(target_os = "linux")]
pub(crate) mod helenos;
#[cfg(target_os = "linux")]
pub(crate) mod latency;
pub(crate) mod linux;
pub(crate) mod nptl;
pub(crate) mod request;
pub(crate) mod row;
pub(crate) mod xenomai;
pub(crate) mod zephyr;

use std::sync::LazyLock;

use self::row::Row;

/// The experiments that can be reproduced. Each row has the arguments of an experiment and its
/// name, which is also the name of its folder and of its file. `reproduce`, the tour, `check`,
/// `list` and the examples of the help read this list.
pub(crate) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    Vec::from([
        Row::of::<xenomai::XenomaiArgs>("xenomai", xenomai::FILE).accepted_by(xenomai::accepted),
        Row::of::<linux::LinuxArgs>("linux", linux::FILE),
        Row::of::<asterisk::AsteriskArgs>("asterisk", asterisk::FILE),
        #[cfg(target_os = "linux")]
        Row::of::<helenos::HelenosArgs>("helenos", helenos::FILE),
        Row::of::<nptl::NptlArgs>("nptl", nptl::FILE),
        Row::of::<zephyr::ZephyrArgs>("zephyr", zephyr::FILE),
    ])
});

/// Returns the experiment with this name.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}
