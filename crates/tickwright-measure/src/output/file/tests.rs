use super::*;

fn text(sink: &Sink, text: &str) {
    sink.write(|out| out.write_all(text.as_bytes())).unwrap();
}

#[test]
fn results_replace_what_was_there_and_nothing_else_does() {
    let path = std::env::temp_dir().join(format!("tickwright-output-{}.csv", std::process::id()));
    std::fs::write(&path, "old and rather longer than what replaces it").unwrap();
    let sink = Sink::open(&path).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("old"));
    text(&sink, "new");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_path_that_cannot_be_written_is_refused_at_once() {
    let error = Sink::open(Path::new("/no/such/directory/out.json")).unwrap_err();
    assert_eq!(error.code(), 2);
    assert!(error.to_string().contains("/no/such/directory/out.json"), "{error}");
}

#[test]
fn a_result_appears_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("tickwright-whole-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("r.csv");
    let file = Sink::open(&path).unwrap();
    assert!(!path.exists(), "nothing before the results");
    file.write(|out| {
        out.write_all(b"half")?;
        assert!(!path.exists(), "nothing while they are written");
        Ok(())
    })
    .unwrap();
    file.write(|out| {
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
    text(&Sink::open(&name).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
    assert!(std::fs::symlink_metadata(&name).unwrap().is_symlink());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Writes through a link whose target does not exist yet.
#[cfg(unix)]
#[test]
fn a_link_that_leads_to_nothing_yet_stays_a_link() {
    let folder = std::env::temp_dir().join(format!("tickwright-dangling-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let [first, second, round] = ["first", "second", "round"].map(|name| folder.join(name));
    std::os::unix::fs::symlink("second", &first).unwrap();
    std::os::unix::fs::symlink(folder.join("target"), &second).unwrap();
    std::os::unix::fs::symlink("round", &round).unwrap();
    text(&Sink::open(&first).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(folder.join("target")).unwrap(), "new");
    assert!([&first, &second].iter().all(|link| std::fs::symlink_metadata(link).unwrap().is_symlink()));
    assert!(Sink::open(&round).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_is_no_file() {
    let error = Sink::open(&std::env::temp_dir()).unwrap_err();
    assert_eq!(error.code(), 2);
}

#[test]
fn a_growing_file_replaces_the_old_one_only_when_it_is_published() {
    let folder = std::env::temp_dir().join(format!("tickwright-growing-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("t.twt");
    std::fs::write(&path, "old").unwrap();
    let read = || std::fs::read_to_string(&path).unwrap();
    drop(GrowingFile::begin(&path).unwrap());
    let mut file = GrowingFile::begin(&path).unwrap();
    let mut out = file.file().unwrap();
    out.write_all(b"head").unwrap();
    assert_eq!(read(), "old");
    file.publish().unwrap();
    assert_eq!(read(), "head");
    out.write_all(b" and more").unwrap();
    assert_eq!(read(), "head and more");
    drop(file);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
    assert!(GrowingFile::begin(&folder.join("none/t.twt")).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The name of a draft does not grow with the name of its file.
#[test]
fn a_file_with_the_longest_name_is_written() {
    let folder = std::env::temp_dir().join(format!("tickwright-long-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("x".repeat(255));
    text(&Sink::open(&path).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    std::fs::remove_dir_all(&folder).unwrap();
}
