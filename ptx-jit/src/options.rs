//! What a caller may say about the code that it wants.

use ptx_isa::Space;
use ptx_isa::fixed::FixedWord;
use ptx_parse::code::STACK;

/// A launch that code is compiled for; others of about its size can use the code too.
#[derive(Copy, Clone, Debug)]
pub struct Seen<'a> {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// The parameter block.
    pub params: &'a [u8],
    /// Global offset of an OpenCL launch, in work-items: `%envreg3` to `%envreg5`, as [`crate::Device::special`] gives
    /// them.
    pub offset: [u32; 3],
    /// Words that code may take for constants.
    pub fixed: &'a [FixedWord],
}

/// What of a kernel's accesses compiled code asks a [`Watcher`](crate::Watcher) about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Watched {
    /// Nothing.
    #[default]
    Nothing,
    /// Accesses that leave the shared variable or the allocation that their instruction touched last.
    Variables,
    /// All accesses to shared and global memory.
    Accesses(Tracked),
}

/// What a watcher that is asked about all accesses looks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tracked {
    /// Races.
    pub races: bool,
    /// Reads of memory that nobody has written.
    pub unwritten: bool,
    /// Its cells of shared memory stand for 4 bytes each, and no write has fewer: code may look at them itself.
    pub shared_words: bool,
    /// The same of global memory.
    pub global_words: bool,
}

impl Tracked {
    /// Whether code may look at the cells of what an access in a state space may touch.
    pub(crate) fn words(self, space: Space) -> bool {
        match space {
            Space::Shared => self.shared_words,
            Space::Global => self.global_words,
            _ => self.shared_words && self.global_words,
        }
    }
}

impl Watched {
    /// What all accesses are watched for.
    pub(crate) fn tracked(self) -> Option<Tracked> {
        match self {
            Watched::Accesses(tracked) => Some(tracked),
            Watched::Nothing | Watched::Variables => None,
        }
    }
}

/// In what compiled code may differ from the interpreter, by default in nothing, and what it is to hold.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// A result that is no number may have any sign and payload, those of the processor's NaN, where the interpreter
    /// has the GPU's one.
    pub fast_nan: bool,
    /// Approximate functions (`rcp.approx` and its like) are within the bounds of the PTX manual, by divisions and
    /// polynomials, where the interpreter has the GPU's bits.
    pub fast_approx: bool,
    /// Bytes of local memory that a thread's calls may have.
    pub stack: u32,
    /// What a watcher is asked about.
    pub watched: Watched,
    /// Whether threads of a kernel that has no form for vectors may run one by one and meet where they do something
    /// together. Where they meet often, the interpreter is faster.
    pub meets: bool,
}

impl Default for Options {
    fn default() -> Options {
        let watched = Watched::Nothing;
        Options { fast_nan: false, fast_approx: false, stack: STACK, watched, meets: true }
    }
}
