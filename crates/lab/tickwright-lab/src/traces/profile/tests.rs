use tickwright_trace::{Describer, Names, Profile, What};

use super::Workload;

fn read(words: &str) -> Result<Workload, String> {
    toml::from_str::<Workload>(words).map_err(|error| error.to_string())?.checked()
}

fn described(words: &str) -> Profile {
    let workload = read(words).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut describer = Describer::new(1_000_000);
    workload.events(1, u64::MAX).iter().for_each(|event| describer.push(event));
    describer.finish(&Names::default(), &Names::default())
}

#[test]
fn events_have_the_shares_and_the_population_that_were_asked_for() {
    let p = described(
        "timers = 500\nexpire = 10\ncancel = 60\nrearm = 30\ntouched_after_ms = 50\ndelays = [{ ms = 1000 }]",
    );
    let ends = (p.fires + p.cancels + p.rearms) as f64;
    for (count, share) in [(p.fires, 0.1), (p.cancels, 0.6), (p.rearms, 0.3)] {
        assert!((count as f64 / ends - share).abs() < 0.01, "{count} of {ends} is not {share}");
    }
    assert_eq!(p.population.max, 500);
    assert!(p.population.p50 >= 499, "{:?}", p.population);
    // All timers except those that are already pending at the start have this delay.
    assert_eq!((p.delays.top[0].ns, p.delays.count - p.delays.top[0].count <= 500), (1_000_000_000, true));
}

/// Most waits are long and end by cancellation. Expiries are as frequent at the start as later.
#[test]
fn a_profile_begins_in_its_steady_state() {
    let p = described(
        "timers = 10000\nexpire = 2\ncancel = 98\ntouched_after_ms = 60\ndelays = [{ ms = 30000 }]",
    );
    let ends = (p.fires + p.cancels) as f64;
    assert!((p.fires as f64 / ends - 0.02).abs() < 0.004, "{} of {ends}", p.fires);
}

#[test]
fn periodic_timers_expire_once_a_period() {
    let p = described("periodic = [{ ms = 10, timers = 4 }]");
    assert_eq!(p.population.max, 4);
    assert_eq!((p.periods.len(), p.periods[0].ns), (1, 10_000_000));
    let expected = 4.0 * p.span_ns as f64 / 1e7;
    assert!((p.fires as f64 - expected).abs() < 10.0, "{} and {expected}", p.fires);
}

#[test]
fn equal_seeds_make_equal_events_in_order() {
    let workload = read("timers = 9\nexpire = 1\nrearm = 1\ndelays = [{ ms = 1, to_ms = 9 }]")
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    let events = workload.events(3, u64::MAX);
    assert_eq!(events, workload.events(3, u64::MAX));
    assert!(events.is_sorted_by_key(|event| event.time));
    let late = |what: What, time| what.armed().is_some_and(|(deadline, _)| deadline <= time);
    assert!(!events.iter().any(|event| late(event.what, event.time)));
}

#[test]
fn a_mistake_is_named() {
    for (words, wrong) in [
        ("", "no timers"),
        ("timers = 3", "no wait ends"),
        ("timers = 3\nexpire = 1", "no delays"),
        ("timers = 3\nexpire = -1", "expire"),
        ("timers = 3\nexpire = 1\ndelays = [{ ms = 0 }]", "a delay"),
        ("timers = 3\nexpire = 1\ndelays = [{ ms = 9, to_ms = 1 }]", "a delay"),
        ("timers = 3\nexpire = 1\ndelays = [{ ms = 1, share = 0 }]", "shares"),
        ("timers = 3\nexpire = nan\ndelays = [{ ms = 1 }]", "expire"),
        ("periodic = [{ ms = inf, timers = 1 }]", "a period"),
        ("timers = 4000000000\nexpire = 1\ndelays = [{ ms = 1 }]", "more than"),
        ("timer = 3", "timer"),
    ] {
        let found = read(words).err().unwrap_or_default();
        assert!(found.contains(wrong), "{words}: {found}");
    }
}
