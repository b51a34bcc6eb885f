//! The memory of nodes. An algorithm is written once, and runs both over the slots of an arena and
//! over links in the caller's structs.
//!
//! ```text
//!   algorithm          chain, tree with a balance, or a timer queue of `tickwright-core`
//!      |  names nodes by handles `P`, reads and writes records `R` through `Nodes<P, R>`
//!      v
//!   arena              [record|record|record|...]       P = Idx (u32, never 0)
//!   hooks              caller's struct { .. Hook { record, owner } .. }
//!                                                       P = HookPtr (a pointer)
//! ```
//!
//! | module | holds |
//! |---|---|
//! | the root | the traits for access to memory: [`Handle`], [`Record`], [`Nodes`] |
//! | [`arena`] | indices of slots with generations |
//! | [`hook`] | links inside the caller's structs, and the word that names a node's owner |
//! | [`chain`] | doubly linked lists |
//! | [`tree`] | binary search trees, balanced by colors or by heights |
//!
//! `tickwright-core` builds timer queues on this crate, and `tickwright-collections` builds
//! dictionaries.
//!
//! # Features
//! - `alloc` (default): [`arena`]. Without this feature only caller-owned nodes exist. The crate is
//!   `no_std` both with and without this feature, and a default build has no dependencies.
//! - `critical-section`: targets without compare-exchange claim hooks and draw identities in the
//!   critical section that the program provides. On other targets the feature changes nothing.
//! - `testing`: tools for the tests of this crate and of the crates that use it. The feature needs
//!   `std`. Other programs should not use it.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(any(test, feature = "testing"))]
extern crate std;

/// Makes a function `const`, except in loom models, because constant expressions cannot create
/// loom's types.
#[doc(hidden)]
#[macro_export]
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $visible:vis const fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $visible const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $visible fn $($rest)*
    };
}

/// Implements the texts of an error type: `error_texts! { TYPE: PATTERN => TEXT, ... }`. The
/// patterns are those of a `match`. If the type is generic, write `TYPE<T>, T`. A literal text is a
/// format string. Any other text is an expression that implements `Display`, in parentheses unless
/// it is a single name.
#[doc(hidden)]
#[macro_export]
macro_rules! error_texts {
    (@write $f:ident, $text:literal) => {
        $f.write_fmt(format_args!($text))
    };
    (@write $f:ident, $text:expr) => {
        core::fmt::Display::fmt(&$text, $f)
    };
    ($error:ty $(, $generic:ident)?: $($case:pat => $text:tt),+ $(,)?) => {
        impl $(<$generic>)? core::fmt::Display for $error {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $($case => $crate::error_texts!(@write f, $text)),+ }
            }
        }

        impl $(<$generic>)? core::error::Error for $error where Self: core::fmt::Debug {}
    };
}

pub mod arena;
mod by_ref;
pub mod chain;
pub mod hint;
pub mod hook;
mod node;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
pub mod tree;
mod violation;

pub use by_ref::ByRef;
pub use node::{Handle, Nodes, Record};
pub use violation::Violation;
