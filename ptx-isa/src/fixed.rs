//! Words of a launch that its kernel may take for constants.

/// 32 bits that nothing changes while a kernel runs, and in which launches of the kernel seldom differ, such as the
/// format of an image. Compiled code may take them for constants; where they differ other code is made.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct FixedWord {
    /// Where the parameter starts in the parameter block.
    pub param: u32,
    /// How many bytes behind the address that the parameter, of 64 bits, holds the word lies in global memory. `None`:
    /// the word is the parameter itself.
    pub behind: Option<u32>,
    /// The word.
    pub value: u32,
}
