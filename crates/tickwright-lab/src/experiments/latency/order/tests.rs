use super::*;

const ORDER: [&str; 3] = ["list", "heap", "rb"];

fn entry(id: &'static str, slices: impl IntoIterator<Item = f64>) -> Entry {
    let slices: Vec<f64> = slices.into_iter().collect();
    let average = slices.iter().sum::<f64>() / slices.len() as f64;
    Entry { id, average, slices }
}

/// Twelve rounds around `us`, with a drift that is common to all.
fn steady(id: &'static str, us: f64) -> Entry {
    entry(id, (0..12).map(|round| us + f64::from(round)))
}

#[test]
fn the_published_order_is_shown_when_each_step_is() {
    let order = Order::of(&[steady("rb", 3.0), steady("list", 1.0), steady("heap", 2.0)], &ORDER);
    assert_eq!(order.by_average, ["list", "heap", "rb"]);
    assert_eq!(order.verdict, Verdict::Published);
    assert!(order.words().contains("list before heap"), "{}", order.words());
    let pair = order.pairs.iter().find(|pair| pair.earlier == "list" && pair.later == "rb").unwrap();
    assert_eq!(pair.difference_us.unwrap().median, 2.0);
}

#[test]
fn one_pair_against_it_is_another_order() {
    let order = Order::of(&[steady("list", 2.0), steady("heap", 1.0), steady("rb", 3.0)], &ORDER);
    assert_eq!(order.verdict, Verdict::Another);
    assert!(order.words().contains("heap before list"), "{}", order.words());
}

#[test]
fn a_step_that_is_not_shown_leaves_a_part() {
    let order = Order::of(&[steady("list", 1.0), steady("heap", 2.0), steady("rb", 2.0)], &ORDER);
    assert_eq!(order.verdict, Verdict::PartOfIt);
}

#[test]
fn chance_shows_nothing_whatever_the_averages_say() {
    let toss = |id, flip: bool| entry(id, (0..12).map(|r| if (r % 2 == 0) == flip { 1.0 } else { 2.0 }));
    let mut stalled = toss("list", true);
    stalled.slices[3] = 1e6;
    stalled.average = 1e5;
    let order = Order::of(&[stalled, toss("heap", false)], &ORDER);
    assert_eq!(order.verdict, Verdict::NoDifference);
    assert_eq!(order.by_average, ["heap", "list"]);
}

#[test]
fn too_few_rounds_show_nothing() {
    let few = |id, us: f64| entry(id, [us, us, us]);
    assert_eq!(Order::of(&[few("list", 1.0), few("heap", 9.0)], &ORDER).verdict, Verdict::NoDifference);
    assert_eq!(Order::of(&[], &ORDER).verdict, Verdict::NotAsked);
    assert_eq!(Order::of(&[few("list", 1.0)], &ORDER).verdict, Verdict::NotAsked);
}

#[test]
fn rounds_without_samples_are_left_out() {
    let mut list = steady("list", 1.0);
    list.slices[0] = f64::NAN;
    let order = Order::of(&[list, steady("heap", 2.0)], &ORDER);
    assert_eq!(order.pairs[0].difference_us.unwrap().samples, 11);
}
