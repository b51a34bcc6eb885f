use super::*;
use crate::result::{Axis, Finding, Plot, Series, Unit};
use crate::stats::Verdict;
use crate::tour::advice::tests::longest as longest_advice;
use crate::tour::plan;
use crate::tour::tests::report;

fn advice() -> [Advice; 1] {
    [Advice {
        about: "without an allocator",
        ranges: vec![("1 to 16 timers".into(), "list/hook, 20 ns".into())],
    }]
}

/// Returns a report with a headline, a plot of `curves` curves and a note.
fn found(name: &'static str, curves: usize) -> Report {
    let headline = Finding::stated("which tree", "heap4 41 ns a tick, rb-cached 55 ns")
        .published("within 12 % of each other")
        .judged(Verdict::Faster);
    let axes = (Axis::log("timers", Format::Count), Axis::log("ns", Format::Ns));
    let plot = Plot::new("a tick", axes.0, axes.1);
    let points = |at: usize| [1.0, 10.0, 100.0].map(|n| (n, (at + 1) as f64 * n * 10.0));
    let plot = (0..curves).fold(plot, |plot, at| plot.curve(format!("curve {at}"), points(at)));
    Report {
        notes: vec!["a note".into()],
        findings: vec![headline],
        sections: vec![Section::new("Ticks").plot(plot), Section::new("")],
        series: vec![Series::new("tick", Unit::Ns, Labels::new()).of([1.0])],
        ..report(name)
    }
}

/// Returns a report whose headline says that a published claim holds.
fn found_held() -> Report {
    let mut report = found("x", 1);
    report.findings[0].verdict = Verdict::Held;
    report
}

#[test]
fn the_words_about_a_published_claim_are_explained_where_they_are() {
    let said = meaning(&[found("x", 1), found_held()]);
    assert!(said.contains("a published claim is a direction") && said.lines().count() == 1, "{said}");
    assert_eq!(meaning(&[found("x", 1)]), "\n", "a ratio by itself does not say what was claimed");
}

#[test]
fn a_part_is_its_question_its_answer_and_a_small_picture() {
    insta::assert_snapshot!(block("hold", "which structure is fastest?", &found("bench hold", 4)));
}

#[test]
fn the_page_has_at_most_sixty_lines() {
    // Each headline needs two lines. Benches have no published figures.
    let longest = |part: &Part| {
        let mut report = found("x", 9);
        for finding in &mut report.findings {
            finding.here = "x".repeat(WIDTH - 20);
            finding.published = ["reproduce", "latency"]
                .iter()
                .any(|kind| part.command.starts_with(kind))
                .then(|| "x".repeat(WIDTH - 20));
        }
        block(part.name, part.about, &report)
    };
    let parts: String = plan().iter().map(longest).collect();
    let advice = longest_advice();
    // Four lines precede the parts: the command that runs, and three lines about the host.
    let said = meaning(&[found("x", 1), found_held()]);
    let page = parts + &said + &conclusion(&advice) + &next(Path::new("page.html"));
    let lines = 4 + page.lines().count();
    assert!(lines <= 60, "{lines} lines:\n{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 110), "{page}");
}

#[test]
fn the_html_page_begins_with_headlines_advice_and_pictures() {
    let reports = [found("bench hold", 2), found("bench network", 1)];
    let advice = advice();
    let all = merged("tour", &reports, &advice).unwrap();
    let plan = plan();
    let front = front(&all, &plan, &reports, &advice);
    let asked: Vec<String> = front.findings.iter().map(|finding| finding.about.clone()).collect();
    assert_eq!(asked, [0, 1].map(|at: usize| format!("{}: {}", plan[at].name, plan[at].about)));
    let titles: Vec<&str> = front.plots().map(|plot| plot.title.as_str()).collect();
    assert_eq!(titles, ["hold: a tick", "network: a tick"]);
    assert_eq!(front.sections[0].title, "On this machine");
}

#[test]
fn a_verdict_is_said_once() {
    let mut report = found("bench hold", 1);
    report.findings[0] =
        Finding::stated("order", "no difference shown between any two").judged(Verdict::NoDifferenceShown);
    let said = block("latency", "how late?", &report);
    assert_eq!(said.matches("no difference shown").count(), 1, "{said}");
}

#[test]
fn a_part_with_a_published_figure_says_whether_the_claim_holds() {
    let mut report = found("reproduce nptl", 1);
    let mut said = |verdict, claim| {
        report.findings[0].verdict = verdict;
        report.findings[0].claim = claim;
        block("nptl", "which threads?", &report)
    };
    // This run shows the structure to be faster, although it was published as slower.
    let failed = said(Verdict::Faster, Some(Claim::slower(Verdict::Faster)));
    assert!(failed.contains("; the published claim DOES NOT HOLD here\n"), "{failed}");
    assert!(!failed.contains("; faster"), "{failed}");
    assert!(said(Verdict::Held, None).contains("; the published claim holds\n"));
    assert!(said(Verdict::NotShown, None).contains("; the published claim cannot be told here\n"));
    // A ratio by itself does not say what was claimed.
    assert!(said(Verdict::Faster, None).contains("; faster\n"));
}

#[test]
fn an_interrupted_part_says_so() {
    let partial = Report { interrupted: true, ..found("bench hold", 1) };
    assert!(block("hold", "which structure is fastest?", &partial).contains("INTERRUPTED"));
}

#[test]
fn parts_become_one_report_that_names_them() {
    let advice = advice();
    let mut parts = [found("bench hold", 1), found("reproduce linux", 1)];
    for (part, load) in parts.iter_mut().zip(["2.1", "2.4"]) {
        part.notes.push(format!("load {load}"));
    }
    let all = merged("tour", &parts, &advice).unwrap();
    assert_eq!(all.notes, ["a note", "load 2.1"]);
    let titles: Vec<&str> = all.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "In short",
            "On this machine",
            "What repeats each part",
            "bench hold: Ticks",
            "bench hold",
            "reproduce linux: Ticks",
            "reproduce linux"
        ]
    );
    assert_eq!(all.series[1].labels["experiment"], "reproduce linux".to_owned().into());
    insta::assert_snapshot!(render::sections(&all.sections[..3]));
    assert!(merged("tour", &[], &advice).is_none());
}
