//! Linux's `mod_timer` experiment of 2016: how often can a re-armed timer stay where it is, and
//! without the lock?
//!
//! The patch "timer: Optimization for same expiry time in mod_timer()" (Anna-Maria Gleixner, July 2016)
//! gave two tables of three rates: of all re-arms of pending timers, how many *match* (the
//! timer stays in its bucket), how many are *requeued*, and for how many the bucket was computed a
//! second time, because the clock had moved before the lock was taken (*recalc*). Neither workload
//! was published. Three months later the part without the lock was taken back.
//!
//! # What the published rates say
//!
//! **Simple test**, 5.5 % match before and 86.6 % after. Before, a re-arm matches when no tick has
//! passed since the last one: the deadline is then the same. If re-arms of a timer come at random
//! (exponential gaps with a mean of m ticks) and each asks for now + delay, the share of gaps
//! within one tick is 1 - m (1 - e^(-1/m)); 5.5 % of them is **m = 8.75 ticks**. After, it matches
//! when the deadline stays in its granule of g ticks: 1 - (m/g)(1 - e^(-g/m)). That is 34.5 % for
//! the 8 ticks of level 1, **86.3 % for the 64 ticks of level 2**, 98.3 % for the 512 of level 3.
//! So a delay on level 2 (504 to 4031 ticks) re-armed every 8.75 ticks says both published figures
//! to 0.3 points. The defaults here are a delay of one second at 1000 Hz and that step: the step
//! follows from the published *before*, the delay from nothing but being a second; *after* is then
//! an outcome.
//!
//! **Networking**, 97.8 % match before and 99.7 % after. That is what a timer of level 1 (8 ticks a
//! granule) gives that is re-armed about 45 times in each tick, without a pause: before, the first
//! re-arm of a tick does not match, 1 - 1/45 = 97.8 %; after, the first of a granule, 1 - 1/(8 * 45)
//! = 99.7 %. The retransmission timer lies on level 1 at 1000 Hz (200 ms), and is re-armed by
//! acknowledgements, one for two segments. **A stream over an Ethernet of 1 Gbit/s has 81.3
//! segments in a tick and 40.6 acknowledgements: 97.5 % before and 99.7 % after**, both published
//! figures to 0.3 points, with nothing chosen but the line and the sender's side of it. That is a
//! reading, no proof: what ran in 2016 is not known.
//!
//! So the test has a server that sends through such a line, real sockets over loopback behind it,
//! hundreds of connections and more than one response under way at a time: what they share and what
//! begins anew lowers both figures. The re-arms follow from the traffic by the rules of TCP;
//! nothing is drawn at random but the pauses of the clients. The published pair also says what the
//! workload was not, as these make requeues that no granule saves: short responses (64 KiB:
//! requeues fall to a half), a line that is full, so that many take turns (to four fifths), a slow
//! line, a clock below 1000 Hz (the retransmission is on level 0 then: they do not fall), or
//! receivers of streams under the same kernel (their delayed acknowledgements are on level 0: to a
//! half).
//!
//! # What is compared
//!
//! A shard over one coarse wheel re-arms in four ways. *before*: removes and inserts, unless the
//! deadline is the same. *after*: the patch as posted. *locked*: the kernel's way since late 2016,
//! compared under the lock. *ours*: one compare-exchange without the lock. *ours* is the library's
//! shard; the others are [specimens](crate::specimens), over the same wheel and with the same
//! counters. Their shard does less around a re-arm: no second shard, no deferrable timers and no
//! alarm. So the counts compare the ways alone, and the costs of the specimens are lower bounds.

mod cli;
mod cost;
mod counts;
mod findings;
mod network;
mod oracle;
mod published;
mod run;
mod simple;
mod subject;
mod sweep;
mod tables;

pub(crate) use cli::{LinuxArgs, check, tour};

#[cfg(test)]
mod tests;
