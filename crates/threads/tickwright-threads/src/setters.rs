//! A macro for the settings of a runtime and the attributes of a thread: each method sets one
//! value.

/// Methods that take the settings, set a value and return them. Each is a row: the method, its
/// argument, and the assignment.
macro_rules! setters {
    ($($(#[$doc:meta])+ $name:ident($me:ident, $value:ident: $type:ty) { $set:expr })+) => { $(
        $(#[$doc])+
        #[must_use]
        pub fn $name(mut $me, $value: $type) -> Self {
            $set;
            $me
        }
    )+ };
}
pub(crate) use setters;
