//! Loom models of the lock-free re-arm together with every other operation, in all schedules. They
//! run the shipped code, compiled with loom's atomics.
//!
//! `ci/loom.sh` runs the models. At each linearization point, the timer's shadow makes the same
//! change and compares its state with the timer (`src/shard/ghost.rs`). The shadow detects a timer
//! that fires early or without being pending, a wrong result of a re-arm or cancel, and an arm
//! after shutdown. It records the first error, which the model checks at the end.
//!
//! In the models, the deadline 70 is at level 1 in the granule 64..72, whose bucket ends at 72. The
//! deadline 582 is 64 buckets later.
#![cfg(loom)]

mod loom_common;

use std::sync::{Arc, Mutex};

use loom::sync::atomic::Ordering;
use loom_common::{Logged, Ours, advance, explore, settle, together};
use tickwright::shard::{ArmError, Shards, SharedTimer, TryCancel, Was, WouldDeadlock};

/// Deadlines in the same granule as 70.
const EARLIER: u64 = 66;
const LATER: u64 = 71;
/// A deadline in another granule and at another level.
const ELSEWHERE: u64 = 300;
const NEAR: u64 = 10;

fn scene() -> (Arc<Shards<Ours>>, Logged) {
    let shards = Arc::new(Shards::with_geometry(2, 0));
    let timer = Logged::armed(&shards, 0, 70);
    (shards, timer)
}

/// The timer is re-armed within the granule while it is fired. If the re-arm comes first, it is
/// effective, and the callback sees what was written before it. Otherwise it starts the timer
/// again.
fn against_expiry(deadline: u64) {
    explore(None, move || {
        let (shards, timer) = scene();
        let was_pending = {
            let (timer, shards) = (timer.clone(), shards.clone());
            together!(move || timer.publish(1, deadline), move || advance(&shards, 0, 72))
        };
        settle(&shards, &[&timer]);
        let log = timer.log();
        if was_pending {
            assert_eq!(log, [(deadline, 72, 1)], "one firing, with the new deadline and what was published");
        } else {
            assert_eq!((log[0].0, log[1].0, log[1].2), (70, deadline, 1));
        }
    });
}

#[test]
fn an_earlier_deadline_against_expiry() {
    against_expiry(EARLIER);
}

#[test]
fn a_later_deadline_against_expiry() {
    against_expiry(LATER);
}

#[test]
fn an_equal_deadline_against_expiry() {
    against_expiry(70);
}

#[test]
fn a_deadline_64_buckets_later_against_expiry() {
    explore(None, || {
        let (shards, timer) = scene();
        let (t, s) = (timer.clone(), shards.clone());
        together!(move || t.publish(1, 582), move || advance(&s, 0, 72));
        settle(&shards, &[&timer]);
    });
}

/// Re-arms the second timer of a batch, which is due and not yet taken while the callback of the
/// first timer runs.
fn in_the_detached_window(deadline: u64) {
    explore(None, move || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(2, 0));
        let first = Logged::armed(&shards, 0, 69);
        let second = Logged::armed(&shards, 0, 70);
        let (t, s) = (second.clone(), shards.clone());
        let was_pending = together!(move || t.publish(1, deadline), move || advance(&s, 0, 72));
        settle(&shards, &[&first, &second]);
        if was_pending {
            assert_eq!(second.log().len(), 1);
        }
    });
}

#[test]
fn a_fast_re_arm_of_a_detached_timer() {
    in_the_detached_window(EARLIER);
}

#[test]
fn a_slow_re_arm_of_a_detached_timer() {
    in_the_detached_window(ELSEWHERE);
}

#[test]
fn a_detached_timer_is_not_fired_a_rotation_early() {
    in_the_detached_window(582);
    explore(None, || {
        // At level 0, the bucket of deadline 5 ends at 6. The bucket of deadline 69 has the same
        // index, one turn of the wheel later.
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let first = Logged::armed(&shards, 0, 5);
        let second = Logged::armed(&shards, 0, 5);
        let (t, s) = (second.clone(), shards.clone());
        together!(move || t.publish(1, 69), move || advance(&s, 0, 7));
        settle(&shards, &[&first, &second]);
    });
}

#[test]
fn a_fast_re_arm_against_cancel() {
    explore(None, || {
        let (shards, timer) = scene();
        let (t, c) = (timer.clone(), timer.clone());
        together!(move || t.publish(1, EARLIER), move || {
            // If the cancel comes second, it sees what the other thread wrote before its re-arm.
            let was_pending = c.timer.cancel().is_pending();
            assert!(was_pending || c.shadow().is_some());
        });
        settle(&shards, &[&timer]);
    });
}

/// A thread that cancels a pending timer sees what other threads wrote before they re-armed it.
fn taken_over(withdraw: fn(&SharedTimer<Ours>) -> bool) {
    explore(None, move || {
        let (shards, timer) = scene();
        let (t, c) = (timer.clone(), timer.clone());
        let seen = Arc::new(Mutex::new(None));
        let noted = seen.clone();
        let re_armed = together!(
            move || {
                t.payload.store(1, Ordering::Relaxed);
                t.timer.modify(EARLIER)
            },
            move || {
                let was_pending = withdraw(&c.timer);
                *noted.lock().unwrap() = Some((was_pending, c.payload.load(Ordering::Relaxed)));
            }
        );
        let (was_pending, payload) = seen.lock().unwrap().unwrap();
        assert!(was_pending);
        if re_armed == Ok(Was::Pending) {
            assert_eq!(payload, 1, "the re-arm came first");
        }
        settle(&shards, &[&timer]);
    });
}

#[test]
fn a_cancel_takes_over_what_was_published() {
    taken_over(|timer| timer.cancel().is_pending());
    taken_over(|timer| timer.try_cancel() == TryCancel::Removed);
    taken_over(|timer| timer.cancel_sync().unwrap().is_pending());
    taken_over(|timer| timer.shutdown().is_pending());
    taken_over(|timer| timer.shutdown_sync().unwrap().is_pending());
}

#[test]
fn a_fast_re_arm_against_cancel_and_expiry() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (t, c, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || t.publish(1, EARLIER),
            move || {
                c.timer.cancel();
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn a_fast_re_arm_against_cancel_then_re_arm_and_expiry() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (t, c, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || t.publish(1, EARLIER),
            move || {
                c.timer.cancel();
                // The word has its earlier value again, so a compare-exchange of the other thread
                // can succeed, which is correct.
                c.timer.modify(70).unwrap();
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn fast_against_slow_and_expiry() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (t, c, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || t.publish(1, EARLIER),
            move || {
                c.timer.modify(ELSEWHERE).unwrap();
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn a_slow_re_arm_passes_on_what_a_fast_one_published() {
    explore(None, || {
        let (shards, timer) = scene();
        let (t, c) = (timer.clone(), timer.clone());
        together!(
            move || {
                assert!(t.publish(1, EARLIER));
            },
            move || {
                c.timer.modify(ELSEWHERE).unwrap();
            }
        );
        let last = timer.shadow().unwrap();
        settle(&shards, &[&timer]);
        assert_eq!(timer.log()[0].0, last);
    });
}

#[test]
fn two_fast_re_arms_against_expiry() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (t, u, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || t.publish(1, EARLIER),
            move || {
                u.timer.modify(LATER).unwrap();
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

/// A reduce never makes the timer later, whatever happens at the same time.
fn fast_against_reduce(from: u64, to: u64, bound: Option<usize>) {
    explore(bound, move || {
        let (shards, timer) = scene();
        let (t, r) = (timer.clone(), timer.clone());
        together!(
            move || {
                t.timer.modify(from).unwrap();
            },
            move || {
                r.timer.reduce(to).unwrap();
            }
        );
        // There are two correct results: the reduce came after the re-arm, or the re-arm replaced
        // the reduced deadline.
        let last = timer.shadow().unwrap();
        assert!(last == from.min(to) || last == from, "{last}");
        settle(&shards, &[&timer]);
        assert_eq!(timer.log()[0].0, last);
    });
}

#[test]
fn a_fast_re_arm_against_reduce() {
    fast_against_reduce(EARLIER, LATER, None);
    fast_against_reduce(EARLIER, 68, None);
    fast_against_reduce(EARLIER, NEAR, None);
    fast_against_reduce(64, 65, None);
}

#[test]
fn reduce_under_the_lock_does_not_undo_an_earlier_deadline() {
    explore(Some(3), || {
        // All deadlines are in one granule of level 2, whose delays begin at 504. A thread that
        // reads the new time takes the lock, and a thread that reads the old time does not.
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let timer = Logged::armed(&shards, 0, 639);
        let (t, r, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || {
                t.timer.modify(576).unwrap();
            },
            move || {
                advance(&s, 0, 100);
                r.timer.reduce(600).unwrap();
            }
        );
        assert_eq!(timer.shadow(), Some(576), "in either order");
        settle(&shards, &[&timer]);
    });
}

#[test]
fn reduce_against_expiry() {
    explore(None, || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let first = Logged::armed(&shards, 0, 69);
        let second = Logged::armed(&shards, 0, 70);
        let (r, s) = (second.clone(), shards.clone());
        let was_pending =
            together!(move || r.timer.reduce(NEAR).unwrap().is_pending(), move || advance(&s, 0, 72));
        settle(&shards, &[&first, &second]);
        if was_pending {
            assert_eq!(second.log().len(), 1);
            assert!(second.log()[0].1 <= 72, "reduced, and later than it was");
        }
    });
}

#[test]
fn a_fast_re_arm_against_shutdown_and_expiry() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (t, d, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || {
                let answer = t.timer.modify(EARLIER);
                assert!(matches!(answer, Ok(_) | Err(ArmError::ShutDown)));
            },
            move || {
                d.timer.shutdown();
                assert_eq!(d.timer.modify(1000), Err(ArmError::ShutDown));
            },
            move || advance(&s, 0, 72)
        );
        assert!(timer.timer.is_shut_down());
        settle(&shards, &[&timer]);
    });
}

#[test]
fn a_past_deadline_against_fast_and_expiry() {
    explore(Some(3), || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 200));
        let timer = Logged::armed(&shards, 0, 70);
        let (t, u, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || t.publish(1, 70),
            move || {
                u.timer.modify(60).unwrap();
            },
            move || advance(&s, 0, 201)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn deadline_0_of_an_idle_timer_is_not_taken_for_its_own() {
    explore(None, || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let timer = Logged::new(&shards, 0);
        assert_eq!(timer.timer.modify_pending(0), Ok(Was::Idle));
        assert_eq!(timer.timer.modify(0), Ok(Was::Idle));
        settle(&shards, &[&timer]);
    });
}

/// A timer with a deadline beyond the last level is re-armed only under the lock, even after the
/// wheel has moved it to a normal bucket.
fn parked(deadline: u64) {
    explore(None, move || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let timer = Logged::armed(&shards, 0, 6000);
        let (t, s) = (timer.clone(), shards.clone());
        together!(move || t.publish(1, deadline), move || advance(&s, 0, 4100));
        advance(&shards, 0, 4200);
        settle(&shards, &[&timer]);
        assert_eq!(timer.log().last().unwrap().0, deadline);
    });
}

#[test]
fn a_parked_timer_against_the_owner() {
    parked(6001);
    parked(6000);
    parked(9000);
    parked(4150);
}

/// Creates a timer whose callback arms it again twice.
fn self_arming(shards: &Shards<Ours>, shard: usize) -> Logged {
    let timer = Logged::doing(shards, shard, |firing, before| {
        if before < 2 {
            let _ = firing.timer().modify(firing.now() + 70);
        }
    });
    timer.timer.add(70).unwrap();
    timer
}

#[test]
fn cancel_sync_against_a_callback_that_re_arms_itself() {
    explore(None, || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(2, 0));
        let timer = self_arming(&shards, 0);
        let (c, s) = (timer.clone(), shards.clone());
        together!(
            move || {
                c.timer.cancel_sync().unwrap();
                assert_eq!(c.shadow(), None, "cancelled, and pending");
                let fired = c.log().len();
                assert!(!c.timer.is_running());
                assert_eq!(c.log().len(), fired, "cancelled, and it ran");
            },
            move || {
                advance(&s, 0, 72);
                advance(&s, 0, 144);
            }
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn cancel_sync_against_a_callback_and_a_fast_re_arm() {
    explore(Some(3), || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let timer = self_arming(&shards, 0);
        let (c, t, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || {
                c.timer.cancel_sync().unwrap();
            },
            move || {
                t.timer.modify(EARLIER).unwrap();
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn shutdown_sync_against_a_callback_that_re_arms_itself() {
    explore(None, || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(2, 0));
        let timer = self_arming(&shards, 0);
        let (d, s) = (timer.clone(), shards.clone());
        together!(
            move || {
                d.timer.shutdown_sync().unwrap();
                let fired = d.log().len();
                assert!(!d.timer.is_running());
                assert_eq!(d.timer.modify(1000), Err(ArmError::ShutDown));
                assert_eq!(d.log().len(), fired, "shut down, and it ran");
            },
            move || {
                advance(&s, 0, 72);
                advance(&s, 0, 144);
            }
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn try_cancel_against_a_callback() {
    explore(None, || {
        let (shards, timer) = scene();
        let (c, s) = (timer.clone(), shards.clone());
        let answer = together!(move || c.timer.try_cancel(), move || advance(&s, 0, 72));
        settle(&shards, &[&timer]);
        assert_eq!(timer.log().is_empty(), answer == TryCancel::Removed);
    });
}

#[test]
fn a_callback_cancels_others_of_its_batch_and_not_itself() {
    explore(None, || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let second = Logged::new(&shards, 0);
        let other = second.timer.clone();
        let first = Logged::doing(&shards, 0, move |firing, _| {
            assert_eq!(other.cancel_sync(), Ok(Was::Pending));
            assert_eq!(firing.timer().cancel_sync(), Err(WouldDeadlock));
            assert_eq!(firing.timer().shutdown_sync(), Err(WouldDeadlock));
            assert_eq!(firing.timer().try_cancel(), TryCancel::Running);
        });
        first.timer.add(69).unwrap();
        second.timer.add(70).unwrap();
        advance(&shards, 0, 72);
        settle(&shards, &[&first, &second]);
        assert!(second.log().is_empty());
    });
}

#[test]
fn two_would_be_owners_of_one_shard() {
    explore(None, || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(1, 0));
        let timer = self_arming(&shards, 0);
        let (one, two) = (shards.clone(), shards.clone());
        together!(move || advance(&one, 0, 144), move || advance(&two, 0, 72));
        settle(&shards, &[&timer]);
    });
}

#[test]
fn the_end_of_the_shards_against_re_arm_and_cancel() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (t, c) = (timer.clone(), timer.clone());
        together!(
            move || {
                let answer = t.timer.modify(ELSEWHERE);
                assert!(matches!(answer, Ok(_) | Err(ArmError::ShardsGone)));
            },
            move || {
                c.timer.cancel();
            },
            move || drop(shards)
        );
        assert_eq!(timer.shadow(), None);
        assert!(!timer.timer.is_pending());
        assert_eq!(timer.timer.modify(1), Err(ArmError::ShardsGone));
    });
}
