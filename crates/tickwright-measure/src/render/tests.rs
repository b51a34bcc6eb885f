use super::*;
use crate::result::{Axis, Cell, Mark, Plot, Section, Table};

#[test]
fn figures_have_the_digits_that_they_deserve() {
    let all = |format: Format, values: &[f64]| values.iter().map(|v| format.write(*v)).collect::<Vec<_>>();
    assert_eq!(all(Format::Ns, &[1.04, 9.94, 10.2, 1234.5]), ["1.0", "9.9", "10", "1234"]);
    assert_eq!(all(Format::Count, &[500.0, 1e4, 1e6, 1500.0, 0.5]), ["500", "10k", "1M", "1500", "0.5"]);
    assert_eq!(all(Format::Thousands, &[403_320.4, 999.0, -1234.0]), ["403,320", "999", "-1,234"]);
    let spans = all(Format::Span, &[0.0, 0.5, 12.0, 123.0, 3456.0, 45_600.0, 1_200_000.0, 3.2e9]);
    assert_eq!(spans, ["0 ns", "0.5 ns", "12 ns", "123 ns", "3.46 us", "45.6 us", "1.20 ms", "3.20 s"]);
    assert_eq!(all(Format::Ratio, &[0.5, 0.0141]), ["0.50x", "0.014x"]);
    assert_eq!(all(Format::Percent, &[5.52, 0.0003, 0.0]), ["5.5 %", "0.000 %", "0.0 %"]);
    assert_eq!(all(Format::Change, &[1.06, -2.0]), ["+1.1 %", "-2.0 %"]);
    assert_eq!(all(Format::Fixed(3), &[0.0321]), ["0.032"]);
    assert_eq!(all(Format::Text, &[2.0, 0.25]), ["2", "0.25"]);
}

fn report() -> crate::result::Report {
    let mut report = crate::result::empty("bench test");
    let mut table = Table::new().column("structure", Format::Text).column("ns", Format::Ns);
    table.row(["rb|slab".into(), 9.5.into()]);
    table.row(["list".into(), Cell::maybe(None)]);
    report.notes = vec!["a note".into()];
    report.sections = vec![Section::new("Insert").text("Two words.").table(table)];
    report
}

#[test]
fn text_columns_stand_to_the_left_and_figures_to_the_right() {
    let text = text(&report());
    assert!(text.contains(
        "note   a note\n\nInsert\nTwo words.\n structure   ns\n rb|slab    9.5\n list         -\n"
    ));
    assert!(!text.contains("INTERRUPTED"));
}

#[test]
fn a_table_in_markdown_keeps_its_columns() {
    let text = markdown(&report());
    assert!(
        text.contains("## Insert\n\nTwo words.\n\n| structure | ns |\n|---|---:|\n| rb\\|slab | 9.5 |\n"),
        "{text}"
    );
}

#[test]
fn a_plot_in_markdown_is_folded() {
    let mut report = report();
    report.sections.push(Section::new("Picture").plot(picture(Mark::Line)));
    let text = markdown(&report);
    let folded = "\n<details><summary>Time &lt;of&gt; one</summary>\n\n```text\n";
    assert!(text.contains(folded) && text.ends_with("```\n\n</details>\n"), "{text}");
}

fn picture(mark: Mark) -> Plot {
    Plot::new("Time <of> one", Axis::log("timers", Format::Count), Axis::log("ns", Format::Ns))
        .marked(mark)
        .curve("heap4", [(1.0, 10.0), (100.0, 20.0), (10_000.0, 90.0)])
        .curve("list", [(1.0, 5.0), (100.0, 300.0), (10_000.0, 40_000.0)])
}

#[test]
fn a_plot_on_a_terminal_has_axes_units_and_a_legend() {
    let text = plot(&picture(Mark::Line));
    for word in ["Time <of> one", "ns", "timers", "10k", "10000 |", "1.0 |", "a heap4   b list"] {
        assert!(text.contains(word), "'{word}' is missing in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() < 90), "{text}");
    let first = text.lines().find(|line| line.contains(" |") && line.contains('b')).unwrap();
    assert!(first.trim_end().ends_with('b'), "the dearest stands at the top right:\n{text}");
}

#[test]
fn curves_become_lines_of_blocks_on_one_scale() {
    let lines = sparks(&picture(Mark::Line), 32, 9);
    assert_eq!(lines, ["heap4  ▂▃▄  10 to 90 ns", "list   ▂▄▇  5.0 to 40000 ns"]);
    assert_eq!(sparks(&picture(Mark::Line), 1, 1), ["heap4  ▂  10 to 90 ns"]);
    let nothing = Plot::new("", Axis::linear("", Format::Ns), Axis::linear("", Format::Ns));
    assert_eq!(sparks(&nothing, 9, 9), Vec::<String>::new());
}

#[test]
fn a_picture_is_escaped_and_whole() {
    for mark in [Mark::Line, Mark::Steps, Mark::Dots] {
        let svg = svg([&picture(mark), &picture(mark)]);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("Time &lt;of&gt; one").count(), 4, "title and heading of two plots");
        assert_eq!(svg.matches("<circle").count(), if mark == Mark::Steps { 0 } else { 12 });
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn one_point_and_none_are_drawn_too() {
    let plot = || Plot::new("p", Axis::linear("x", Format::Text), Axis::linear("y", Format::Text));
    assert_eq!(super::plot(&plot()), "");
    for one in [plot().curve("c", [(3.0, 0.0)]), plot().curve("c", [(-3.0, -5.0)])] {
        let text = super::plot(&one);
        assert!(text.contains("a c"), "{text}");
        assert!(!svg_of(&one).contains("NaN"));
    }
}

#[test]
fn prose_is_broken_at_a_hundred_columns_and_paragraphs_stay_apart() {
    let long = "word ".repeat(50);
    let section = Section::new("").text(format!("{long}\nSecond.\n  indented {long}"));
    let text = sections(&[section]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("\nSecond.\n  indented word"), "{text}");
    assert_eq!(text.matches("word").count(), 100);
}
