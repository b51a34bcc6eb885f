//! Loom models of timers that move between shards, in all schedules. See `loom_rearm.rs`.
#![cfg(loom)]

mod loom_common;

use std::sync::Arc;

use loom_common::{Logged, Ours, advance, explore, settle, together};
use tickwright::shard::{ArmError, Shards};

/// A deadline in the same granule as 70.
const EARLIER: u64 = 66;
const ELSEWHERE: u64 = 300;

fn scene() -> (Arc<Shards<Ours>>, Logged) {
    let shards = Arc::new(Shards::with_geometry(2, 0));
    let timer = Logged::armed(&shards, 0, 70);
    (shards, timer)
}

#[test]
fn migrate_against_fast_and_owner() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (m, t, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || {
                m.timer.modify_on(1, ELSEWHERE).unwrap();
            },
            move || t.publish(1, EARLIER),
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn migrate_against_cancel() {
    explore(None, || {
        let (shards, timer) = scene();
        let (m, c) = (timer.clone(), timer.clone());
        together!(
            move || {
                m.timer.modify_on(1, ELSEWHERE).unwrap();
            },
            move || {
                assert!(c.timer.cancel().is_pending(), "it was pending throughout");
            }
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn migrate_against_cancel_and_the_new_owner() {
    explore(None, || {
        let (shards, timer) = scene();
        let (m, c, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || {
                m.timer.modify_on(1, EARLIER).unwrap();
            },
            move || {
                c.timer.cancel();
            },
            move || advance(&s, 1, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn two_migrate_one_timer() {
    explore(None, || {
        let (shards, timer) = scene();
        let (m, n) = (timer.clone(), timer.clone());
        together!(
            move || {
                m.timer.modify_on(1, ELSEWHERE).unwrap();
            },
            move || {
                n.timer.modify_on(1, EARLIER).unwrap();
                n.timer.modify_on(0, EARLIER).unwrap();
            }
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn two_timers_cross() {
    explore(None, || {
        let (shards, one) = scene();
        let two = Logged::armed(&shards, 1, 70);
        let (m, n) = (one.clone(), two.clone());
        together!(
            move || {
                m.timer.modify_on(1, ELSEWHERE).unwrap();
            },
            move || {
                n.timer.modify_on(0, ELSEWHERE).unwrap();
            }
        );
        settle(&shards, &[&one, &two]);
    });
}

#[test]
fn a_running_timer_stays_where_it_runs() {
    explore(None, || {
        let shards = Arc::new(Shards::<Ours>::with_geometry(2, 0));
        let timer = Logged::doing(&shards, 0, |firing, before| {
            if before == 0 {
                firing.timer().modify_on(1, EARLIER).unwrap();
                assert_eq!(firing.timer().shard(), firing.shard());
            }
        });
        timer.timer.add(70).unwrap();
        let (m, s, o) = (timer.clone(), shards.clone(), shards.clone());
        together!(
            move || {
                m.timer.modify_on(1, EARLIER).unwrap();
            },
            move || advance(&o, 1, 80),
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn migrate_against_shutdown_sync_and_owner() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (m, d, s) = (timer.clone(), timer.clone(), shards.clone());
        together!(
            move || {
                let answer = m.timer.modify_on(1, EARLIER);
                assert!(matches!(answer, Ok(_) | Err(ArmError::ShutDown)));
            },
            move || {
                d.timer.shutdown_sync().unwrap();
                assert!(!d.timer.is_running());
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn migrate_against_reduce_and_cancel_sync() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (m, r, c) = (timer.clone(), timer.clone(), timer.clone());
        together!(
            move || {
                m.timer.modify_on(1, ELSEWHERE).unwrap();
            },
            move || {
                r.timer.reduce(10).unwrap();
            },
            move || {
                c.timer.cancel_sync().unwrap();
            }
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn drain_against_fast() {
    explore(None, || {
        let (shards, timer) = scene();
        let (t, s) = (timer.clone(), shards.clone());
        together!(move || assert!(t.publish(1, EARLIER), "it was pending throughout"), move || assert_eq!(
            s.shard(0).unwrap().drain_to(1),
            Ok(1)
        ));
        assert_eq!(timer.timer.shard(), 1);
        settle(&shards, &[&timer]);
        assert_eq!(timer.log(), [(EARLIER, 72, 1)]);
    });
}

#[test]
fn drain_against_cancel() {
    explore(None, || {
        let (shards, timer) = scene();
        let (c, s) = (timer.clone(), shards.clone());
        together!(move || assert!(c.timer.cancel().is_pending(), "it was pending throughout"), move || {
            let _ = s.shard(0).unwrap().drain_to(1);
        });
        settle(&shards, &[&timer]);
    });
}

#[test]
fn drain_against_fast_and_both_owners() {
    explore(Some(3), || {
        let (shards, timer) = scene();
        let (t, s, o) = (timer.clone(), shards.clone(), shards.clone());
        together!(
            move || t.publish(1, EARLIER),
            move || {
                let _ = s.shard(0).unwrap().drain_to(1);
            },
            move || {
                advance(&o, 0, 72);
                advance(&o, 1, 72);
            }
        );
        settle(&shards, &[&timer]);
    });
}

#[test]
fn owner_fast_migrate_and_cancel_sync() {
    explore(Some(2), || {
        let (shards, timer) = scene();
        let (t, m, c, s) = (timer.clone(), timer.clone(), timer.clone(), shards.clone());
        together!(
            move || t.publish(1, EARLIER),
            move || {
                m.timer.modify_on(1, ELSEWHERE).unwrap();
            },
            move || {
                c.timer.cancel_sync().unwrap();
            },
            move || advance(&s, 0, 72)
        );
        settle(&shards, &[&timer]);
    });
}
