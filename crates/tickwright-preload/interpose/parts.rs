//! The functions that stand before those of libraries, by family.

pub(crate) mod sys;

mod emit;
mod enter;
mod kernel;
mod libev;
mod libevent;
mod libuv;
mod lock;
mod next;
mod range;
mod sleep;
mod slots;
mod start;
mod wait;
