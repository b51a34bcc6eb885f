use super::*;
use crate::models::scenario::Scenario;
use crate::models::tape::run;
use crate::models::verify::oracle::Oracle;
use crate::models::witness::Witness;

/// Counts deliveries.
#[derive(Default)]
struct Count(usize);

impl Witness for Count {
    fn delivered(&mut self, _: u32, expiry: u64, now: u64) {
        assert_eq!(expiry, now, "the queue advances at each tick at which a timer expires");
        self.0 += 1;
    }
    fn read(&mut self, _: Option<u64>) {}
}

fn source(scenario: &str, population: usize, operations: usize) -> OneShot {
    let one_shots = Scenario::find(scenario).unwrap().one_shots.unwrap();
    OneShot::new(one_shots, population, operations, 1)
}

/// The share of turnovers that are expiries, in percent, sample by sample.
fn expired(scenario: &str, population: usize) -> Vec<f64> {
    const OPERATIONS: usize = 20_000;
    let mut source = source(scenario, population, OPERATIONS);
    let mut oracle = Oracle::default();
    run(&Tape::over(Step::Fill, source.deadlines()), &mut oracle, &mut Count::default());
    let mut sample = || {
        let (work, mut count) = (source.next(Measure::Turnover), Count::default());
        run(&work, &mut oracle, &mut count);
        assert!(work.notes().deliveries.abs_diff(count.0) < population, "an estimate");
        100.0 * count.0 as f64 / OPERATIONS as f64
    };
    (0..3).map(|_| sample()).collect()
}

#[test]
fn the_published_shares_are_cancelled_from_the_first_sample_on() {
    for (scenario, n, percent) in [
        ("one-shots-2k", 2000, 10.0),
        ("one-shots-15k", 15_000, 25.0),
        ("one-shots-50k", 50_000, 5.0),
        // 1 - cdf(ln(200 / 20) / (ln(60 / 20) / 0.6745)) of the normal distribution.
        ("request-timeout", 1000, 7.9),
    ] {
        for found in expired(scenario, n) {
            assert!((found - percent).abs() < 1.0 + percent / 20.0, "{scenario}: {found} % expire");
        }
    }
}

#[test]
fn each_id_has_one_pending_timer_within_the_range() {
    let mut source = source("one-shots-2k", 500, 5000);
    let deadlines = source.deadlines();
    assert!(deadlines.len() == 500 && deadlines.iter().all(|deadline| (1..=2000).contains(deadline)));
    let tape = source.next(Measure::Turnover);
    let mut cancelled = 0;
    for exchange in tape.server.exchanges {
        match exchange.does {
            Does::Renew => cancelled += 1,
            Does::Nothing => continue,
            Does::Move => panic!("{exchange:?}"),
        }
        assert!((50..=2000).contains(&exchange.delay));
    }
    // The other turnovers are expiries.
    assert_eq!((cancelled + tape.deliveries, source.ends.len()), (5000, 500));
}

#[test]
fn all_requests_have_one_delay_and_half_of_them_complete_by_the_median() {
    let mut source = source("request-timeout", 10, 1);
    let lives: Vec<u64> = (0..10_000).map(|_| source.fate(200).life).collect();
    let by = |tick: u64| lives.iter().filter(|life| **life <= tick).count();
    // Rounding adds half a tick to each of the two times.
    assert!((4950..5250).contains(&by(20)) && (7400..7700).contains(&by(60)), "{} {}", by(20), by(60));
    assert!((0..100).all(|id| source.again.delay(id, 7) == 200));
}

#[test]
fn equal_seeds_make_equal_turnovers() {
    let of = || {
        let mut source = source("request-timeout", 100, 1000);
        (source.deadlines(), source.next(Measure::Turnover).server.exchanges)
    };
    assert_eq!(of(), of());
}
