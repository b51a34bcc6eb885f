use core::time::Duration;
use std::time::Instant;

use tickwright_core::{CoarseWheel, Family, KeyError, LadderQueue, Wheel};

use super::{Fired, TimeQueue};
use crate::time::Ticks;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_timer_is_due_at_its_time_and_never_early() {
    fn all<F: Family>(ticks: Ticks, late: Duration) {
        let start = Instant::now();
        let delays = [0, 1, 999_999, 1_000_000, 1_000_001, 7_654_321, 3_600_000_000_007];
        for (delay, wait) in delays.into_iter().flat_map(|delay| delays.map(|wait| (delay, wait))) {
            let [delay, wait] = [delay, wait].map(Duration::from_nanos);
            let mut queue: TimeQueue<u8, F> = TimeQueue::with_ticks(start, ticks);
            let now = start + wait;
            let key = queue.insert_after(now, delay, 7).unwrap();
            let sleep = queue.timeout(now).unwrap();
            assert!(sleep <= delay + late, "{delay:?} after {wait:?}: {sleep:?}");
            if !delay.is_zero() {
                assert_eq!(queue.pop_expired(now + delay - Duration::from_nanos(1)), None, "{delay:?}");
            }
            let fired = queue.pop_expired(now + delay + late).expect("it is late by no more");
            assert_eq!((fired.key, fired.value), (key, 7));
            assert!(fired.deadline >= now + delay && fired.deadline < now + delay + MS);
            assert_eq!((queue.timeout(now), queue.len()), (None, 0));
        }
    }
    all::<LadderQueue>(Ticks::NANOSECOND, Duration::ZERO);
    all::<Wheel>(Ticks::MILLISECOND, MS);
    all::<CoarseWheel>(Ticks::MILLISECOND, Duration::from_secs(900));
}

#[test]
fn a_kept_timer_has_one_key_for_its_life() {
    let start = Instant::now();
    let mut queue = TimeQueue::new(start);
    let key = queue.insert_idle(String::from("reply")).unwrap();
    assert_eq!((queue.len(), queue.next_wake()), (0, None));
    for round in 1..4 {
        let now = start + round * 100 * MS;
        queue.arm_after(key, now, 30 * MS).unwrap();
        queue.arm_at(key, now, now + 50 * MS).unwrap();
        assert_eq!((queue.next_wake(), queue.timeout(now)), (Some(now + 50 * MS), Some(50 * MS)));
        let Fired { key: fired, deadline, value } = queue.pop_and_keep(now + 60 * MS).unwrap();
        assert_eq!((fired, deadline), (key, now + 50 * MS));
        value.push('!');
        queue.arm_after(key, now, MS).unwrap();
        queue.disarm(key).unwrap();
        assert_eq!(queue.pop_and_keep(now + 90 * MS).map(|fired| fired.key), None);
    }
    assert_eq!(queue.get(key).map(String::as_str), Some("reply!!!"));
    assert_eq!(queue.remove(key).as_deref(), Ok("reply!!!"));
    assert_eq!(queue.arm_after(key, start, MS), Err(KeyError::Stale));
}

#[test]
fn times_before_the_origin_and_beyond_the_end_are_ordinary() {
    let start = Instant::now() + Duration::from_secs(3600);
    let mut queue = TimeQueue::new(start);
    let early = start - Duration::from_secs(60);
    queue.insert_after(start, Duration::MAX, "never").unwrap();
    queue.insert_at(early, early, "past").unwrap();
    queue.insert_at(early, start + MS, "soon").unwrap();
    assert_eq!(queue.timeout(early), Some(Duration::ZERO));
    assert_eq!(queue.pop_expired(early).map(|fired| fired.value), Some("past"));
    assert_eq!(queue.pop_expired(early).map(|fired| fired.value), None);
    assert_eq!(queue.pop_expired(start + MS).map(|fired| fired.value), Some("soon"));
    let century = Duration::from_secs(100 * 365 * 86_400);
    assert_eq!(queue.pop_expired(start + century), None);
    assert!(queue.next_wake().is_some_and(|wake| wake > start + century));
}
