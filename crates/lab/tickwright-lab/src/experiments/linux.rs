//! Linux's `mod_timer` experiment of 2016: how often can a re-armed timer stay in its bucket, and
//! how often is no lock needed?
//!
//! The patch "timer: Optimization for same expiry time in mod_timer()" (July 2016, Anna-Maria
//! Gleixner) published two tables of three rates. All three are shares of the re-arms of pending
//! timers. *match*: the timer stays in its bucket. *requeued*: the timer moves. *recalc*: the
//! kernel computed the bucket twice, because the clock advanced before it took the lock. Neither
//! workload was published. Three months later the lock-free part of the patch was reverted.
//!
//! # What the published rates say
//!
//! **Simple test**: 5.5 % of the re-arms match before the patch and 86.6 % after it. Before the
//! patch, a re-arm matches if no tick has passed since the previous re-arm, because both then have
//! the same deadline. Suppose that re-arms of a timer come at random (exponential gaps with a mean
//! of m ticks), and that each sets the deadline to now + delay. The share of gaps within one tick
//! is then 1 - m (1 - e^(-1/m)), and 5.5 % gives **m = 8.75 ticks**. After the patch, a re-arm
//! matches if the deadline stays in its granule of g ticks, so the share is 1 - (m/g)(1 -
//! e^(-g/m)). This share is 34.5 % for the 8 ticks of level 1, **86.3 % for the 64 ticks of level
//! 2**, and 98.3 % for the 512 ticks of level 3. A timer with a delay on level 2 (504 to 4031
//! ticks) that is re-armed every 8.75 ticks on average therefore predicts both published figures
//! within 0.3 points. The defaults here are a delay of one second at 1000 Hz and a mean gap of 8.75
//! ticks. The gap follows from the published *before*, and the delay is only a round number, so
//! *after* is a result and not an input.
//!
//! **Networking**: 97.8 % of the re-arms match before the patch and 99.7 % after it. A timer of
//! level 1 (8 ticks per granule) has these rates if it is re-armed about 45 times per tick, without
//! a pause. Before the patch, only the first re-arm of a tick does not match: 1 - 1/45 = 97.8 %.
//! After the patch, only the first re-arm of a granule does not match: 1 - 1/(8 * 45) = 99.7 %. The
//! retransmission timer is on level 1 at 1000 Hz (200 ms). Acknowledgements re-arm this timer, and
//! a receiver sends one acknowledgement for every two segments. **A stream over an Ethernet of 1
//! Gbit/s has 81.3 segments and 40.6 acknowledgements per tick, which gives 97.5 % before and 99.7
//! % after**. Both figures are within 0.3 points of the published figures, and we chose only the
//! speed of the line and the sending side. This is an interpretation, not a proof: the workload of
//! 2016 is not known.
//!
//! Therefore the test has a server that sends through such a line, in virtual time. The server has
//! hundreds of connections, and more than one response is active at a time. Sharing the line and
//! starting new responses lower both figures. The re-arms follow from the traffic by the rules of
//! TCP; only the pauses of the clients are random.
//!
//! The published pair also excludes some workloads, because they cause requeues that no granule
//! prevents:
//!
//! - short responses (64 KiB), with which the patch only halves the requeues,
//! - a full line that many responses share (requeues fall only to four fifths),
//! - a slow line,
//! - a clock below 1000 Hz (the retransmission timer is then on level 0, so requeues do not fall),
//! - receivers of streams under the same kernel (their delayed acknowledgements are on level 0, so
//!   requeues fall only to a half).
//!
//! # What is compared
//!
//! We compare four ways in which a shard with one coarse wheel re-arms a timer:
//!
//! - *before*: removes and inserts the timer, unless the deadline is the same.
//! - *after*: the patch as posted.
//! - *locked*: the kernel's way since late 2016, which compares deadlines under the lock.
//! - *ours*: one compare-exchange without the lock.
//!
//! *ours* is the library's shard. The other three are [specimens], with the same wheel and the same
//! counters. The specimens' shard does less work around a re-arm, because it has no second shard,
//! no deferrable timers and no alarm. The counts therefore compare only the ways of re-arming, and
//! the costs of the specimens are lower bounds.

mod cli;
mod cost;
mod counts;
mod findings;
mod network;
mod oracle;
mod published;
mod run;
mod simple;
mod specimens;
mod subject;
mod tables;

pub(crate) use cli::LinuxArgs;
pub(crate) use published::FILE;

#[cfg(test)]
mod tests;
