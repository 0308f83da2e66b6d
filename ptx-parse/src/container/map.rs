//! A container in memory: mapped from a file, or given. The `unsafe` of mapping is here.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// Whose file a container is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The user's number.
    pub user: u32,
    /// Whether others may write to it.
    pub shared: bool,
}

/// The bytes of a container.
pub(super) enum Bytes {
    Mapped(Mmap, Owner),
    Given(Vec<u8>),
}

#[cfg(unix)]
fn owner(about: &std::fs::Metadata) -> Owner {
    use std::os::unix::fs::MetadataExt;
    Owner { user: about.uid(), shared: about.mode() & 0o022 != 0 }
}
/// Files have no owner that could be known; then others may write to it.
#[cfg(not(unix))]
fn owner(_: &std::fs::Metadata) -> Owner {
    Owner { user: u32::MAX, shared: true }
}

impl Bytes {
    pub(super) fn map(path: &Path) -> Result<Bytes, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        let about = file.metadata().map_err(|e| e.to_string())?;
        if !about.is_file() {
            return Err("it is not a file".into());
        }
        if about.len() == 0 {
            // There is no mapping of nothing.
            return Ok(Bytes::Given(Vec::new()));
        }
        let owner = owner(&about);
        // SAFETY: containers are replaced, never written in place: `ptxrun asm` writes another file and renames it.
        // Bytes that change all the same are read through checked indices; texts are copied out and checked.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| e.to_string())?;
        Ok(Bytes::Mapped(map, owner))
    }

    pub(super) fn owner(&self) -> Option<Owner> {
        match self {
            Bytes::Mapped(_, owner) => Some(*owner),
            Bytes::Given(_) => None,
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes::Given(bytes)
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map, _) => map,
            Bytes::Given(bytes) => bytes,
        }
    }
}
