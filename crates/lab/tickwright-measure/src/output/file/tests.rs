use super::*;
use crate::output::folder::Folder;

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
    let folder = Folder::new("refused");
    let mut paths: Vec<PathBuf> =
        ["none/r.json", "none/", "none/.", "none/..", "."].map(|name| folder.join(name)).into();
    paths.push(PathBuf::new());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("none/", folder.join("link")).unwrap();
        paths.push(folder.join("link"));
    }
    for path in paths {
        let error = Sink::open(&path).unwrap_err();
        assert_eq!(error.code(), 2, "{}", path.display());
        let words = error.to_string();
        assert!(words.contains(&format!("'{}' cannot be written: ", path.display())), "{words}");
        assert!(GrowingFile::begin(&path).is_err(), "{}", path.display());
    }
    assert_eq!(std::fs::read_dir(&*folder).unwrap().count(), usize::from(cfg!(unix)), "nothing was made");
}

/// Returns the file that a message names as the place of the content.
fn named_in(error: impl core::fmt::Display) -> PathBuf {
    let words = error.to_string();
    words.split("the content is in '").nth(1).unwrap().strip_suffix('\'').unwrap().into()
}

/// A folder that is created during the run has the file's name, so the draft cannot be renamed.
#[test]
fn what_cannot_get_its_name_stays_beside_and_is_named() {
    let folder = Folder::new("stays");
    let path = folder.join("r");
    let sink = Sink::open(&path).unwrap();
    let mut growing = GrowingFile::begin(&path).unwrap();
    let mut out = growing.file().unwrap();
    out.write_all(b"head").unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = sink.write(|out| out.write_all(b"whole")).unwrap_err();
    assert_eq!((error.code(), std::fs::read(named_in(&error)).unwrap()), (3, b"whole".to_vec()), "{error}");
    growing.publish();
    out.write_all(b" and more").unwrap();
    let error = growing.finish().unwrap_err();
    assert_eq!(std::fs::read(named_in(&error)).unwrap(), b"head and more", "{error}");
}

/// A file that is named by its descriptor stays open for the program that opened it.
#[cfg(target_os = "linux")]
#[test]
fn a_descriptor_is_written_through() {
    use std::os::fd::AsRawFd;
    let path = std::env::temp_dir().join(format!("tickwright-through-{}", std::process::id()));
    let mut file = File::create(&path).unwrap();
    file.write_all(b"before ").unwrap();
    for name in ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"] {
        let name = Path::new(name).join(file.as_raw_fd().to_string());
        text(&Sink::open(&name).unwrap(), "x");
        GrowingFile::begin(&name).unwrap().file().unwrap().write_all(b"y").unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before xyxyxy");
    let reads = File::open(&path).unwrap();
    let name = format!("/dev/fd/{}", reads.as_raw_fd());
    assert_eq!(Sink::open(Path::new(&name)).unwrap_err().code(), 2, "it can only be read");
    std::fs::remove_file(&path).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_has_several_names() {
    let is = |name: &str| is_stdout(Path::new(name));
    assert!(["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].into_iter().all(is));
    assert!(!["/dev/stderr", "/dev/fd/2", "/dev/null", "1", "/proc/1/fd/1"].into_iter().any(is));
}

#[test]
fn a_result_appears_whole_or_not_at_all() {
    let folder = Folder::new("whole");
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
    assert_eq!(std::fs::read_dir(&*folder).unwrap().count(), 1, "and left nothing");
}

#[cfg(unix)]
#[test]
fn a_link_goes_on_leading_to_its_file() {
    let folder = Folder::new("link");
    let (target, name) = (folder.join("target"), folder.join("name"));
    std::fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &name).unwrap();
    text(&Sink::open(&name).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
    assert!(std::fs::symlink_metadata(&name).unwrap().is_symlink());
}

/// Writes through a link whose target does not exist yet.
#[cfg(unix)]
#[test]
fn a_link_that_leads_to_nothing_yet_stays_a_link() {
    let folder = Folder::new("dangling");
    let [first, second, round] = ["first", "second", "round"].map(|name| folder.join(name));
    std::os::unix::fs::symlink("second", &first).unwrap();
    std::os::unix::fs::symlink(folder.join("target"), &second).unwrap();
    std::os::unix::fs::symlink("round", &round).unwrap();
    text(&Sink::open(&first).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(folder.join("target")).unwrap(), "new");
    assert!([&first, &second].iter().all(|link| std::fs::symlink_metadata(link).unwrap().is_symlink()));
    assert!(Sink::open(&round).is_err());
}

#[test]
fn a_growing_file_replaces_the_old_one_only_when_it_is_published() {
    let folder = Folder::new("growing");
    let path = folder.join("t.twt");
    std::fs::write(&path, "old").unwrap();
    let read = || std::fs::read_to_string(&path).unwrap();
    drop(GrowingFile::begin(&path).unwrap());
    let mut file = GrowingFile::begin(&path).unwrap();
    let mut out = file.file().unwrap();
    out.write_all(b"head").unwrap();
    assert_eq!(read(), "old");
    file.publish();
    assert_eq!(read(), "head");
    out.write_all(b" and more").unwrap();
    assert_eq!(read(), "head and more");
    file.finish().unwrap();
    assert_eq!(std::fs::read_dir(&*folder).unwrap().count(), 1, "no draft is left");
    assert!(GrowingFile::begin(&folder.join("none/t.twt")).is_err());
}

/// The name of a draft does not grow with the name of its file.
#[test]
fn a_file_with_the_longest_name_is_written() {
    let folder = Folder::new("long");
    let path = folder.join("x".repeat(255));
    text(&Sink::open(&path).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
}
