use super::*;
use crate::render;
use crate::result::labels;

fn series(n: u32, way: &'static str, ns: f64) -> Series {
    let samples = (0..9).map(|round| ns + f64::from(round) / 10.0);
    let of = labels([("n", n.into()), ("way", way.into())]);
    Series::new("re-arm", Unit::Ns, of).per("call").beside("way", "locked").of(samples)
}

fn all() -> Vec<Series> {
    let mut all = Vec::new();
    for n in [10, 100, 1000] {
        all.extend([series(n, "locked", 20.0), series(n, "ours", 10.0)]);
        all.push(Series {
            name: "calls".into(),
            unit: Unit::Count,
            base: Labels::new(),
            samples: vec![5e4],
            ..series(n, "ours", 1.0)
        });
    }
    all
}

#[test]
fn a_table_has_the_interval_and_the_ratio_to_the_base() {
    let all = all();
    let text = render::sections(&sections(&all));
    assert!(text.starts_with("\nre-arm, calls\n"), "{text}");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let heading = "n way re-arm, ns per call from to to locked from to verdict calls per call";
    assert_eq!(lines[2].join(" "), heading, "{text}");
    assert_eq!(lines[3].join(" "), "10 locked 20 20 21 - - - -", "{text}");
    assert_eq!(lines[4].join(" "), "10 ours 10 10 11 0.51x 0.50x 0.52x faster 50,000", "{text}");
    assert_eq!(lines.iter().filter(|line| line.get(1) == Some(&"ours")).count(), 3);
    assert!(text.contains("a locked   b ours"), "three points are a plot: {text}");
}

#[test]
fn few_samples_have_no_interval_and_two_points_no_plot() {
    let mut all = all();
    all.retain(|one| one.labels["n"] != Label::Whole(10));
    all.iter_mut().for_each(|one| one.samples.truncate(1));
    let text = render::sections(&sections(&all));
    assert!(!text.contains("a locked") && text.contains("no difference shown"), "{text}");
    assert!(!text.lines().nth(2).unwrap().contains("from"), "{text}");
}

#[test]
fn of_rates_the_higher_is_the_faster() {
    let rate = |way: &'static str, rate: f64| {
        let rates = Series { unit: Unit::PerSecond, ..series(1, way, rate) };
        rates.better(Better::Higher)
    };
    let all = [rate("locked", 100.0), rate("ours", 1000.0)];
    let text = render::sections(&sections(&all));
    assert!(text.contains("faster") && text.contains("re-arm, per s per call"), "{text}");
}

#[test]
fn quantities_with_other_labels_stand_apart() {
    let mut all = all();
    all.push(Series::new("alone", Unit::Bytes, labels([])).of([1536.0]));
    let sections = sections(&all);
    assert_eq!(sections.iter().map(|one| one.title.as_str()).collect::<Vec<_>>(), ["re-arm, calls", "alone"]);
    assert!(render::sections(&sections[1..]).contains("alone, bytes\n"), "{sections:?}");
}

#[test]
fn a_label_can_go_across() {
    let all = all();
    let own: Vec<&Series> = all.iter().filter(|one| one.name == "re-arm").collect();
    let table = render::sections(&[Section::new("").table(table_across("way", &own))]);
    let lines: Vec<String> =
        table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[1..], ["n locked ours", "10 20 10", "100 20 10", "1k 20 10"], "{table}");
}
