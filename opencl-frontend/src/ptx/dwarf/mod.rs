//! Variables of the source for debuggers: DWARF 2 as sections of the text, as `nvcc -G` writes it.
//!
//! Addresses are symbols of the text: labels and variables. The section of lines is the assembler's, which makes it of
//! the `.loc` directives.

mod abbreviations;
mod entries;
mod types;

use std::fmt::Write;

use super::Module;
use super::writer::Lines;
use crate::ir::Func;
use crate::ir::debug::{DebugInfo, Scope};
use crate::types::Space;
use abbreviations::{self as abbr, TABLE};
use entries::Entries;
use types::Types;

/// `DW_OP_addr`
const ADDRESS: u8 = 3;

/// Address spaces, as NVIDIA's debuggers number them (PTX writer's guide to interoperability, debug information).
pub(super) mod class {
    pub const CONST: u8 = 4;
    pub const GLOBAL: u8 = 5;
    pub const LOCAL: u8 = 6;
    pub const SHARED: u8 = 8;
    pub const GENERIC: u8 = 12;
}

/// A function as it was written.
pub(super) struct Written {
    /// Labels at which the code of a scope begins, which goes on up to the next one.
    pub marks: Vec<(String, u32)>,
    /// The labels before and behind the function.
    pub begin: String,
    pub end: String,
    /// Names of its private variables; none where the text does not declare one.
    pub privates: Vec<Option<String>>,
}

/// The sections.
pub(super) fn sections(
    module: &Module<'_>,
    globals: &[String],
    constants_in_global: bool,
    written: &[Written],
) -> String {
    let constants = if constants_in_global { class::GLOBAL } else { class::CONST };
    let mut unit = Unit {
        module,
        globals,
        types: Types::new(constants),
        entries: Entries::default(),
        ranges: Vec::new(),
        abstracts: Vec::new(),
    };
    unit.write(written);
    let mut out = String::from("\n.section .debug_abbrev\n{\n");
    for entry in TABLE {
        let bytes: Vec<String> = abbr::bytes(entry).iter().map(u8::to_string).collect();
        let _ = writeln!(out, ".b8 {}", bytes.join(", "));
    }
    out.push_str(".b8 0\n}\n\n.section .debug_info\n{\n");
    unit.entries.print(&mut out);
    out.push_str("}\n");
    if !unit.ranges.is_empty() {
        out.push_str("\n.section .debug_ranges\n{\n");
        for (begin, end) in &unit.ranges {
            let _ = writeln!(out, ".b64 {begin}\n.b64 {end}");
        }
        out.push_str("}\n");
    }
    out
}

struct Unit<'u> {
    module: &'u Module<'u>,
    globals: &'u [String],
    types: Types,
    entries: Entries,
    /// Of scopes whose code is not in one piece: begin and end of each piece, and two zeros.
    ranges: Vec<(String, String)>,
    /// Functions that are inlined: each has an entry.
    abstracts: Vec<u32>,
}

impl Unit<'_> {
    fn write(&mut self, written: &[Written]) {
        let name = self.module.files.first().map_or("", String::as_str);
        let entries = &mut self.entries;
        entries.begin(abbr::UNIT);
        entries.text(concat!("ptxrun ", env!("CARGO_PKG_VERSION")));
        // DW_LANG_OpenCL
        entries.half(0x15);
        entries.text(name);
        entries.section(".debug_line");
        entries.text("");
        entries.zero_address();
        for (g, used) in self.module.used.iter().enumerate() {
            if *used && self.module.program.globals[g].owner.is_none() {
                self.global(g);
            }
        }
        let inlined = self.module.functions.iter().filter_map(|f| f.debug.as_ref());
        let inlined = inlined.flat_map(|d| &d.scopes).filter_map(|s| Some(s.inlined?.0));
        self.abstracts = inlined.collect();
        self.abstracts.sort_unstable();
        self.abstracts.dedup();
        for &f in &self.abstracts {
            self.entries.mark_function(f);
            self.entries.begin(abbr::INLINED_FUNCTION);
            let name = self.module.program.functions[f as usize].name;
            self.entries.text(self.module.names.text(name));
            // DW_INL_inlined
            self.entries.byte(1);
        }
        for ((f, lines), written) in
            self.module.functions.iter().zip(self.module.lines).zip(written)
        {
            if let Some(debug) = &f.debug {
                self.function(f, debug, lines, written);
            }
        }
        let Unit { types, entries, module, .. } = self;
        types.write(module.program, module.names, entries);
        entries.close();
    }

    /// A variable with a fixed address, if it has a name of the source.
    fn global(&mut self, g: usize) {
        let global = &self.module.program.globals[g];
        let name = self.module.names.text(global.name);
        if name.is_empty() || name.starts_with("__") {
            return;
        }
        let class = match global.ty.space {
            Space::Local => class::SHARED,
            Space::Constant => self.types.constants,
            Space::Global | Space::Private | Space::Generic => class::GLOBAL,
        };
        self.entries.begin(abbr::VARIABLE);
        self.entries.place(ADDRESS, &self.globals[g]);
        self.entries.byte(class);
        self.entries.text(name);
        self.types.refer(&mut self.entries, global.ty);
    }

    fn function(&mut self, f: &Func, debug: &DebugInfo, lines: &Lines, written: &Written) {
        self.entries.begin(abbr::FUNCTION);
        self.entries.symbol(&written.begin);
        self.entries.symbol(&written.end);
        self.entries.text(&f.name);
        self.entries.text(&f.name);
        // DW_OP_call_frame_cfa
        self.entries.block(&[0x9c]);
        self.entries.byte(u8::from(f.is_kernel));
        self.variables(&debug.scopes[0], written);
        for (g, used) in self.module.used.iter().enumerate() {
            let owner = self.module.program.globals[g].owner;
            let name = owner.map(|o| self.module.program.functions[o.0 as usize].name);
            if *used && name.is_some_and(|n| self.module.names.text(n) == f.name) {
                self.global(g);
            }
        }
        self.inner(0, debug, lines, written);
        self.entries.close();
    }

    /// The scopes in a scope.
    fn inner(&mut self, outer: u32, debug: &DebugInfo, lines: &Lines, written: &Written) {
        for (n, scope) in debug.scopes.iter().enumerate() {
            let pieces = pieces(n as u32, debug, written);
            if scope.parent != Some(outer) || pieces.is_empty() {
                continue;
            }
            let one = <&[(&str, &str); 1]>::try_from(pieces.as_slice()).ok();
            self.entries.begin(match (scope.inlined.is_some(), one.is_some()) {
                (false, true) => abbr::BLOCK,
                (false, false) => abbr::BLOCK_OF_PIECES,
                (true, true) => abbr::INLINED,
                (true, false) => abbr::INLINED_OF_PIECES,
            });
            if let Some((function, call)) = scope.inlined {
                let place = lines.get(call as usize).copied().flatten().unwrap_or_default();
                self.entries.function(function);
                self.entries.byte(place.0.try_into().unwrap_or(0));
                self.entries.word(place.1);
            }
            match one {
                Some([(begin, end)]) => {
                    self.entries.symbol(begin);
                    self.entries.symbol(end);
                }
                None => {
                    self.entries.word(self.ranges.len() as u32 * 16);
                    let owned = |p: &(&str, &str)| (p.0.to_owned(), p.1.to_owned());
                    self.ranges.extend(pieces.iter().map(owned));
                    self.ranges.push(("0".into(), "0".into()));
                }
            }
            self.variables(scope, written);
            self.inner(n as u32, debug, lines, written);
            self.entries.close();
        }
    }

    fn variables(&mut self, scope: &Scope, written: &Written) {
        for v in &scope.variables {
            let local =
                &self.module.program.functions[v.function as usize].locals[v.local as usize];
            // The text declares what the code uses.
            let Some(Some(symbol)) = written.privates.get(v.private.0 as usize) else { continue };
            self.entries.begin(if v.is_parameter { abbr::PARAMETER } else { abbr::VARIABLE });
            self.entries.place(ADDRESS, symbol);
            self.entries.byte(class::LOCAL);
            self.entries.text(self.module.names.text(local.name));
            self.types.refer(&mut self.entries, local.ty);
        }
    }
}

/// The code of a scope and of those in it: labels at begin and end of each piece.
fn pieces<'w>(scope: u32, debug: &DebugInfo, written: &'w Written) -> Vec<(&'w str, &'w str)> {
    let inside = |mut at: u32| loop {
        if at == scope {
            return true;
        }
        match debug.scopes[at as usize].parent {
            Some(parent) => at = parent,
            None => return false,
        }
    };
    let mut out: Vec<(&str, &str)> = Vec::new();
    let mut open = None;
    for (label, at) in &written.marks {
        match (inside(*at), open) {
            (true, None) => open = Some(label.as_str()),
            (false, Some(begin)) => {
                out.push((begin, label));
                open = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    out.extend(open.map(|begin| (begin, written.end.as_str())));
    out
}

/// Bytes of a pointer.
const POINTER: u64 = 8;
