use super::*;

#[test]
fn phases_are_hundredths_and_cover_every_tick() {
    for count in [1, 7, 100, 250, 10_000, 1_000_003] {
        let tape = in_phases(Tape::of([Step::Poll { after: 40, count }, Step::Deliver { now: 5 }]));
        let (last, phases) = tape.steps.split_last().unwrap();
        assert_eq!(*last, Step::Deliver { now: 5 });
        assert!(phases.len() <= PHASES as usize);
        let mut at = 40;
        for phase in phases {
            let Step::Poll { after, count } = *phase else { panic!("{phase:?}") };
            assert!(after == at && count > 0);
            at += u64::from(count);
        }
        assert_eq!(at, 40 + u64::from(count));
    }
}

/// The clock's steps grow, so a later phase takes longer, and the first of the two rounds has the
/// shorter times.
#[test]
fn a_phase_counts_with_its_least_time_after_a_warm_up() {
    struct Growing(core::cell::Cell<u64>);
    impl Meter for Growing {
        fn now(&self) -> u64 {
            self.0.set(self.0.get() + 1);
            self.0.get() * self.0.get()
        }
    }
    let phases = |rounds| {
        let scenario = Scenario::find(SCENARIO).unwrap();
        let mut source = scenario.source(1000, 1000, 1);
        let structure = registry::find(registry::DEFAULT).unwrap();
        let clock = Growing(core::cell::Cell::new(0));
        with_one(structure, 1000, false, |live| drain(live, &mut source, rounds, &clock)).unwrap()
    };
    let once = phases(1);
    assert_eq!((once.len(), &once), (PHASES as usize, &phases(3)));
    // A round reads the clock before and after each phase, and around the last delivery.
    let reads = u64::from(2 * PHASES + 2);
    assert_eq!(once[0], (2 * (reads + 1) + 1) as f64 / 10.0);
    let row = Row { structure: registry::find(registry::DEFAULT).unwrap(), phases: vec![2.0, 8.0, 3.0] };
    assert_eq!((row.longest(), row.median()), (8.0, 3.0));
}
