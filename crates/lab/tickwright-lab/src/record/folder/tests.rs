//! Tests that a recorder's folders are removed, that folders of killed recorders are swept, and
//! that no other folder is touched.

use super::*;

#[test]
fn folders_are_removed_with_what_is_in_them() {
    let folders = Folders::new().unwrap();
    let (rings, library) = (folders.rings.clone(), folders.library());
    fs::write(rings.join("1-2.ring"), "x").unwrap();
    assert!(library.exists());
    drop(folders);
    assert!(!rings.exists() && !library.exists());
}

#[test]
fn what_a_killed_recorder_left_is_swept_and_nothing_else() {
    let under = env::temp_dir().join(format!("tickwright-sweep-{}", process::id()));
    // No process has this id, because it is above the kernel's limit.
    let [left, used, test, own] = ["4194999-1", "4194999-2", "test-1", &format!("{}-1", process::id())]
        .map(|name| under.join(format!("{PREFIX}{name}")));
    for folder in [&left, &used, &test, &own] {
        fs::create_dir_all(folder.join("inside")).unwrap();
    }
    let of_another_container = lock(&used).unwrap();
    sweep(&under);
    assert_eq!([&left, &used, &test, &own].map(|folder| folder.exists()), [false, true, true, true]);
    drop(of_another_container);
    fs::remove_dir_all(under).unwrap();
}
