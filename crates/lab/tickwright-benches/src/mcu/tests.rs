use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::result::Report;

const HEADER: &str = "what,processor,level,structure,n,of,mean,worst";

fn args(words: &[&str]) -> McuArgs {
    request::words(words).unwrap()
}

fn report(words: &[&str]) -> Report {
    let args = args(words);
    conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(0)).unwrap()
}

fn refused(words: &[&str]) -> String {
    args(words).plan().unwrap_err().to_string()
}

#[test]
fn the_record_is_a_report() {
    insta::assert_snapshot!(crate::render::sections(&report(&[]).sections));
}

#[test]
fn each_processor_and_level_of_the_record_is_shown() {
    let (_, record) = args(&[]).record().unwrap();
    for processor in record.distinct(|row| &row.processor) {
        for level in ["3", "s"] {
            let report = report(&["--processor", processor, "--level", level]);
            assert_eq!(report.findings.len(), choice::USES.len(), "{processor} {level}");
            let insert = labels([("structure", "list".into()), ("n", 16u64.into())]);
            let mean = report.find("insert", &insert).unwrap().samples[0];
            let worst = report.find("insert, worst", &insert).unwrap().samples[0];
            assert!(mean > 0.0 && worst >= mean);
            assert_eq!(report.plots().count(), 2);
        }
    }
    let unknown = refused(&["--processor", "Z80"]);
    assert!(unknown.contains("no processor 'Z80'") && unknown.contains("RV32IMC"), "{unknown}");
    let unknown = refused(&["--level", "z"]);
    assert!(unknown.contains("no optimization level 'z'") && unknown.ends_with("it has 3, s"), "{unknown}");
}

#[test]
fn the_workload_is_what_was_called_and_not_the_file() {
    let of = |name: &str, rows: &str| {
        let (args, rows) = (args(&[]), Record::parse(name, &format!("{HEADER}\n{rows}")).unwrap().rows);
        let plan = Plan { name: name.into(), processor: "M3".into(), level: "s".into(), rows };
        args.workload(&plan)
    };
    let one = of("one.csv", "instructions,M3,s,list,4,insert,60,76");
    assert_eq!(one, of("other.csv", "instructions,M3,s,heap,4,insert,50,70"), "figures are no work");
    assert_ne!(one, of("one.csv", "instructions,M3,s,list,8,insert,60,76"));
}

/// The figures for Embassy's tasks are in separate tables, because the tasks are not a structure
/// that a user chooses, and have no number of timers.
#[test]
fn tasks_of_embassy_have_their_own_tables() {
    let report = report(&[]);
    for (structure, at_least) in [("embassy", 1_000.0), ("tickwright-embassy", 100.0)] {
        let tasks = labels([("structure", structure.into()), ("n", 32u64.into())]);
        let wake_up = report.find("wake-up", &tasks).unwrap();
        assert!(wake_up.samples[0] > at_least, "{structure}");
    }
    let (_, record) = args(&[]).record().unwrap();
    assert_eq!(choice::sizes(&record.rows), [1, 4, 16, 64]);
}

#[test]
fn the_choice_changes_where_the_figures_cross() {
    let text = format!(
        "{HEADER}\n\
         instructions,M,s,list,1,insert,10,10\ninstructions,M,s,list,1,fire,10,10\n\
         instructions,M,s,list,4,insert,15,20\ninstructions,M,s,list,4,fire,10,10\n\
         instructions,M,s,list,16,insert,60,90\ninstructions,M,s,list,16,fire,10,10\n\
         instructions,M,s,tree,1,insert,20,21\ninstructions,M,s,tree,1,fire,20,21\n\
         instructions,M,s,tree,4,insert,22,25\ninstructions,M,s,tree,4,fire,20,26\n\
         instructions,M,s,tree,16,insert,25,28\ninstructions,M,s,tree,16,fire,22,29\n"
    );
    let rows = Record::parse("made up", &text).unwrap().rows;
    let found: Vec<_> = choice::findings(&rows).into_iter().map(|found| (found.about, found.here)).collect();
    let words = "list up to n = 4, tree from n = 16";
    let expected = [("cheapest for insert + fire", words), ("cheapest for worst call", words)];
    assert_eq!(found, expected.map(|(about, here)| (about.to_owned(), here.to_owned())));
    let plan = Plan { name: "made up".into(), processor: "M".into(), level: "s".into(), rows };
    let shown = crate::render::sections(&tables::sections(&plan));
    assert!(shown.contains("The file has no bytes for M at opt-level s."), "{shown}");
}

#[test]
fn a_damaged_file_is_named_by_line() {
    let good = "instructions,M,s,list,1,insert,10,12";
    for (text, words) in [
        (String::new(), "line 1: the header must be `what,processor,"),
        (format!("{HEADER},more\n{good}\n"), "line 1: the header"),
        (format!("{HEADER}\n"), "line 2: a figure is missing"),
        (format!("{HEADER}\n{good}\ninstructions,M,s,list,1\n"), "line 3: it has 5 fields, not 8"),
        (format!("{HEADER}\n{good},\n"), "line 2: it has 9 fields, not 8"),
        (format!("{HEADER}\n\n{good}\n\n{good}\n"), "line 5: line 3 has this figure already"),
        (format!("{HEADER}\ncycles,M,s,list,1,insert,1,1\n"), "line 2: what is 'cycles'"),
        (format!("{HEADER}\ninstructions,M,s,,1,insert,1,1\n"), "line 2: structure is empty"),
        (format!("{HEADER}\ninstructions,M,s,list,x,insert,1,1\n"), "line 2: n is 'x'"),
        (format!("{HEADER}\ninstructions,M,s,list,1,insert,-1,1\n"), "line 2: mean is '-1'"),
        (format!("{HEADER}\ninstructions,M,s,list,1,insert,1,\n"), "line 2: worst is ''"),
        (format!("{HEADER}\ninstructions,M,s,list,1,insert,9,8\n"), "line 2: worst is 8, less than"),
        (format!("{HEADER}\ninstructions,M,s,list,1,insert,1,9007199254740992\n"), "below 2^53"),
        (format!("{HEADER}\nbytes,M,s,list,1,flash,1,1\n"), "line 2: worst is '1', and bytes have none"),
        (format!("{HEADER}\nbytes,M,s,list,1,flash,\u{1b}[31m,\n"), "line 2: mean is '"),
    ] {
        let error = Record::parse("own.csv", &text).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("'own.csv', ") && said.contains(words), "{text:?}: {said}");
        assert!(said.ends_with("`ci/mcu.py --save` writes such a file") && !said.contains('\u{1b}'));
        assert_eq!(error.code(), 2);
    }
    assert!(refused(&["--file", "/nowhere/mcu.csv"]).starts_with("'/nowhere/mcu.csv' cannot be read: "));
}

#[test]
fn every_cut_of_the_record_is_read_or_refused() {
    let (name, text) = OURS;
    for end in (0..2_000).chain(text.len() - 40..=text.len()) {
        let _ = Record::parse(name, &text[..end]);
    }
    // This file has the line ends of Windows.
    assert_eq!(
        Record::parse(name, &text.replace('\n', "\r\n")).unwrap().rows,
        Record::parse(name, text).unwrap().rows
    );
}
