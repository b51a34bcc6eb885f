use super::*;
use crate::format::Format;

fn whole() -> Report {
    let mut report = empty("bench hold");
    report.parameters.insert("rounds".into(), 9_u32.into());
    report.series =
        vec![Series::new("hold", Unit::Ns, labels([("n", 16_u32.into())])).per("operation").of([1.0, 2.0])];
    let figure = crate::stats::summarise([0.4, 0.5, 0.5, 0.5, 0.5, 0.6]).unwrap();
    report.findings = vec![Finding::ratio("heap4 beside list", figure, "0.5 of it").published("slower")];
    let mut table = Table::of([("structure", Format::Text), ("ns", Format::Ns)]);
    table.row(["heap4".into(), 9.5.into()]);
    table.row(["list".into(), Cell::maybe(None)]);
    let plot = Plot::new("time", Axis::log("timers", Format::Count), Axis::linear("ns", Format::Ns));
    let plot = plot.curve("heap4", [(1.0, 2.0), (3.0, 3.0), (10.0, 4.0), (0.0, 1.0), (5.0, f64::NAN)]);
    report.sections = vec![Section::new("Hold").text("Words.").table(table).plot(plot)];
    report
}

#[test]
fn a_report_comes_back_from_its_json() {
    let text = serde_json::to_string(&whole()).unwrap();
    assert_eq!(Report::parse("r.json", &text).unwrap(), whole());
    assert_eq!(whole().find("hold", &labels([("n", 16_u32.into())])).unwrap().samples, [1.0, 2.0]);
    assert_eq!(whole().find("hold", &labels([("n", 17_u32.into())])), None);
    assert_eq!(whole().findings[0].verdict, crate::stats::Verdict::Faster);
}

#[test]
fn columns_of_one_format_can_be_added_at_once() {
    let one_by_one = Table::new().column("from", Format::Ns).column("to", Format::Ns);
    assert_eq!(Table::new().columns(["from", "to"], Format::Ns), one_by_one);
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let report = whole();
    let plot = report.plots().next().unwrap();
    assert_eq!(plot.curves[0].points, [(1.0, 2.0), (3.0, 3.0), (10.0, 4.0)]);
    let plot = || Plot::new("", Axis::linear("x", Format::Text), Axis::linear("y", Format::Text));
    let none = plot().curve("no point", [(f64::NAN, 1.0)]);
    let section = Section::new("").table(Table::new()).text(" \n").plot(none);
    assert_eq!(section.blocks, []);
    // A separate picture shows a curve of two points, but a text does not.
    let two = plot().curve("two points", [(1.0, 1.0), (2.0, 2.0)]);
    assert!(!two.has_course() && Section::new("").plot(two).is_picture_alone());
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let error = Report::parse("r.json", text).unwrap_err();
    assert_eq!(error.code(), 2);
    for word in words.iter().chain(&["'r.json'"]) {
        assert!(error.to_string().contains(word), "'{word}' is missing in: {error}");
    }
}

#[test]
fn a_file_that_is_no_report_is_named_with_the_remedy() {
    let text = serde_json::to_string(&whole()).unwrap();
    refused("", &["ends too early", "--json=FILE"]);
    refused(&text[..text.len() - 9], &["ends too early"]);
    refused("[1]", &["no result"]);
    refused("{]", &["no JSON"]);
    refused(
        "{\"schema\": 1, \"command\": \"tickwright bench hold --json=a\"}",
        &["schema 1", "`tickwright bench hold --json=FILE`"],
    );
    refused("{\"schema\": 3}", &["schema 3", "reads schema 2"]);
    refused(&text.replace("\"series\"", "\"serious\""), &["damaged", "series", "`tickwright bench hold"]);
}

#[test]
fn control_characters_of_a_file_do_not_reach_a_terminal() {
    let mut report = whole();
    report.sections[0].title = "a\u{1b}[31mb".into();
    report.notes = vec!["c\u{7}".into()];
    let text = serde_json::to_string(&report).unwrap();
    let read = Report::parse("r.json", &text).unwrap();
    assert_eq!((read.sections[0].title.as_str(), read.notes[0].as_str()), ("a\\u{1b}[31mb", "c\\u{7}"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Report::read(std::path::Path::new("/no/such/r.json")).unwrap_err();
    assert!(error.to_string().contains("'/no/such/r.json' cannot be read"), "{error}");
}

#[test]
fn a_round_without_a_figure_is_no_number_in_every_form() {
    let series = Series::new("lateness", Unit::Ns, labels([])).of([1.0, f64::NAN]);
    let json = serde_json::to_string(&series).unwrap();
    assert!(json.contains("[1.0,null]"), "{json}");
    let read: Series = serde_json::from_str(&json).unwrap();
    assert!(read.samples[0] == 1.0 && read.samples[1].is_nan());
}

#[test]
fn a_point_that_cannot_be_drawn_is_dropped_from_a_file() {
    let axis = |log| Axis { log, ..Axis::linear("x", Format::Count) };
    let plot = Plot::new("p", axis(false), axis(true)).curve("a", [(1.0, 1.0), (2.0, 100.0)]);
    let report = Report { sections: vec![Section::new("s").plot(plot)], ..whole() };
    let text = serde_json::to_string(&report).unwrap().replace("[1.0,1.0]", "[1.0,0.0]");
    let read = Report::parse("stranger.json", &text).unwrap();
    let Block::Plot(plot) = &read.sections[0].blocks[0] else { panic!("a plot") };
    assert_eq!(plot.curves[0].points, [(2.0, 100.0)]);
}

#[test]
fn the_workload_is_what_defines_the_work() {
    let words = |rounds: u32, structures: &'static str, n: &'static str, seed| {
        let pairs = [("rounds", rounds.into()), ("structures", structures.into()), ("n", n.into())];
        workload::words(Some(seed), &crate::request::parameters(pairs))
    };
    assert_eq!(words(9, "list", "1k", 1), words(25, "heap4,list", "1k", 1));
    let hash = |words: &str| workload::hash("bench hold", words);
    let one = hash(&words(9, "list", "1k", 1));
    // A hash is compared with hashes of other versions of this program, so it must never change.
    assert_eq!(one, "1852f4889cbaa0f2");
    assert_ne!(one, hash(&words(9, "list", "10k", 1)));
    assert_ne!(one, hash(&words(9, "list", "1k", 2)));
    assert_ne!(one, workload::hash("bench network", &words(9, "list", "1k", 1)));
}

#[test]
fn a_comparison_of_two_workloads_is_doubted() {
    let of = |workload: Option<&str>, n: &'static str| {
        let parameters = crate::request::parameters([("rounds", 9_u32.into()), ("n", n.into())]);
        Report { workload: workload.map(str::to_owned), parameters, ..whole() }
    };
    assert_eq!(workload::doubt(&of(Some("a"), "1k"), &of(Some("a"), "1k")), None);
    assert_eq!(workload::doubt(&of(None, "1k"), &of(Some("b"), "10k")), None, "too old to say");
    let doubt = workload::doubt(&of(Some("a"), "1k"), &of(Some("b"), "10k")).unwrap();
    assert!(doubt.contains("different workloads (a and b): n 1k and 10k; what"), "{doubt}");
}

#[test]
fn a_result_without_sections_is_shown_by_its_series() {
    let text = serde_json::to_string(&Report { sections: Vec::new(), ..whole() }).unwrap();
    let shown = crate::render::text(&Report::parse("r.json", &text).unwrap());
    assert!(shown.contains("hold, ns per operation"), "{shown}");
}
