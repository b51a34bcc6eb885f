//! Why a re-arm without the lock is right. `rearm` has the rule (`fits`) and both paths, `word` the
//! word.
//!
//! In a coarse wheel the new deadline of a time-out mostly falls into the timer's current bucket,
//! so nothing has to move. Linux re-armed such timers without the lock in 2016: it compared bucket
//! indices and then wrote the deadline. The change was reverted after three months, because the
//! timer could fire between the comparison and the write. Here **all that such a re-arm reads and
//! writes of a timer is one word**, so one compare-exchange both decides and re-arms.
//!
//! # Ground rules
//!
//! 1. A shard's lock protects the clock, the two wheels, the wheels' records in the nodes, and the
//!    mark of the running callback.
//! 2. A timer belongs to one shard at a time, which its field `shard` names. The field changes only
//!    under the lock of the shard that the timer leaves. A thread that wants the lock of a timer
//!    reads `shard`, locks, and reads `shard` again; if it has changed, the thread starts over.
//! 3. Every write of the word is an atomic exchange. All are made under the lock, except the re-arm
//!    in place.
//! 4. The unlocked path waits for no thread. It reads the word, the published clock, which may be
//!    stale, and the time. The caller passes the time, or the path reads the shard's clock if that
//!    is one of the machine's. Under any other clock it takes the lock, and so it does after two
//!    lost exchanges.
//! 5. Handles are counted. A thread that re-arms holds one handle. A shard holds one for each node
//!    in its wheels, and one more while the callback runs.
//!
//! # The word
//!
//! ```text
//!   63                                            6 5      2 1     0
//!  | deadline (58 bits)                            | level  | state |
//! ```
//!
//! Deadline and level determine the end of the timer's bucket, without a clock. In Linux's geometry
//! a bucket of level 2 is 64 ticks wide, so a deadline of 1000 at level 2 is in the bucket that
//! ends at 1024.
//!
//! A **parked** word has no level: its four bits are all ones. The deadline is then in the wheel's
//! record, because it is beyond the last level or does not fit 58 bits. The unlocked path refuses a
//! parked word. The wheel knows nothing of words: when it moves a parked timer into a normal
//! bucket, the word stays parked, and the next re-arm takes the lock, once.
//!
//! # States
//!
//! ```text
//!                      arm                       due: taken
//!        ┌──────────┐ ─────────> ┌─────────────┐ ──────────> ┌────────┐
//!        │   idle   │ <───────── │   pending   │ <────────── │ firing │
//!        └──────────┘   cancel   └─────────────┘     arm     └────────┘
//!              ^                   │   ^    (1) re-arm in place      │
//!              │                   └───┘                             │
//!              └─────────────────────────────────────────────────────┘ the callback ends
//!
//!        shutdown, from anywhere: ──> dead
//! ```
//!
//! A timer that its own callback re-arms is both pending and running, so *running* is not a state
//! of the word: the shard knows whose callback runs.
//!
//! Let B be the end of the bucket that the timer is in, and X(E, n) the end of the granule of
//! deadline E at level n. Whenever the lock of the shard is free:
//!
//! 1. The word says *pending* if and only if the node is in exactly one wheel of exactly one shard,
//!    the one that `shard` names.
//! 2. Pending at level n: B > E and B = X(E, n). Two exceptions: E had passed when the timer was
//!    armed, or the timer was due, but not yet taken, when it was reduced. In both, n is 0, and B
//!    is at most one more than the clock of that moment.
//! 3. Parked: the wheel's record has the true deadline.
//! 4. Firing: the callback runs, and `shard` does not change while it runs. A dead timer stays
//!    dead.
//! 5. There is one pass per shard at a time.
//!
//! # Transitions
//!
//! | | transition | lock | on the word |
//! |---|---|---|---|
//! | 1 | re-arm in place, E to E' at level n | none | compare-exchange, Release |
//! | 2 | arm or re-arm otherwise | the shard's | swap |
//! | 3 | reduce | the shard's | park by `fetch_or`, then swap |
//! | 4 | take a due timer | the shard's | swap to firing, Acquire |
//! | 5 | the callback ends or panics | the shard's | compare-exchange from firing to idle |
//! | 6 | cancel, shutdown | the shard's | swap, Acquire |
//! | 7 | arm on another shard | both, in order of their numbers | swap |
//! | 8 | drain | both, in order of their numbers | park by `fetch_or`, then swap |
//!
//! Each takes effect at its first exchange. (1) is allowed if E' is in the granule of E at level n,
//! the word holds E', and a timer armed now gets level n or a coarser one. The exchange is made
//! even if E' = E. For a reduce, E' is the earlier one of E and the call's deadline. A call that
//! changes nothing takes effect at its load under the lock. Only (1), (4) and (6) have an ordering,
//! because threads that meet at a lock need no more.
//!
//! # Why it holds
//!
//! - **Never early.** At an insert B > E, or E has passed. (1) keeps the granule, so X(E', n) = B
//!   and E' < B. The take comes after the clock has reached B, and as an exchange it reads the last
//!   deadline. A reduce leaves the timer in its bucket only if it is due.
//! - **Never a rotation early or late.** (1) compares whole granules, never an index modulo 64.
//!   Take a timer for tick 5 that waits to be taken at clock 14. Its index is 6, and tick 69 has
//!   the same index. A comparison of indices would leave it there, and it would fire at 14 instead
//!   of 70. The lab has that comparison as a specimen.
//! - **At most 8/63 of the delay late.** B - E' is at most the width of a bucket of level n, and
//!   (1) stays at n only if a timer armed now would not get a finer level. This is so for an equal
//!   deadline too, and for a reduce that keeps an earlier one. The time of the call decides which
//!   level it would get: the caller passes it (`modify_at`), or the path reads the clock. A shard
//!   without a clock has the time of its last advance. A wrong time costs precision, not safety. An
//!   arm during a pass counts from the time of the arm as well. It advances the shard's clock,
//!   while the pass goes on with its own time: it takes what was due when it began.
//! - **Never lost.** A successful (1) saw *pending*. Either the lock was free: then the node is in
//!   a wheel (invariant 1), and a later take reads our value. Or a thread under the lock had not
//!   written the word yet: its write is an exchange that sees our value, so (4) fires our deadline,
//!   (6) cancels it, (2) replaces it, and (3) and (8) go on from it.
//! - **Due and not yet taken.** While a callback runs, the other due timers stay pending, and (1)
//!   is right for them too: they fire in this pass. A timer that is armed for the past during a
//!   pass fires at the tick after the shard's clock, which is after the time of the pass, so each
//!   pass ends.
//! - **ABA.** (1) is right by the value of the word alone. If the word was (E, n, pending), then
//!   something else, then (E, n, pending) again, then B = X(E, n) again, on whatever shard. In the
//!   exceptions of invariant 2, n is 0, and level 0 allows only E' = E. No node has become another
//!   timer meanwhile, because handles are counted (ground rule 5).
//! - **Which writes are seen.** All writes of the word before a take are exchanges, so they form
//!   one release sequence, and the take's Acquire sees what each thread wrote before a re-arm that
//!   counted. A re-arm that returns `Was::Pending` publishes the caller's earlier writes to the
//!   callback, or to the thread that cancels. A mere load of an equal deadline would order nothing.
//! - **No deadlock.** A thread holds one lock, or two in the order of their numbers. Meanwhile it
//!   takes only the locks of an alarm and a clock, which never take a shard's. A thread that waits
//!   for a callback holds no lock. Two callbacks that wait for each other's timers are the user's
//!   deadlock.
//! - **Never slept through.** The alarm is set under the lock that the arm holds, so the later
//!   setting belongs to the later state. The alarm is at or before the first expiry: an arm for an
//!   earlier deadline sets it, (1) does not change the end of a bucket, `set_clock` with another
//!   tick sets it again, and every pass sets it at its end, even to an equal time, because the
//!   alarm may have gone off while the driver found the shard busy.
//!
//! # How it is checked
//!
//! `ci/loom.sh` compiles the shipped module with loom's atomics, locks and cells. It runs all
//! schedules of two threads, and those of three threads with at most three preemptions. `ghost.rs`
//! keeps a shadow of each timer, which the model compares at each point where an operation takes
//! effect. `tests/loom_alarm.rs` adds a driver that sleeps, and `tests/loom_specimens.rs` runs the
//! lab's specimens, two of which must fail. `tests/shard_table.rs` tests every operation in every
//! state, `tests/shard.rs` every level boundary, `tests/shard_alarm.rs` the times of the alarm, and
//! `tests/shard_stress.rs` real threads.
//!
//! Each of these changes was made by hand, and the named test failed:
//!
//! - the exchange of (1) is Relaxed; the take is Relaxed: `an_equal_deadline_against_expiry`
//! - the exchange of (1) becomes a load and a store: `drain_against_fast`, and 21 more
//! - a load answers an equal deadline: `an_equal_deadline_against_expiry`
//! - indices modulo 64 are compared: `a_deadline_64_buckets_later_against_expiry`
//! - (1) ignores the state in the word: `deadline_0_of_an_idle_timer_is_not_taken_for_its_own`
//! - (1) admits parked words: `a_parked_timer_against_the_owner`
//! - (2) becomes a store: `a_slow_re_arm_passes_on_what_a_fast_one_published`
//! - (3) becomes a load: `reduce_under_the_lock_does_not_undo_an_earlier_deadline`
//! - (4) becomes a load and a store: `a_fast_re_arm_against_cancel_and_expiry`
//! - (5) always writes idle: `a_deadline_64_buckets_later_against_expiry`
//! - (6) is Relaxed: `a_cancel_takes_over_what_was_published`
//! - (6) becomes a store: `a_fast_re_arm_against_cancel`
//! - (8) becomes a load: `drain_against_fast`
//! - `shard` is not read again under the lock, or is written before it: `migrate_against_cancel`
//! - two locks are taken in any order: `two_timers_cross`
//! - a running timer may change its shard: `a_running_timer_stays_where_it_runs`
//! - two passes over a shard at once: `two_would_be_owners_of_one_shard`
//! - a dead timer may be armed: `a_fast_re_arm_against_shutdown_and_expiry`
//! - cancel returns "not pending" without the lock: `a_fast_re_arm_against_cancel_and_expiry`
//! - `cancel_sync` waits while the word says firing, or does not look again:
//!   `cancel_sync_against_a_callback_that_re_arms_itself`
//! - `shutdown_sync` does not wait, or the end of a callback notifies no thread:
//!   `shutdown_sync_against_a_callback_that_re_arms_itself`
//! - dropped shards are not closed: `the_end_of_the_shards_against_re_arm_and_cancel`
//! - a re-arm stays though a finer level is due: `a_timer_that_would_get_a_finer_level_is_requeued`
//! - an arm does not set the alarm: `arm_against_the_driver`
//! - a reduce does not set the alarm: `reduce_against_the_driver_and_its_pass`
//! - a drain does not set the alarm: `drain_against_the_driver`
//! - the alarm is set after the lock is released: `two_arms_against_the_driver`
//! - the end of a pass leaves an alarm that seems set:
//!   `a_pass_of_another_thread_against_the_driver`
//! - a pass takes what is due by the shard's time, not by its own: `the_clock_against_the_driver`
//! - an arm during a pass counts from the time of the pass:
//!   `an_arm_in_a_pass_that_takes_long_counts_from_its_own_time`
//! - (1) does not read the clock: `an_arm_without_the_lock_reads_a_clock_of_the_machine`
//! - (1) admits each re-arm under another clock, or each equal deadline:
//!   `an_arm_of_a_shard_is_in_time_however_long_its_driver_sleeps`
//! - (1) admits deadlines of 2^58: `deadlines_that_the_word_does_not_hold`
//! - a timer armed for the past fires in the same pass:
//!   `what_is_armed_for_the_past_leaves_at_the_next_advance_and_never_in_the_same_pass`
