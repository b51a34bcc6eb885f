//! What a reader sees.

use super::super::report::Report;
use super::super::verdict::{clock_in_a_tick, conclusion};
use super::*;
use crate::clock::calibrate;

fn report(outcome: &Outcome, plan: &Plan) -> String {
    let clock = calibrate(&FakeMeter::steady(25));
    let scenario = Scenario::built_in().expect("the file is right");
    Report { scenario: &scenario, plan, outcome, clock, lost: &["no real-time scheduling".into()] }.text()
}

#[test]
fn the_experiments_own_form() {
    let plan = plan(Mode::Virtual, Duration::from_millis(400), true);
    let outcome = ran(&plan, &FakeMeter::steady(25), &|| false);
    let text = report(&outcome, &plan);
    let inserts = outcome.lanes[0].total.counts[2];
    for line in [
        "sorted list (list/slab):".to_owned(),
        format!("insert: {inserts} samples, 25 ns < 25 ns < 25 ns, stddev 0 ns"),
        "/400000000 ns, i.e: ".to_owned(),
        "Each sample holds one clock reading, which is not taken off: one reading costs 25.0 ns".to_owned(),
        "Note: no real-time scheduling.".to_owned(),
        "Was it the experiment?".to_owned(),
        ": accepted; ".to_owned(),
    ] {
        assert!(text.contains(&line), "'{line}' is missing in\n{text}");
    }
}

#[test]
fn without_instruments_no_sample_is_claimed() {
    let plan = plan(Mode::Virtual, Duration::from_millis(100), false);
    let outcome = Outcome { interrupted: true, ..ran(&plan, &FakeMeter::steady(0), &|| false) };
    let text = report(&outcome, &plan);
    assert!(!text.contains("samples"), "{text}");
    assert!(text.contains("Timed by the slice"), "{text}");
}

fn lanes(per_tick: &[&[f64]]) -> Vec<Lane> {
    let plan = plan(Mode::Virtual, Duration::from_secs(1), false);
    let lane = |(structure, ns): (_, &&[f64])| {
        let mut lane = Lane::new(structure, &plan);
        lane.per_tick = ns.to_vec();
        lane
    };
    STRUCTURES.iter().zip(per_tick).map(lane).collect()
}

fn concluded(per_tick: &[&[f64]]) -> String {
    conclusion(&lanes(per_tick), &[])
}

#[test]
fn the_conclusion_follows_the_figures() {
    let [a, b, c] = [0, 1, 2].map(|at| STRUCTURES[at].id);
    assert_eq!(concluded(&[]), "Nothing was measured.");
    assert_eq!(
        concluded(&[&[300.0; 8]]),
        format!("Only {a} ran: 300 ns a tick; name a second structure for a comparison.")
    );
    // 10 % apart is a tie, however steady.
    assert_eq!(concluded(&[&[110.0; 8], &[100.0; 8]]), format!("No difference shown to {b} in {a}."));
    // Far apart, but not in every round.
    let wild = [100.0, 500.0, 100.0, 500.0, 90.0, 500.0, 90.0, 500.0];
    assert_eq!(concluded(&[&[100.0; 8], &wild]), format!("No difference shown to {a} in {b}."));
    assert_eq!(
        concluded(&[&[100.0; 8], &[110.0; 8], &[200.0; 8]]),
        format!(
            "A tick cost least in {a}, 100 ns; it cost 2.00 times in {c}; no difference shown to {a} in {b}."
        )
    );
    assert_eq!(
        concluded(&[&[100.0; 8], &[110.0; 8], &[105.0; 8]]),
        format!("No difference shown to {a} in {c} and {b}.")
    );
}

#[test]
fn nothing_is_concluded_from_too_little_or_from_another_experiment() {
    let [a, b] = [0, 1].map(|at| STRUCTURES[at].id);
    assert_eq!(
        concluded(&[&[100.0; 3], &[300.0; 3]]),
        "No conclusion: so few slices (3 of each) cannot show a difference; it takes 6."
    );
    let far_apart: [&[f64]; 2] = [&[100.0; 8], &[300.0; 8]];
    assert_eq!(
        conclusion(&lanes(&far_apart), &[a, b]),
        format!("No conclusion: {a} and {b} did not run the experiment.")
    );
}

#[test]
fn the_clocks_share_of_a_tick_is_stated_where_it_is_in_the_figures() {
    let sentence = "ns of each tick are the clock's own readings, which draws ratios towards 1";
    for (instrument, stated) in [(true, true), (false, false)] {
        let plan = plan(Mode::Virtual, Duration::from_millis(100), instrument);
        let text = report(&ran(&plan, &FakeMeter::steady(25), &|| false), &plan);
        assert_eq!(text.contains(sentence), stated, "{text}");
    }
    let mut lanes = lanes(&[&[100.0; 8]]);
    lanes[0].total.ticks = 10;
    lanes[0].total.counts = [28, 12, 10, 10];
    assert_eq!(clock_in_a_tick(&lanes, 25.0), Some(150.0));
}

#[test]
fn slices_are_short_and_at_least_eight() {
    let of = |mode, seconds| plan(mode, Duration::from_secs(seconds), false).slice_ns();
    assert_eq!(of(Mode::Real, 3), 375_000_000);
    assert_eq!(of(Mode::Real, 7200), 2 * SECOND);
    assert_eq!(of(Mode::Virtual, 7200), SECOND / 4);
}

#[test]
fn a_mistake_in_a_file_is_named() {
    let file = std::env::temp_dir().join(format!("tickwright-xenomai-{}.toml", std::process::id()));
    let text = include_str!("../../../../../../scenarios/xenomai.toml").replace("count = 1000", "count = 1");
    std::fs::write(&file, text).expect("the temporary directory can be written");
    let error = Scenario::read(&file).expect_err("one timer is too few");
    let _ = std::fs::remove_file(&file);
    let words = error.to_string();
    assert_eq!(error.code(), 2);
    assert!(words.contains("count = 1") && words.contains("from 2 to 100000"), "{words}");
}
