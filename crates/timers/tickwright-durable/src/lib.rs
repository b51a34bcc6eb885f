#![doc = include_str!("../README.md")]
// Without an engine, nothing executes the statements.
#![cfg_attr(not(any(feature = "sqlite", feature = "postgres")), allow(dead_code))]

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/durable.md")]
struct Protocol;

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
