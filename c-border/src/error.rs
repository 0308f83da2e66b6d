//! Why an argument of the caller was refused.

/// Why a pointer or size of the caller was refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PointerError {
    /// A pointer is null where a value is needed.
    Null,
    /// A list or buffer is not in this process's memory from end to end.
    Unmapped,
    /// The caller's buffer is smaller than the answer.
    TooShort,
    /// The host has no memory for a copy of what the caller passes.
    TooLarge,
}
