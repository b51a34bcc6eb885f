//! Implementations of other crates' traits. Each module needs the feature with the same name.

#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "quinn")]
mod quinn;
#[cfg(feature = "smithy")]
mod smithy;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
mod web;

#[cfg(feature = "quinn")]
pub use quinn::QuinnRuntime;
#[cfg(all(feature = "tokio", debug_assertions))]
pub(crate) use tokio::tell_of_paused_clock;
