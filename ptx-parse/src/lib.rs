//! PTX text to a verified module and back.

pub mod code;
pub mod lower;
pub mod module;
