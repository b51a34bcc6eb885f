#![doc = include_str!("../README.md")]

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/durable.md")]
struct Protocol;

mod background;
mod error;
mod limits;
mod owner;
#[cfg(feature = "postgres")]
pub mod postgres;
mod settings;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod statement;
mod timers;
mod window;
mod writer;

pub use background::{Background, Firings};
pub use error::Error;
pub use limits::{MAX_DUE, MAX_ID, MAX_PAYLOAD, SCHEMA};
pub use owner::{Metrics, Owner};
pub use settings::Settings;
pub use statement::{
    Announced, Answer, Cancelled, Due, Engine, Firing, Outcome, Settled, Shard, Statement, Timer, Waiting,
};
pub use timers::{Batch, Timers};
pub use writer::{Added, Writer};
