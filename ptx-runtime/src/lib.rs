//! Device, memory, modules and launches over the PTX engines.

pub use ptx_isa as isa;
pub use ptx_parse as parse;
