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
    files.csv([Row { structure: "rb/slab", ns: 1.5 }]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "structure,ns\nrb/slab,1.5\n");
    std::fs::remove_file(&path).unwrap();
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

#[test]
fn a_folder_is_no_file() {
    let error = RowsFile::open("--svg", &std::env::temp_dir(), &OutputArgs::default()).unwrap_err();
    assert_eq!(error.code(), 2);
}
