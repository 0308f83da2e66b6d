//! The ELF file that our assembler writes where a device's assembler writes machine code ("cubin"): an object for the
//! CUDA architecture whose code section holds a container of the verified module instead.
//!
//! Kernels are its function symbols, as tools expect. A note says what it is. The header's numbers are those of ptxas
//! 13.5 (read from its files with `readelf`): machine 190, ABI 0x41 version 8, flags `0x06000000 | sm << 8 | 4`, with 2
//! in place of 4 from sm_100 on.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader};
use object::write::elf::{FileHeader as Head, SectionHeader, Sym, Writer};
use object::{LittleEndian, Object as _, ObjectSection as _};
use ptx_isa::types::Target;

use crate::Verified;

/// Where the container stands.
const CONTAINER: &[u8] = b".ptxrun.container";
/// What it says of itself to people and tools.
const NOTE: &[u8] = b".note.ptxrun";
/// Bytes of the header, from which [`length`] knows the file's.
pub const HEADER: usize = 64;

const MACHINE_CUDA: u16 = 190;
const ABI_CUDA: u8 = 0x41;
const ABI_VERSION: u8 = 8;

/// What to write beside the module.
#[derive(Copy, Clone, Debug)]
pub struct Wanted {
    /// The device that it was assembled for.
    pub target: Target,
    /// For a linker, not for a driver.
    pub relocatable: bool,
}

fn flags(target: Target) -> u32 {
    0x0600_0000 | u32::from(target.sm) << 8 | if target.sm < 100 { 4 } else { 2 }
}

/// The note: name, type 1, what the file is.
fn note(target: Target) -> Vec<u8> {
    let name = b"ptxrun\0\0";
    let mut text = format!(
        "ptxrun {} for {target}: holds verified PTX, no machine code; libcuda.so.1 of ptxrun loads it",
        env!("CARGO_PKG_VERSION")
    )
    .into_bytes();
    text.resize((text.len() + 1).next_multiple_of(4), 0);
    let mut out = Vec::new();
    for word in [7, text.len() as u32, 1] {
        out.extend(u32::to_le_bytes(word));
    }
    out.extend(name);
    out.extend(text);
    out
}

/// The module as such a file; `kernels` are the names that others see.
///
/// # Errors
/// When it does not fit the format: it is larger than the address space.
pub fn write(
    verified: &Verified,
    kernels: &[&str],
    wanted: Wanted,
) -> Result<Vec<u8>, object::write::Error> {
    let container = verified.container_bytes();
    let note = note(wanted.target);
    let mut out = Vec::new();
    let mut w = Writer::new(object::Endianness::Little, true, &mut out);
    w.reserve_file_header();
    w.reserve_null_section_index();
    let container_name = w.add_section_name(CONTAINER);
    let container_index = w.reserve_section_index();
    let note_name = w.add_section_name(NOTE);
    w.reserve_section_index();
    w.reserve_null_symbol_index();
    let symbols: Vec<_> = kernels
        .iter()
        .map(|name| {
            w.reserve_symbol_index(Some(container_index));
            w.add_string(name.as_bytes())
        })
        .collect();
    w.reserve_symtab_section_index();
    w.reserve_strtab_section_index();
    w.reserve_shstrtab_section_index();
    let container_at = w.reserve(container.len(), 8);
    let note_at = w.reserve(note.len(), 4);
    w.reserve_symtab();
    w.reserve_strtab();
    w.reserve_shstrtab();
    w.reserve_section_headers();

    w.write_file_header(&Head {
        os_abi: ABI_CUDA,
        abi_version: ABI_VERSION,
        e_type: if wanted.relocatable { elf::ET_REL } else { elf::ET_EXEC },
        e_machine: MACHINE_CUDA,
        e_entry: 0,
        e_flags: flags(wanted.target),
    })?;
    w.write_align(8);
    w.write(&container);
    w.write_align(4);
    w.write(&note);
    w.write_null_symbol();
    for name in symbols {
        w.write_symbol(&Sym {
            name: Some(name),
            section: Some(container_index),
            st_info: (elf::STB_GLOBAL << 4) | elf::STT_FUNC,
            st_other: elf::STV_DEFAULT,
            st_shndx: 0,
            st_value: 0,
            st_size: container.len() as u64,
        });
    }
    w.write_strtab();
    w.write_shstrtab();
    w.write_null_section_header();
    let section = |name, kind, at, size, align| SectionHeader {
        name: Some(name),
        sh_type: kind,
        sh_flags: 0,
        sh_addr: 0,
        sh_offset: at as u64,
        sh_size: size as u64,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: align,
        sh_entsize: 0,
    };
    w.write_section_header(&section(
        container_name,
        elf::SHT_PROGBITS,
        container_at,
        container.len(),
        8,
    ));
    w.write_section_header(&section(note_name, elf::SHT_NOTE, note_at, note.len(), 4));
    w.write_symtab_section_header(1);
    w.write_strtab_section_header();
    w.write_shstrtab_section_header();
    Ok(out)
}

/// The file's length by its first [`HEADER`] bytes; `None` where they begin no 64-bit ELF file. Section headers are the
/// last part of what [`write()`] makes.
pub fn length(head: &[u8]) -> Option<u64> {
    let header = elf::FileHeader64::<LittleEndian>::parse(head).ok()?;
    let sections =
        u64::from(header.e_shnum(LittleEndian)) * u64::from(header.e_shentsize(LittleEndian));
    header.e_shoff(LittleEndian).checked_add(sections)
}

/// The container in a file that [`write()`] made; `None` where there is none, as in a device's machine code.
pub fn container(file: &[u8]) -> Option<&[u8]> {
    let file = ElfFile64::<LittleEndian>::parse(file).ok()?;
    let header = file.elf_header();
    if header.e_machine(LittleEndian) != MACHINE_CUDA {
        return None;
    }
    file.section_by_name_bytes(CONTAINER)?.data().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::ObjectSymbol as _;

    const TEXT: &str =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

    fn made() -> Vec<u8> {
        let verified = Verified::new(TEXT, "k.ptx").unwrap();
        let wanted = Wanted { target: Target::device(90), relocatable: false };
        write(&verified, &["k"], wanted).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = made();
        assert_eq!(length(&bytes[..HEADER]), Some(bytes.len() as u64));
        let verified = Verified::from_bytes(container(&bytes).unwrap().to_vec(), "k").unwrap();
        assert_eq!(verified.module().source.as_ref(), TEXT);
        let file = ElfFile64::<LittleEndian>::parse(&bytes[..]).unwrap();
        let names: Vec<_> = file.symbols().map(|s| s.name().unwrap().to_owned()).collect();
        assert_eq!(names, ["k"]);
        assert_eq!(file.elf_header().e_flags(LittleEndian), 0x0600_5a04);
    }

    #[test]
    fn a_cut_file_holds_no_container() {
        let bytes = made();
        for cut in 0..bytes.len() {
            assert!(container(&bytes[..cut]).is_none(), "{cut}");
        }
    }
}
