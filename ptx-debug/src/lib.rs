//! A debugger for kernels on the interpreter: stop anywhere, look at every lane, go back.
//!
//! A [`Session`] is a launch under the debugger. [`debug`] runs it; wherever execution rests, a
//! [`Front`] looks at it through a [`Rest`], by [`Command`](command::Command)s whose
//! [`Answer`](answer::Answer)s are data, and decides how it goes on.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`command`], `help` | the commands and their notation; what explains them |
//! | [`expr`], [`eval`] | expressions over registers, variables and memory |
//! | [`code`] | lines, labels, registers and variables of a kernel |
//! | [`dwarf`], `source` | variables of the source, by debug information |
//! | [`session`] | what stops a launch, what is looked at, what was changed |
//! | `runner`, `goal`, `watched`, `watching` | the observer: breakpoints, steps, watchpoints, searches in the past |
//! | `drive`, `snapshot` | running the launch, and running it again |
//! | `execute`, `show`, `draw`, [`answer`] | carrying out commands, and what they answer |
//! | [`trace`], [`writers`] | what a launch executes; who wrote which bytes last |
//! | [`findings`] | when what a checker found happens |
//! | `vector` | functions over rows, for what the processor has |
//! | [`plugin`] | observers in shared libraries |
//! | [`front`], [`terminal`], [`dap`], [`gdb`] | who asks: a user, a script, an editor, gdb |

pub mod answer;
pub mod code;
pub mod command;
pub mod dap;
mod draw;
mod drive;
pub mod dwarf;
pub mod error;
pub mod eval;
mod execute;
pub mod expr;
pub mod findings;
pub mod front;
pub mod gdb;
mod goal;
mod help;
pub mod plugin;
mod runner;
pub mod session;
mod show;
mod snapshot;
mod source;
pub mod terminal;
pub mod trace;
mod vector;
mod watched;
mod watching;
pub mod writers;

pub use drive::debug;
pub use error::Error;
pub use execute::Reply;
pub use front::{Front, Rest};
pub use session::{End, Session, Target};
