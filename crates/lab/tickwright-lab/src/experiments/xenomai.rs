//! Xenomai's experiment with timer lists of 2016, with around 500 timers: which structure should
//! hold the timers of a real-time kernel?
//!
//! The published run lasted two hours on a Core i7 and on an Atmel Xplained board. For each
//! structure, it printed how long the kernel spent in four operations on its timer queue. The
//! program was never published. Its workload is inferred from its figures.
//!
//! # What the published counts say
//!
//! Below, a *head read* is one read of the queue's first entry, and a *second read* is one read of
//! the entry after the first. Core i7, binary heap, 7201 s: 325.2 M head reads, 3.03 M second
//! reads, 115.0 M inserts and 115.0 M removes.
//!
//! 1. A tick removes its timer and inserts it again: one insert, one remove. The kernel's tick
//!    handler reads the head three times: to find the expired timer, to find that the next timer is
//!    not due yet, and to program the hardware.
//! 2. Half of the ticks start or stop a timer. Starts and stops are equally frequent, so a tick
//!    costs another 1/4 insert and 1/4 remove. Each start or stop costs one more head read, because
//!    the kernel checks whether the hardware is set for this timer.
//! 3. The kernel reads the second entry for one purpose. On the i7, the tick of Linux itself is a
//!    timer in the same queue, with the lowest priority. If this host tick is the head while more
//!    urgent work runs, the kernel sets the hardware for the timer after the head. When that work
//!    is done and Linux is about to run, the kernel sets the hardware for the head again, so each
//!    host tick costs one second read and one more head read. The host tick becomes the head once,
//!    at the end of the tick before it, when that tick has just made a thread ready. The 3,027,528
//!    second reads in 7201 s give a host tick of **420.4 Hz**.
//! 4. The host tick is a tick too: one insert, one remove, three head reads. The host tick starts
//!    and stops no timer.
//!
//! With T timer ticks and H host ticks per second, there are 1.25 T + H inserts and 3.5 T + 4 H
//! head reads per second. The published 15,971 inserts per second give T = 12,440, and 12,861 ticks
//! per second in total. T and H predict 45,221 head reads per second, or 2.831 head reads per
//! insert. The published figures, 45,157 and **2.827**, are 0.14 % lower. The Xplained board has a
//! hardware timer for Linux, so its kernel makes no second reads. The board has 3.14 head reads per
//! tick instead of 3.5, which corresponds to 0.82 wake-ups per tick, because sometimes several
//! timers were due at once.
//!
//! The difference of inserts and removes is the number of timers that are pending at the end: 490
//! in all three i7 runs and 504 in all three Xplained runs. If each toggle picks a random one of
//! 1,000 timers, about 500 timers are armed. If their periods are around 41 ms, they tick 12,440
//! times per second.
//!
//! # How it runs here
//!
//! We alternate the structures in short slices, in random order within a round, so that a drifting
//! host affects all structures alike. The virtual clock of a structure stands still between its
//! slices. Each slice starts with a fresh queue. Before the timed part, the queue is filled with
//! the timers that were armed when the last slice ended. After each slice, an [oracle] that knows
//! nothing of the structures checks the event log.

mod cli;
mod handler;
mod instrument;
mod log;
mod machine;
mod oracle;
mod run;
mod scenario;
mod slice;
mod tables;
mod verdict;
mod workload;

pub(crate) use cli::{XenomaiArgs, accepted};
pub(crate) use scenario::FILE;

#[cfg(test)]
mod tests;
