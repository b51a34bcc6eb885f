use super::*;
use crate::experiments::bench::work::{Source, Work};
use crate::models::scenario::Scenario;
use crate::models::verify::Script;
use crate::models::verify::oracle::Oracle;

/// Counts deliveries.
#[derive(Default)]
struct Count(usize);

impl Witness for Count {
    fn delivered(&mut self, _: u32, expiry: u64, now: u64) {
        assert_eq!(expiry, now, "each tick is looked at");
        self.0 += 1;
    }
    fn read(&mut self, _: Option<u64>) {}
}

fn network(population: usize, operations: usize) -> Network {
    let timeouts = Scenario::find("network").unwrap().timeouts.unwrap();
    Network::new(timeouts, population, operations, 1)
}

#[test]
fn about_one_in_a_hundred_expires_from_the_first_exchange_on() {
    const OPERATIONS: usize = 20_000;
    let mut source = network(1000, OPERATIONS);
    let mut oracle = Oracle::default();
    source.fill().run(&mut oracle, &mut Count::default());
    for round in 0..3 {
        let mut count = Count::default();
        source.next(Measure::Exchange).run(&mut oracle, &mut count);
        let percent = 100.0 * count.0 as f64 / OPERATIONS as f64;
        assert!((0.8..1.2).contains(&percent), "round {round}: {percent} %");
    }
}

#[test]
fn an_eighth_is_set_anew_and_time_passes_with_the_exchanges() {
    let mut source = network(1000, 10_000);
    let Work::Network(exchanges) = source.next(Measure::Exchange) else { unreachable!() };
    let anew = exchanges.all.iter().filter(|exchange| exchange.anew).count();
    assert!((1100..1400).contains(&anew), "{anew}");
    let passed: u64 = exchanges.all.iter().map(|exchange| u64::from(exchange.after)).sum();
    assert_eq!(passed, 7730);
    let delays = exchanges.all.iter().map(|exchange| exchange.delay);
    assert!(delays.clone().min().unwrap() >= 200 && delays.max().unwrap() <= 60_000);
}

#[test]
fn one_connection_alone_is_heard_of_each_time() {
    let mut source = network(1, 3);
    let Work::Network(exchanges) = source.next(Measure::Exchange) else { unreachable!() };
    assert!(exchanges.all.iter().all(|exchange| exchange.connection == 0 && exchange.after == 773));
}

#[test]
fn what_expired_is_armed_again_within_the_range_and_not_all_alike() {
    let again = Again { shortest: 200, span: 59_801 };
    let delays: Vec<u64> = (0..1000).map(|id| again.delay(id, 5)).collect();
    assert!(delays.iter().all(|delay| (200..=60_000).contains(delay)));
    let mean = delays.iter().sum::<u64>() / 1000;
    assert!((27_000..33_000).contains(&mean), "{mean}");
    assert_eq!(again.delay(7, 9), again.delay(7, 9));
}
