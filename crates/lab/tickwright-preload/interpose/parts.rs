//! The functions that interpose libraries' functions, by family.

#[macro_use]
mod enter;
#[macro_use]
mod next;

pub(crate) mod sys;

mod cpu_timers;
mod emit;
mod kernel;
mod libev;
mod libevent;
mod libuv;
mod range;
mod slots;
mod start;
mod wait;
