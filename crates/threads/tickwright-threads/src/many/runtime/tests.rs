//! Tests of a state that only this module can set up: a creation that finds the runtime closing.

use super::*;
use crate::registry::RegistryKind;

#[test]
fn a_creation_that_comes_too_late_ends_what_waited_for_it() {
    let settings = ManyToMany::new().workers(1);
    let pool = WorkerPool::start(&settings, 1, sleepers::structure("rb").unwrap()).unwrap();
    // This is the state if `close` sets `closing` and checks for remaining threads just before this
    // creation registers its thread.
    pool.closing.store(true, Ordering::SeqCst);
    let created = pool.create(&Attributes::new(), Box::new(|| 0));
    assert!(matches!(created, Err(CreateError::Closed)));
    assert!(pool.is_stopped(), "nobody else looks again");
    pool.close();
}

#[test]
fn a_runtime_has_the_dictionary_that_was_asked_for() {
    for dictionary in [RegistryKind::Avl, RegistryKind::None, RegistryKind::RedBlack] {
        assert_eq!(ManyToMany::new().dictionary(dictionary).dictionary, dictionary);
    }
}
