use super::*;
use crate::format::Format;
use crate::result::{Axis, empty};

fn report() -> Report {
    let mut report = empty("bench hold");
    report.notes = vec!["a note <b>".into()];
    report.findings = vec![
        Finding::stated("what & why", "here").published("5.5 %"),
        Finding::stated("another", "there").judged(Verdict::Missed),
    ];
    let mut table = Table::new().column("structure", Format::Text).column("ns", Format::Ns);
    table.row(["<script>alert(1)</script>".into(), 9.5.into()]);
    let plot = Plot::new("Time", Axis::log("timers", Format::Count), Axis::log("ns", Format::Ns))
        .curve("heap4", [(1.0, 2.0), (30.0, 9.0), (1000.0, 30.0)]);
    report.sections = vec![Section::new("Hold").text("Two\nlines.").table(table).plot(plot)];
    report
}

fn page(reports: usize) -> String {
    html(&vec![("a.json".to_owned(), report()); reports])
}

#[test]
fn nothing_is_fetched_and_nothing_runs() {
    let page = page(2);
    for word in ["<script", "src=", "@import", "url(", "http://", "https://"] {
        let own = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains(word), "'{word}' is in the page");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("a note &lt;b&gt;"));
}

#[test]
fn every_element_is_closed_and_every_link_leads_somewhere() {
    let page = page(3);
    for tag in
        ["article", "table", "tr", "td", "th", "div", "details", "figure", "svg", "ol", "li", "p", "h3"]
    {
        let open = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    for at in 0..3 {
        assert!(page.contains(&format!("href=\"#r{at}\"")) && page.contains(&format!("id=\"r{at}\"")));
    }
}

#[test]
fn a_verdict_has_a_sign_and_a_plot_has_its_points() {
    let page = page(1);
    assert!(page.contains("<td class=\"bad\">\u{25bc} MISSED</td>"));
    assert!(page.contains("<th>published</th>") && page.contains("5.5 %"));
    assert!(page.contains("<td>heap4</td><td class=\"figure\">1k</td><td class=\"figure\">30</td>"));
    assert!(page.contains("One result with") && page.contains("seed   7"));
}

#[test]
fn many_plots_stand_beside_each_other() {
    let mut report = report();
    let plot = report.plots().next().unwrap().clone();
    for (plots, beside) in [(3, false), (4, true)] {
        report.sections =
            vec![(0..plots).fold(Section::new("Plots"), |section, _| section.plot(plot.clone()))];
        let page = html(&[("a.json".to_owned(), report.clone())]);
        assert_eq!(page.matches("<figure>").count(), plots);
        assert_eq!(page.contains("<div class=\"beside\">\n<figure>"), beside, "{plots} plots");
    }
}

#[test]
fn a_table_with_long_words_wraps_them() {
    for (length, wraps) in [(60, false), (61, true)] {
        let mut table = Table::new().column("words", Format::Text);
        table.row(["x".repeat(length).into()]);
        let report =
            Report { findings: Vec::new(), sections: vec![Section::new("").table(table)], ..report() };
        let page = html(&[("a.json".to_owned(), report)]);
        assert_eq!(page.contains("<table class=\"words\">"), wraps, "{length} letters");
    }
}

#[test]
fn results_of_one_command_are_told_apart() {
    let named = |file: &str, date: &str| (file.to_owned(), Report { started: Some(date.into()), ..report() });
    let page = html(&[
        named("monday.json", "2026-11-23T10:00:00Z"),
        named("friday.json", "2026-11-27T10:00:00Z"),
        ("old.json".to_owned(), report()),
    ]);
    let nav = &page[page.find("<nav").unwrap()..page.find("</nav>").unwrap()];
    let entries: Vec<&str> = nav.lines().filter(|line| line.starts_with("<li>")).collect();
    let without_link = |entry: &&str| entry.split("</a>").nth(1).unwrap().to_owned();
    let more: Vec<String> = entries.iter().map(without_link).collect();
    assert_eq!(
        more,
        [
            " <small>monday.json, 2026-11-23 10:00 UTC</small></li>",
            " <small>friday.json, 2026-11-27 10:00 UTC</small></li>",
            " <small>old.json</small></li>",
        ]
    );
}

#[test]
fn a_claim_has_its_own_sign() {
    let mut report = report();
    let finding = |verdict| Finding::stated("what", "0.16x").published("4.00x").judged(verdict);
    report.findings = vec![
        finding(Verdict::Faster).claimed(Claim::slower(Verdict::Faster)),
        finding(Verdict::Held),
        finding(Verdict::NotShown),
        finding(Verdict::Faster),
    ];
    let page = html(&[("a.json".to_owned(), report)]);
    assert!(
        page.contains("<td class=\"bad\">\u{2717} the published claim DOES NOT HOLD here</td>"),
        "{page}"
    );
    assert!(page.contains("<td class=\"good\">\u{2713} the published claim holds</td>"));
    assert!(page.contains("<td class=\"open\">? the published claim cannot be told here</td>"));
    assert!(page.contains("<td class=\"good\">\u{25b2} faster</td>"));
}
