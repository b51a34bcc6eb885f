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
        // The file has two plots, with six points each and two entries in each legend.
        assert_eq!(svg.matches("class=\"point\"").count(), if mark == Mark::Steps { 0 } else { 16 });
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

/// Text that an untrusted file can have: escape sequences that set a terminal's title and clear the
/// screen, and Markdown syntax.
const HOSTILE: &str = "q\u{1b}]0;mine\u{7}\u{1b}[2J\n```|<b>`*[x](y)\u{202e}\u{200f}\u{61c}\u{2028}";

#[test]
fn no_form_of_a_report_lets_a_name_out() {
    let mut report = crate::result::empty("bench test");
    let mut table = Table::new().column(HOSTILE, Format::Text);
    table.row([HOSTILE.into()]);
    let axis = || Axis::linear(HOSTILE, Format::Text);
    let points = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)];
    let plot = Plot::new(HOSTILE, axis(), axis()).curve(HOSTILE, points);
    let rows = [1.0, 2.0, 3.0]
        .into_iter()
        .fold(Plot::new(HOSTILE, axis(), axis()), |plot, y| plot.curve(format!("{HOSTILE}{y}"), [(1.0, y)]));
    report.command = HOSTILE.into();
    report.started = Some(HOSTILE.into());
    report.host.cpu = Some(HOSTILE.into());
    report.notes = vec![HOSTILE.into()];
    report.sections = vec![Section::new(HOSTILE).text(HOSTILE).table(table).plot(plot.clone()).plot(rows)];
    report.findings = vec![crate::result::Finding::stated(HOSTILE, HOSTILE).published(HOSTILE)];
    let all = [
        text(&report),
        markdown(&report),
        html(&[(HOSTILE.to_owned(), report.clone())]),
        svg(report.plots()),
        sparks(&plot, 9, 9).join("\n"),
    ];
    for form in &all {
        let bad = |letter: char| {
            letter.is_control() && letter != '\n' || "\u{202e}\u{200f}\u{61c}\u{2028}".contains(letter)
        };
        assert!(!form.contains(bad), "{form}");
        assert!(form.contains("\\u{1b}"), "{form}");
    }
    // In Markdown, a name stays within its cell, its code or its block.
    let markdown = &all[1];
    let table: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 3, "{table:?}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(table.iter().all(|line| bars(line) == 2), "{table:?}");
    assert!(!markdown.replace("\\<b\\>", "").contains("\n<b>"), "{markdown}");
    let fences: Vec<&str> = markdown.lines().filter(|line| ["````", "````text"].contains(line)).collect();
    assert_eq!(fences, ["````text", "````", "````text", "````"], "{markdown}");
    assert!(markdown.contains("\n````q\\u{1b}"), "code between more back quotes than it has: {markdown}");
}

/// A line that begins like a heading, a list, a rule or code is shown unchanged.
#[test]
fn a_line_in_markdown_begins_nothing() {
    let lines = [
        ("1. a", "1\\. a"),
        ("12) a", "12\\) a"),
        ("3.", "3\\."),
        ("9.5 ns", "9.5 ns"),
        ("  # a", "\\# a"),
        ("\t# a", "\\# a"),
        ("     code", "code"),
        ("- a", "\\- a"),
        ("===", "\\==="),
    ];
    let mut report = crate::result::empty("bench test");
    report.notes = lines.map(|(line, _)| line.to_owned()).into();
    let text = lines.map(|(line, _)| format!("x\n{line}")).join("\n");
    report.sections = vec![Section::new("").text(text)];
    let markdown = markdown(&report);
    for (line, shown) in lines {
        assert!(markdown.contains(&format!("\n> {shown}\n")), "{line}: {markdown}");
        let paragraph = markdown.split("\n\n").last().unwrap();
        assert!(paragraph.lines().any(|found| found.trim_end() == shown), "{line}: {paragraph}");
    }
}

#[test]
fn a_report_says_when_it_was_made() {
    let dated = crate::result::Report { started: Some("2026-11-27T17:31:43Z".into()), ..report() };
    assert!(text(&dated).contains("\ndate   2026-11-27T17:31:43Z\n"));
    assert!(markdown(&dated).contains("\ndate   2026-11-27T17:31:43Z\n"));
    let page = html(&[("a.json".to_owned(), dated)]);
    let date = "<time datetime=\"2026-11-27T17:31:43Z\">2026-11-27 17:31 UTC</time>";
    assert!(page.contains(date), "{page}");
    assert!(!text(&report()).contains("date "), "an old result has no date");
}

/// Returns the numbers of an attribute, in order.
fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
    let begin = format!(" {attribute}=\"");
    let parts = svg.split(&begin).skip(1);
    parts.filter_map(|part| part.split('"').next()?.parse().ok()).collect()
}

fn height(svg: &str) -> f64 {
    let size = svg.split("viewBox=\"0 0 ").nth(1).unwrap().split('"').next().unwrap();
    size.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn one_population_is_a_picture_of_rows() {
    let axes = (Axis::log("timers", Format::Count), Axis::log("ns", Format::Ns));
    let one = [("list", 40.0), ("heap4", 20.0), ("wheel", 300.0)]
        .into_iter()
        .fold(Plot::new("hold", axes.0, axes.1), |plot, (name, ns)| plot.curve(name, [(1000.0, ns)]));
    let section = Section::new("Time").plot(one);
    assert!(section.is_picture_alone(), "a text has a table instead");
    let report = crate::result::Report { sections: vec![section], ..crate::result::empty("bench hold") };
    assert!(!text(&report).contains("Time"));
    let svg = svg(report.plots());
    assert!(height(&svg) > 100.0, "{svg}");
    assert_eq!(svg.matches("<circle").count(), 3);
    let names: Vec<usize> = ["heap4<", "list<", "wheel<"].map(|name| svg.find(name).unwrap()).to_vec();
    assert!(names.is_sorted(), "the fastest is first: {svg}");
    assert!(svg.contains("hold, 1k timers<") && svg.contains(">300</text>"), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    // Two structures are drawn as points with a legend, in the middle of the axis.
    let axes = (Axis::log("timers", Format::Count), Axis::log("ns", Format::Ns));
    let two = Plot::new("two", axes.0, axes.1).curve("a", [(1000.0, 3.0)]).curve("b", [(1000.0, 4.0)]);
    let two = svg_of(&two);
    assert!(two.contains(r#"d="M320.0 "#) && two.contains(">1k</text>"), "{two}");
    let none = super::svg([]);
    assert!(height(&none) > 0.0 && none.contains("Nothing was measured"), "{none}");
}

#[test]
fn forty_curves_look_different_and_their_legend_is_whole() {
    let axes = || (Axis::log("timers", Format::Count), Axis::log("ns", Format::Ns));
    let long = "from the average to the most of all of the calls of a scheduler";
    for mark in [Mark::Line, Mark::Steps, Mark::Dots] {
        let (x, y) = axes();
        let plot = (0..40).fold(Plot::new("many", x, y).marked(mark), |plot, at| {
            plot.curve(format!("{long} {at}"), [(1.0, 2.0), (2.0, 3.0), (9.0, 4.0)])
        });
        for svg in [svg_of(&plot), small(&plot)] {
            let legend = svg.split("<text ").filter(|text| text.contains("average")).count();
            assert!(legend >= 40, "{legend} entries");
            // A line of a name ends within the picture.
            let whole = svg.split("viewBox=\"0 0 ").nth(1).unwrap();
            let whole: f64 = whole.split(' ').next().unwrap().parse().unwrap();
            for text in svg
                .split("<text ")
                .skip(1)
                .filter(|text| text.starts_with("x=\"") && !text.contains("anchor"))
            {
                let words = text.split('>').nth(1).unwrap().split('<').next().unwrap();
                let x: f64 = text.split('"').nth(1).unwrap().parse().unwrap();
                let left = if text.contains("font-size") { x } else { x + 80.0 };
                assert!(left + 6.9 * words.len() as f64 <= whole + 1.0, "'{words}' is cut at {whole}");
            }
            let lowest = numbers(&svg, "y").into_iter().fold(0.0, f64::max);
            assert!(lowest + 44.0 < height(&svg), "the last entry is inside");
            let looks: std::collections::BTreeSet<String> = match mark {
                Mark::Dots => {
                    assert!(!svg.contains("stroke-dasharray"), "no lines in the legend of points");
                    let point = |part: &str| {
                        let fill = part.split('"').nth(1).unwrap().to_owned();
                        let path = part.split(" d=\"M").nth(1).unwrap().split('"').next().unwrap();
                        let path = path.split_once('m').unwrap().1.to_owned();
                        fill + &path
                    };
                    svg.split("class=\"point\" ").skip(1).map(point).collect()
                }
                _ => {
                    let style = |part: &str| {
                        let words: Vec<&str> = part.split('"').collect();
                        format!("{} {}", words[0], words[4])
                    };
                    svg.split("<path fill=\"none\" stroke=\"").skip(1).map(style).collect()
                }
            };
            assert_eq!(looks.len(), 40, "{mark:?}");
        }
    }
}

fn small(plot: &Plot) -> String {
    svg::small_svg_of(plot)
}

#[test]
fn a_text_plot_has_letters_for_fifty_two_curves() {
    let (x, y) = (Axis::linear("x", Format::Text), Axis::linear("y", Format::Text));
    let plot =
        (0..30).fold(Plot::new("p", x, y), |plot, at| plot.curve(format!("c{at}"), [(f64::from(at), 1.0)]));
    let text = super::plot(&plot);
    assert!(text.contains("z c25   A c26   B c27"), "{text}");
}
