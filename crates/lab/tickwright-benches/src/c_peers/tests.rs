use super::{PeersArgs, Printed};
use crate::experiment::Experiment;
use crate::render;
use crate::request;
use crate::stats::Verdict;

/// Returns an output of the C program in which one library is twice as slow as ours and another is
/// missing.
fn printed() -> String {
    let sample = |peer: &str, round: u64, operation: &str, ns: u64| {
        format!(
            r#"{{ "peer": "{peer}", "n": 1000, "round": {round}, "lock": false, "clock": "cached", "operation": "{operation}", "ns_per_operation": {ns}.00 }}"#
        )
    };
    let mut samples = Vec::new();
    for round in 0..8 {
        for operation in ["add", "rearm", "del"] {
            samples.push(sample("libother", round, operation, 40 + round));
            samples.push(sample("libev", round, operation, 18 + round % 2));
            samples.push(sample("tickwright/wheel", round, operation, 20));
            samples.push(sample("tickwright/heap4", round, operation, 19 + round % 3));
        }
    }
    format!(
        r#"{{ "schema": 1, "seed": 1, "rounds": 8, "skipped": [{{ "peer": "libnone", "why": "not built: no libnone" }}], "samples": [{}] }}"#,
        samples.join(",")
    )
}

/// The lines have the form that the program prints.
#[test]
fn what_an_interrupted_program_printed_is_kept() {
    let cut = r#"{
  "schema": 1,
  "skipped": [
    { "peer": "libnone", "why": "not built" }
  ],
  "samples": [
    { "peer": "libother", "n": 10, "round": 1, "lock": false, "clock": "cached", "operation": "add", "ns_per_operation": 4.50 },
    { "peer": "libother", "n": 10, "rou"#;
    let Printed { skipped, samples } = Printed::so_far(cut);
    assert_eq!((skipped.len(), samples.len()), (1, 1));
    assert_eq!((samples[0].operation.as_str(), samples[0].ns_per_operation), ("add", 4.5));
}

#[test]
fn a_report_says_how_many_times_ours_each_library_takes() {
    let printed: Printed = serde_json::from_str(&printed()).unwrap();
    let args: PeersArgs = request::words(&["--n", "1k", "--rounds", "8"]).unwrap();
    let sizes = args.plan().unwrap();
    let findings = args.findings(&sizes, &printed);
    let slower = findings.iter().filter(|finding| finding.verdict == Verdict::Slower).count();
    let missed = findings.iter().filter(|finding| finding.verdict == Verdict::Missed).count();
    assert_eq!((findings.len(), slower, missed), (10, 3, 1));
    assert_eq!(args.series(&sizes, &printed).len(), 12);
    insta::assert_snapshot!(render::sections(&args.sections(&sizes, &printed, &findings)));
}
