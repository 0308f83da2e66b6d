//! The PTX instruction table: syntax, floors, timing class and meaning of every instruction.

pub mod mufu;
pub mod num;
