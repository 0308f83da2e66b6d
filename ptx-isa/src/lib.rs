//! The PTX instruction table: one [`Row`] per syntax shape holds an
//! instruction's syntax, floors, timing class, exactness and meaning.
//! Matcher, verifier, interpreter, compiler and documentation derive from it.
//!
//! - [`types`]: scalar types, state spaces, versions;
//! - [`syntax`]: the manual's notation parsed into modifiers and operand slots;
//! - [`row`], [`rows`]: the table; [`table`](mod@table): the matcher over it, [`matched`]: what
//!   it finds; [`class`]: timing classes;
//! - [`special`], [`directives`]: special registers, directives and state spaces;
//! - [`uop`]: the micro-ops that meanings are made of; [`meaning`]: the
//!   context through which a row's meaning reads operands and appends them;
//! - [`tcgen05`]: Tensor Memory and its instructions;
//! - [`tensor`]: tensor maps and tensor copies; [`matrix`]: matrix products;
//! - [`recorded`]: which rows recordings of hardware cover;
//! - [`effect`]: micro-ops that touch more than registers; [`atomic`]: updates of guest memory;
//!   [`barrier`]: how barriers of a block count; [`watch`]: what compiled code tells who watches it.

pub mod async_copy;
pub mod atomic;
pub mod barrier;
pub mod class;
pub mod directives;
pub mod effect;
pub mod fixed;
pub mod matched;
pub mod matrix;
pub mod mbarrier;
pub mod meaning;
pub mod mufu;
pub mod num;
pub mod reach;
pub mod recorded;
pub mod row;
pub mod rows;
pub mod special;
mod structured;
pub mod syntax;
pub mod table;
pub mod tcgen05;
pub mod tensor;
pub mod texture;
pub mod types;
pub mod uop;
pub mod video;
pub mod watch;

pub use class::Class;
pub use matched::Match;
pub use meaning::Cx;
pub use row::{Exactness, Operation, Reach, Row, Sem};
pub use table::{Table, table};
pub use types::{Kind, PtxVersion, Space, Ty};
