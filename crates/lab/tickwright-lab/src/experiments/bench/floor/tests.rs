use super::*;
use crate::models::scenario::Measure;
use crate::models::tape::{Step, Tape, run};
use crate::models::verify::oracle::Oracle;
use crate::models::witness::Witness;

/// Sums the deliveries, regardless of their order.
#[derive(Default, PartialEq, Eq, Debug)]
struct Sum {
    count: u64,
    expiries: u64,
}

impl Witness for Sum {
    fn delivered(&mut self, _: u32, expiry: u64, _: u64) {
        self.count += 1;
        self.expiries += expiry;
    }
    fn read(&mut self, _: Option<u64>) {}
}

/// Takes three samples of each measure, with the oracle and with a floor.
fn both(scenario: &str, n: usize, floor: &mut impl BenchQueue) -> [Sum; 2] {
    let scenario = Scenario::find(scenario).unwrap();
    let mut oracle = Oracle::default();
    let mut sums = [Sum::default(), Sum::default()];
    let mut source = scenario.source(n, 3000, 1);
    let mut tapes = vec![Tape::over(Step::Fill, source.deadlines())];
    for _ in 0..3 {
        tapes.extend(scenario.measures.iter().map(|measure| source.next(*measure)));
    }
    tapes.extend(source.end().map(|now| Tape::of([Step::Deliver { now }])));
    for tape in &tapes {
        run(tape, &mut oracle, &mut sums[0]);
        run(tape, floor, &mut sums[1]);
    }
    sums
}

#[test]
fn a_flat_wheel_delivers_what_the_oracle_delivers() {
    for name in ["network", "one-delay", "one-shots-2k", "request-timeout", "hold-exp-dense"] {
        let longest = Scenario::find(name).unwrap().longest_delay().unwrap();
        // Timers with equal deadlines are popped in another order than from the oracle, so these
        // timers get other delays than with the oracle.
        let [oracle, floor] = both(name, 500, &mut FlatWheel::new(500, longest));
        if name == "hold-exp-dense" {
            assert_eq!(floor.count, oracle.count);
        } else {
            assert_eq!(floor, oracle, "{name}");
        }
        assert!(floor.count > 500, "{name}");
    }
}

#[test]
fn a_pass_delivers_each_timer_once() {
    let [oracle, floor] = both("expire", 400, &mut Pass::default());
    assert_eq!(floor, oracle);
    let [oracle, floor] = both("idle", 400, &mut Pass::default());
    assert_eq!((floor.count, oracle.count), (400, 400));
}

#[test]
fn slots_are_read_and_written_as_often_as_timers_are_popped() {
    for n in [1, 7] {
        let [oracle, floor] = both("hold-exp-sparse", n, &mut Slots::new(n));
        assert_eq!((floor.count, oracle.count), (9000, 9000));
    }
}

#[test]
fn a_floor_stands_where_the_scenario_names_one() {
    let floor = |name: &str, n| queue(&Scenario::find(name).unwrap(), n).is_some();
    assert!(floor("network", 10) && floor("hold-exp-dense", 10) && floor("idle", 10));
    assert!(!floor("reads", 10));
    // With a few timers, the wheel would walk over empty ticks.
    assert_eq!(ticks_a_timer(Scenario::find("hold-exp-dense").unwrap().increments.unwrap()), 1000);
    assert_eq!(Measure::Hold.to_string(), "pop and insert");
}
