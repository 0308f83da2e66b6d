//! What processes share by name: device memory ([`memory`]) and events ([`events`]) of another process.
//!
//! A name (`CUipcMemHandle`, `CUipcEventHandle`) is 64 bytes that programs pass on however they like. Ours say which
//! process has which memory file open; whoever may look at that process finds the same pages there.

pub mod events;
pub mod memory;

use std::fs::File;
use std::io;

use c_border::plain_struct;

use crate::pages;

plain_struct! {
    /// `CUipcMemHandle` and `CUipcEventHandle`: opaque to programs, and passed by value.
    Passed { bytes: [u8; 64] }
}

/// What a name says.
pub struct Name {
    /// [`MEMORY`] or [`EVENT`].
    kind: u64,
    process: u32,
    descriptor: i32,
    /// Tells the file from another one that the process has opened under the same number since.
    inode: u64,
    /// Where in the file it begins.
    offset: u64,
    bytes: u64,
    /// Which of the things that were there one after the other; 0 where there was only one.
    turn: u64,
}

/// Names of memory.
const MEMORY: u64 = u64::from_le_bytes(*b"ptxrunM1");
/// Names of events.
const EVENT: u64 = u64::from_le_bytes(*b"ptxrunE1");

impl Name {
    fn of(kind: u64, file: &File, offset: u64, bytes: u64, turn: u64) -> io::Result<Name> {
        let (descriptor, inode) = pages::identity(file)?;
        let process = std::process::id();
        Ok(Name { kind, process, descriptor, inode, offset, bytes, turn })
    }

    /// As programs pass it on.
    pub fn pass(&self) -> Passed {
        let place = u64::from(self.process) << 32 | u64::from(self.descriptor.cast_unsigned());
        let words = [self.kind, place, self.inode, self.offset, self.bytes, self.turn, 0, 0];
        let mut bytes = [0; 64];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Passed { bytes }
    }

    /// Of what a program passes; anything else than a name is the name of nothing.
    pub fn passed(passed: &Passed) -> Name {
        let (words, _) = passed.bytes.as_chunks::<8>();
        let [kind, place, inode, offset, bytes, turn, rest @ ..] =
            std::array::from_fn::<u64, 8, _>(|i| u64::from_le_bytes(words[i]));
        let kind = if rest == [0; 2] { kind } else { 0 };
        let (process, descriptor) = ((place >> 32) as u32, (place as u32).cast_signed());
        Name { kind, process, descriptor, inode, offset, bytes, turn }
    }

    /// Whether it names something of this process, which opens none of its own, as on a device.
    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// The file, if the process lives, has it still, and lets this one look.
    fn open(&self, kind: u64) -> io::Result<File> {
        let bad = || io::Error::from(io::ErrorKind::InvalidInput);
        if self.kind != kind || (kind == MEMORY && self.turn != 0) {
            return Err(bad());
        }
        let file = pages::of_process(self.process, self.descriptor, self.inode)?;
        let end = self.offset.checked_add(self.bytes).ok_or_else(bad)?;
        if self.bytes > 0 && end <= file.metadata()?.len() { Ok(file) } else { Err(bad()) }
    }
}
