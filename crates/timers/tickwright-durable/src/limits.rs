//! Limits of a store: lengths, due times, and the version of the schema.

/// The maximum length of an id, in bytes. The minimum is one byte.
pub const MAX_ID: usize = 255;
/// The maximum length of a payload, in bytes: 1 MiB.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// The latest due time, in microseconds since 1970: the end of the year 9999.
pub const MAX_DUE: i64 = 253_402_300_799_999_999;
/// The version of the schema that this crate reads and writes. No code upgrades an older schema: a
/// greater number refuses all existing stores, so it needs such code first.
pub(crate) const SCHEMA: i64 = 1;
