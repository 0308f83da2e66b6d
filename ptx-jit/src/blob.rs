//! Machine code in executable memory: compiled now, or mapped from a file. The `unsafe` of making it callable is here.

use std::fs::File;

use memmap2::{Mmap, MmapMut, MmapOptions};

/// Machine code, and where in the module text it comes from: offset in the code, place.
pub(crate) struct MachineCode {
    pub bytes: Vec<u8>,
    pub places: Vec<(u32, u32)>,
}

/// Executable memory with one or more functions.
pub(crate) struct Blob(Mmap);

impl Blob {
    /// A copy of `code` that can run.
    pub(crate) fn new(code: &[u8]) -> std::io::Result<Blob> {
        let mut memory = MmapMut::map_anon(code.len().max(1))?;
        memory[..code.len()].copy_from_slice(code);
        let blob = memory.make_exec().map(Blob)?;
        // Processors other than x86-64's may hold older instructions of these addresses.
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the range is the mapping, which is there for as long as `blob`.
        unsafe {
            use wasmtime_internal_jit_icache_coherence::{clear_cache, pipeline_flush_mt};
            clear_cache(blob.0.as_ptr().cast(), blob.0.len()).map_err(std::io::Error::other)?;
            pipeline_flush_mt().map_err(std::io::Error::other)?;
        }
        Ok(blob)
    }

    /// `bytes` of a file from `offset`, which is a multiple of the page size, on.
    pub(crate) fn map(file: &File, offset: u64, bytes: usize) -> std::io::Result<Blob> {
        // SAFETY: the file belongs to this user alone and is never written in place, only replaced by another one;
        // the mapping keeps the old one.
        unsafe { MmapOptions::new().offset(offset).len(bytes).map_exec(file) }.map(Blob)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Address of the byte at `offset`.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.0.as_ptr() as usize + offset
    }
}
