//! Why a container is refused.

use std::sync::Arc;

/// A container that is not taken: which, where, by which rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: byte {offset}: {rule}; {}", rule.help())]
pub struct Error {
    /// The file, or what stands for it.
    pub file: Arc<str>,
    /// Byte of the file.
    pub offset: u64,
    /// The rule.
    pub rule: Rule,
}

/// What a container must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// It can be read.
    #[error("it cannot be mapped: {0}")]
    File(String),
    /// It begins with [`MAGIC`](super::MAGIC).
    #[error("this is no container of ptxrun")]
    Magic,
    /// Its format is [`FORMAT`](super::FORMAT).
    #[error("its format is version {found}, this ptxrun reads version {}", super::FORMAT)]
    Format {
        /// The version that it has.
        found: u32,
    },
    /// It is as long as it says.
    #[error("it should have {says} bytes and has {is}")]
    Length {
        /// What it says, or the least that there must be.
        says: u64,
        /// What there is.
        is: u64,
    },
    /// Its sections lie in it, and none is missing.
    #[error("its table of sections leads out of it")]
    Sections,
    /// Flags have a meaning.
    #[error("it has flags that this version does not know")]
    Flags,
    /// It is what was written.
    #[error("its checksum is wrong: it was altered after it was assembled")]
    Checksum,
    /// This build has verified it.
    #[error("build {found:016x} of ptxrun has verified it, this is build {:016x}", super::BUILD)]
    Build {
        /// The build.
        found: u64,
    },
    /// Its records hold together, whatever its checksum says.
    #[error("its records do not hold together: {0}")]
    Record(&'static str),
}

impl Rule {
    /// A way out.
    pub fn help(&self) -> &'static str {
        match self {
            Rule::File(_) => "check its name and its permissions",
            Rule::Magic => "`ptxrun asm FILE.ptx -o FILE.ptxb` makes one",
            Rule::Build { .. } => {
                "assemble its text again: ptxrun dis OLD.ptxb -o F.ptx && ptxrun asm F.ptx"
            }
            Rule::Format { .. } => "assemble its text again with this version",
            Rule::Length { .. } => "copy it again, or assemble it again",
            _ => "assemble it again from its source",
        }
    }
}

impl Error {
    pub(super) fn new(file: &Arc<str>, offset: u64, rule: Rule) -> Error {
        Error { file: Arc::clone(file), offset, rule }
    }
}
