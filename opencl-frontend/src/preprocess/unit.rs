//! The preprocessed text.

use super::lex::PpTok;
use crate::source::{ExpansionId, FileSpan};
use crate::symbol::Symbol;

/// `#pragma OPENCL EXTENSION` at a place in the token stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtensionEvent {
    /// It takes effect from this token on.
    pub token: u32,
    /// Name of the extension, or `all`.
    pub name: Symbol,
    /// Enabled or disabled.
    pub enabled: bool,
}

/// The preprocessed text.
#[derive(Default)]
pub struct Unit {
    /// Tokens, without newlines; the last one is `End`.
    pub tokens: Vec<PpTok>,
    /// Extension pragmas in order.
    pub extensions: Vec<ExtensionEvent>,
}

/// The place of a token for diagnostics of later stages.
pub fn token_place(unit: &Unit, index: u32) -> Option<(FileSpan, ExpansionId)> {
    unit.tokens.get(index as usize).map(|t| (t.span(), t.expansion))
}
