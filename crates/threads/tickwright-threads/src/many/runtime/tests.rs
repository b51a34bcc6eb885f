//! Tests of a state that only this module can set up: a creation that finds the runtime closing.

use super::*;
use crate::registry::RegistryKind;

#[test]
fn a_creation_that_comes_too_late_ends_what_waited_for_it() {
    let settings = ManyToMany::new().workers(1);
    let pool = WorkerPool::start(&settings, 1, sleepers::structure("rb").unwrap()).unwrap();
    // `close` has set `closing`, and checked for the last thread while this creation was
    // registered.
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
