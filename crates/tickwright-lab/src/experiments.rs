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

use std::sync::LazyLock;

use serde::de::DeserializeOwned;

use self::row::Row;
use crate::error::LabError;

/// A row: the name of the experiment, which its folder and its file have too, and its arguments.
macro_rules! row {
    ($name:literal, $args:ty) => {
        Row::of::<$args>($name, include_str!(concat!("experiments/", $name, "/", $name, ".toml")))
    };
}

/// The experiments that can be reproduced. `reproduce`, the tour, `check`, `list` and the examples
/// of the help read this list.
pub(crate) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    Vec::from([
        row!("xenomai", xenomai::XenomaiArgs).accepted_by(xenomai::accepted),
        row!("linux", linux::LinuxArgs),
        row!("asterisk", asterisk::AsteriskArgs),
        #[cfg(target_os = "linux")]
        row!("helenos", helenos::HelenosArgs),
        row!("nptl", nptl::NptlArgs),
    ])
});

/// Returns the row of this name.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Reads the table `published` of an experiment's file.
///
/// # Errors
/// None in a program whose tests pass.
pub(crate) fn published<T: DeserializeOwned>(name: &str) -> Result<T, LabError> {
    let row = row(name).ok_or_else(|| LabError::failed(format!("no experiment is called {name}")))?;
    row.published()
}
