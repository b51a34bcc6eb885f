#![doc = include_str!("../README.md")]
// Without the features `sqlite` and `postgres`, no engine uses the statements.
#![cfg_attr(not(any(feature = "sqlite", feature = "postgres")), allow(dead_code))]

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/durable.md")]
struct Protocol;

// The core is `owner.rs`, which computes the lease and the statements of each turn. `window.rs`
// holds the timers in memory. An adapter (`sqlite.rs`, `postgres.rs`) executes the statements of
// `statement.rs`, whose SQL is in `sql.rs`. `timers.rs`, `writer.rs` and `background.rs` are the
// interface, with `settings.rs`, `error.rs`, `limits.rs` and `measured.rs` (metrics). `model.rs`
// tests the protocol in many schedules, and `tests.rs` tests both engines.
mod background;
mod error;
mod limits;
#[cfg(feature = "metrics")]
mod measured;
#[cfg(all(test, feature = "sqlite"))]
mod model;
mod owner;
#[cfg(feature = "postgres")]
pub mod postgres;
mod settings;
mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod statement;
#[cfg(all(test, any(feature = "sqlite", feature = "postgres")))]
mod tests;
mod timers;
mod window;
mod writer;

pub use background::{Background, Firings};
pub use error::Error;
pub use limits::{MAX_DUE, MAX_ID, MAX_PAYLOAD};
pub use owner::Metrics;
pub use settings::Settings;
pub use statement::{Added, Cancelled, Due, Engine, Firing, Outcome, Timer, Waiting};
pub use timers::Timers;
pub use writer::Writer;
