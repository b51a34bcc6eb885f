use clap::ValueEnum;

use super::cli::RegistryArgs;
use super::run::{Cell, Row, What};
use super::shelf::with_all;
use super::subject::{How, Kind};
use super::tables::{self, differs};
use super::work::{Keys, Measure, Model, Work};
use crate::clock::FakeMeter;
use crate::experiment::{Experiment, conduct_plan};
use crate::render;
use crate::request;
use crate::result::Report;
use crate::stats;

fn report(words: &[&str]) -> Report {
    let args: RegistryArgs = request::words(words).unwrap();
    conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(1000)).unwrap()
}

const FEW: [&str; 5] =
    ["--keys=ascending,addresses", "--n=3,40", "--rounds=6", "--operations=200", "--threads=1"];

#[test]
fn a_report_has_every_cell() {
    let report = report(&FEW);
    assert!(report.series.iter().all(|series| series.samples.len() == 6));
    let of = |name: &str| report.series.iter().filter(|series| series.name == name).count();
    let kinds = Kind::value_variants();
    assert_eq!(of("destroy and create"), 2 * 2 * kinds.len());
    assert_eq!(of("thread"), 2 * kinds.len(), "with the first kind of keys");
    assert_eq!(of("insert, ascending, by hint"), 2 * kinds.iter().filter(|kind| kind.ours()).count());
}

/// Each reading advances the clock by a microsecond, so 200 calls take 5 ns each, and a thread
/// takes 1000 ns.
#[test]
fn a_report_says_what_a_thread_spends_in_the_tree() {
    let few = ["--keys=ascending", "--n=3,400", "--rounds=6", "--operations=200", "--threads=1"];
    let report =
        report(&[&few[..], &["--structures=odict-hook,avl-hook,intrusive-rbtree,hash-map"]].concat());
    insta::assert_snapshot!(render::sections(&report.sections));
}

/// Returns the answer for some populations, given the ns of a thread and the ns of the dictionary's
/// calls in it.
fn spent(figures: &[(usize, f64, f64)]) -> String {
    let args: RegistryArgs = request::words(&[]).unwrap();
    let rows = |ns| vec![Row { kind: Kind::OdictHook, samples: vec![ns; 6] }];
    let cells = figures.iter().flat_map(|&(population, whole, tree)| {
        let calls = What::Calls(Measure::Churn, Keys::Random);
        [(What::Thread, whole), (calls, tree)].map(|(what, ns)| Cell { what, population, rows: rows(ns) })
    });
    render::sections(&tables::sections(&args.plan().unwrap(), &cells.collect::<Vec<_>>(), &[]))
}

#[test]
fn a_population_is_named_from_which_on_the_tree_takes_its_share() {
    let text = spent(&[(1, 1000.0, 2.0), (100, 1000.0, 20.0), (10_000, 1000.0, 50.0)]);
    assert!(text.contains("odict-hook from N = 100."), "{text}");
    assert!(text.contains("At N = 10k odict takes 5.00 %"), "{text}");
    let text = spent(&[(1, 1000.0, 20.0), (100, 1000.0, 2.0), (10_000, 1000.0, 50.0)]);
    assert!(text.contains("odict-hook from N = 10k."), "{text}");
    let text = spent(&[(1, 1000.0, 20.0), (100, 1000.0, 2.0)]);
    assert!(text.contains("odict-hook at none"), "{text}");
}

#[test]
fn odict_differs_from_avl_where_the_interval_shows_it() {
    let ratio = |at: f64| stats::summarise([at; 9]).unwrap();
    assert_eq!(differs(&ratio(0.9)), "odict faster");
    assert_eq!(differs(&ratio(1.1)), "avl faster");
    assert_eq!(differs(&ratio(1.0)), "not shown");
    assert_eq!(differs(&stats::summarise([0.1, 0.1]).unwrap()), "too few rounds");
}

#[test]
fn keys_are_as_they_are_called() {
    for &keys in Keys::value_variants() {
        let mut model = Model::new(keys, 50, 3);
        let before = model.live().to_vec();
        assert!(before.iter().all(|key| key % 2 == 0), "odd keys are for misses");
        let (work, _) = model.draw(Measure::Churn, 20);
        let Work::Churn(moves) = work else { panic!("{work:?}") };
        let mut sorted = model.live().to_vec();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]), "no two have one key");
        match keys {
            Keys::Ascending => {
                assert!(before.is_sorted());
                assert!(moves.iter().all(|(_, key)| key > before.last().unwrap()), "a new id is the last");
            }
            Keys::Addresses => {
                assert!(sorted.iter().all(|key| (0x7f00_0000_0000..0x7f01_0000_0000).contains(key)))
            }
            Keys::Random => assert!(sorted.last().unwrap() > &(1 << 60)),
        }
    }
}

#[test]
fn a_wrong_answer_has_another_fold() {
    with_all(Kind::value_variants(), 3, |mut lanes| {
        for lane in &mut lanes {
            assert!((0..3).all(|at| lane.sampler.insert(at, u64::from(at) * 2)));
            let meter = FakeMeter::steady(1);
            let mut look = |keys: &[u64]| lane.sampler.sample(&Work::Look(keys.to_vec()), &meter).1;
            assert_ne!(look(&[0, 2]), look(&[2, 0]));
            assert_ne!(look(&[0]), look(&[1]));
            // An object that is not registered cannot be removed.
            let twice = lane.sampler.remove(1) && lane.sampler.remove(1);
            assert!(!twice, "{}", lane.kind.name());
            assert!(lane.sampler.holds(2) && !lane.sampler.holds(3));
        }
    });
}

#[test]
fn hints_and_appends_are_offered_by_ours_alone() {
    with_all(Kind::value_variants(), 50, |mut lanes| {
        for lane in &mut lanes {
            for how in [How::Search, How::Hint, How::Append] {
                let filled = lane.sampler.ascend(50, how, &FakeMeter::steady(1)).is_some();
                assert_eq!(filled, how == How::Search || lane.kind.ours(), "{} {how:?}", lane.kind.name());
            }
        }
    });
}
