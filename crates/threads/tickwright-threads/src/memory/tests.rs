use std::sync::Arc;

use super::*;

#[test]
fn boxes_of_every_size() {
    assert_eq!(try_box(()), Ok(Box::new(())));
    assert_eq!(try_box(7_u8), Ok(Box::new(7)));
    assert_eq!(try_box([3_u64; 100]), Ok(Box::new([3; 100])));
    assert_eq!(try_text("").as_deref(), Some(""));
    assert_eq!(try_text("name").as_deref(), Some("name"));
    assert!(is_there(1000) && !is_there(usize::MAX / 2));
}

#[test]
fn the_last_owner_drops() {
    let seen = Arc::new(());
    let one = Counted::try_new(Arc::clone(&seen)).unwrap();
    let owners: Vec<_> = (0..8).map(|_| one.clone()).collect();
    assert!(owners.iter().all(|owner| core::ptr::eq(&raw const **owner, &raw const *one)));
    drop(one);
    std::thread::scope(|scope| {
        for owner in owners {
            scope.spawn(move || assert_eq!(Arc::strong_count(&owner), 2));
        }
    });
    assert_eq!(Arc::strong_count(&seen), 1);
}
