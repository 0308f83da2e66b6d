//! What runs a file.

/// What runs a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Verification alone.
    Check,
    /// The interpreter.
    Interp,
    /// Compiled code, at the vector width of this process.
    Jit,
}
