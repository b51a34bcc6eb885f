//! The benchmarks and the reproductions, one module each.

pub(crate) mod asterisk;
pub(crate) mod bench;
#[cfg(target_os = "linux")]
pub(crate) mod helenos;
#[cfg(target_os = "linux")]
pub(crate) mod latency;
pub(crate) mod linux;
pub(crate) mod nptl;
pub(crate) mod request;
pub(crate) mod xenomai;
