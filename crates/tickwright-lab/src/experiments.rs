//! The benchmarks and the reproductions, one module each.

pub(crate) mod adversary;
pub(crate) mod asterisk;
pub(crate) mod async_timers;
pub(crate) mod bench;
pub(crate) mod c_peers;
pub(crate) mod crossover;
pub(crate) mod dictionaries;
pub(crate) mod heap;
#[cfg(target_os = "linux")]
pub(crate) mod helenos;
#[cfg(target_os = "linux")]
pub(crate) mod latency;
pub(crate) mod linux;
pub(crate) mod matrix;
pub(crate) mod mcu;
pub(crate) mod memory;
pub(crate) mod nptl;
pub(crate) mod request;
pub(crate) mod scheduler;
pub(crate) mod threads;
pub(crate) mod xenomai;
