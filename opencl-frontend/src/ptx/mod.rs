//! PTX text.

mod dwarf;
mod inst;
mod names;
mod operand;
mod regs;
mod spaces;
mod types;
mod writer;

use std::fmt::Write;

use crate::diag::{Code, Diag};
use crate::ir::{Func, Op};
use crate::options::Options;
use crate::sema::hir::{Address, Global, Program};
use crate::symbol::Interner;
use crate::types::Space;
use names::{global_names, private_names};
use writer::{Constants, Writer, declaration};

pub use writer::Lines;

/// Version of PTX that knows the target, and debug information if there is any.
fn version(sm: u32, debug: bool) -> &'static str {
    match sm {
        ..20 => "1.4",
        20..30 if debug => "3.0",
        20..30 => "2.3",
        30..32 => "3.0",
        32 | 50 => "4.0",
        35 => "3.1",
        37 | 52 => "4.1",
        53 => "4.2",
        60..70 => "5.0",
        // `activemask` came with 6.2.
        70 | 72 => "6.2",
        75 => "6.3",
        80 => "7.0",
        _ => "7.8",
    }
}

/// The initial value of a variable with addresses in it, in words of eight bytes.
fn words(global: &Global, bytes: &[u8], names: &[String]) -> Vec<String> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word).to_string()
    };
    let mut words: Vec<String> = bytes.chunks(8).map(word).collect();
    for address in &global.addresses {
        let name = &names[address.of.0 as usize];
        let name = if address.generic { format!("generic({name})") } else { name.clone() };
        if let Some(word) = words.get_mut(address.at as usize / 8) {
            *word = match address.offset {
                0 => name,
                offset => format!("{name}{offset:+}"),
            };
        }
    }
    words
}

/// Bytes of constant memory that a module has (PTX ISA 5.1.3).
const CONSTANT_MEMORY: u64 = 64 << 10;

/// Writes a module.
pub fn write(
    program: &Program,
    names: &Interner,
    options: &Options,
    functions: &[Func],
    files: &[String],
    lines: &[Lines],
    sources: &dyn Fn(u32, u32) -> Option<String>,
) -> Result<String, Diag> {
    let used = used_globals(program, functions);
    let constants =
        || program.globals.iter().zip(&used).filter(|(g, used)| **used && is_constant(g));
    let bytes: u64 = constants().map(|(g, _)| program.types.size(g.ty.id).unwrap_or(0)).sum();
    let calls = functions.iter().any(|f| !f.is_kernel);
    // A pointer from memory may point to any of them.
    let held = program.globals.iter().zip(&used).any(|(g, used)| {
        let constant = |a: &Address| is_constant(&program.globals[a.of.0 as usize]);
        *used && !g.addresses.is_empty() && (is_constant(g) || g.addresses.iter().any(constant))
    });
    let in_global = calls || held || bytes > CONSTANT_MEMORY;
    let mut place = Constants { used: constants().next().is_some(), in_global };
    loop {
        let module =
            Module { program, names, options, functions, files, lines, sources, used: &used };
        match module.write(place)? {
            Some(text) => return Ok(text),
            None => place.in_global = true,
        }
    }
}

/// Which variables the functions use.
fn used_globals(program: &Program, functions: &[Func]) -> Vec<bool> {
    let mut used = vec![false; program.globals.len()];
    for f in functions {
        for block in &f.blocks {
            for &v in &block.insts {
                if let Op::GlobalAddr(g) = f.op(v) {
                    used[*g as usize] = true;
                }
            }
        }
    }
    let mut work: Vec<usize> = (0..used.len()).filter(|g| used[*g]).collect();
    while let Some(g) = work.pop() {
        for of in program.globals[g].addresses.iter().map(|a| a.of.0 as usize) {
            if !std::mem::replace(&mut used[of], true) {
                work.push(of);
            }
        }
    }
    used
}

/// The order in which variables are written: what one points to is declared before it.
fn in_order(program: &Program) -> Result<Vec<usize>, Diag> {
    let points_to = |g: usize| program.globals[g].addresses.iter().map(|a| a.of.0 as usize);
    let (mut order, mut left) = (Vec::new(), (0..program.globals.len()).collect::<Vec<_>>());
    let mut done = vec![false; left.len()];
    while !left.is_empty() {
        let before = left.len();
        left.retain(|&g| {
            done[g] = points_to(g).all(|of| of == g || done[of]);
            if done[g] {
                order.push(g);
            }
            !done[g]
        });
        if left.len() == before {
            let message = "variables that hold the addresses of each other are not compiled yet";
            return Err(Diag::error(Code::Unsupported, message));
        }
    }
    Ok(order)
}

/// A `__constant` variable.
fn is_constant(global: &Global) -> bool {
    global.bytes.is_some() && global.ty.space != Space::Global
}

/// What a module is written from.
struct Module<'m> {
    program: &'m Program,
    names: &'m Interner,
    options: &'m Options,
    functions: &'m [Func],
    files: &'m [String],
    lines: &'m [Lines],
    sources: &'m dyn Fn(u32, u32) -> Option<String>,
    used: &'m [bool],
}

impl Module<'_> {
    /// The text; none if a pointer may point to a constant of the program or to a buffer.
    fn write(&self, constants: Constants) -> Result<Option<String>, Diag> {
        let Module { program, names, options, functions, files, lines, used, .. } = *self;
        let mut out = String::new();
        let sm = options.sm;
        let variables = options.has_variables();
        let debug = if variables { ", debug" } else { "" };
        let _ = writeln!(out, ".version {}\n.target sm_{sm}{debug}", version(sm, variables));
        if sm >= 20 {
            let _ = writeln!(out, ".address_size 64");
        }
        if options.has_lines() {
            for (i, file) in files.iter().enumerate() {
                let _ = writeln!(
                    out,
                    ".file {} \"{}\"",
                    i + 1,
                    file.replace('\\', "\\\\").replace('"', "\\\"")
                );
            }
        }
        let globals = global_names(program, names, functions);
        for g in in_order(program)? {
            let global = &program.globals[g];
            if !used[g] {
                continue;
            }
            let size = program.types.size(global.ty.id).unwrap_or(1).max(1);
            if let Some(bytes) = &global.bytes
                && !global.addresses.is_empty()
            {
                let words = words(global, bytes, &globals);
                let (align, name, n) = (global.align.max(8), &globals[g], words.len());
                let list = words.join(", ");
                let _ = writeln!(out, "\n.global .align {align} .u64 {name}[{n}] = {{{list}}};");
            } else if let Some(bytes) = &global.bytes {
                let space =
                    if is_constant(global) && !constants.in_global { "const" } else { "global" };
                let _ =
                    write!(out, "\n.{space} .align {} .b8 {}[{size}]", global.align, globals[g]);
                if bytes.iter().any(|b| *b != 0) {
                    let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
                    let _ = write!(out, " = {{{}}}", list.join(", "));
                }
                out.push_str(";\n");
            }
        }
        let prints = |f: &Func| {
            f.blocks.iter().flat_map(|b| &b.insts).any(|v| matches!(f.op(*v), Op::Printf(..)))
        };
        if functions.iter().any(prints) {
            out.push_str(
            "\n.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);\n",
        );
        }
        for f in functions.iter().filter(|f| !f.is_kernel) {
            let _ = writeln!(out, "\n{};", declaration(f));
        }
        // Sections tell variables of different functions apart by name.
        let mut taken = globals.clone();
        let mut written = Vec::new();
        for (k, f) in functions.iter().enumerate() {
            let privates = private_names(f, &taken);
            if variables {
                taken.extend(privates.iter().cloned());
            }
            let mut writer = Writer::new(f, self, constants, &globals, &privates, &lines[k]);
            writer.number = k;
            writer.function()?;
            if writer.mixed.get() {
                return Ok(None);
            }
            out.push('\n');
            out.push_str(&writer.out);
            written.push(writer.written());
        }
        if variables {
            out.push_str(&dwarf::sections(self, &globals, constants.in_global, &written));
        }
        Ok(Some(out))
    }
}
