use super::*;

fn published() -> Vec<String> {
    ["list", "heap", "rb"].map(str::to_owned).to_vec()
}

fn entry(id: &'static str, rounds: impl IntoIterator<Item = f64>) -> Entry {
    let rounds: Vec<f64> = rounds.into_iter().collect();
    let average = rounds.iter().sum::<f64>() / rounds.len() as f64;
    Entry { id, average, rounds }
}

/// Twelve rounds around `us`, with a drift that all entries share.
fn steady(id: &'static str, us: f64) -> Entry {
    entry(id, (0..12).map(|round| us + f64::from(round) / 100.0))
}

#[track_caller]
fn shows(entries: &[Entry], here: &str, verdict: Verdict) -> Order {
    let order = Order::of(entries, &published());
    assert_eq!((order.here.as_str(), order.verdict), (here, verdict));
    assert!(here.len() <= 60, "{here}");
    order
}

#[test]
fn the_published_order_is_shown_when_each_step_is() {
    let entries = [steady("rb", 3.0), steady("list", 1.0), steady("heap", 2.0)];
    let order = shows(&entries, "the published order, every step of it shown", Verdict::Held);
    assert_eq!(order.by_average, ["list", "heap", "rb"]);
    let pairs: Vec<Finding> = order.pairs().collect();
    assert_eq!((pairs[0].about.as_str(), pairs[0].verdict), ("list beside heap", Verdict::Faster));
    assert_eq!(pairs[0].here, "12 of 12 rounds, p < 0.001");
}

#[test]
fn one_pair_against_it_is_another_order() {
    let entries = [steady("list", 2.0), steady("heap", 1.0), steady("rb", 3.0)];
    shows(&entries, "another order: heap before list", Verdict::Missed);
}

#[test]
fn a_step_that_is_not_shown_leaves_a_part() {
    let entries = [steady("list", 1.0), steady("heap", 2.0), steady("rb", 2.1)];
    shows(&entries, "2 of 3 pairs shown in the published order", Verdict::NotShown);
}

#[test]
fn chance_shows_nothing_whatever_the_averages_say() {
    let toss = |id, flip: bool| entry(id, (0..12).map(|r| if (r % 2 == 0) == flip { 1.0 } else { 2.0 }));
    let mut stalled = toss("list", true);
    stalled.rounds[3] = 1e6;
    stalled.average = 1e5;
    let entries = [stalled, toss("heap", false)];
    let order = shows(&entries, "no difference shown between any two", Verdict::NoDifferenceShown);
    assert_eq!(order.by_average, ["heap", "list"]);
}

#[test]
fn too_few_rounds_show_nothing() {
    let few = |id, us: f64| entry(id, [us, us, us]);
    let nothing = "no difference shown between any two";
    shows(&[few("list", 1.0), few("heap", 9.0)], nothing, Verdict::NoDifferenceShown);
    let alone = "fewer than two published structures took part";
    shows(&[], alone, Verdict::Stated);
    shows(&[few("list", 1.0)], alone, Verdict::Stated);
}

#[test]
fn rounds_without_samples_are_left_out() {
    let mut list = steady("list", 1.0);
    list.rounds[0] = f64::NAN;
    let order = Order::of(&[list, steady("heap", 2.0)], &published());
    assert_eq!(order.pairs[0].ratio.samples, 11);
}
