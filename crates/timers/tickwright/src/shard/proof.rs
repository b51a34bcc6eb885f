//! The proof that a re-arm without the lock is correct. The file `rearm` has the rule (`fits`) and
//! both paths, and the file `word` has the layout of a timer's word.
//!
//! In a coarse wheel, the new deadline of a time-out usually falls into the timer's current bucket,
//! so the timer need not move. In 2016, Linux re-armed such timers without the lock: it compared
//! bucket indices and then wrote the deadline. The change was reverted after three months, because
//! the timer could fire between the comparison and the write. Here, **such a re-arm reads and
//! writes only one word of the timer**, so a single compare-exchange both checks the timer's state
//! and re-arms it.
//!
//! # Ground rules
//!
//! 1. A shard's lock protects the clock, the two wheels, the wheels' records in the nodes, and the
//!    mark of the running callback.
//! 2. A timer belongs to one shard at a time, whose number is in its field `shard`. The field
//!    changes only under the lock of the shard that the timer leaves. A thread that must lock a
//!    timer's shard reads `shard`, takes the lock, and reads `shard` again. If the field has
//!    changed, the thread starts over.
//! 3. Every write of the word is an atomic exchange. Every write is made under the lock, except the
//!    re-arm in place.
//! 4. The unlocked path waits for no thread. It reads the word, the published time of the shard,
//!    which can be stale, and the current time. The caller passes the current time, or the path
//!    reads the shard's clock if that is a clock of the machine. If the shard has another clock, or
//!    after two failed exchanges, the call takes the lock.
//! 5. Handles are counted. A thread that re-arms a timer holds a handle. A shard holds a handle for
//!    each node in its wheels, and a pass holds one more handle while the callback runs.
//!
//! # The word
//!
//! ```text
//!   63                                            6 5      2 1     0
//!  | deadline (58 bits)                            | level  | state |
//! ```
//!
//! The deadline and the level alone determine the end of the timer's bucket, independently of any
//! clock. In Linux's geometry a bucket of level 2 is 64 ticks wide, so a deadline of 1000 at level
//! 2 is in the bucket that ends at 1024.
//!
//! A **parked** word has no level: its four bits are all ones. In this case the deadline is in the
//! wheel's record, because it is beyond the last level or does not fit into 58 bits. The unlocked
//! path refuses a parked word. The wheel does not access words. When it moves a parked timer into a
//! normal bucket, the word therefore stays parked, and only the next re-arm takes the lock and
//! replaces it.
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
//! of the word. Instead, the shard records which timer's callback is running.
//!
//! A granule of level n is the range of ticks that one bucket of level n covers in one turn of the
//! wheel. Let B be the end of the bucket that the timer is in, and let X(E, n) be the end of the
//! granule of level n that contains the deadline E. The following holds whenever the lock of the
//! shard is free:
//!
//! 1. The word says *pending* if and only if the node is in exactly one wheel of exactly one shard,
//!    whose number is in `shard`.
//! 2. If the timer is pending at level n, B > E and B = X(E, n). There are two exceptions: E had
//!    passed when the timer was armed, or the timer was due, but not yet taken, when it was
//!    reduced. In both exceptions n is 0, and B is at most the shard's time at that moment plus 1.
//! 3. If the word is parked, the wheel's record has the timer's deadline.
//! 4. If the word says *firing*, the callback is running. While a callback runs, the `shard` of its
//!    timer does not change. A dead timer stays dead.
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
//! Each transition takes effect at its first exchange. (1) is allowed if E' is in the granule of E
//! at level n, E' fits into the word, and a timer armed now for E' would get level n or a coarser
//! level. The exchange is made even if E' = E. For a reduce, E' is the earlier one of E and the
//! deadline of the call. A call that changes nothing takes effect at its load under the lock. Only
//! the exchanges of (1), (4) and (6) have a memory ordering other than Relaxed, because the lock
//! orders all other accesses.
//!
//! # Why it holds
//!
//! - **Never early.** After an insert, B > E, or E has passed. (1) keeps the granule, so X(E', n) =
//!   B and E' < B. A timer is taken only when the clock has reached B, and the take is an exchange,
//!   so it reads the last deadline. A reduce leaves the timer in its bucket only if the timer is
//!   already due.
//! - **Never a turn of the wheel early or late.** (1) compares whole granules, never an index
//!   modulo 64. Example: a timer for tick 5 is still not taken when the clock is at 14. The index
//!   of its bucket is 6, and a timer for tick 69 has the same index. If a re-arm to tick 69
//!   compared only indices, the timer would stay in its bucket, and would fire at 14 instead of 70.
//!   The lab has such a wrong re-arm as a specimen.
//! - **At most 8/63 of the delay late.** B - E' is at most the width of a bucket of level n, and
//!   (1) keeps the level only if a timer armed now would not get a finer level. This condition is
//!   also checked if the deadline is unchanged, and if a reduce keeps an earlier deadline. The
//!   level depends on the time of the call, which the caller passes (`modify_at`) or the path reads
//!   from the clock. The time of a shard without a clock is the time of its last advance. A wrong
//!   time only makes a timer later. The delay of an arm during a pass also counts from the time of
//!   the arm. The arm advances the shard's clock, but the pass continues with its own time, and
//!   takes only timers that were due when it began.
//! - **Never lost.** A successful (1) saw *pending*. If the lock was free, the node is in a wheel
//!   (invariant 1), and a later take reads the new word. If a thread held the lock, it had not
//!   written the word yet. Its write is an exchange that returns the new word, so (4) fires for the
//!   new deadline, (6) cancels it, (2) replaces it, and (3) and (8) continue with it.
//! - **Due and not yet taken.** While a callback runs, the other due timers stay pending. (1) is
//!   correct for them too, and they fire in this pass. A timer that is armed for the past during a
//!   pass fires at the tick after the shard's clock, which is after the time of the pass, so each
//!   pass ends.
//! - **ABA.** Whether (1) is correct depends only on the value of the word. If the word was (E, n,
//!   pending), then had another value, and then was (E, n, pending) again, B = X(E, n) holds again,
//!   whichever shard the timer is on. In the exceptions of invariant 2, n is 0, and level 0 allows
//!   only E' = E. The node cannot have become another timer in the meantime, because handles are
//!   counted (ground rule 5).
//! - **Which writes are seen.** All writes of the word before a take are exchanges, so they form
//!   one release sequence. Through the take's Acquire, the callback sees what each thread wrote
//!   before it re-armed the timer. A re-arm that returns `Was::Pending` publishes the caller's
//!   earlier writes to the callback, or to the thread that cancels. If a re-arm with an unchanged
//!   deadline only loaded the word, it would not publish these writes.
//! - **No deadlock.** A thread holds at most two locks of shards, and takes them in the order of
//!   the shards' numbers. While it holds them, it takes only the locks of an alarm and a clock,
//!   whose code never takes the lock of a shard. A thread that waits for a callback holds no lock.
//!   If two callbacks wait for each other's timers, that deadlock is an error of the user.
//! - **Never slept through.** The alarm is set under the lock that the arm holds, so the last
//!   setting of the alarm belongs to the last state of the shard. The alarm is never later than the
//!   first expiry. An arm for an earlier deadline sets the alarm, (1) does not change the end of a
//!   bucket, and `set_clock` with another length of a tick sets the alarm again. Every pass sets
//!   the alarm at its end, even to the same time, because the alarm can have gone off while the
//!   driver found the shard busy.
//!
//! # How it is checked
//!
//! `ci/loom.sh` compiles the shipped module with loom's atomics, locks and cells. The models run
//! all schedules of two threads, and the schedules of three threads with at most three preemptions.
//! `ghost.rs` keeps a shadow of each timer, which the model compares with the timer at each point
//! where an operation takes effect. `tests/loom_alarm.rs` adds a driver that sleeps, and
//! `tests/loom_specimens.rs` runs the lab's specimens, two of which must fail.
//! `tests/shard_table.rs` tests every operation in every state, `tests/shard.rs` tests every level
//! boundary, `tests/shard_alarm.rs` tests the times of the alarm, and `tests/shard_stress.rs` uses
//! real threads.
//!
//! Each of these changes was made by hand, and the named test failed:
//!
//! - the exchange of (1) is Relaxed; the take is Relaxed: `an_equal_deadline_against_expiry`
//! - the exchange of (1) becomes a load and a store: `drain_against_fast`, and 21 more
//! - a re-arm with an equal deadline only loads the word: `an_equal_deadline_against_expiry`
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
//! - `shard` is not read again under the lock, or is written before the lock is taken:
//!   `migrate_against_cancel`
//! - two locks are taken in any order: `two_timers_cross`
//! - a running timer can change its shard: `a_running_timer_stays_where_it_runs`
//! - two passes over a shard can run at once: `two_would_be_owners_of_one_shard`
//! - a dead timer can be armed: `a_fast_re_arm_against_shutdown_and_expiry`
//! - cancel returns "not pending" without the lock: `a_fast_re_arm_against_cancel_and_expiry`
//! - `cancel_sync` waits while the word says firing, or does not check again after its wait:
//!   `cancel_sync_against_a_callback_that_re_arms_itself`
//! - `shutdown_sync` does not wait, or the end of a callback notifies no thread:
//!   `shutdown_sync_against_a_callback_that_re_arms_itself`
//! - dropped shards are not closed: `the_end_of_the_shards_against_re_arm_and_cancel`
//! - a re-arm keeps the bucket although a timer armed now would get a finer level:
//!   `a_timer_that_would_get_a_finer_level_is_requeued`
//! - an arm does not set the alarm: `arm_against_the_driver`
//! - a reduce does not set the alarm: `reduce_against_the_driver_and_its_pass`
//! - a drain does not set the alarm: `drain_against_the_driver`
//! - the alarm is set after the lock is released: `two_arms_against_the_driver`
//! - the end of a pass does not set an alarm whose time has not changed:
//!   `a_pass_of_another_thread_against_the_driver`
//! - a pass takes the timers that are due at the shard's time instead of the pass's time:
//!   `the_clock_against_the_driver`
//! - an arm during a pass counts from the time of the pass:
//!   `an_arm_in_a_pass_that_takes_long_counts_from_its_own_time`
//! - (1) does not read the clock: `an_arm_without_the_lock_reads_a_clock_of_the_machine`
//! - (1) admits every re-arm, or every re-arm with an equal deadline, although it cannot read the
//!   shard's clock: `an_arm_of_a_shard_is_in_time_however_long_its_driver_sleeps`
//! - (1) admits deadlines of 2^58: `deadlines_that_the_word_does_not_hold`
//! - a timer armed for the past fires in the same pass:
//!   `what_is_armed_for_the_past_leaves_at_the_next_advance_and_never_in_the_same_pass`
