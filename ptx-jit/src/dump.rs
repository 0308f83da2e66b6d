//! A kernel on its way to machine code, as text, with the lines of PTX above what they became.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use iced_x86::{
    Decoder, DecoderOptions, Formatter, GasFormatter, Instruction, Mnemonic, OpKind,
    SymbolResolver, SymbolResult,
};
use ptx_parse::code::Program;

use crate::backend::{clif, compiled, widest};
use crate::compile::assumed;
use crate::host::target;
use crate::ir::Op;
use crate::middle::{Middle, middle};
use crate::options::{Options, Seen};
use crate::recursion::flattened;
use crate::unsupported::Unsupported;
use crate::variance::Variance;

/// Writes the PTX line above each run of instructions that come from it.
struct Lines<'a> {
    source: &'a str,
    /// Where lines begin.
    starts: Vec<usize>,
    /// The line above what is being written.
    now: usize,
    mark: &'static str,
}

impl<'a> Lines<'a> {
    fn new(program: &'a Program, mark: &'static str) -> Lines<'a> {
        let source = &*program.source;
        let ends = source.match_indices('\n').map(|(at, _)| at + 1);
        Lines { source, starts: std::iter::once(0).chain(ends).collect(), now: 0, mark }
    }

    /// What follows comes from the text at `at`.
    fn at(&mut self, out: &mut String, at: u32) {
        let line = self.starts.partition_point(|start| *start <= at as usize);
        if line != self.now {
            self.now = line;
            let text = self.source[self.starts[line - 1]..].lines().next().unwrap_or_default();
            let _ = writeln!(out, "{} {line}: {}", self.mark, text.trim());
        }
    }

    /// What follows comes from no line.
    fn none(&mut self, out: &mut String) {
        if self.now != usize::MAX {
            self.now = usize::MAX;
            let _ = writeln!(out, "{} of no line", self.mark);
        }
    }

    /// What follows is reached from elsewhere, so that its line is told again.
    fn restart(&mut self) {
        self.now = 0;
    }
}

/// The middle form after all passes, as text.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn dump(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
) -> Result<String, Unsupported> {
    let program = &*flattened(program, options.stack)?;
    let assumed = assumed(program, seen);
    let Middle { func: f, geometry: g, divergence, .. } =
        middle(program, block, &assumed, options, widest())?;
    let mut out = String::new();
    let mut lines = Lines::new(program, "  ;");
    let _ = writeln!(out, "{} lanes a group, {} groups", g.width, g.groups());
    for (n, b) in f.blocks.iter().enumerate() {
        let masked = if divergence.masked[n] { " masked" } else { "" };
        let _ = writeln!(out, "block {n}{masked}: from {:?}", b.preds);
        lines.restart();
        for v in &b.insts {
            let i = &f.insts[*v as usize];
            let shape = match &divergence.of[*v as usize] {
                s if s.uniform() => "uniform",
                Variance::Linear(_) => "linear",
                _ => "vector",
            };
            match (i.op, f.at.get(*v as usize)) {
                (Op::Effect(e), _) => lines.at(&mut out, f.effects[e as usize].origin.span.start),
                // Where paths meet there is no instruction.
                (Op::Phi, _) | (_, None) => {}
                (_, Some(at)) => lines.at(&mut out, *at),
            }
            let _ = match i.op {
                Op::Effect(e) => {
                    let e = &f.effects[e as usize];
                    writeln!(out, "    {:?} = {:?} {:?} if {:?}", e.dst, e.effect, e.src, e.guard)
                }
                op => writeln!(out, "    %{v} = {op:?} {:?}  ; {shape}", i.args),
            };
        }
        let _ = writeln!(out, "    {:?}", b.term);
    }
    Ok(out)
}

/// What Cranelift indents by where instructions have places.
const ROOM: &str = "                                ";

/// Cranelift's form of the kernel, as text.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn dump_clif(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
) -> Result<String, Unsupported> {
    let program = &*flattened(program, options.stack)?;
    let assumed = assumed(program, seen);
    let middle = middle(program, block, &assumed, options, widest())?;
    let (cx, _) = clif(&middle, target()?.frontend_config())?;
    let mut out = String::new();
    let mut lines = Lines::new(program, ";");
    for line in cx.func.display().to_string().lines() {
        // An instruction with a place in the text has it in front, as a hexadecimal number.
        let placed = line.strip_prefix('@').and_then(|l| l.split_once(' '));
        match placed.map(|(at, rest)| (u32::from_str_radix(at, 16), rest)) {
            Some((Ok(at), rest)) => {
                lines.at(&mut out, at);
                let _ = writeln!(out, "    {}", rest.trim_start());
            }
            _ => {
                // Room for places, which nothing else needs.
                let line = line.strip_prefix(ROOM).unwrap_or(line);
                if line.starts_with("block") {
                    lines.restart();
                }
                let _ = writeln!(out, "{line}");
            }
        }
    }
    Ok(out)
}

/// The machine code, as text: offsets, labels where jumps lead, and data that the code reads.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn dump_asm(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
) -> Result<String, Unsupported> {
    let program = &*flattened(program, options.stack)?;
    let assumed = assumed(program, seen);
    let machine = compiled(program, block, &assumed, options, target()?)?.code;
    let places = machine.places;
    let mut lines = Lines::new(program, "#");
    let place = |out: &mut String, offset: u64| {
        let n = places.partition_point(|p| u64::from(p.0) <= offset);
        match n.checked_sub(1).map(|n| places[n].1).filter(|at| *at != u32::MAX) {
            Some(at) => lines.at(out, at),
            None => lines.none(out),
        }
    };
    Ok(disassemble(&machine.bytes, place))
}

/// Names of the places that code refers to.
struct Names(BTreeMap<u64, String>);

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _: u32,
        operand: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        // Not immediates and offsets, which may happen to be the same numbers.
        let kind = instruction.try_op_kind(operand?).ok()?;
        let named = kind == OpKind::NearBranch64
            || kind == OpKind::Memory && instruction.is_ip_rel_memory_operand();
        self.0.get(&address).filter(|_| named).map(|name| SymbolResult::with_str(address, name))
    }
}

/// A piece of code, in order.
enum Piece {
    Code(Instruction),
    /// An entry of a jump table: where it leads.
    Entry(u64),
    /// Constants, to the end.
    Data,
}

/// Code of one function, with jump tables behind indirect jumps and constants behind everything.
fn disassemble(code: &[u8], mut place: impl FnMut(&mut String, u64)) -> String {
    let end = code.len() as u64;
    let mut pieces: Vec<(u64, Piece)> = Vec::new();
    let (mut jumps, mut tables) = (BTreeSet::new(), BTreeSet::new());
    let mut data = end;
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    while decoder.ip() < data {
        let at = decoder.ip();
        if tables.contains(&at) {
            // Offsets from the table's start, up to code that some jump leads to.
            let mut next = at;
            while next < data
                && !jumps.contains(&next)
                && let Some(word) = code[next as usize..].first_chunk()
                && let to = at.wrapping_add_signed(i64::from(i32::from_le_bytes(*word)))
                && to < end
            {
                jumps.insert(to);
                pieces.push((next, Piece::Entry(to)));
                next += 4;
            }
            if next > at && decoder.set_position(next as usize).is_ok() {
                decoder.set_ip(next);
                continue;
            }
        }
        let i = decoder.decode();
        if i.op0_kind() == OpKind::NearBranch64 {
            jumps.insert(i.near_branch_target());
        } else if i.is_ip_rel_memory_operand() {
            let to = i.ip_rel_memory_address();
            match i.mnemonic() {
                Mnemonic::Lea => {
                    tables.insert(to);
                }
                _ => data = data.min(to),
            }
        }
        pieces.push((at, Piece::Code(i)));
    }
    if data < end {
        pieces.push((data, Piece::Data));
    }
    let jumps = jumps.iter().enumerate().map(|(n, at)| (*at, format!("L{n}")));
    let tables = tables.iter().enumerate().map(|(n, at)| (*at, format!("T{n}")));
    let mut names: BTreeMap<u64, String> = jumps.chain(tables).collect();
    names.extend((data..end).step_by(8).map(|at| (at, format!("C+{:#x}", at - data))));
    let mut formatter = GasFormatter::with_options(Some(Box::new(Names(names.clone()))), None);
    let style = formatter.options_mut();
    style.set_first_operand_char_index(10);
    style.set_uppercase_hex(false);
    style.set_rip_relative_addresses(true);
    let mut out = String::new();
    for (at, piece) in pieces {
        if at < data
            && let Some(name) = names.get(&at)
        {
            let _ = writeln!(out, "{name}:");
        }
        match piece {
            Piece::Code(i) => {
                place(&mut out, at);
                let mut text = String::new();
                formatter.format(&i, &mut text);
                let _ = writeln!(out, "{at:6x}  {text}");
            }
            Piece::Entry(to) => {
                let _ = writeln!(out, "{at:6x}  .long     {}", names[&to]);
            }
            Piece::Data => {
                let _ = writeln!(out, "C:");
                for (n, word) in code[at as usize..].chunks(8).enumerate() {
                    let bytes: String = word.iter().rev().map(|b| format!("{b:02x}")).collect();
                    let _ = writeln!(out, "{:6x}  .quad     0x{bytes}", at as usize + 8 * n);
                }
            }
        }
    }
    out
}
