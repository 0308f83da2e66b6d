//! Names, types and rules: syntax tree to verified [`Module`].
//!
//! - `header`: `.version`, `.target`, `.address_size`;
//! - `scope`: what a name means where;
//! - `declare`, `init`: variables and their initial values;
//! - `function`, `head`: declarations, bodies, labels; the directives of a head;
//! - `opcode`: opcode text to rows, once per distinct text;
//! - `operands`, `values`, `call`: operands against the slots of a row;
//! - `limits`: rules on values and sizes;
//! - `explain`: findings about operands in words.

mod address;
mod call;
mod declare;
mod explain;
mod function;
mod head;
pub mod header;
mod init;
mod limits;
mod opcode;
mod operands;
mod scope;
mod values;

use crate::ast::{Ast, DirectiveKind, Item};
use crate::diag::{Code, Diag};
use crate::module::{Body, Lazy, Module};
use crate::names::Name;
use crate::span::Span;
use opcode::Opcode;
use ptx_isa::meaning::ModuleInfo;
use ptx_isa::types::{PtxVersion, Target, ptx};
use scope::Scopes;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Reads and verifies `text`, called `name` in reports.
///
/// The module is there if there is no error; the findings are in the order of the text.
pub fn parse_and_verify(text: &str, name: &str) -> (Option<Module>, Vec<Diag>) {
    parse_and_verify_with(text, name, false)
}

/// As [`parse_and_verify`]; `lenient` also takes the forms outside PTX that some generators write
/// ([`ptx_isa::rows::lenient`]).
pub fn parse_and_verify_with(text: &str, name: &str, lenient: bool) -> (Option<Module>, Vec<Diag>) {
    let (ast, mut diags) = crate::parse(text);
    if diags.iter().any(Diag::is_error) {
        if let Some(diag) = crate::foreign::recognise(text) {
            return (None, vec![diag]);
        }
        // The gaps would only produce findings that follow from them.
        return (None, diags);
    }
    let (module, more) = run(&ast, name, lenient);
    diags.extend(more);
    diags.sort_by_key(|d| d.span.start);
    let refused = diags.iter().any(Diag::is_error);
    (module.filter(|_| !refused), diags)
}

/// Checks a tree that was read without error. A tree with gaps can be given
/// too, its findings may then include some that follow from the gaps.
pub fn verify(ast: &Ast<'_>, name: &str) -> (Option<Module>, Vec<Diag>) {
    run(ast, name, false)
}

fn run(ast: &Ast<'_>, name: &str, lenient: bool) -> (Option<Module>, Vec<Diag>) {
    let mut v = Verifier { lenient, ..Verifier::new(ast, name) };
    v.items();
    let refused = v.diags.iter().any(Diag::is_error);
    (Some(v.module).filter(|_| !refused), v.diags)
}

/// The state of one verification.
struct Verifier<'a> {
    ast: &'a Ast<'a>,
    diags: Vec<Diag>,
    module: Module,
    scopes: Scopes,
    /// Texts of registers' names.
    shared: HashMap<Name, u32>,
    /// Distinct opcodes seen, and which one each name is (index + 1).
    opcodes: Vec<Opcode>,
    opcode_of: Vec<u32>,
    /// The body being built.
    body: Body,
    /// Operands of the instruction being resolved.
    top: Vec<crate::module::Operand>,
    /// The `.loc` in force.
    loc: Option<u32>,
    /// Names reported as unknown in this function.
    reported: HashSet<Name>,
    in_entry: bool,
    /// Index of the current function in the module.
    function: usize,
    /// Registers declared at module scope (PTX 1.x).
    module_regs: Vec<crate::ast::Var>,
    /// Whether the module says its `.address_size`; else its registers decide.
    sized: bool,
    /// Number of results of the current function; parameters count on from there.
    returns: u32,
    /// First use of a 32-bit global or generic address in a module that does not say its size.
    narrow: Option<Span>,
    /// `.target …, debug`
    debug: Option<Span>,
    /// Take forms outside PTX.
    lenient: bool,
}

impl<'a> Verifier<'a> {
    fn new(ast: &'a Ast<'a>, name: &str) -> Verifier<'a> {
        let info = ModuleInfo {
            target: Target::plain(0),
            version: PtxVersion::default(),
            address_bits: 32,
        };
        Verifier {
            ast,
            diags: Vec::new(),
            module: Module {
                name: Arc::from(name),
                source: Arc::from(ast.source()),
                info,
                contraction: true,
                symbols: Vec::new(),
                functions: Vec::new(),
                matches: Lazy::default(),
                files: Vec::new(),
                reg_names: Vec::new(),
            },
            scopes: Scopes::new(ast.names().len()),
            shared: HashMap::new(),
            opcodes: Vec::new(),
            opcode_of: vec![0; ast.names().len()],
            body: Body::default(),
            top: Vec::new(),
            loc: None,
            reported: HashSet::new(),
            in_entry: false,
            function: 0,
            module_regs: Vec::new(),
            sized: false,
            returns: 0,
            narrow: None,
            debug: None,
            lenient: false,
        }
    }

    fn text(&self, name: Name) -> &'a str {
        self.ast.name(name)
    }

    #[cold]
    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Diag {
        self.diags.push(Diag::error(code, span, message));
        self.diags.last_mut().expect("just pushed")
    }

    /// Reports a feature that the module's version or target lacks.
    #[cold]
    fn floor(&mut self, span: Span, what: &str, since: PtxVersion, sm: u16) {
        let info = self.module.info;
        if info.version < since {
            self.error(Code::Version, span, format!("{what} needs `.version {since}` or later"))
                .note(format!("the module says `.version {}`", info.version));
        }
        if info.target.sm < sm {
            self.error(Code::Target, span, format!("{what} needs `.target sm_{sm}` or later"))
                .note(format!("the module says `.target {}`", info.target));
        }
    }

    /// Whether the module reaches a floor.
    fn reaches(&self, since: PtxVersion, sm: u16) -> bool {
        self.module.info.version >= since && self.module.info.target.sm >= sm
    }

    fn need(&mut self, span: Span, what: &str, since: PtxVersion, sm: u16) {
        if !self.reaches(since, sm) {
            self.floor(span, what, since, sm);
        }
    }

    fn items(&mut self) {
        let ast = self.ast;
        if !self.header() {
            return;
        }
        for item in &ast.items {
            match *item {
                Item::Var(index) => self.module_var(ast.var(index)),
                Item::Function(index) => self.function(ast.function(index)),
                Item::Directive(index) => self.module_directive(ast.directive(index)),
                Item::Section(index) => {
                    let section = ast.section(index);
                    self.need(section.span, "`.section`", ptx(2, 0), 0);
                }
            }
        }
        self.after();
    }

    fn module_directive(&mut self, d: &crate::ast::Directive) {
        let ast = self.ast;
        let words = ast.words(d.words);
        match d.kind {
            DirectiveKind::Alias => self.alias(d.span, words),
            DirectiveKind::File => {
                let index = ast.ints(d.ints).first().copied().unwrap_or(0);
                let name = words.first().map_or("", |w| self.text(w.name));
                self.module.files.push((index as u32, name.trim_matches('"').to_owned()));
            }
            DirectiveKind::Pragma => {
                // ptxas knows one pragma at module level, a hint.
                let nounroll = |w: &crate::ast::Word| self.text(w.name) == "\"nounroll\"";
                if !words.is_empty() && words.iter().all(nounroll) {
                    return;
                }
                self.error(Code::Directive, d.span, "this pragma is not supported at module level")
                    .help("write it in the function or before the loop that it is meant for");
            }
            DirectiveKind::Dwarf if self.module.info.version >= ptx(2, 0) => {
                self.error(Code::Directive, d.span, "`@@DWARF` ended with PTX 2.0")
                    .help("write `.section .debug_info { … }`");
            }
            DirectiveKind::CodeBlock => {
                self.need(d.span, "`.nv_intermediate_source_section`", ptx(9, 4), 0);
            }
            _ => {}
        }
    }

    /// Rules that can be judged when everything was read.
    fn after(&mut self) {
        for f in 0..self.module.functions.len() {
            self.unresolved(f);
        }
        self.memory_limits();
        let sections = self.ast.items.iter().any(|i| matches!(i, Item::Section(_)));
        if let Some(span) = self.debug.filter(|_| !sections) {
            self.error(Code::Target, span, "`debug` promises debug information that is not there")
                .help("remove `debug`, or add the `.section .debug_…` blocks");
        }
        if !self.sized {
            let old = self.module.info.target.sm < 20;
            let bits = if self.narrow.is_some() || old { 32 } else { 64 };
            self.module.info.address_bits = bits;
        }
    }
}
