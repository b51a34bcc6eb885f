//! Tests on systems other than Unix. If a program requests a feature that the system lacks, the
//! error names the feature and says what to do instead.
#![cfg(not(unix))]

use core::cell::RefCell;
use core::time::Duration;
use std::sync::mpsc;

use tickwright_threads::{
    Attributes, CreateError, MOST_GUARD, ManyToMany, Model, OneToOne, Runtime, RuntimeError, Stacks,
    this_thread,
};

fn refused(model: Model) -> String {
    match Runtime::new(model) {
        Err(error @ RuntimeError::Unsupported { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn there_are_no_mn_threads_and_no_stacks_of_ours() {
    let said = refused(Model::ManyToMany(ManyToMany::new()));
    assert!(said.contains("M:N") && said.contains("Model::OneToOne"), "{said}");
    for stacks in [Stacks::Fresh, Stacks::Recycled] {
        let said = refused(Model::OneToOne(OneToOne::new().stacks(stacks)));
        assert!(said.contains("Stacks::Platform"), "{said}");
    }
}

#[test]
fn a_guard_is_the_platforms() {
    let runtime = Runtime::new(Model::OneToOne(OneToOne::new())).unwrap();
    for guard in [0, MOST_GUARD] {
        let id = runtime.create(&Attributes::new().guard(guard), || 7).unwrap();
        assert_eq!(runtime.join(id).unwrap(), 7);
    }
    let refused = runtime.create(&Attributes::new().guard(MOST_GUARD + 1), || 0);
    assert!(matches!(refused, Err(CreateError::Guard { .. })), "{refused:?}");
}

struct Exit(RefCell<Option<Box<dyn FnOnce()>>>);

impl Drop for Exit {
    fn drop(&mut self) {
        if let Some(last) = self.0.take() {
            last();
        }
    }
}

thread_local!(static EXIT: Exit = const { Exit(RefCell::new(None)) });

/// A destructor can join its own thread and create another thread. On Windows the new thread begins
/// only after the destructors, because the system holds a lock until then.
#[test]
fn a_thread_variable_that_joins_its_own_thread() {
    let runtime = Runtime::new(Model::OneToOne(OneToOne::new())).unwrap();
    for _ in 0..50 {
        let (handle, (tell, told)) = (runtime.handle(), mpsc::channel());
        runtime
            .create(&Attributes::new(), move || {
                let me = this_thread::current().unwrap();
                let last = move || {
                    let own = handle.join(me).unwrap();
                    this_thread::park_timeout(Duration::from_micros(1));
                    let body = move || tell.send(own + 11).map_or(0, |()| 1);
                    handle.create(&Attributes::new().detached(true), body).unwrap();
                };
                EXIT.with(|exit| *exit.0.borrow_mut() = Some(Box::new(last)));
                5
            })
            .unwrap();
        assert_eq!(told.recv(), Ok(16));
    }
}
