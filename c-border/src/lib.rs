//! The border to C of the CUDA and OpenCL drivers: what a caller's pointers become before safe code sees them.
//!
//! Every function of the two APIs is `unsafe extern "C"`. Its caller promises what the API's documentation asks for:
//! a pointer argument is null or leads to as much memory as the function's description says. The types here are those
//! pointers, and the only place where they are followed. Null pointers, sizes of zero and short sizes are handled here
//! once for all functions. Handles are numbers for both drivers: they are looked up and never followed.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`input`] | what the caller passes: values, lists, strings |
//! | [`output`] | where results go: values, lists with counts, text buffers |
//! | [`answer`] | the three parameters (size, value, returned size) of a query |
//! | [`raw`] | memory of the caller, and its way to a device |
//! | [`callback`] | functions of the host program |
//! | [`error`] | why an argument was refused |
//! | [`ending`] | the end of the process |
//! | `interrupt` | Ctrl-C while a kernel runs |
//! | [`guard`] | the body of an exported function: a panic becomes a code |
//! | [`reserve`] | memory for the time when the host has none |

pub mod answer;
pub mod callback;
pub mod ending;
pub mod error;
pub mod guard;
pub mod input;
#[cfg(unix)]
pub mod interrupt;
pub mod output;
pub mod raw;
pub mod reserve;

pub use answer::{Answer, ParamValue};
pub use error::PointerError;
pub use guard::guarded;
pub use input::{In, Plain, Text};
pub use output::{Out, OutList, OutText};
pub use raw::Raw;
