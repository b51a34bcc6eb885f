//! The models under test, and helpers that several tests use.
#![allow(dead_code, unreachable_pub)]

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use tickwright::time::{Clock, Instant};
use tickwright_threads::{Knobs, ManyToMany, Model, OneToOne, RegistryKind, Runtime, Stacks, this_thread};

pub fn one_to_one() -> Model {
    Model::OneToOne(OneToOne::new())
}

pub fn own_stacks() -> Model {
    Model::OneToOne(OneToOne::new().stacks(Stacks::Recycled).stack(64 * 1024))
}

pub fn fresh_stacks() -> Model {
    Model::OneToOne(OneToOne::new().stacks(Stacks::Fresh).stack(64 * 1024))
}

pub fn one_worker() -> Model {
    Model::ManyToMany(ManyToMany::new().workers(1))
}

pub fn two_workers() -> Model {
    Model::ManyToMany(ManyToMany::new().workers(2).sleepers("wheel").dictionary(RegistryKind::Avl))
}

pub fn three_workers() -> Model {
    Model::ManyToMany(ManyToMany::new().workers(3).sleepers("rb").keep(4))
}

/// Returns the M:N model with the portable back end, in which each stack is a kernel thread.
pub fn portable() -> Model {
    Model::ManyToMany(ManyToMany::new().workers(2).portable(true))
}

pub fn as_ngpt() -> Model {
    Model::ManyToMany(ManyToMany::new().workers(2).guard(0).keep(0).knobs(Knobs::ngpt()))
}

/// Returns a model other than one-to-one, if the system supports one.
pub fn another() -> Model {
    if cfg!(unix) { one_worker() } else { one_to_one() }
}

pub fn start(model: Model) -> Runtime {
    Runtime::new(model).expect("starts")
}

/// Returns a command that runs this program again. If the tests run in an emulator that cannot
/// start programs, `TICKWRIGHT_EMULATOR` names the emulator.
pub fn this_program() -> Command {
    let emulator = std::env::var("TICKWRIGHT_EMULATOR").unwrap_or_default();
    let own = std::env::current_exe().unwrap();
    let mut words = emulator.split_whitespace().map(PathBuf::from).chain([own]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}

/// Error numbers with their values on Linux.
pub mod linux {
    pub const ESRCH: i32 = 3;
    pub const EBUSY: i32 = 16;
    pub const EINVAL: i32 = 22;
    pub const EDEADLK: i32 = 35;
    pub const ESHUTDOWN: i32 = 108;
    pub const ETIMEDOUT: i32 = 110;
}

/// A clock that the test moves in leaps, without notifying any thread.
#[derive(Clone, Debug, Default)]
pub struct Jumping(Arc<AtomicU64>);

impl Jumping {
    pub fn leap(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_nanos()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Jumping {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::SeqCst))
    }

    fn longest_sleep(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

/// Longer than any successful test waits, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);

/// A gate at which threads wait until it is opened.
#[derive(Default)]
pub struct Gate(AtomicBool);

impl Gate {
    pub fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Waits until the gate is open. Panics after some minutes, so that a failed test does not
    /// hang.
    pub fn wait(&self) {
        let began = std::time::Instant::now();
        while !self.is_open() {
            assert!(began.elapsed() < PATIENCE, "nobody opens the gate");
            this_thread::yield_now();
        }
    }
}

/// Opens a gate when it is dropped. It is also dropped if the test panics, so no thread waits at
/// the gate forever.
pub struct Doorkeeper(Arc<Gate>);

impl Doorkeeper {
    pub fn new() -> Self {
        Self(Arc::default())
    }

    pub fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.0)
    }
}

impl Drop for Doorkeeper {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Defines each test for each model, in a module with the model's name.
#[macro_export]
macro_rules! for_each_model {
    ($($test:ident),+ $(,)?) => {
        $crate::for_each_model! { @models [$($test)+] one_to_one }
        #[cfg(unix)]
        $crate::for_each_model! { @models [$($test)+]
            own_stacks fresh_stacks one_worker two_workers three_workers as_ngpt portable }
    };
    (@models $tests:tt $($model:ident)+) => { $($crate::for_each_model! { @model $model $tests })+ };
    (@model $model:ident [$($test:ident)+]) => {
        mod $model {
            $(#[test] fn $test() { super::$test(&$crate::common::start($crate::common::$model())); })+
        }
    };
}
