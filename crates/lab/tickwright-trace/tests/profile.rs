//! The figures of traces.

use tickwright_trace::event::{Ns, UNKNOWN};
use tickwright_trace::profile::Share;
use tickwright_trace::{Describer, Event, Names, Profile, What};

fn arm(time: Ns, timer: u64, delay: Ns) -> Event {
    Event::new(time, timer, What::Arm { deadline: time + delay, period: 0 })
}

fn described(events: &[Event]) -> Profile {
    let mut describer = Describer::new(1000);
    events.iter().for_each(|event| describer.push(event));
    describer.finish(&Names::default(), &Names::default())
}

#[test]
fn a_trace_without_events_has_no_figures() {
    let profile = described(&[]);
    assert_eq!((profile.events, profile.span_ns, profile.delays.count), (0, 0, 0));
    assert!(profile.population.course.is_empty() && profile.delays.bars.is_empty());
}

#[test]
fn waits_end_by_expiry_cancel_or_rearm() {
    let rearm = Event::new(2000, 1, What::Rearm { deadline: 12_000, period: 0 });
    let profile = described(&[
        arm(0, 1, 10_000),
        rearm,
        arm(2000, 2, 10_000),
        Event::new(4500, 2, What::Cancel),
        Event::new(12_500, 1, What::Fire),
        Event::new(13_000, 9, What::Cancel),
    ]);
    assert_eq!((profile.arms, profile.rearms, profile.cancels, profile.fires), (2, 1, 2, 1));
    assert_eq!((profile.cancel_age.count, profile.cancel_age.max), (1, 2500));
    // A cancelled timer had 75 % of its delay left, and a re-armed timer had 80 %.
    assert_eq!((profile.cancel_left.p50, profile.rearm_left.p50), (75, 80));
    assert_eq!((profile.late_ns.count, profile.late_ns.max, profile.early), (1, 500, 0));
    assert_eq!((profile.unseen_arms, profile.pending_at_end), (1, 0));
}

#[test]
fn the_population_is_weighed_by_time() {
    // One timer is pending for 9 ms, and two timers are pending for 1 ms.
    let profile = described(&[
        arm(0, 1, 20_000_000),
        arm(9_000_000, 2, 20_000_000),
        Event::new(10_000_000, 2, What::Cancel),
    ]);
    let population = &profile.population;
    assert!((population.mean - 1.1).abs() < 1e-9, "{population:?}");
    assert_eq!((population.p50, population.p99, population.max), (1, 2, 2));
    let whole: f64 = population.course.iter().map(|moment| moment.mean).sum();
    let parts = population.course.len() as f64;
    assert!(parts <= 64.0 && (whole / parts - 1.1).abs() < 0.1, "{whole} in {parts} parts");
    assert_eq!(population.course.iter().map(|moment| moment.max).max(), Some(2));
}

#[test]
fn a_trace_may_begin_before_its_start() {
    let profile = described(&[arm(-9_000_000, 1, 20_000_000), Event::new(-8_000_000, 1, What::Cancel)]);
    let population = &profile.population;
    assert_eq!((profile.span_ns, population.p50, population.p99), (1_000_000, 1, 1));
}

#[test]
fn durations_are_told_apart_by_two_digits() {
    let delays = [30_000, 30_100, 29_990, 31_000, 5, 5, 5];
    let events: Vec<Event> = (0..).zip(delays).map(|(at, delay)| arm(at, at as u64, delay)).collect();
    let delays = described(&events).delays;
    assert_eq!((delays.count, delays.distinct), (7, 3));
    let top = [Share { ns: 5, count: 3 }, Share { ns: 30_000, count: 3 }, Share { ns: 31_000, count: 1 }];
    assert_eq!(delays.top, top);
    assert_eq!(delays.bars.iter().map(|bar| bar.count).sum::<u64>(), 7);
    assert_eq!((delays.bars[0].from_ns, delays.bars[0].count), (4, 3));
}

#[test]
fn percentiles_are_those_of_all_delays() {
    // The delays are 1 us to 1000 us, in an order that mixes long and short delays.
    let events: Vec<Event> = (0..1000).map(|at| arm(at, at as u64, (at * 7 % 1000 + 1) * 1_000)).collect();
    let delays = described(&events).delays;
    let near = |found: u64, us: u64| found.abs_diff(us * 1_000) * 500 <= us * 1_000;
    for (found, us) in [(delays.p1, 10), (delays.p50, 500), (delays.p90, 900), (delays.p99, 990)] {
        assert!(near(found, us), "{found} ns instead of {us} us");
    }
    assert_eq!((delays.count, delays.max), (1000, 1_000_000));
}

#[test]
fn periodic_timers_are_found() {
    // The first timer has a period. The second timer is armed again with the same delay, and the
    // third with changing delays.
    let mut events = vec![Event::new(0, 1, What::Arm { deadline: 1000, period: 1000 })];
    for round in 0..10 {
        let now = round * 1000;
        if round > 0 {
            events.extend((1..=3).map(|timer| Event::new(now, timer, What::Fire)));
        }
        events.push(arm(now, 2, 1000));
        events.push(arm(now, 3, 1000 - round * 50));
    }
    let profile = described(&events);
    // The first four waits of the second timer do not yet show that the timer is periodic.
    assert_eq!((profile.fires, profile.periodic_fires), (27, 9 + 6));
    assert_eq!(profile.periods, [Share { ns: 1000, count: 15 }]);
}

/// Returns the figures of a timer of 1 ms that expires nine times, each time `off` after its
/// deadline, and is armed again each time.
fn repeating(off: Ns) -> Profile {
    let wait = 1_000_000 + off;
    let turns = (1..10).map(|turn| turn * wait);
    let turn = |now| [Event::new(now, 1, What::Fire), arm(now, 1, 1_000_000)];
    let events: Vec<Event> = [arm(0, 1, 1_000_000)].into_iter().chain(turns.flat_map(turn)).collect();
    described(&events)
}

#[test]
fn a_periodic_timer_may_expire_a_little_before_or_after_its_deadline() {
    // libuv and libevent count from the time at which the loop woke, so they expire timers early.
    for off in [-100_000, -1000, 0, 1000, 100_000] {
        let profile = repeating(off);
        assert_eq!((profile.fires, profile.periodic_fires), (9, 6), "{off} ns");
        assert_eq!(profile.periods, [Share { ns: 1_000_000, count: 6 }], "{off} ns");
    }
    for off in [-300_000, 300_000] {
        assert_eq!(repeating(off).periodic_fires, 0, "{off} ns");
    }
}

#[test]
fn remote_cancels_expiries_in_a_tick_and_names_are_counted() {
    let by = |thread, event: Event| Event { thread, site: thread, ..event };
    let mut events: Vec<Event> = (0..4).map(|timer| by(1, arm(0, timer, 5000))).collect();
    events.push(by(2, Event::new(10, 0, What::Cancel)));
    events.extend((1..4).map(|timer| by(1, Event::new(5000, timer, What::Fire))));
    let profile = described(&events);
    assert_eq!((profile.remote, profile.cluster.count, profile.cluster.max), (1, 1, 3));
    assert_eq!((profile.threads.len(), profile.threads[0].arms, profile.threads[1].cancels), (2, 4, 1));
    assert_eq!((profile.sites.len(), profile.sites[0].arms), (1, 4));
}

#[test]
fn memory_does_not_grow_with_the_number_of_timers() {
    let mut describer = Describer::new(0);
    for timer in 0..200_000 {
        let now = i64::try_from(timer).unwrap_or(0) * 10;
        describer.push(&arm(now, timer, 5));
        describer.push(&Event::new(now + 5, timer, What::Fire));
    }
    let profile = describer.finish(&Names::default(), &Names::default());
    assert_eq!((profile.arms, profile.fires, profile.population.max), (200_000, 200_000, 1));
}

/// A thread that is unknown is not another thread.
#[test]
fn only_known_threads_are_foreign() {
    let by = |thread: u32, what: What| Event { thread, ..Event::new(0, 1, what) };
    let armed = What::Arm { deadline: 9, period: 0 };
    let remote = |first: u32, second: u32| described(&[by(first, armed), by(second, What::Cancel)]).remote;
    assert_eq!([remote(1, 2), remote(1, 1), remote(0, 2), remote(1, 0), remote(0, 0)], [1, 0, 0, 0, 0]);
    let moved = What::Rearm { deadline: 19, period: 0 };
    assert_eq!(described(&[by(1, armed), by(2, moved), by(0, moved), by(3, moved)]).remote, 1);
}

/// A timer without a known deadline is pending, but has no delay, no remaining delay and no
/// lateness.
#[test]
fn an_unknown_deadline_is_no_delay() {
    let never = What::Arm { deadline: UNKNOWN, period: 0 };
    let events = [
        Event::new(0, 1, never),
        Event::new(5, 1, never),
        Event::new(10, 1, What::Cancel),
        Event::new(20, 2, never),
        Event::new(30, 2, What::Fire),
        Event::new(40, 3, What::Arm { deadline: 1_040, period: 0 }),
    ];
    let profile = described(&events);
    assert_eq!((profile.unknown_delays, profile.delays.count, profile.delays.max), (3, 1, 1_000));
    assert_eq!((profile.arms, profile.rearms, profile.cancels, profile.fires), (3, 1, 1, 1));
    assert_eq!((profile.rearm_left.count, profile.cancel_left.count, profile.late_ns.count), (0, 0, 0));
    assert_eq!((profile.early, profile.cancel_age.max, profile.population.max), (0, 5, 1));
}

#[test]
fn extreme_times_do_not_panic() {
    for time in [i64::MIN, -1, 0, i64::MAX] {
        for deadline in [i64::MIN, 0, i64::MAX] {
            let armed = What::Arm { deadline, period: u64::MAX };
            let events =
                [Event::new(0, 1, armed), Event::new(time, 1, armed), Event::new(time, 1, What::Fire)];
            described(&events);
        }
    }
}
