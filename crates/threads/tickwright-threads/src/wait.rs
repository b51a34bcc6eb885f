//! Waits for any kind of caller: in a list of waiters, or for the end of a thread.

mod end;
mod waiters;

pub(crate) use end::wait_for_end;
pub(crate) use waiters::{Ticket, Waiters};
