//! Canonical text of a syntax tree; it parses back to an equal tree.

use crate::ast::*;
use std::fmt::{self, Display, Formatter, Write};

/// The tree as text: one statement a line, tabs inside bodies, constants folded.
pub fn print(ast: &Ast<'_>) -> String {
    let mut printer = Printer { ast, out: String::with_capacity(ast.src.len()), depth: 0 };
    for item in &ast.items {
        printer.item(item);
    }
    printer.out
}

/// Appends one item to `out`.
pub(crate) fn print_item(ast: &Ast<'_>, item: &Item, out: &mut String) {
    let mut printer = Printer { ast, out: std::mem::take(out), depth: 0 };
    printer.item(item);
    *out = printer.out;
}

struct Printer<'a> {
    ast: &'a Ast<'a>,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn put(&mut self, what: impl Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{what}");
    }

    fn line(&mut self, what: impl Display) {
        self.indent();
        self.put(what);
        self.out.push('\n');
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n('\t', self.depth));
    }

    fn list<T: Copy>(&mut self, items: &[T], each: impl Fn(&mut Self, T)) {
        for (i, &item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            each(self, item);
        }
    }

    fn words(&mut self, run: Run) {
        let ast = self.ast;
        self.list(ast.words(run), |p, w| p.put(ast.name(w.name)));
    }

    fn item(&mut self, item: &Item) {
        match *item {
            Item::Var(index) => self.var_line(index),
            Item::Function(index) => self.function(index),
            Item::Directive(index) => self.directive(index),
            Item::Section(index) => self.section(index),
        }
    }

    fn var_line(&mut self, index: u32) {
        let var = self.ast.var(index);
        self.indent();
        self.var(var);
        self.put(";\n");
    }

    fn var(&mut self, var: &Var) {
        let ast = self.ast;
        if var.linkage != Linkage::None {
            self.put(var.linkage.text());
            self.put(" ");
        }
        self.put(var.space.text());
        if let Some(bank) = var.bank {
            self.put(format_args!("[{bank}]"));
        }
        if var.attributes.count > 0 {
            self.put(" ");
            self.attributes(var.attributes);
        }
        match var.align {
            0 => {}
            u32::MAX => self.put(" .align 0"),
            align => self.put(format_args!(" .align {align}")),
        }
        if var.vector > 0 {
            self.put(format_args!(" .v{}", var.vector));
        }
        if let Some(ty) = var.ty {
            self.put(" ");
            self.put(ast.name(ty.name));
        }
        if let Some(ptr) = var.ptr {
            self.put(" .ptr");
            if ptr.space != DeclSpace::Missing {
                self.put(format_args!(" {}", ptr.space.text()));
            }
            if let Some(object) = ptr.object {
                self.put(format_args!(" {object}"));
            }
            if ptr.align > 0 {
                self.put(format_args!(" .align {}", ptr.align));
            }
        }
        self.put(" ");
        self.put(ast.name(var.name.name));
        if let Some(n) = var.numbered {
            self.put(format_args!("<{n}>"));
        }
        for &dim in ast.ints(var.dims) {
            match dim {
                Var::UNSIZED => self.put("[]"),
                n => self.put(format_args!("[{n}]")),
            }
        }
        if let Some(init) = ast.init(var) {
            self.put(" = ");
            self.operand(init);
        }
    }

    fn attributes(&mut self, run: Run) {
        let ast = self.ast;
        self.put(".attribute(");
        let words = ast.words(run);
        let mut i = 0;
        while i < words.len() {
            if i > 0 {
                self.put(", ");
            }
            self.put(ast.name(words[i].name));
            let number = |w: Option<&Word>| {
                let text = ast.name(w?.name);
                text.starts_with(|c: char| c.is_ascii_digit()).then_some(text)
            };
            if let (Some(a), Some(b)) = (number(words.get(i + 1)), number(words.get(i + 2))) {
                self.put(format_args!("({a}, {b})"));
                i += 2;
            }
            i += 1;
        }
        self.put(")");
    }

    fn params(&mut self, run: Run) {
        self.put("(");
        for (i, var) in self.ast.vars(run).iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.var(var);
        }
        self.put(")");
    }

    fn function(&mut self, index: u32) {
        let ast = self.ast;
        let f = ast.function(index);
        self.indent();
        if f.linkage != Linkage::None {
            self.put(f.linkage.text());
            self.put(" ");
        }
        self.put(match f.kind {
            FnKind::Entry => ".entry",
            FnKind::Func => ".func",
            FnKind::Prototype => ".callprototype",
        });
        if f.attributes.count > 0 {
            self.put(" ");
            self.attributes(f.attributes);
        }
        if f.returns.count > 0 {
            self.put(" ");
            self.params(f.returns);
        }
        self.put(" ");
        self.put(if f.kind == FnKind::Prototype { "_" } else { ast.name(f.name.name) });
        self.params(f.params);
        for attr in ast.attrs(f.attrs) {
            self.put(" ");
            let name = ast.name(attr.name.name);
            self.put(name);
            if attr.ints.count + attr.words.count > 0 {
                self.put(" ");
            }
            self.list(ast.ints(attr.ints), |p, n| p.put(n));
            self.words(attr.words);
            if name == ".pragma" {
                self.put(";");
            }
        }
        match f.body {
            None => self.put(";\n"),
            Some(body) => {
                self.put("\n");
                self.line("{");
                self.depth += 1;
                for stmt in ast.stmts(body) {
                    self.stmt(stmt);
                }
                self.depth = self.depth.saturating_sub(1);
                self.line("}");
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let ast = self.ast;
        match *stmt {
            Stmt::Instr(index) => self.instr(ast.instr(index)),
            Stmt::Label(index) => {
                let depth = std::mem::take(&mut self.depth);
                self.line(format_args!("{}:", ast.name(ast.label(index).name)));
                self.depth = depth;
            }
            Stmt::Var(index) => self.var_line(index),
            Stmt::Directive(index) => self.directive(index),
            Stmt::Prototype(index) => self.function(index),
            Stmt::Open(_) => {
                self.line("{");
                self.depth += 1;
            }
            Stmt::Close(_) => {
                self.depth = self.depth.saturating_sub(1);
                self.line("}");
            }
        }
    }

    fn directive(&mut self, index: u32) {
        let ast = self.ast;
        let d = ast.directive(index);
        let (ints, words) = (ast.ints(d.ints), ast.words(d.words));
        let word = |i: usize| words.get(i).map_or("", |w| ast.name(w.name));
        self.indent();
        match d.kind {
            DirectiveKind::Version => self.put(format_args!(".version {}", word(0))),
            DirectiveKind::Target => {
                self.put(".target ");
                self.words(d.words);
            }
            DirectiveKind::AddressSize => {
                self.put(".address_size ");
                self.list(ints, |p, n| p.put(n));
            }
            DirectiveKind::Alias => {
                self.put(".alias ");
                self.words(d.words);
                self.put(";");
            }
            DirectiveKind::Pragma => {
                self.put(".pragma ");
                self.words(d.words);
                self.put(";");
            }
            DirectiveKind::File => {
                self.put(format_args!(".file {} {}", ints[0], word(0)));
                for n in &ints[1..] {
                    self.put(format_args!(", {n}"));
                }
            }
            DirectiveKind::Loc | DirectiveKind::LocIntermediate => {
                let loc = d.kind == DirectiveKind::Loc;
                self.put(if loc { ".loc" } else { ".loc_intermediate" });
                for n in ints.iter().take(3) {
                    self.put(format_args!(" {n}"));
                }
                if let Some(w) = words.first() {
                    self.put(format_args!(", function_name {}", ast.name(w.name)));
                    if w.number > 0 {
                        self.put(format_args!("+{}", w.number));
                    }
                    self.put(", inlined_at");
                    for n in ints.iter().skip(3) {
                        self.put(format_args!(" {n}"));
                    }
                }
            }
            DirectiveKind::BranchTargets => {
                self.put(".branchtargets ");
                self.list(words, |p, w| {
                    p.put(ast.name(w.name));
                    if w.number > 0 {
                        p.put(format_args!("<{}>", w.number));
                    }
                });
                self.put(";");
            }
            DirectiveKind::CallTargets => {
                self.put(".calltargets ");
                self.words(d.words);
                self.put(";");
            }
            DirectiveKind::Dwarf => self.put(word(0)),
            DirectiveKind::CodeBlock => self.put(format_args!(
                ".nv_intermediate_source_section {{\n.code_block {{\n.ir_name: {}\n.sourceFileName: {}\n{}\n}}\n}}",
                word(0),
                ints[0],
                word(1)
            )),
        }
        self.put("\n");
    }

    fn section(&mut self, index: u32) {
        let ast = self.ast;
        let section = ast.section(index);
        self.put(format_args!(".section {}\n{{", ast.name(section.name.name)));
        for item in ast.section_items(section.items) {
            let name = match item.kind {
                SectionItemKind::Int => "",
                _ => ast.name(item.name()),
            };
            if item.kind == SectionItemKind::Label {
                self.put(format_args!("\n{name}:"));
                continue;
            }
            if item.row {
                self.put(format_args!("\n.b{} ", u32::from(item.width) * 8));
            } else {
                self.put(", ");
            }
            match item.kind {
                SectionItemKind::Int => self.put(item.int()),
                SectionItemKind::Address if item.offset() == 0 => self.put(name),
                SectionItemKind::Address => self.put(format_args!("{name}+{}", item.offset())),
                SectionItemKind::Label => {}
                SectionItemKind::Difference => {
                    self.put(format_args!("{name}-{}", ast.name(item.minus())));
                }
            }
        }
        self.put("\n}\n");
    }

    fn instr(&mut self, instr: &Instr) {
        let ast = self.ast;
        self.indent();
        if let Some(guard) = instr.guard() {
            self.put(if guard.negated { "@!" } else { "@" });
            self.put(ast.name(guard.name));
            self.put(" ");
        }
        self.put(ast.name(instr.opcode));
        for (i, operand) in ast.operands(instr.operands()).iter().enumerate() {
            self.put(if i == 0 { " " } else { ", " });
            self.operand(operand);
        }
        self.put(";\n");
    }

    fn operands(&mut self, items: &[Operand]) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.operand(item);
        }
    }

    fn operand(&mut self, operand: &Operand) {
        let text = OperandText { ast: self.ast, operand };
        match self.ast.arg(operand) {
            // Initialisers can be long and deep; print them without a formatter per level.
            Arg::Vector(items) => {
                self.put("{");
                self.operands(items);
                self.put("}");
            }
            _ => self.put(text),
        }
    }
}

/// Displays one operand.
pub struct OperandText<'a> {
    /// The tree that the operand belongs to.
    pub ast: &'a Ast<'a>,
    /// The operand.
    pub operand: &'a Operand,
}

impl OperandText<'_> {
    fn of<'b>(&'b self, operand: &'b Operand) -> OperandText<'b> {
        OperandText { ast: self.ast, operand }
    }
    fn list(&self, f: &mut Formatter<'_>, items: &[Operand]) -> fmt::Result {
        for (i, item) in items.iter().enumerate() {
            write!(f, "{}{}", if i > 0 { ", " } else { "" }, self.of(item))?;
        }
        Ok(())
    }
}

fn constant(f: &mut Formatter<'_>, imm: Imm, bits: bool) -> fmt::Result {
    match imm {
        Imm::Signed(i64::MIN) => f.write_str("(.s64)0x8000000000000000"),
        Imm::Signed(n) => write!(f, "{n}"),
        Imm::Unsigned(n) if n > i64::MAX as u64 => write!(f, "{n}"),
        Imm::Unsigned(n) => write!(f, "{n}U"),
        Imm::F32(bits) => write!(f, "0f{bits:08X}"),
        Imm::F64(n) if bits || !f64::from_bits(n).is_finite() => write!(f, "0d{n:016X}"),
        Imm::F64(n) => write!(f, "{:e}", f64::from_bits(n)),
    }
}

impl Display for OperandText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ast = self.ast;
        let unify = |unified: bool| if unified { ".unified" } else { "" };
        match ast.arg(self.operand) {
            Arg::Name { name, neg, not, part } => {
                let sign = if neg {
                    "-"
                } else if not {
                    "!"
                } else {
                    ""
                };
                write!(f, "{sign}{}", ast.name(name))?;
                match part {
                    Some(Selector::Other) => write!(f, ".{}", ast.part_text(self.operand)),
                    Some(part) => write!(f, ".{}", part.text()),
                    None => Ok(()),
                }
            }
            Arg::Offset { name, offset } => write!(f, "{}+{offset}", ast.name(name)),
            Arg::Imm(_) if ast.is_warp_sz(self.operand) => f.write_str("WARP_SZ"),
            Arg::Imm(imm) => constant(f, imm, self.operand.flags & flag::BITS != 0),
            Arg::Sink => f.write_str("_"),
            Arg::Mem { name, offset: 0, unified } => {
                write!(f, "[{}]{}", ast.name(name), unify(unified))
            }
            Arg::Mem { name, offset, unified } => {
                write!(f, "[{}+{offset}]{}", ast.name(name), unify(unified))
            }
            Arg::MemList { items, unified } => {
                f.write_str("[")?;
                self.list(f, items)?;
                write!(f, "]{}", unify(unified))
            }
            Arg::Vector(items) => {
                f.write_str("{")?;
                self.list(f, items)?;
                f.write_str("}")
            }
            Arg::Group(items) => {
                f.write_str("(")?;
                self.list(f, items)?;
                f.write_str(")")
            }
            Arg::Pair(a, b) => write!(f, "{}|{}", self.of(a), self.of(b)),
            Arg::Index(base, index) => write!(f, "{}[{}]", self.of(base), self.of(index)),
            Arg::Field { name, value } => write!(f, "{} = {}", ast.name(name), self.of(value)),
            Arg::Generic { name, offset: 0 } => write!(f, "generic({})", ast.name(name)),
            Arg::Generic { name, offset } => write!(f, "generic({})+{offset}", ast.name(name)),
            Arg::Mask(mask, address) => {
                // A mask is written without sign or suffix.
                match ast.arg(mask) {
                    Arg::Imm(Imm::Signed(n)) => write!(f, "{n:#x}")?,
                    Arg::Imm(Imm::Unsigned(n)) if n > i64::MAX as u64 => write!(f, "{n:#x}")?,
                    _ => write!(f, "{}", self.of(mask))?,
                }
                write!(f, "({})", self.of(address))
            }
        }
    }
}
