//! Why a kernel is not compiled.

use ptx_parse::code::Program;

use crate::ir::Origin;

/// Why a kernel is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", if *line == 0 { String::new() } else { format!("line {line}: ") })]
pub struct Unsupported {
    /// The reason.
    pub why: String,
    /// Line of the module text; 0: no line is to blame.
    pub line: u32,
}

impl Unsupported {
    /// A reason for which no line is to blame.
    pub(crate) fn new(why: impl Into<String>) -> Unsupported {
        Unsupported { why: why.into(), line: 0 }
    }

    pub(crate) fn at(program: &Program, origin: &Origin, why: &str) -> Unsupported {
        let line = line(program, origin.span.start);
        Unsupported { why: why.into(), line }
    }
}

/// Line of a place in the module text.
pub(crate) fn line(program: &Program, at: u32) -> u32 {
    let end = (at as usize).min(program.source.len());
    program.source.as_bytes()[..end].iter().filter(|b| **b == b'\n').count() as u32 + 1
}
