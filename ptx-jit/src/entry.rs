//! What is kept of a compiled kernel: its machine code, and beside it what running that needs, so that neither the
//! middle form nor Cranelift is asked again.
//!
//! ```text
//! magic, key (2), words up to here and on to the checksum, bytes of code | what stands beside | checksum (2) | code
//! ```
//! All in words of 8 bytes, little-endian.

use std::io::Read;

use ptx_isa::Kind;
use ptx_isa::effect::Effect;
use ptx_isa::meaning::Uop;
use ptx_isa::special::Sreg;
use ptx_parse::code::Program;

use crate::access::which::local_bytes;
use crate::blob::Blob;
use crate::form::Form;
use crate::geometry::Geometry;
use crate::ir::{Func, Op, Origin, Val};
use crate::layout::{Layout, SiteInfo};
use crate::thunk::Thunks;

const MAGIC: u64 = u64::from_le_bytes(*b"PTXJIT04");
/// Words before what stands beside the code, and of the checksum behind it.
const HEAD: usize = 5;
const SUM: usize = 2;
/// More words than any entry has.
const MOST: u64 = 1 << 22;

/// A hash of everything that code depends on, and of entries against damage: 16 bytes a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub(crate) u128);

impl Key {
    pub(crate) fn new() -> Key {
        Key(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
    /// Adds a part; its length tells it from the next one.
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.step(part.len() as u128);
        let (words, rest) = part.as_chunks::<16>();
        words.iter().for_each(|w| self.step(u128::from_le_bytes(*w)));
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        self.step(u128::from_le_bytes(last));
    }
    /// Every step can be undone, so that texts that differ in one word never agree.
    fn step(&mut self, word: u128) {
        self.0 = (self.0 ^ word).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
        self.0 ^= self.0 >> 67;
    }
}

impl std::hash::Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }
    fn finish(&self) -> u64 {
        self.0 as u64
    }
}

/// What running compiled code needs of its kernel.
pub(crate) struct Needs {
    pub layout: Layout,
    /// Lanes of a group.
    pub width: u32,
    /// Bits of a vector.
    pub vector_bits: u32,
    /// Values of the middle form, for reports.
    pub values: usize,
    /// Bytes of the kernel's own code, before the thunks.
    pub code_bytes: usize,
    /// Where the thunks begin in the code.
    pub thunks: Thunks,
    /// Bytes of local memory of a thread, and how many of them are zero when a block begins.
    pub local_bytes: usize,
    pub cleared_bytes: usize,
    /// Number of symbols that the code may read.
    pub symbols: usize,
    /// Special registers that the code reads from its context.
    pub specials: Vec<Sreg>,
    pub effects: Vec<Slow>,
}

/// An effect as its slow way needs it.
pub(crate) struct Slow {
    pub effect: Effect,
    pub origin: Origin,
    pub src: Operands,
    pub dst: Operands,
}

/// Sources or destinations of an effect.
#[derive(Copy, Clone)]
pub(crate) struct Operands {
    pub count: usize,
    /// Those of 64 bits, a bit each; what has more operands is done over whole warps ([`crate::meet`]).
    long: u32,
}

impl Operands {
    /// Whether operand `n` has 64 bits.
    pub(crate) fn long(self, n: usize) -> bool {
        n < 32 && self.long >> n & 1 != 0
    }
}

/// What [`Needs::read`] reads. The effects are those of the program, by place.
pub(crate) fn needs(
    f: &Func,
    g: Geometry,
    form: Form,
    layout: &Layout,
    code_bytes: usize,
    thunks: Thunks,
) -> Vec<u64> {
    let mut specials: Vec<u64> = f
        .insts
        .iter()
        .filter_map(|i| if let Op::Special(s) = i.op { Some(s as u64) } else { None })
        .collect();
    specials.sort_unstable();
    specials.dedup();
    let symbols =
        f.insts.iter().map(|i| if let Op::Symbol(n, ..) = i.op { n + 1 } else { 0 }).max();
    let values: usize = f.blocks.iter().map(|b| b.insts.len()).sum();
    let mut out = vec![
        u64::from(g.width),
        8 * form.bytes() as u64,
        values as u64,
        code_bytes as u64,
        thunks.effect as u64,
        thunks.refuel as u64,
        thunks.lanes as u64,
        local_bytes(f) as u64,
        u64::from(symbols.unwrap_or(0)),
        layout.spill_bytes as u64,
        layout.barriers as u64,
        layout.waits as u64,
        layout.meets.len() as u64,
        layout.meeting_rows[0] as u64,
        layout.meeting_rows[1] as u64,
        local_bytes(f) as u64 - u64::from(f.stack_bytes),
        layout.beside.unwrap_or(0) as u64,
        specials.len() as u64,
        f.effects.len() as u64,
        layout.sites.len() as u64,
    ];
    out.extend(specials);
    out.extend(layout.meets.iter().map(|e| u64::from(*e)));
    let long = |values: &[Val]| {
        let bits = values.iter().map(|v| u64::from(f.insts[*v as usize].kind == Kind::D));
        bits.take(32).enumerate().fold(0, |all, (n, bit)| all | bit << n)
    };
    for e in &f.effects {
        out.push(u64::from(e.origin.function) | u64::from(e.inst) << 32);
        out.push(u64::from(e.uop) | (e.src.len() as u64) << 32 | (e.dst.len() as u64) << 48);
        out.push(long(&e.src) | long(&e.dst) << 32);
    }
    for s in &layout.sites {
        let flags = u64::from(s.shared) << 32 | u64::from(s.narrow) << 33;
        out.extend([u64::from(s.effect) | flags, s.span, s.unit]);
    }
    out
}

impl Needs {
    /// Reads what [`needs`] has written for this program; `None` where it cannot be that.
    pub(crate) fn read(words: &[u64], program: &Program) -> Option<Needs> {
        let (head, rest) = words.split_first_chunk::<20>()?;
        let [
            width,
            vector_bits,
            values,
            code_bytes,
            effect,
            refuel,
            lanes,
            local_bytes,
            symbols,
            rest_of_head @ ..,
        ] = head.map(|w| w as usize);
        let [
            spill_bytes,
            barriers,
            waits,
            meets,
            given,
            taken,
            cleared_bytes,
            beside,
            specials,
            effects,
            sites,
        ] = rest_of_head;
        if cleared_bytes > local_bytes || !matches!(beside, 0 | 1 | 2 | 4 | 8) {
            return None;
        }
        let (specials, rest) = rest.split_at_checked(specials)?;
        let (meets, rest) = rest.split_at_checked(meets)?;
        let (effects, sites_of) = rest.split_at_checked(effects.checked_mul(3)?)?;
        let count = effects.len() as u64 / 3;
        let place = |e: &u64| (*e < count).then_some(*e as u32);
        if sites.checked_mul(3) != Some(sites_of.len()) {
            return None;
        }
        let special = |n: &u64| Sreg::ALL.get(*n as usize).copied();
        let site = |w: &[u64; 3]| SiteInfo {
            effect: w[0] as u32,
            shared: w[0] >> 32 & 1 != 0,
            narrow: w[0] >> 33 & 1 != 0,
            span: w[1],
            unit: w[2],
        };
        let effects: Vec<Slow> =
            effects.as_chunks().0.iter().map(|w| slow(w, program)).collect::<Option<_>>()?;
        let meets: Vec<u32> = meets.iter().map(place).collect::<Option<_>>()?;
        let fits = |e: &u32| {
            let Slow { src, dst, .. } = &effects[*e as usize];
            src.count <= given && dst.count <= taken
        };
        if !meets.iter().all(fits) {
            return None;
        }
        Some(Needs {
            layout: Layout {
                spill_bytes,
                barriers,
                waits,
                meets,
                meeting_rows: [given, taken],
                beside: Some(beside).filter(|bytes| *bytes != 0),
                sites: sites_of.as_chunks().0.iter().map(site).collect(),
            },
            width: u32::try_from(width).ok()?,
            vector_bits: u32::try_from(vector_bits).ok()?,
            values,
            code_bytes,
            thunks: Thunks { effect, refuel, lanes },
            local_bytes,
            cleared_bytes,
            symbols,
            specials: specials.iter().map(special).collect::<Option<_>>()?,
            effects,
        })
    }
}

/// An effect of the program, if the micro-op at its place is one with as many operands.
fn slow(words: &[u64; 3], program: &Program) -> Option<Slow> {
    let (function, inst) = (words[0] as u32, (words[0] >> 32) as usize);
    let (uop, src, dst) = (words[1] as u32, words[1] >> 32 & 0xffff, words[1] >> 48);
    let f = program.functions.get(function as usize)?;
    let inst = f.insts.get(inst)?;
    let Uop::Effect { effect, dst: to, src: from } = f.uops.get(uop as usize)? else { return None };
    if !inst.uops.contains(&uop) || (from.len(), to.len()) != (src as usize, dst as usize) {
        return None;
    }
    Some(Slow {
        effect: *effect,
        origin: Origin { function, span: inst.span.clone() },
        src: Operands { count: from.len(), long: words[2] as u32 },
        dst: Operands { count: to.len(), long: (words[2] >> 32) as u32 },
    })
}

/// What stands before the code of an entry.
pub(crate) fn head(key: Key, needs: &[u64], code: &[u8]) -> Vec<u8> {
    let words = HEAD + needs.len() + SUM;
    let first = [MAGIC, key.0 as u64, (key.0 >> 64) as u64, words as u64, code.len() as u64];
    let mut out: Vec<u8> = first.iter().chain(needs).flat_map(|w| w.to_le_bytes()).collect();
    out.extend(sum(&out, code).to_le_bytes());
    out
}

/// A checksum of head and code.
fn sum(head: &[u8], code: &[u8]) -> u128 {
    let mut sum = Key::new();
    sum.add(head);
    sum.add(code);
    sum.0
}

pub(crate) const CUT: &str = "it is cut short";
pub(crate) const ALTERED: &str = "it was altered";
const ELSE: &str = "it is something else";

/// The entry of `key` that `from` begins with; `code` gives as many bytes of code as it is asked for, which begin at
/// the offset that it is given.
pub(crate) fn read(
    mut from: impl Read,
    key: Key,
    program: &Program,
    code: impl FnOnce(u64, u64) -> Result<Blob, String>,
) -> Result<(Blob, Needs), String> {
    let mut bytes = vec![0; 8 * HEAD];
    from.read_exact(&mut bytes).map_err(|_| CUT)?;
    let word = |n: usize| bytes[8 * n..].first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
    if (word(0), word(1), word(2)) != (MAGIC, key.0 as u64, (key.0 >> 64) as u64) {
        return Err(ELSE.into());
    }
    let (words, size) = (word(3), word(4));
    if !((HEAD + SUM) as u64..MOST).contains(&words) || size == 0 {
        return Err(CUT.into());
    }
    bytes.resize(8 * words as usize, 0);
    from.read_exact(&mut bytes[8 * HEAD..]).map_err(|_| CUT)?;
    let blob = code(bytes.len() as u64, size)?;
    let (head, last) = bytes.split_at(bytes.len() - 8 * SUM);
    if sum(head, blob.bytes()).to_le_bytes() != *last {
        return Err(ALTERED.into());
    }
    let beside: Vec<u64> =
        head[8 * HEAD..].as_chunks().0.iter().map(|w| u64::from_le_bytes(*w)).collect();
    let needs = Needs::read(&beside, program).ok_or(ELSE)?;
    Ok((blob, needs))
}
