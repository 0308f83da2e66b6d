//! Shows what the timing model found, for people and for programs: tables in a terminal, one
//! self-contained HTML page, a Chrome trace, the difference of two runs, and advice.
//!
//! Everything here reads the plain data of `ptx-timing` (profiles, occupancy, reports) and writes
//! text; nothing here measures.

mod access;
pub mod advice;
pub mod choice;
pub mod compare;
pub mod device;
pub mod html;
pub mod number;
pub mod occupancy;
pub mod profile;
pub mod source;
pub mod text;
mod totals;
pub mod trace;
mod warp;

pub use advice::{Finding, advise};
