//! Xenomai's timer list experiment of 2016, with around 500 timers: which structure should hold the
//! timers of a real-time kernel?
//!
//! The published run lasted two hours on a Core i7 and on an Atmel Xplained board. It printed, for
//! each structure, how long the kernel spent in four operations on its timer queue. The program was
//! never published; its figures say what it did.
//!
//! # What the published counts say
//!
//! Core i7, binary heap, 7201 s: 325.2 M heads, 3.03 M seconds, 115.0 M inserts, as many removes.
//!
//! 1. A tick takes its timer out and puts it back: one insert, one remove. The kernel's tick
//!    handler reads the head to find the expired timer, again to find that the next one lies in the
//!    future, and once more to program the hardware: three heads.
//! 2. A timer is started or stopped at half of the ticks. With as many starts as stops that is 1/4
//!    insert and 1/4 remove more, and each costs a head: the kernel asks whether the timer is the
//!    one that the hardware is set for.
//! 3. `second` serves one purpose. On the i7 the tick of Linux itself is a timer in the same queue,
//!    of the lowest priority. When it heads the queue while more urgent work runs, the kernel sets
//!    the hardware for the timer after it, and when that work is done and Linux is about to run, it
//!    sets the hardware anew for the head. So each life of the host tick costs one `second` (it
//!    becomes the head once, at the end of the tick before it, and that tick has just made a thread
//!    ready) and one head more. 3,027,528 seconds in 7201 s are a host tick of **420.4 Hz**.
//! 4. The host tick is a tick itself: an insert, a remove, three heads; nothing is toggled.
//!
//! With T timer ticks and H host ticks a second: inserts = 1.25 T + H, heads = 3.5 T + 4 H. The
//! published 15,971 inserts a second give T = 12,440, so 12,861 ticks a second in all, and predict
//! 45,221 heads a second, head : insert = 2.831. Measured were 45,157 and **2.827**: 0.14 % off.
//! The Xplained board has a hardware timer for Linux, hence no `second`; its 3.14 heads per tick
//! instead of 3.5 say that 0.82 wake-ups served a tick, because several timers were due at once.
//!
//! Inserts minus removes, the timers pending at the end, are 490 in all three i7 runs and 504 in
//! all three Xplained runs. About 500 of 1,000 timers are armed when a random one is toggled each
//! time; 500 timers tick 12,440 times a second when their periods lie around 41 ms.
//!
//! # How it runs here
//!
//! The structures take turns in short slices, in random order within a round, so that a host that
//! drifts hits all alike. A structure's clock stands still between its slices. Each slice starts
//! with a fresh queue that is filled, unmeasured, with the timers that were armed when the last one
//! ended, and ends with its event log given to an [oracle] that knows nothing of the structures.

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

pub(crate) use cli::{XenomaiArgs, accepted, tour};

#[cfg(test)]
mod tests;
