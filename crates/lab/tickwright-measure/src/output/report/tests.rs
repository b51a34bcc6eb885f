use super::*;
use crate::format::Format;
use crate::output::folder::Folder;
use crate::result::{Axis, Claim, Finding, Plot, Section, Series, Unit, labels};
use crate::stats::{Interval, Summary, Verdict, summarise};

fn report() -> Report {
    let of = |structure: &'static str| labels([("structure", structure.into()), ("n", 500_u32.into())]);
    let mut report = crate::result::empty("bench test");
    report.series = vec![
        Series::new("insert", Unit::Ns, of("rb, slab")).per("operation").of([1.5, 2.0]),
        Series::new("alive", Unit::Count, labels([])).of([3.0]),
    ];
    let axes = (Axis::log("timers", Format::Count), Axis::log("ns", Format::Ns));
    let plot = Plot::new("Insert", axes.0, axes.1).curve("rb, slab", [(500.0, 1.75)]);
    report.sections = vec![Section::new("Insert").text("Nothing is wrong.").plot(plot)];
    let interval = Interval { low: 0.25, high: 1.0, coverage: 0.96 };
    let figure = Summary { median: 0.5, interval, ..summarise([0.5]).unwrap() };
    report.findings = vec![
        Finding::stated("order", "reversed").published("as inserted").judged(Verdict::Missed),
        Finding { figure: Some(figure), ..Finding::stated("rb to list", "half") }
            .judged(Verdict::Faster)
            .published("2x")
            .claimed(Claim::Holds)
            .labelled(labels([("n", 500_u32.into()), ("beside", "list".into())])),
    ];
    report
}

#[test]
fn every_form_of_a_report_says_whether_it_is_whole() {
    let folder = Folder::new("forms");
    let [json, csv, markdown] = ["r.json", "r.csv", "r.md"].map(|name| folder.join(name));
    for interrupted in [false, true] {
        let args = OutputArgs {
            json: Some(json.clone()),
            csv: Some(csv.clone()),
            markdown: Some(markdown.clone()),
            svg: Some(folder.join("r.svg")),
            ..OutputArgs::default()
        };
        let files = args.open(&[]).unwrap();
        let delivered = files.deliver(&Report { interrupted, ..report() });
        assert_eq!(matches!(delivered, Err(LabError::Interrupted)), interrupted);
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(Report::read(&json).unwrap(), Report { interrupted, ..report() });
        let lines = format!(
            "2,bench test,insert,ns,operation,500,\"rb, slab\",1,1.5,{interrupted},sample,,,,,,,,\n\
             2,bench test,insert,ns,operation,500,\"rb, slab\",2,2,{interrupted},sample,,,,,,,,\n\
             2,bench test,alive,count,,,,1,3,{interrupted},sample,,,,,,,,\n\
             2,bench test,,,,,,,,{interrupted},finding,order,as inserted,reversed,,,,missed,fails\n\
             2,bench test,,,,500,,,0.5,{interrupted},finding,rb to list,2x,half,0.25,1,,faster,holds\n"
        );
        let heading = "schema,experiment,series,unit,per,n,structure,sample,value,interrupted,kind,about,\
                       published,here,low,high,bound,verdict,claim\n";
        assert_eq!(read(&csv), format!("{heading}{lines}"));
        assert_eq!(read(&markdown).contains("**Interrupted**"), interrupted);
        assert!(read(&folder.join("r.svg")).ends_with("</svg>\n"));
    }
}

#[test]
fn a_report_without_samples_has_a_row_that_says_whether_it_is_whole() {
    let mut out = Vec::new();
    write_csv(&Report { interrupted: true, ..crate::result::empty("bench test") }, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let (heading, row) = text.split_once('\n').unwrap();
    assert!(heading.starts_with("schema,experiment,series,unit,per,sample,value,interrupted,kind,about,"));
    assert_eq!(row, "2,bench test,,,,,,true,none,,,,,,,,\n");
}

#[test]
fn two_outputs_in_one_place_are_refused() {
    let dash = || Some(PathBuf::from("-"));
    for args in [
        OutputArgs { json: dash(), csv: dash(), ..OutputArgs::default() },
        OutputArgs { markdown: dash(), svg: dash(), ..OutputArgs::default() },
    ] {
        let error = args.open(&[]).unwrap_err();
        assert!(error.to_string().contains("standard output"), "{error}");
    }
    let folder = Folder::new("same");
    let plain = Some(folder.join("r"));
    let detour = Some(folder.join(".").join("r"));
    let error = OutputArgs { csv: plain, markdown: detour, ..OutputArgs::default() }
        .open(&[])
        .unwrap_err()
        .to_string();
    assert!(error.contains("--csv and --markdown") && error.contains("nothing was run"), "{error}");
    assert!(!OutputArgs { svg: dash(), ..OutputArgs::default() }.open(&[]).unwrap().terminal());
    assert!(OutputArgs::default().open(&[]).unwrap().terminal());
}

#[test]
fn an_output_that_is_an_input_is_refused_and_left_as_it_is() {
    let folder = Folder::new("input");
    let [input, link, other] = ["r.json", "link", "other"].map(|name| folder.join(name));
    std::fs::write(&input, "precious").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&input, &link).unwrap();
    let detour = folder.join(".").join("r.json");
    let mut ways = vec![input.clone(), detour];
    ways.extend(cfg!(unix).then_some(link));
    for way in ways {
        let some = || Some(way.clone());
        for (flag, args) in [
            ("--json", OutputArgs { json: some(), ..OutputArgs::default() }),
            ("--csv", OutputArgs { csv: some(), ..OutputArgs::default() }),
            ("--markdown", OutputArgs { markdown: some(), ..OutputArgs::default() }),
            ("--svg", OutputArgs { svg: some(), ..OutputArgs::default() }),
        ] {
            let error = args.open(&[&other, &input]).unwrap_err();
            assert_eq!(error.code(), 2);
            let said = error.to_string();
            assert!(said.starts_with(flag) && said.contains("which the command reads"), "{said}");
            args.open(&[&other]).unwrap();
        }
    }
    assert_eq!(std::fs::read_to_string(&input).unwrap(), "precious");
}

#[test]
fn a_condition_decides_after_the_report_is_written() {
    let folder = Folder::new("conditions");
    let json = folder.join("r.json");
    let deliver = |condition: &str| {
        let args = OutputArgs {
            json: Some(json.clone()),
            fail_if: vec![condition.parse().unwrap()],
            ..OutputArgs::default()
        };
        let delivered = args.open(&[]).unwrap().deliver(&report());
        assert_eq!(Report::read(&json).unwrap(), report());
        delivered
    };
    deliver("max(insert) > 2ns").unwrap();
    let failed = deliver("max(insert) >= 2ns").unwrap_err();
    assert_eq!(failed.code(), 1);
    assert!(failed.to_string().contains("insert (n 500, structure rb, slab) has 2.0"), "{failed}");
    assert_eq!(deliver("max(none) > 2count").unwrap_err().code(), 2);
}

#[test]
fn files_beside_a_report_have_places_of_their_own() {
    let folder = Folder::new("beside");
    let [json, log, plot] = ["r.json", "r.log", "r.gp"].map(|name| folder.join(name));
    let args = OutputArgs { json: Some(json.clone()), ..OutputArgs::default() };
    let open = |log: &Path, plot: Option<&Path>| args.open_beside([("--log", Some(log)), ("--plot", plot)]);
    let refused = |log: &Path, plot: &Path| open(log, Some(plot)).unwrap_err().to_string();
    assert!(refused(&json, &plot).contains("--json and --log cannot both go to"));
    assert!(refused(&log, &log).contains("--log and --plot cannot both go to"));
    assert!(refused(&log, Path::new("-")).contains("--plot needs a file"));
    let [file, none] = open(&log, None).unwrap();
    assert!(none.is_none() && !log.exists(), "nothing is written before the run");
    file.unwrap().write("text").unwrap();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "text");
    assert!(args.terminal() && !OutputArgs { csv: Some("-".into()), ..args }.terminal());
}

#[test]
fn a_result_without_a_plot_refuses_a_picture_and_still_writes_the_rest() {
    let folder = Folder::new("no-plot");
    let [json, svg] = ["r.json", "r.svg"].map(|name| folder.join(name));
    let args = OutputArgs { json: Some(json.clone()), svg: Some(svg.clone()), ..OutputArgs::default() };
    let plain = Report { sections: Vec::new(), ..report() };
    let refused = args.open(&[]).unwrap().deliver(&plain).unwrap_err();
    assert!(refused.to_string().contains("this result has no plot"), "{refused}");
    assert!(!svg.exists() && json.exists());
    // A run that was stopped before its first figure only counts as interrupted.
    let partial = args.open(&[]).unwrap().deliver(&Report { interrupted: true, ..plain });
    assert!(matches!(partial, Err(LabError::Interrupted)));
    assert!(std::fs::read_to_string(&svg).unwrap().contains("Nothing was measured"));
}
