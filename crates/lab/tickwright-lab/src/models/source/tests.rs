use super::*;
use crate::models::scenario::Within;
use crate::models::tape::{Does, Exchange, run};
use crate::models::verify::oracle::Oracle;
use crate::models::witness::{Fold, Witness};
use crate::structures::candidate::BenchQueue;

fn source(scenario: &str, population: usize, operations: usize) -> Source {
    Scenario::find(scenario).unwrap().source(population, operations, 1)
}

/// Counts deliveries. The driver of a server reads the head at each tick at which a timer expires.
#[derive(Default)]
struct Count(usize);

impl Witness for Count {
    fn delivered(&mut self, _: u32, expiry: u64, now: u64) {
        assert_eq!(expiry, now);
        self.0 += 1;
    }
    fn read(&mut self, _: Option<u64>) {}
}

fn delays_of(distribution: Distribution, mean: i64) -> Vec<u64> {
    let increments = Increments { distribution, mean: Within::try_from(mean).unwrap() };
    delays(&mut Draw::new(1, 1, 7), increments, 20_000)
}

#[test]
fn each_shape_has_its_mean_and_its_bounds() {
    for shape in [Distribution::Exponential, Distribution::Uniform, Distribution::Periodic] {
        let delays = delays_of(shape, 1000);
        let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
        assert!((mean - 1000.0).abs() < 30.0, "{shape:?}: {mean}");
        assert!(delays.iter().all(|delay| *delay >= 1));
    }
    assert!(delays_of(Distribution::Uniform, 1000).iter().all(|delay| *delay <= 2000));
    assert!(delays_of(Distribution::Periodic, 1000).iter().all(|delay| (950..=1050).contains(delay)));
    assert!(delays_of(Distribution::Periodic, 1).iter().all(|delay| *delay == 1));
}

#[test]
fn equal_seeds_make_equal_work() {
    for scenario in Scenario::built_in().unwrap() {
        let of = || {
            let mut source = scenario.source(100, 1000, 1);
            let tapes = scenario.measures.iter().map(|measure| source.next(*measure));
            let tapes: Vec<_> = tapes.map(|tape| (tape.steps, tape.ticks, tape.server.exchanges)).collect();
            (source.deadlines(), tapes)
        };
        assert_eq!(of(), of(), "{}", scenario.name);
    }
}

#[test]
fn a_round_empties_what_it_filled_and_the_next_begins_later() {
    let (mut source, mut oracle) = (source("expire", 5, 5), Oracle::default());
    for _ in 0..2 {
        run(&source.next(Measure::Insert), &mut oracle, &mut Fold::default());
        let ticks = source.draw.now + 1..=source.draw.now + 5;
        assert!(oracle.head().is_some_and(|head| ticks.contains(&head)));
        run(&source.next(Measure::Expire), &mut oracle, &mut Fold::default());
        assert_eq!(oracle.head(), None);
    }
    assert_eq!(source.draw.now, 22);
}

/// In a network server, one in a hundred exchanges is an expiry. Of the one-shot timers, the
/// published percentages expire.
#[test]
fn the_wanted_share_expires_from_the_first_sample_on() {
    const OPERATIONS: usize = 20_000;
    for (scenario, n, percent, sure) in [
        ("network", 1000, 1.0, 0.2),
        ("one-shots-2k", 2000, 10.0, 1.5),
        ("one-shots-15k", 15_000, 25.0, 2.25),
        ("one-shots-50k", 50_000, 5.0, 1.25),
        // 1 - cdf(ln(200 / 20) / (ln(60 / 20) / 0.6745)) of the normal distribution.
        ("request-timeout", 1000, 7.9, 1.395),
    ] {
        let (mut source, mut oracle) = (source(scenario, n, OPERATIONS), Oracle::default());
        run(&Tape::over(Step::Fill, source.deadlines()), &mut oracle, &mut Count::default());
        for round in 0..3 {
            let (tape, mut count) = (source.next(Measure::Exchange), Count::default());
            run(&tape, &mut oracle, &mut count);
            let found = 100.0 * count.0 as f64 / OPERATIONS as f64;
            assert!((found - percent).abs() < sure, "{scenario}, round {round}: {found} % expire");
            let is_estimate = tape.notes().deliveries.abs_diff(count.0) < n;
            assert!(scenario == "network" || is_estimate, "{scenario}: {} and {found} %", tape.deliveries);
        }
    }
}

#[test]
fn an_eighth_is_set_anew_and_time_passes_with_the_exchanges() {
    let exchanges = source("network", 1000, 10_000).next(Measure::Exchange).server.exchanges;
    let renewed = exchanges.iter().filter(|exchange| exchange.does == Does::Renew).count();
    assert!((1100..1400).contains(&renewed), "{renewed}");
    let passed: u64 = exchanges.iter().map(|exchange| u64::from(exchange.after)).sum();
    assert_eq!(passed, 7730);
    assert!(exchanges.iter().all(|exchange| (200..=60_000).contains(&exchange.delay)));
    // The server has only one connection, so each exchange is on that connection.
    let tape = source("network", 1, 3).next(Measure::Wake);
    assert!(tape.server.exchanges.iter().all(|exchange| (exchange.id, exchange.after) == (0, 773)));
    assert_eq!((tape.notes().reads, tape.unasked().notes().reads), (3, 0));
}

#[test]
fn each_id_has_one_pending_timer_within_the_range() {
    let mut source = source("one-shots-2k", 500, 5000);
    let deadlines = source.deadlines();
    assert!(deadlines.len() == 500 && deadlines.iter().all(|deadline| (1..=2000).contains(deadline)));
    let tape = source.next(Measure::Turnover);
    let of = |does| tape.server.exchanges.iter().filter(move |exchange| exchange.does == does);
    assert!(of(Does::Renew).all(|Exchange { delay, .. }| (50..=2000).contains(delay)));
    assert_eq!((of(Does::Move).count(), of(Does::Nothing).count()), (0, tape.deliveries));
    let Work::OneShot(timers) = &source.work else { panic!("{source:?}") };
    assert_eq!((tape.server.exchanges.len(), timers.ends.len()), (5000, 500));
}

#[test]
fn all_requests_have_one_delay_and_half_of_them_complete_by_the_median() {
    let Source { mut draw, work: Work::OneShot(timers) } = source("request-timeout", 10, 1) else { panic!() };
    let lives: Vec<u64> = (0..10_000).map(|_| timers.fate(&mut draw, 200).life).collect();
    let by = |tick: u64| lives.iter().filter(|life| **life <= tick).count();
    // Rounding adds half a tick to each of the two times.
    assert!((4950..5250).contains(&by(20)) && (7400..7700).contains(&by(60)), "{} {}", by(20), by(60));
    assert!((0..100).all(|id| timers.again.delay(id, 7) == 200));
}
