//! Results and texts of the parts other than the table.

use super::args;
use crate::clock::OsClock;
use crate::experiment::{Experiment, conduct};
use crate::experiments::nptl::column::Cell;
use crate::experiments::nptl::ladder::{self, Ladder};
use crate::experiments::nptl::lanes::time;
use crate::experiments::nptl::model::{Knobs, Ways};
use crate::experiments::nptl::turns::Turns;
use crate::render;
use crate::result::Section;

const TURNS: Turns = Turns { what: "test", rounds: 2, seed: 1 };
const CELL: Cell = Cell { toplevel: 2, children: 3, starts: 20 };

fn shown(section: Section) -> String {
    render::sections(&[section])
}

#[test]
fn turns_take_each_lane_once_a_round_and_drop_the_first() {
    let mut count = [0; 3];
    let names = ["a", "b", "c"].map(str::to_owned);
    let samples = TURNS
        .run(&names, |lane| {
            count[lane] += 1;
            Ok((lane, count[lane]))
        })
        .unwrap();
    assert_eq!(samples, [[(0, 2), (0, 3)], [(1, 2), (1, 3)], [(2, 2), (2, 3)]]);
    let once = Turns { rounds: 1, ..TURNS }.run(&names, Ok).unwrap();
    assert_eq!(once, [[0], [1], [2]], "one round is kept");
}

#[test]
fn the_ladder_goes_from_ngpt_to_ours() {
    let lanes = ladder::lanes(Knobs::default());
    let many: Vec<_> = lanes[1..].iter().map(|lane| lane.knobs.many.unwrap()).collect();
    assert_eq!(many.first(), Some(&Ways::NGPT));
    assert_eq!(many.last(), Some(&Ways::OURS));
    assert!(many.windows(2).all(|pair| pair[0] != pair[1]), "each step turns something");
}

/// Returns a ladder whose M:N steps take `times` as long as one-to-one.
pub(super) fn made_up(times: [f64; 7]) -> Ladder {
    let mut lanes = ladder::lanes(Knobs::default());
    for (lane, times) in lanes.iter_mut().zip([1.0].into_iter().chain(times)) {
        lane.ns = (0..6).map(|round| times * (1000.0 + f64::from(round))).collect();
    }
    Ladder { cell: Cell { toplevel: 1, children: 10, starts: 100 }, lanes }
}

#[test]
fn the_ladder_names_the_step_that_flips_the_order() {
    let said = |ladder: &Ladder| shown(ladder.section(4.0)).replace('\n', " ");
    let cases = [
        ([4.0, 3.0, 2.0, 0.9, 0.5, 0.1, 0.1], Some(3), "flips at step 3: no name formatted."),
        ([4.0, 0.9, 2.0, 0.9, 0.5, 0.1, 0.1], Some(3), "flips at step 3"),
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3], Some(0), "from the start: all of NGPT's ways"),
        ([0.9, 2.0, 0.9, 0.9, 0.5, 0.1, 0.1], Some(2), "then behind, and for good at step 2"),
        ([4.0, 0.9, 0.9, 0.9, 0.5, 0.1, 1.5], None, "behind at the last step."),
        ([4.0; 7], None, "does not flip: at no step M:N is ahead of one-to-one."),
    ];
    for (times, flips, words) in cases {
        let ladder = made_up(times);
        assert_eq!(ladder.flips(), flips, "{times:?}");
        assert!(said(&ladder).contains(words), "{times:?}: {}", said(&ladder));
    }
    let tied = said(&made_up([1.0; 7]));
    assert!(tied.contains("at no step") && tied.contains("no difference shown"), "{tied}");
    assert!(!tied.contains("saves most"), "{tied}");
    let mut none = made_up([4.0; 7]);
    none.lanes.iter_mut().for_each(|lane| lane.ns.clear());
    assert!(said(&none).contains("Interrupted") && none.finding().is_none());
}

#[test]
fn every_step_of_the_ladder_runs() {
    let clock = OsClock::start();
    let mut steps = ladder::lanes(Knobs::default());
    time(&mut steps, CELL, &TURNS, clock).unwrap();
    assert!(steps.len() == 8 && steps.iter().all(|step| step.ns.len() == 2), "{steps:?}");
}

#[test]
fn a_report_has_every_part_that_was_asked_for() {
    let args = args("--only ladder,table --models one-to-one,std --toplevel 2 --children 1 --starts 4");
    let report = conduct(&args).unwrap();
    let names: Vec<&str> = report.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, [&["create and join"; 2][..], &["ladder"; 8]].concat());
    let plan = args.plan().unwrap();
    assert_eq!(report.parameters, args.parameters(&plan));
    assert_eq!(report.parameters["starts of table"], 4u64.into());
}
