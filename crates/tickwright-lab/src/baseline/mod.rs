//! Structures of others, measured beside ours. Each adapter says what its subject promises less.

pub(crate) mod btree_map;
