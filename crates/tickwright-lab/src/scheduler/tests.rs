use super::*;
use crate::allocator;
use crate::clock::FakeMeter;

/// No allocation per add, cancel or run after a warm-up, over every structure.
#[test]
fn plain_callbacks_allocate_nothing_once_warm() {
    for structure in Structure::all() {
        let scheduler = Scheduler::new(Settings::new().structure(structure));
        let mut ids = Vec::with_capacity(1000);
        let mut pass = || {
            for delay in 0..1000 {
                let delay = Duration::from_secs(1 + delay * 7919 % 1000);
                ids.extend(scheduler.add(delay, Plain::new(0, done)));
            }
            let removed =
                ids.drain(..).filter(|&id| matches!(scheduler.cancel(id), Cancelled::Removed(_))).count();
            assert_eq!(removed, 1000, "{structure}");
        };
        pass();
        let before = allocator::allocations();
        pass();
        assert_eq!(allocator::allocations(), before, "{structure}");
        assert!(scheduler.heap_bytes() > 1000 * size_of::<u64>());
    }
}

#[test]
fn every_part_of_every_structure_is_sampled() {
    let options =
        Options { structures: Structure::all(), sizes: vec![1, 100], rounds: 6, operations: 100, seed: 1 };
    let report = run(&options, &FakeMeter::steady(1000)).unwrap();
    assert_eq!(report.rows.len(), 2 * options.structures.len());
    for row in &report.rows {
        for samples in
            [&row.add.through, &row.add.bare, &row.del.through, &row.del.bare, &row.lock, &row.clock]
        {
            assert_eq!(samples.len(), 6, "{}", row.structure);
        }
        assert!(row.bytes_per_timer > 0.0);
    }
    let text = report::text(&report);
    for word in
        ["bare queue", "wheel", "bytes per timer", "The fastest to add at each N", "a delete by id takes"]
    {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
    assert_eq!(report::lines(&report).len(), 6 * report.rows.len());
}

fn row(through: f64, bare: f64) -> Row {
    let of = |ns: f64| vec![ns; 6];
    let operation = Operation { through: of(through), bare: of(bare) };
    Row {
        structure: "heap4",
        n: 1,
        bytes_per_timer: 1.0,
        lock: of(10.0),
        clock: of(30.0),
        add: operation.clone(),
        del: operation,
    }
}

#[test]
fn the_limit_is_on_the_sum_of_the_parts() {
    let verdict = |through, bare| {
        let row = row(through, bare);
        row.ratio(&row.add).map(|(ratio, kept)| (ratio.median, kept)).unwrap()
    };
    assert_eq!(verdict(150.0, 60.0), (1.5, Kept::Yes));
    assert_eq!(verdict(151.0, 60.0), (1.51, Kept::No));
    let few = Row { lock: vec![10.0], ..row(100.0, 60.0) };
    assert_eq!(few.ratio(&few.add).unwrap().1, Kept::NotShown, "one round");
}

#[test]
fn structures_that_take_too_long_are_left_out_and_said_to_be() {
    let options = Options {
        structures: vec!["list".parse().unwrap()],
        sizes: vec![100_000],
        rounds: 1,
        operations: 1,
        seed: 1,
    };
    let report = run(&options, &FakeMeter::steady(1)).unwrap();
    assert!(report.rows.is_empty());
    assert!(
        report.notes.iter().any(|note| note.contains("list is left out at N = 100000")),
        "{:?}",
        report.notes
    );
}
