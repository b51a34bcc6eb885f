//! Where results go: tables on the terminal, and files for other programs.

pub(crate) mod file;
pub(crate) mod table;

pub(crate) use file::{Files, OutputArgs, SCHEMA};
