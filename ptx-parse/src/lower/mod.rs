//! Verified module to micro-ops in basic blocks.
//!
//! [`lower`] takes one kernel and everything that it can reach. Operand handles come from
//! `operands`, control flow from `flow`; the meaning of each instruction is its row's.

mod blocks;
mod contract;
mod function;
mod meets;
mod operands;

use std::collections::HashMap;
use std::sync::Arc;

use ptx_isa::row::Control;
use ptx_isa::{Space, table};

use crate::code::{Program, Refusal};
use crate::module::{CallTargets, Func, Lazy, Module, Operand, RelocationTarget};

/// What the functions of one kernel share: where its shared and thread-local variables lie.
pub(crate) struct Layout {
    /// Bytes that belong to nothing behind every shared variable and local array.
    pub gap: u32,
    /// Offset in shared memory by module symbol.
    pub shared: HashMap<u32, u32>,
    /// Offset in shared memory by function and body variable.
    pub shared_vars: HashMap<(u32, u32), u32>,
    /// Absolute `.local` address by module symbol.
    pub local: HashMap<u32, u32>,
    /// Bytes of module-scope `.local` variables, at the bottom of every thread's stack.
    pub local_bytes: u32,
    /// Index in the program by module function.
    pub functions: HashMap<u32, u32>,
}

/// Lowers the kernel `entry` (a [`Module::functions`] index) for execution.
///
/// # Errors
/// The first instruction, in order of functions reached, that cannot run.
pub fn lower(module: &Module, entry: u32) -> Result<Program, Refusal> {
    lower_spaced(module, entry, 0)
}

/// As [`lower`], with `gap` bytes that belong to nothing behind every shared variable and every local array: an index
/// that leaves its array shows there.
///
/// # Errors
/// As [`lower`].
pub fn lower_spaced(module: &Module, entry: u32, gap: u32) -> Result<Program, Refusal> {
    let reached = reachable(module, entry);
    whole(module, &reached)?;
    let mut program = Program {
        module: module.name.clone(),
        source: module.source.clone(),
        info: module.info,
        functions: Vec::with_capacity(reached.len()),
        params: Vec::new(),
        param_bytes: 0,
        shared_bytes: 0,
        dynamic_shared_align: 16,
        shared_vars: Vec::new(),
        tuning: module.functions[entry as usize].tuning.clone(),
        contraction: module.contraction,
        counted: false,
        joined: None,
        files: module.files.clone(),
        matches: Vec::with_capacity(module.matches.len() + 1),
    };
    program.matches.extend(module.matches.iter().cloned());
    program.matches.push(table().control(Control::Ret));
    for p in &module.functions[entry as usize].params {
        let offset = program.param_bytes.next_multiple_of(p.align.max(1));
        program.params.push((p.clone(), offset));
        program.param_bytes = offset + p.size;
    }
    let layout = lay_out(module, &reached, gap, &mut program);
    for &f in &reached {
        let lowered = function::lower_function(module, f, f == entry, &layout, &program.params)?;
        program.functions.push(lowered);
    }
    Ok(program)
}

/// What the kernel needs of a container could be read.
fn whole(module: &Module, reached: &[u32]) -> Result<(), Refusal> {
    for f in reached {
        let func = &module.functions[*f as usize];
        let damage = func.body.as_ref().and_then(Lazy::damage).or(module.matches.damage());
        if let Some(damage) = damage {
            let name = func.name.to_string();
            return Err(Refusal {
                opcode: name.clone(),
                why: damage.to_string(),
                function: name,
                span: func.span.clone(),
            });
        }
    }
    Ok(())
}

/// The function that `id` stands for, through aliases.
pub(crate) fn resolve(module: &Module, mut id: u32) -> u32 {
    // Aliases cannot form a cycle in a verified module; the bound is for safety only.
    for _ in 0..module.functions.len() {
        match module.functions[id as usize].alias {
            Some(next) => id = next,
            None => break,
        }
    }
    id
}

/// The kernel and all functions with a body that it may call, the kernel first.
fn reachable(module: &Module, entry: u32) -> Vec<u32> {
    let mut order = vec![entry];
    let mut indirect = false;
    let mut i = 0;
    while i < order.len() {
        let body = module.functions[order[i] as usize].body.as_ref();
        let mut found = Vec::new();
        for op in body.iter().flat_map(|b| b.operands.iter()) {
            match op {
                Operand::Func(f) => found.push(*f),
                Operand::Call(c) => match (&c.callee, c.targets) {
                    (Operand::Func(f), _) => found.push(*f),
                    (_, Some(CallTargets::Table(t))) => {
                        found.extend(
                            body.into_iter().flat_map(|b| b.call_targets[t as usize].iter()),
                        );
                    }
                    _ => indirect = true,
                },
                _ => {}
            }
        }
        if indirect && i + 1 == order.len() {
            found.extend(address_taken(module));
        }
        for f in found {
            let f = resolve(module, f);
            if module.functions[f as usize].body.is_some() && !order.contains(&f) {
                order.push(f);
            }
        }
        i += 1;
    }
    order
}

/// Functions whose address some variable or instruction of the module takes.
fn address_taken(module: &Module) -> Vec<u32> {
    let in_data =
        module.symbols.iter().flat_map(|s| &s.relocations).filter_map(|r| match r.target {
            RelocationTarget::Function(f) => Some(f),
            RelocationTarget::Symbol(_) => None,
        });
    let in_code = module.functions.iter().filter_map(|f: &Func| f.body.as_ref());
    let in_code = in_code.flat_map(|b| &b.operands).filter_map(|op| match op {
        Operand::Func(f) => Some(*f),
        _ => None,
    });
    in_data.chain(in_code).collect()
}

/// Most bytes of a frame or of shared memory that are told apart; no launch takes as many.
pub(crate) const LARGEST_FRAME: u64 = 1 << 31;

/// The first multiple of `align` from `offset` on.
fn aligned(offset: u32, align: u32) -> u32 {
    let at = u64::from(offset).next_multiple_of(u64::from(align.max(1)));
    at.min(LARGEST_FRAME) as u32
}

/// What comes behind `size` bytes at `offset`.
fn after(offset: u32, size: u64) -> u32 {
    (u64::from(offset) + size.min(LARGEST_FRAME)).min(LARGEST_FRAME) as u32
}

/// Places shared and module-scope local variables that the reached functions name.
fn lay_out(module: &Module, reached: &[u32], gap: u32, program: &mut Program) -> Layout {
    let mut layout = Layout {
        gap,
        shared: HashMap::new(),
        shared_vars: HashMap::new(),
        local: HashMap::new(),
        local_bytes: 0,
        functions: reached.iter().enumerate().map(|(i, f)| (*f, i as u32)).collect(),
    };
    let mut used = vec![false; module.symbols.len()];
    for f in reached {
        let Some(body) = &module.functions[*f as usize].body else { continue };
        for op in &body.operands {
            if let Operand::Symbol(s, _) = op {
                used[*s as usize] = true;
            }
        }
    }
    let mut dynamic = Vec::new();
    let place = |name: &str, size: u64, align: u32, program: &mut Program| {
        let offset = aligned(program.shared_bytes, align);
        program.shared_bytes = after(offset, size.saturating_add(u64::from(gap)));
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        program.shared_vars.push((name.to_string(), offset, size));
        offset
    };
    for (i, s) in module.symbols.iter().enumerate() {
        if !used[i] {
            continue;
        }
        let id = i as u32;
        match s.space {
            Space::Shared if s.size == 0 => {
                program.dynamic_shared_align = program.dynamic_shared_align.max(s.align);
                dynamic.push(id);
            }
            Space::Shared => {
                let offset = place(&s.name, s.size, s.align, program);
                layout.shared.insert(id, offset);
            }
            Space::Local => {
                let offset = aligned(layout.local_bytes, s.align);
                layout.local_bytes = after(offset, s.size);
                layout.local.insert(id, offset);
            }
            _ => {}
        }
    }
    for &f in reached {
        let vars = module.functions[f as usize].body.iter().flat_map(|b| &b.vars);
        for (i, v) in vars.enumerate().filter(|(_, v)| v.space == Space::Shared) {
            if v.size == 0 {
                program.dynamic_shared_align = program.dynamic_shared_align.max(v.align);
            } else {
                let offset = place(&v.name, v.size, v.align, program);
                layout.shared_vars.insert((f, i as u32), offset);
            }
        }
    }
    // All dynamic arrays start at the same place, behind the static ones.
    let end = aligned(program.shared_bytes, program.dynamic_shared_align);
    for &f in reached {
        let vars = module.functions[f as usize].body.iter().flat_map(|b| &b.vars);
        for (i, v) in vars.enumerate() {
            if v.space == Space::Shared && v.size == 0 {
                layout.shared_vars.insert((f, i as u32), end);
                program.shared_vars.push((v.name.to_string(), end, 0));
            }
        }
    }
    for id in dynamic {
        layout.shared.insert(id, end);
        program.shared_vars.push((module.symbols[id as usize].name.to_string(), end, 0));
    }
    layout.local_bytes = layout.local_bytes.next_multiple_of(16);
    layout
}

/// A [`Refusal`] at an instruction.
pub(crate) fn refusal(module: &Module, func: u32, inst: usize, why: String) -> Refusal {
    let f = &module.functions[func as usize];
    let span = f.body.as_ref().map_or(0..0, |b| b.insts[inst].span.clone());
    let text = &module.source[span.start as usize..span.end as usize];
    let opcode = text.split_ascii_whitespace().find(|w| !w.starts_with('@')).unwrap_or(text);
    Refusal {
        opcode: opcode.trim_end_matches(';').to_string(),
        why,
        function: f.name.to_string(),
        span,
    }
}

/// Convenience for callers that have an entry's name: its [`Module::functions`] index.
pub fn entry_index(module: &Module, name: &str) -> Option<u32> {
    module.functions.iter().position(|f| f.entry && f.name == name).map(|i| i as u32)
}

/// Names of the kernels of a module that have a body, in order.
pub fn entries(module: &Module) -> impl Iterator<Item = &Func> {
    module.functions.iter().filter(|f| f.entry && f.body.is_some())
}

/// A shared program, as engines hold it.
pub type SharedProgram = Arc<Program>;
