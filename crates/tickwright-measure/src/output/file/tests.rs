use super::*;

#[derive(Serialize)]
struct Row {
    structure: &'static str,
    ns: f64,
}

#[test]
fn results_replace_what_was_there_and_nothing_else_does() {
    let path = std::env::temp_dir().join(format!("tickwright-output-{}.csv", std::process::id()));
    std::fs::write(&path, "old and rather longer than what replaces it").unwrap();
    let files = OutputArgs { csv: Some(path.clone()), json: None }.open().unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("old"));
    finish(&files, false, [Row { structure: "rb/slab", ns: 1.5 }]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "structure,ns,interrupted\nrb/slab,1.5,false\n");
    std::fs::remove_file(&path).unwrap();
}

#[derive(Serialize)]
struct Report {
    seed: u64,
}

fn finish<const N: usize>(files: &Files, interrupted: bool, rows: [Row; N]) -> Result<(), LabError> {
    let host = Host { cores: 3, ..Host::default() };
    files.finish(Run { interrupted, host: &host }, String::new, &Report { seed: 7 }, rows)
}

/// Writes a result to files, and returns the JSON and the CSV.
fn written<const N: usize>(name: &str, interrupted: bool, rows: [Row; N]) -> (serde_json::Value, String) {
    let folder = std::env::temp_dir().join(format!("tickwright-{name}-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (json, csv) = (folder.join("r.json"), folder.join("r.csv"));
    let files = OutputArgs { json: Some(json.clone()), csv: Some(csv.clone()) }.open().unwrap();
    let finished = finish(&files, interrupted, rows);
    assert_eq!(matches!(finished, Err(LabError::Interrupted)), interrupted);
    let json = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let csv = std::fs::read_to_string(csv).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    (json, csv)
}

#[test]
fn a_result_says_what_was_run_where_and_whether_it_was_interrupted() {
    let rows = || [("a,b", 1.0), ("two\nlines", 2.0)].map(|(structure, ns)| Row { structure, ns });
    for interrupted in [false, true] {
        let (json, csv) = written("told", interrupted, rows());
        assert_eq!(json["interrupted"], interrupted);
        assert_eq!(
            (&json["schema"], &json["seed"], &json["host"]["cores"]),
            (&SCHEMA.into(), &7.into(), &3.into())
        );
        assert!(json["command"].as_str().unwrap().starts_with("tickwright"));
        let rows = format!("\"a,b\",1.0,{interrupted}\n\"two\nlines\",2.0,{interrupted}\n");
        assert_eq!(csv, format!("structure,ns,interrupted\n{rows}"));
    }
}

#[test]
fn a_result_without_rows_says_whether_it_was_interrupted_too() {
    let (_, csv) = written("empty", true, []);
    assert_eq!(csv, format!("schema,interrupted\n{SCHEMA},true\n"));
}

#[test]
fn a_path_that_cannot_be_written_is_refused_at_once() {
    let args = OutputArgs { json: Some("/no/such/directory/out.json".into()), csv: None };
    let error = args.open().unwrap_err();
    assert_eq!(error.code(), 2);
    assert!(error.to_string().contains("/no/such/directory/out.json"), "{error}");
}

#[test]
fn a_file_takes_one_thing_by_whatever_name() {
    let folder = std::env::temp_dir();
    let name = format!("tickwright-same-{}", std::process::id());
    let (plain, detour) = (folder.join(&name), folder.join(".").join(&name));
    for csv in [&plain, &detour] {
        let error = OutputArgs { json: Some(plain.clone()), csv: Some(csv.clone()) }.open().unwrap_err();
        assert_eq!(error.code(), 2);
        assert!(error.to_string().contains(&name), "{error}");
    }
    assert!(!plain.exists(), "refused before a file is made");
}

#[test]
fn standard_output_takes_one_thing() {
    let dash = || Some(PathBuf::from("-"));
    assert!(OutputArgs { json: dash(), csv: dash() }.open().is_err());
    assert!(!OutputArgs { json: dash(), csv: None }.open().unwrap().terminal());
    assert!(Files::default().terminal());
}

#[test]
fn a_result_appears_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("tickwright-whole-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("r.csv");
    let file = RowsFile::open("--svg", &path, &OutputArgs::default()).unwrap();
    assert!(!path.exists(), "nothing before the results");
    file.0
        .write(|out| {
            out.write_all(b"half")?;
            assert!(!path.exists(), "nothing while they are written");
            Ok(())
        })
        .unwrap();
    file.0
        .write(|out| {
            out.write_all(b"other")?;
            Err(io::ErrorKind::StorageFull.into())
        })
        .unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "half", "what failed replaced nothing");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "and left nothing");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_goes_on_leading_to_its_file() {
    let folder = std::env::temp_dir().join(format!("tickwright-link-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (target, name) = (folder.join("target"), folder.join("name"));
    std::fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &name).unwrap();
    RowsFile::open("--svg", &name, &OutputArgs::default()).unwrap().text("new").unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
    assert!(std::fs::symlink_metadata(&name).unwrap().is_symlink());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// As when the file behind it is not written yet.
#[cfg(unix)]
#[test]
fn a_link_that_leads_to_nothing_yet_stays_a_link() {
    let folder = std::env::temp_dir().join(format!("tickwright-dangling-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let [first, second, round] = ["first", "second", "round"].map(|name| folder.join(name));
    std::os::unix::fs::symlink("second", &first).unwrap();
    std::os::unix::fs::symlink(folder.join("target"), &second).unwrap();
    std::os::unix::fs::symlink("round", &round).unwrap();
    RowsFile::open("--svg", &first, &OutputArgs::default()).unwrap().text("new").unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("target")).unwrap(), "new");
    assert!([&first, &second].iter().all(|link| std::fs::symlink_metadata(link).unwrap().is_symlink()));
    assert!(RowsFile::open("--svg", &round, &OutputArgs::default()).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_is_no_file() {
    let error = RowsFile::open("--svg", &std::env::temp_dir(), &OutputArgs::default()).unwrap_err();
    assert_eq!(error.code(), 2);
}
