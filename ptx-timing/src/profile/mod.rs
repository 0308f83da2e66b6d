//! Device profiles: TOML data files with inheritance, a source for every number, and checks.
//!
//! The files live in `profiles/`: `classes/` holds one default per compute capability, `devices/`
//! one file per product. They are embedded; a user's own file adds a device or overrides one
//! (see [`Catalog::add_file`]).

mod catalog;
mod check;
mod error;
mod host;
mod memory;
mod names;
mod resolve;
mod schema;

pub use catalog::Catalog;
pub use error::ProfileError;
pub use memory::*;
pub use schema::*;
