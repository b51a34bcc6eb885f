//! Loom models of the owners of a counted value, in all schedules. The last owner must drop the
//! value after all uses by the other owners.

use loom::cell::UnsafeCell;
use loom::thread;

use super::Counted;

struct Used(UnsafeCell<u32>);

// SAFETY: loom checks this, and reports two accesses at the same time.
unsafe impl Sync for Used {}

impl Used {
    fn read(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = 0 });
    }
}

#[test]
fn the_last_owner_drops_after_all_others() {
    loom::model(|| {
        let Ok(own) = Counted::try_new(Used(UnsafeCell::new(7))) else { return };
        let others = [(); 2].map(|()| {
            let other = own.clone();
            thread::spawn(move || assert_eq!(other.read(), 7))
        });
        assert_eq!(own.read(), 7);
        drop(own);
        for other in others {
            other.join().unwrap();
        }
    });
}
