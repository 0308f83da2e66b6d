//! The architecture that gdb is told of: an x86-64 whose own registers are zero, and the registers of PTX beside them.
//!
//! gdb knows no PTX. It wants an architecture of its own list with all of its core registers; of these only `rip` means
//! something here, the address that [`Code`] gives the next instruction.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ptx_interp::Lane;
use ptx_isa::Ty;
use ptx_isa::special::Sreg;

use crate::code::{At, CodeMap, Register};

/// First address of code. Nothing of the generic address space lies between this and [`CODE_END`].
pub(super) const CODE: u64 = 0x0800_0000;
/// Behind the last address of code: shared memory begins there.
pub(super) const CODE_END: u64 = ptx_isa::effect::window::SHARED;
/// Bytes that an instruction takes.
const EACH: u64 = 4;

/// Addresses of instructions: kernels in the order in which they were launched first, functions and instructions in
/// the order of their text.
#[derive(Default)]
pub(super) struct Code {
    /// Kernels with the number of the first instruction of each function.
    kernels: Vec<(String, Vec<u64>)>,
    next: u64,
}

impl Code {
    /// Where functions of this kernel begin.
    fn starts(&mut self, code: &CodeMap) -> &[u64] {
        let name = code.kernel.name();
        let known = self.kernels.iter().position(|(n, _)| n == name);
        let n = known.unwrap_or_else(|| {
            let mut starts = Vec::new();
            for f in 0..code.functions() {
                starts.push(self.next);
                self.next += u64::from(code.insts(f)) + 1;
            }
            self.kernels.push((name.to_owned(), starts));
            self.kernels.len() - 1
        });
        &self.kernels[n].1
    }

    /// The address of an instruction.
    pub(super) fn address(&mut self, code: &CodeMap, at: At) -> u64 {
        let start = self.starts(code).get(at.0 as usize).copied().unwrap_or(0);
        CODE + (start + u64::from(at.1)) * EACH
    }

    /// The instruction at an address; `None` if it belongs to another kernel or to nobody.
    pub(super) fn at(&mut self, code: &CodeMap, address: u64) -> Option<At> {
        let number = address.checked_sub(CODE)? / EACH;
        let starts = self.starts(code);
        let f = starts.partition_point(|s| *s <= number).checked_sub(1)?;
        let index = (number - starts[f]) as u32;
        (index <= code.insts(f as u32)).then_some((f as u32, index))
    }
}

/// What a register of gdb shows.
#[derive(Clone, Debug)]
enum Shows {
    /// Nothing; a register of x86.
    Zero,
    /// The address of the next instruction.
    Pc,
    /// A special register.
    Special(Sreg),
    /// The lanes that stand together with the lane.
    Lanes,
    /// A register of PTX, by its name there.
    Ptx(String),
}

/// A register of gdb.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    bits: u32,
    ty: &'static str,
    shows: Shows,
}

/// The registers of gdb, in the order of its packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    entries: Vec<Entry>,
    /// Of x86; those of PTX follow.
    host: usize,
}

/// The name of a register in gdb: `%r5` is `ptx_r5`, as x86 has an `r8` of its own.
fn name_for_gdb(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    format!("ptx_{}", name.trim_start_matches('%').chars().map(plain).collect::<String>())
}

fn type_for_gdb(ty: Ty) -> (u32, &'static str) {
    match ty {
        Ty::Pred => (8, "uint8"),
        Ty::F32 => (32, "ieee_single"),
        Ty::F64 => (64, "ieee_double"),
        Ty::B8 | Ty::S8 => (8, "int8"),
        Ty::U8 => (8, "uint8"),
        Ty::S16 => (16, "int16"),
        Ty::B32 | Ty::S32 => (32, "int32"),
        Ty::U32 => (32, "uint32"),
        Ty::B64 | Ty::S64 => (64, "int64"),
        ty if ty.bits() <= 16 => (16, "uint16"),
        ty if ty.bits() <= 32 => (32, "uint32"),
        _ => (64, "uint64"),
    }
}

impl Layout {
    /// The registers of all functions that a kernel reaches, its own first.
    pub(super) fn new(code: &CodeMap) -> Layout {
        let mut entries: Vec<Entry> = Vec::new();
        let mut host = |name: &str, bits, ty, shows| {
            entries.push(Entry { name: name.into(), bits, ty, shows });
        };
        for name in ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"] {
            let ty =
                if name.ends_with("bp") || name.ends_with("sp") { "data_ptr" } else { "int64" };
            host(name, 64, ty, Shows::Zero);
        }
        for n in 8..16 {
            host(&format!("r{n}"), 64, "int64", Shows::Zero);
        }
        host("rip", 64, "code_ptr", Shows::Pc);
        for name in ["eflags", "cs", "ss", "ds", "es", "fs", "gs"] {
            host(name, 32, "int32", Shows::Zero);
        }
        for n in 0..8 {
            host(&format!("st{n}"), 80, "i387_ext", Shows::Zero);
        }
        for name in ["fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop"] {
            host(name, 32, "int", Shows::Zero);
        }
        let host = entries.len();
        for name in ["%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%laneid"] {
            if let Some(reg) = Sreg::parse(name) {
                let (name, shows) = (name_for_gdb(name), Shows::Special(reg));
                entries.push(Entry { name, bits: 32, ty: "uint32", shows });
            }
        }
        let (name, shows) = ("ptx_lanes".into(), Shows::Lanes);
        entries.push(Entry { name, bits: 32, ty: "uint32", shows });
        let mut names: BTreeSet<String> = entries.iter().map(|e| e.name.clone()).collect();
        for f in 0..code.functions() {
            for (name, r) in code.registers(f) {
                let shown = name_for_gdb(name);
                // lldb reads nothing behind a register that has no value.
                let kept = code.kernel.keeps(f, r.kind, r.number);
                if kept && r.ty.bits() <= 64 && names.insert(shown.clone()) {
                    let (bits, ty) = type_for_gdb(r.ty);
                    let shows = Shows::Ptx(name.clone());
                    entries.push(Entry { name: shown, bits, ty, shows });
                }
            }
        }
        Layout { entries, host }
    }

    /// The description as gdb reads it.
    pub(super) fn xml(&self) -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">\
             <architecture>i386:x86-64</architecture>",
        );
        let features = [
            ("org.gnu.gdb.i386.core", &self.entries[..self.host]),
            ("org.ptxrun.ptx", &self.entries[self.host..]),
        ];
        for (feature, entries) in features {
            let _ = write!(text, "<feature name=\"{feature}\">");
            for Entry { name, bits, ty, .. } in entries {
                let _ = write!(text, "<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{ty}\"/>");
            }
            text.push_str("</feature>");
        }
        text + "</target>"
    }

    /// The bytes of all registers in a lane; `None` where it has no value.
    pub(super) fn bytes(&self, code: &CodeMap, lane: &Lane<'_>, pc: u64) -> Vec<Option<u8>> {
        let mut out = Vec::new();
        for e in &self.entries {
            let value = match &e.shows {
                Shows::Zero => Some(0),
                Shows::Pc => Some(pc),
                Shows::Special(reg) => Some(lane.special(lane.lane, *reg)),
                Shows::Lanes => Some(lane.lanes.into()),
                Shows::Ptx(name) => code.register(lane.at().0, name).and_then(|r| {
                    let row = lane.register(0, r.kind, r.number)?;
                    Some(row[lane.lane as usize])
                }),
            };
            for n in 0..e.bits / 8 {
                out.push(value.map(|v| v.checked_shr(8 * n).unwrap_or(0) as u8));
            }
        }
        out
    }

    /// The registers of PTX whose bytes differ, with what they are to hold. `None` if another one is to change.
    pub(super) fn changes(
        &self,
        code: &CodeMap,
        function: u32,
        before: &[Option<u8>],
        after: &[u8],
    ) -> Option<Vec<(Register, u64)>> {
        let mut changes = Vec::new();
        let mut from = 0;
        for e in &self.entries {
            let range = from..from + e.bits as usize / 8;
            from = range.end;
            let (before, after) = (before.get(range.clone())?, after.get(range)?);
            // gdb gives back zeros for what has no value.
            if before.iter().zip(after).all(|(b, a)| b.unwrap_or(*a) == *a) {
                continue;
            }
            let Shows::Ptx(name) = &e.shows else { return None };
            let mut value = [0; 8];
            value[..after.len()].copy_from_slice(after);
            changes.push((code.register(function, name)?, u64::from_le_bytes(value)));
        }
        Some(changes)
    }
}
