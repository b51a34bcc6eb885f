//! The Rust blocks of the book's pages are tests of this crate.

#[doc = include_str!("../../../../docs/start/event-loop.md")]
pub struct EventLoop;

#[doc = include_str!("../../../../docs/start/real-time.md")]
pub struct RealTime;

#[doc = include_str!("../../../../docs/structures.md")]
pub struct Structures;

#[doc = include_str!("../../../../docs/scheduler.md")]
pub struct Callbacks;

#[doc = include_str!("../../../../docs/recipes.md")]
pub struct Recipes;

#[cfg(feature = "record")]
#[doc = include_str!("../../../../docs/recording.md")]
pub struct Recording;
