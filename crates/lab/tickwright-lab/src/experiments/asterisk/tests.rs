use super::column::Then;
use super::power::Power;
use super::sample::Sample;
use super::table::{Lane, What};
use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::result::labels;
use crate::stats::Verdict;

fn every_column() -> Vec<Column> {
    let mut columns = Column::THEN.to_vec();
    columns.extend(Structure::all().into_iter().map(Column::Ours));
    columns
}

/// `check` runs every structure.
#[test]
fn the_file_names_every_structure() {
    let all = Structure::all().iter().map(Structure::id).collect::<Vec<_>>().join(",");
    assert!(include_str!("asterisk.toml").contains(&format!("--structures {all} ")), "{all}");
}

fn plan(words: &[&str]) -> (AsteriskArgs, Plan) {
    let args: AsteriskArgs = request::words(words).unwrap();
    let plan = args.plan().unwrap();
    (args, plan)
}

#[test]
fn the_published_times_agree_with_themselves() {
    let published: Published = row::published(FILE).unwrap();
    assert_eq!(published.times.iter().map(|row| row.n).collect::<Vec<_>>(), plan(&[]).1.table.sizes);
    for row in &published.times {
        for times in [&row.list, &row.heap] {
            let off = (times.add + times.delete - times.total).abs() / times.total;
            assert!(off < 0.02, "N = {}: {times:?}", row.n);
        }
        let percent = 100.0 * row.heap.total / row.list.total;
        assert!((percent - row.percent).abs() < 0.2, "N = {}: {percent}", row.n);
    }
}

#[test]
fn every_scheduler_runs_a_script_as_sorting_orders_it() {
    for n in [1, 2, 3, 50, 700] {
        for seed in 0..4 {
            verify::run(&every_column(), n, seed).unwrap();
        }
    }
}

#[test]
fn a_power_law_is_found_again() {
    let points: Vec<(usize, f64)> =
        [100, 1000, 5000, 10_000].into_iter().map(|n| (n, 3.0 * (n as f64).powf(1.7))).collect();
    let law = Power::fit(&points).unwrap();
    assert!((law.exponent - 1.7).abs() < 1e-9 && (law.factor / 3.0 - 1.0).abs() < 1e-9, "{law:?}");
    assert_eq!(law.on, [1000, 5000, 10_000], "small ones are left out");
    let at = 3.0 * 1e6f64.powf(1.7);
    assert!((law.at(1_000_000) / at - 1.0).abs() < 1e-9);
    let far = Power::fit(&[(10, 1.0), (1_000_000, 4.0)]).unwrap();
    assert_eq!(far.on, [10, 1_000_000], "two it takes in any case");
    assert_eq!(Power::fit(&[(10, 1.0), (10, 2.0)]), None);
    assert_eq!(Power::fit(&[]), None);
}

/// If measurements do not fit into the budget, the power law gives the figures, even if only trials
/// were measured.
#[test]
fn a_budget_bounds_what_is_measured() {
    let (_, Plan { table: plan, .. }) =
        plan(&["--n", "100,8M", "--rounds", "2", "--budget", "1ms", "--structures", "heap4"]);
    let table = table::run(&plan, &FakeMeter::steady(1_000_000)).unwrap();
    assert_eq!(table.lanes.len(), 3);
    for lane in &table.lanes {
        assert_eq!(lane.samples(100, What::Add), [2e6; 2], "two readings after the first");
        assert!(lane.samples(8_000_000, What::Add).is_empty());
        for what in [What::Add, What::Delete, What::Total] {
            assert!(!lane.figure(100, what).unwrap().extrapolated);
            let far = lane.figure(8_000_000, what).unwrap();
            assert!(far.extrapolated && far.value > 0.0);
        }
    }
}

#[test]
fn every_sample_is_in_a_series() {
    let (args, plan) = plan(&["--n", "100,1k", "--rounds", "2"]);
    let report = conduct_plan(&args, &plan, &FakeMeter::steady(1000)).unwrap();
    let of = labels([("mode", "faithful".into()), ("structure", "heap".into()), ("n", 1000_u32.into())]);
    // Each sample includes two more readings of the clock, whose time is spread over 1000 timers.
    assert_eq!(report.find("add", &of).unwrap().samples, [2.0; 2]);
    assert_eq!(report.series.iter().filter(|series| series.name == "delete").count(), 2 * (2 + 6));
}

/// Returns a lane whose samples take the given ns for the adds, and a tenth of that for the
/// deletes.
fn lane(column: Column, cells: &[(usize, &[u64])]) -> Lane {
    let sample = |&ns: &u64| Sample { add_ns: ns, delete_ns: ns / 10 };
    let cell = |&(n, adds): &(usize, &[u64])| (n, adds.iter().map(sample).collect());
    Lane { column, trials: Vec::new(), cells: cells.iter().map(cell).collect() }
}

const SIZES: [usize; 4] = [100, 1000, 10_000, 100_000];

/// The list and the heap of 2009 at 100 and at 1000.
fn made_up(list: [&[u64]; 2], heap: [&[u64]; 2]) -> Table {
    let lane = |then, [few, many]: [&[u64]; 2]| lane(Column::Then(then), &[(100, few), (1000, many)]);
    Table { sizes: SIZES.to_vec(), lanes: vec![lane(Then::List, list), lane(Then::Heap, heap)] }
}

#[test]
fn the_published_shape_is_judged_where_something_is_shown() {
    let [even, more, wild] = [&[100; 9][..], &[300; 9], &[50, 300, 60, 310, 70, 320, 80, 330, 90]];
    let judge = |table: &Table| shape::findings(table, &row::published(FILE).unwrap())[0].verdict;
    let verdict = |list, heap| judge(&made_up(list, heap));
    assert_eq!(verdict([even, more], [even, even]), Verdict::Held);
    assert_eq!(verdict([more, more], [even, even]), Verdict::Missed, "slower at 100");
    assert_eq!(verdict([even, even], [even, more]), Verdict::Missed, "faster at 1000");
    assert_eq!(verdict([even, wild], [even, even]), Verdict::NotShown);
    assert_eq!(verdict([even, &more[..3]], [even, &even[..3]]), Verdict::NotShown, "too few rounds");
    let table = Table { sizes: vec![1000], ..made_up([even, more], [even, even]) };
    assert_eq!(judge(&table), Verdict::NotShown, "it needs an N up to 100 as well");
}

/// Returns data of two modes at four values of N. The list of 2009 is extrapolated at the largest
/// N.
fn data(plan: &Plan) -> Data {
    let [list, heap] = ["list", "heap4"].map(|id| Column::Ours(id.parse().unwrap()));
    let cells = |adds: &[u64]| -> Vec<(usize, Vec<u64>)> {
        let noise = |ns: u64| (0..9).map(|round| ns + ns * round / 100).collect();
        SIZES.into_iter().zip(adds.iter().map(|&ns| noise(ns))).collect()
    };
    let lane = |column, adds: &[u64]| {
        let cells = cells(adds);
        lane(column, &cells.iter().map(|(n, adds)| (*n, adds.as_slice())).collect::<Vec<_>>())
    };
    let lanes = vec![
        lane(Column::Then(Then::List), &[73_000, 1_180_000, 90_600_000]),
        lane(Column::Then(Then::Heap), &[67_000, 654_000, 5_210_000, 53_100_000]),
        lane(list, &[14_500, 537_000, 93_300_000, 17_400_000_000]),
        lane(heap, &[11_500, 93_200, 729_000, 7_620_000]),
    ];
    Data { verified: 14_663, table: Table { sizes: plan.table.sizes.clone(), lanes } }
}

#[test]
fn the_report_reads_well() {
    let (args, plan) = plan(&["--n", "100,1k,10k,100k"]);
    let data = data(&plan);
    let findings = args.findings(&plan, &data);
    let words: Vec<String> = findings
        .iter()
        .map(|finding| {
            let published = finding.published.as_deref().unwrap_or("-");
            format!("{} | {published} | {} | {}", finding.about, finding.here, finding.verdict.words())
        })
        .collect();
    insta::assert_snapshot!("findings", words.join("\n"));
    insta::assert_snapshot!("report", crate::render::sections(&args.sections(&plan, &data, &findings)));
}
