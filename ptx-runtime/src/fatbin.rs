//! Fat binaries: which PTX they hold for a device, as text or as our own assembler's file.
//!
//! Layout as nvcc writes it: an optional wrapper (magic `0x466243b1`, pointer at 8), a header of 16 bytes
//! (magic `0xba55ed50`, version, header size, bytes that follow), entries with headers of their own.

use std::borrow::Cow;
use std::io::Read;

use ptx_isa::types::{Suffix, Target};

/// First word of a wrapper.
pub const WRAPPER: u32 = 0x4662_43b1;
/// First word of a fat binary.
pub const MAGIC: u32 = 0xba55_ed50;
/// Bytes of the header.
pub const HEADER: usize = 16;

const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
/// Longest text that an entry may unpack to.
const LONGEST: u64 = 1 << 30;

/// What is wrong with a fat binary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// It does not begin as one.
    #[error("this is no fat binary of a known version")]
    Unknown,
    /// A size leads past the end.
    #[error("the fat binary is truncated or damaged at byte {0}")]
    Damaged(usize),
    /// A packed entry does not unpack.
    #[error("PTX for sm_{arch} does not unpack: {why}")]
    Packed {
        /// Its architecture.
        arch: u32,
        /// The unpacker's message.
        why: String,
    },
    /// No PTX that the device can run.
    #[error(
        "the fat binary has no PTX for sm_{device} (it has {found}); build it with PTX, for instance nvcc -gencode arch=compute_{device},code=compute_{device}"
    )]
    NoPtx {
        /// The device's architecture.
        device: u16,
        /// What it has instead.
        found: String,
    },
}

/// An entry.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    kind: u16,
    arch: u32,
    flags: u64,
    packed: u32,
    unpacked: u64,
    payload: &'a [u8],
}

fn u16_at(b: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(b.get(at..at + 2)?.try_into().ok()?))
}
fn u32_at(b: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(b.get(at..at + 4)?.try_into().ok()?))
}
fn u64_at(b: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(b.get(at..at + 8)?.try_into().ok()?))
}

/// Bytes of a whole fat binary, from its header.
///
/// # Errors
/// When it is the header of none.
pub fn total(header: &[u8]) -> Result<usize, FatbinError> {
    let known = u32_at(header, 0) == Some(MAGIC) && u16_at(header, 4) == Some(1);
    let (Some(size), Some(rest), true) = (u16_at(header, 6), u64_at(header, 8), known) else {
        return Err(FatbinError::Unknown);
    };
    let total = u64::from(size).checked_add(rest).filter(|n| *n <= 1 << 40);
    if (size as usize) < HEADER {
        return Err(FatbinError::Unknown);
    }
    total.map(|n| n as usize).ok_or(FatbinError::Damaged(8))
}

fn entries(fatbin: &[u8]) -> Result<Vec<Entry<'_>>, FatbinError> {
    let end = total(fatbin)?;
    if end > fatbin.len() {
        return Err(FatbinError::Damaged(fatbin.len()));
    }
    let fatbin = &fatbin[..end];
    let mut at = usize::from(u16_at(fatbin, 6).unwrap_or(16));
    let mut all = Vec::new();
    while at < end {
        let bad = FatbinError::Damaged(at);
        let head = &fatbin[at..];
        let entry = || -> Option<(Entry<'_>, usize)> {
            let size = u32_at(head, 4)? as usize;
            let bytes = usize::try_from(u64_at(head, 8)?).ok()?;
            let next = size.checked_add(bytes)?;
            if size < 64 {
                return None;
            }
            let entry = Entry {
                kind: u16_at(head, 0)?,
                arch: u32_at(head, 28)?,
                flags: u64_at(head, 40)?,
                packed: u32_at(head, 16)?,
                unpacked: u64_at(head, 56)?,
                payload: head.get(size..next)?,
            };
            Some((entry, next))
        };
        let (entry, next) = entry().ok_or(bad)?;
        all.push(entry);
        at += next;
    }
    Ok(all)
}

fn unpack<'a>(e: &Entry<'a>) -> Result<Cow<'a, [u8]>, FatbinError> {
    let fail = |why: String| FatbinError::Packed { arch: e.arch, why };
    if e.flags & (FLAG_LZ4 | FLAG_ZSTD) == 0 {
        return Ok(Cow::Borrowed(e.payload));
    }
    let packed = e
        .payload
        .get(..e.packed as usize)
        .ok_or_else(|| fail("it is longer than its entry".into()))?;
    if e.unpacked > LONGEST {
        return Err(fail(format!("{} bytes are too many", e.unpacked)));
    }
    // LZ4 makes no more than 255 bytes of one: room is not made for what cannot come.
    if e.flags & FLAG_LZ4 != 0 && e.unpacked / 255 > packed.len() as u64 {
        let (from, to) = (packed.len(), e.unpacked);
        return Err(fail(format!("{from} bytes cannot give {to}")));
    }
    let size = e.unpacked as usize;
    let out = if e.flags & FLAG_LZ4 != 0 {
        lz4_flex::block::decompress(packed, size).map_err(|x| fail(x.to_string()))?
    } else {
        let decoder =
            ruzstd::decoding::StreamingDecoder::new(packed).map_err(|x| fail(x.to_string()))?;
        let mut out = Vec::with_capacity(size.min(1 << 20));
        decoder.take(e.unpacked + 1).read_to_end(&mut out).map_err(|x| fail(x.to_string()))?;
        out
    };
    if out.len() != size {
        return Err(fail(format!("it gives {} bytes, not {size}", out.len())));
    }
    Ok(Cow::Owned(out))
}

/// What a device can take of a fat binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// PTX.
    Ptx(Vec<u8>),
    /// A file that our assembler made ([`crate::cubin`]).
    Assembled(Vec<u8>),
}

/// The target of an entry.
fn target(e: &Entry<'_>) -> Target {
    const ARCH_SPECIFIC: u64 = 0x10_0000;
    const FAMILY_SPECIFIC: u64 = 0x20_0000;
    let suffix = match e.flags {
        flags if flags & ARCH_SPECIFIC != 0 => Suffix::Arch,
        flags if flags & FAMILY_SPECIFIC != 0 => Suffix::Family,
        _ => Suffix::None,
    };
    Target { suffix, ..Target::plain(u16::try_from(e.arch).unwrap_or(u16::MAX)) }
}

/// Whether a device takes an assembled entry: one for its generation and no later than it.
fn fits_assembled(e: &Entry<'_>, device: Target) -> bool {
    let made = target(e);
    made.sm / 10 == device.sm / 10 && made.runs_on(device)
}

/// The code that fits a device best: what our assembler made for it, or the PTX of the highest architecture.
///
/// # Errors
/// When nothing fits, or the binary is damaged.
pub fn best(fatbin: &[u8], device: Target) -> Result<Code, FatbinError> {
    let entries = entries(fatbin)?;
    let mut assembled: Vec<&Entry<'_>> =
        entries.iter().filter(|e| e.kind == KIND_ELF && fits_assembled(e, device)).collect();
    assembled.sort_by_key(|e| std::cmp::Reverse(e.arch));
    for entry in assembled {
        let file = unpack(entry)?;
        if crate::cubin::container(&file).is_some() {
            return Ok(Code::Assembled(file.into_owned()));
        }
    }
    let fits = entries.iter().filter(|e| e.kind == KIND_PTX && target(e).runs_on(device));
    // Of two for one architecture the specific one was built for this very device.
    let Some(best) = fits.max_by_key(|e| (e.arch, target(e).suffix)) else {
        let mut found: Vec<String> = entries
            .iter()
            .map(|e| {
                let kind = match e.kind {
                    KIND_PTX => "PTX",
                    KIND_ELF => "machine code",
                    _ => "other code",
                };
                format!("{kind} for sm_{}", e.arch)
            })
            .collect();
        found.dedup();
        let found = if found.is_empty() { "nothing".into() } else { found.join(", ") };
        return Err(FatbinError::NoPtx { device: device.sm, found });
    };
    let text = unpack(best)?;
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    Ok(Code::Ptx(text[..end].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, arch: u32, flags: u64, payload: &[u8], unpacked: usize) -> Vec<u8> {
        let mut e = vec![0; 64];
        let padded = payload.len().next_multiple_of(8);
        e[0..2].copy_from_slice(&kind.to_le_bytes());
        e[2..4].copy_from_slice(&0x101u16.to_le_bytes());
        e[4..8].copy_from_slice(&64u32.to_le_bytes());
        e[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        if unpacked > 0 {
            e[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
            e[56..64].copy_from_slice(&(unpacked as u64).to_le_bytes());
        }
        e[28..32].copy_from_slice(&arch.to_le_bytes());
        e[40..48].copy_from_slice(&flags.to_le_bytes());
        e.extend_from_slice(payload);
        e.resize(64 + padded, 0);
        e
    }

    fn fatbin(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut f = MAGIC.to_le_bytes().to_vec();
        f.extend([1, 0, 16, 0]);
        f.extend((body.len() as u64).to_le_bytes());
        f.extend(body);
        f
    }

    const TEXT: &[u8] =
        b"\n\n.version 8.0\n.target sm_80\n.address_size 64\n// text text text text text\0";

    /// The PTX for a device.
    fn ptx(fatbin: &[u8], sm: u16) -> Result<Vec<u8>, FatbinError> {
        match best(fatbin, Target::device(sm))? {
            Code::Ptx(text) => Ok(text),
            Code::Assembled(_) => panic!("there is nothing assembled"),
        }
    }

    #[test]
    fn the_best_ptx_is_found_and_unpacked() {
        let lz4 = lz4_flex::block::compress(TEXT);
        let zstd =
            ruzstd::encoding::compress_to_vec(TEXT, ruzstd::encoding::CompressionLevel::Fastest);
        let all = fatbin(&[
            entry(2, 90, 0x11, b"machine", 0),
            entry(1, 75, 0x11, b"// plain\0\0\0", 0),
            entry(1, 80, 0x11 | FLAG_LZ4, &lz4, TEXT.len()),
            entry(1, 90, 0x11 | FLAG_ZSTD, &zstd, TEXT.len()),
            entry(1, 100, 0x11, b"// newer", 0),
        ]);
        let text = &TEXT[..TEXT.len() - 1];
        assert_eq!(ptx(&all, 75).unwrap(), b"// plain");
        assert_eq!(ptx(&all, 86).unwrap(), text);
        assert_eq!(ptx(&all, 90).unwrap(), text);
        assert_eq!(ptx(&all, 120).unwrap(), b"// newer");
    }

    #[test]
    fn specific_code_runs_on_its_own_device_only() {
        let all =
            fatbin(&[entry(1, 90, 0x10_0011, b"// a", 0), entry(1, 80, 0x11, b"// plain", 0)]);
        assert_eq!(ptx(&all, 90).unwrap(), b"// a");
        assert_eq!(ptx(&all, 100).unwrap(), b"// plain");
    }

    #[test]
    fn bad_fat_binaries_are_errors() {
        let good = fatbin(&[entry(1, 80, 0x11, TEXT, 0)]);
        for cut in 0..good.len() {
            assert!(ptx(&good[..cut], 90).is_err(), "{cut}");
        }
        let none = ptx(&fatbin(&[entry(2, 90, 0x11, b"machine", 0)]), 90).unwrap_err();
        assert!(none.to_string().contains("it has machine code for sm_90"), "{none}");
        assert!(matches!(ptx(&fatbin(&[]), 90), Err(FatbinError::NoPtx { .. })));
        for flag in [FLAG_LZ4, FLAG_ZSTD] {
            let junk = fatbin(&[entry(1, 80, flag, b"\xff\xff\xff\xff\xff\xff", 40)]);
            assert!(matches!(ptx(&junk, 90), Err(FatbinError::Packed { .. })));
        }
    }
}
