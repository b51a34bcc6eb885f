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
    run(&Tape::over(Step::Fill, source.deadlines()), &mut oracle, &mut Count::default());
    for round in 0..3 {
        let mut count = Count::default();
        run(&source.next(Measure::Exchange), &mut oracle, &mut count);
        let percent = 100.0 * count.0 as f64 / OPERATIONS as f64;
        assert!((0.8..1.2).contains(&percent), "round {round}: {percent} %");
    }
}

#[test]
fn an_eighth_is_set_anew_and_time_passes_with_the_exchanges() {
    let exchanges = network(1000, 10_000).next(Measure::Exchange).server.exchanges;
    let renewed = exchanges.iter().filter(|exchange| exchange.does == Does::Renew).count();
    assert!((1100..1400).contains(&renewed), "{renewed}");
    let passed: u64 = exchanges.iter().map(|exchange| u64::from(exchange.after)).sum();
    assert_eq!(passed, 7730);
    assert!(exchanges.iter().all(|exchange| (200..=60_000).contains(&exchange.delay)));
}

#[test]
fn one_connection_alone_is_heard_of_each_time() {
    let tape = network(1, 3).next(Measure::Wake);
    assert!(tape.server.exchanges.iter().all(|exchange| (exchange.id, exchange.after) == (0, 773)));
    assert_eq!((tape.notes().reads, tape.unasked().notes().reads), (3, 0));
}
