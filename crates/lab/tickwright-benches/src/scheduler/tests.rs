use super::data::LIMIT;
use super::*;
use crate::allocator;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::stats::Verdict;

/// After a warm-up, no add, cancel or run allocates memory, with any structure.
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

/// Returns the report of a run with 100 operations in a sample.
fn report(structures: &str, n: &str, rounds: &str) -> crate::result::Report {
    let words = ["--structures", structures, "--n", n, "--rounds", rounds, "--operations", "100"];
    let args: SchedulerArgs = request::words(&words).unwrap();
    conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(1000)).unwrap()
}

#[test]
fn every_part_of_every_structure_is_sampled() {
    let all = request::list(&Structure::all());
    let report = report(&all, "1,100", "6");
    assert_eq!(report.series.len(), 2 * Structure::all().len() * 7);
    for series in &report.series {
        let whole = if series.name == "memory" { 1 } else { 6 };
        assert_eq!(series.samples.len(), whole, "{}", series.title());
        assert!(series.name != "memory" || series.samples[0] > 0.0);
    }
}

/// With the wheel, the scheduler takes 1.5 times as long as its parts; with the heap, twice as
/// long.
#[test]
fn a_report_sets_operations_beside_their_parts() {
    let words = ["--structures", "heap4,wheel", "--n", "1k,10k,100k", "--rounds", "6"];
    let args: SchedulerArgs = request::words(&words).unwrap();
    let plan = args.plan().unwrap();
    let rows: Vec<Row> = [("heap4", 2.0), ("wheel", 1.5)]
        .into_iter()
        .flat_map(|(structure, times)| {
            let depth = if structure == "heap4" { 10.0 } else { 0.0 };
            plan.sizes.iter().map(move |&n| {
                let bare = 50.0 + depth * (n as f64).log10();
                Row { structure, n, bytes_per_timer: 56.0, ..row(times * (bare + 40.0), bare) }
            })
        })
        .collect();
    let findings = args.findings(&plan, &rows);
    insta::assert_snapshot!(crate::render::sections(&args.sections(&plan, &rows, &findings)));
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
        let ratio = row.ratio(&row.add).unwrap();
        (ratio.median, LIMIT.judge(&ratio))
    };
    assert_eq!(verdict(150.0, 60.0), (1.5, Verdict::Held));
    assert_eq!(verdict(151.0, 60.0), (1.51, Verdict::Missed));
    let few = Row { lock: vec![10.0], ..row(100.0, 60.0) };
    assert_eq!(LIMIT.judge(&few.ratio(&few.add).unwrap()), Verdict::NotShown, "one round");
}

#[test]
fn structures_that_take_too_long_are_left_out_and_said_to_be() {
    let report = report("list", "100000", "1");
    assert!(report.series.is_empty());
    assert!(
        report.notes.iter().any(|note| note.contains("list is left out at N = 100000")),
        "{:?}",
        report.notes
    );
}
