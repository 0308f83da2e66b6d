//! Names, types and rules: syntax tree to verified [`Module`].
//!
//! Reads the items in the order of the text, as `ptxas` does, and never stops at the first error.
//! What an opcode may look like comes from the instruction table alone.

mod body;
mod call;
mod head;
mod init;
mod opcode;
mod operand;
mod scope;
mod types;

use std::rc::Rc;
use std::sync::Arc;

use ptx_isa::Ty;
use ptx_isa::meaning::ModuleInfo;
use ptx_isa::types::{Target, ptx};

use crate::Ast;
use crate::ast::{DirectiveKind, FnKind, Item};
use crate::diag::{Code, Diag};
use crate::module::{Body, Module};
use opcode::{Candidate, Opcode};
use scope::{Def, Scopes};

/// Verifies a parsed module. The module is there only when nothing was wrong.
pub fn verify(ast: &Ast<'_>, name: &str) -> (Option<Module>, Vec<Diag>) {
    let names = ast.names().len();
    let mut v = Verifier {
        ast,
        module: Module {
            name: name.into(),
            source: Arc::from(ast.source()),
            info: ModuleInfo { target: Target::plain(0), version: ptx(0, 0), address_bits: 32 },
            symbols: Vec::new(),
            functions: Vec::new(),
            matches: Vec::new(),
            files: Vec::new(),
        },
        body: Body::default(),
        func: 0,
        scopes: Scopes::new(ast),
        opcodes: vec![Opcode::Unknown; names],
        candidates: Vec::new(),
        diags: Vec::new(),
    };
    v.run();
    let failed = v.diags.iter().any(Diag::is_error);
    ((!failed).then_some(v.module), v.diags)
}

/// Parses and verifies `src`. Findings are in the order of the text; a text with syntax errors is
/// not verified further.
pub fn parse_and_verify(src: &str, name: &str) -> (Option<Module>, Vec<Diag>) {
    let (ast, mut diags) = crate::parse(src);
    if diags.iter().any(Diag::is_error) {
        return (None, diags);
    }
    let (module, more) = verify(&ast, name);
    diags.extend(more);
    diags.sort_by_key(|d| d.span.start);
    (module, diags)
}

/// The pass over one module.
struct Verifier<'a, 's> {
    ast: &'a Ast<'s>,
    module: Module,
    /// Body of the function that is being read.
    body: Body,
    /// Its index in `module.functions`.
    func: u32,
    scopes: Scopes,
    /// Rows by opcode name.
    opcodes: Vec<Opcode>,
    candidates: Vec<Rc<Candidate>>,
    diags: Vec<Diag>,
}

impl Verifier<'_, '_> {
    fn run(&mut self) {
        let ast = self.ast;
        self.header();
        for item in &ast.items {
            match *item {
                Item::Var(i) => self.module_var(ast.var(i)),
                Item::Function(i) => self.function(ast.function(i)),
                Item::Directive(i) => self.module_directive(ast.directive(i)),
                // Debug sections do not change what a module does.
                Item::Section(_) => {}
            }
        }
    }

    fn module_directive(&mut self, d: &crate::ast::Directive) {
        let ast = self.ast;
        match d.kind {
            DirectiveKind::File => {
                let (ints, words) = (ast.ints(d.ints), ast.words(d.words));
                if let (Some(i), Some(w)) = (ints.first(), words.first()) {
                    let name = ast.name(w.name).trim_matches('"').to_string();
                    self.module.files.push((*i as u32, name));
                }
            }
            DirectiveKind::Alias => self.alias(d),
            _ => {}
        }
    }

    fn alias(&mut self, d: &crate::ast::Directive) {
        let ast = self.ast;
        let [alias, target] = ast.words(d.words) else { return };
        let find = |v: &Self, w: &crate::ast::Word| match v.scopes.module[w.name.index()] {
            Def::Func(f) => Some(f),
            _ => None,
        };
        for w in [alias, target] {
            if find(self, w).is_none() {
                let text = format!("`{}` is no declared function", ast.name(w.name));
                self.diags.push(Diag::error(Code::UnknownName, ast.word_span(*w), text));
                return;
            }
        }
        if let (Some(a), Some(t)) = (find(self, alias), find(self, target)) {
            if self.module.functions[a as usize].body.is_some() {
                let text = format!("`{}` has a body and cannot be an alias", ast.name(alias.name));
                self.diags.push(Diag::error(Code::Declaration, ast.word_span(*alias), text));
                return;
            }
            if a == t || self.module.functions[t as usize].alias.is_some() {
                let text = "an alias must name a defined function";
                self.diags.push(Diag::error(Code::Declaration, ast.word_span(*target), text));
                return;
            }
            self.module.functions[a as usize].alias = Some(t);
        }
    }

    /// The type that a declaration names, reported when it is none.
    fn declared_type(&mut self, var: &crate::ast::Var) -> Option<Ty> {
        let ast = self.ast;
        let Some(word) = var.ty else {
            self.error(Code::Declaration, var.span, "the declaration names no type");
            return None;
        };
        let text = ast.name(word.name);
        let ty = Ty::from_token(text);
        let storable = |t: &Ty| {
            use Ty::*;
            matches!(
                t,
                Pred | B8
                    | B16
                    | B32
                    | B64
                    | B128
                    | U8
                    | U16
                    | U32
                    | U64
                    | S8
                    | S16
                    | S32
                    | S64
                    | F16
                    | F16x2
                    | F32
                    | F64
                    | TexRef
                    | SamplerRef
                    | SurfRef
            )
        };
        match ty.filter(storable) {
            Some(t) => Some(t),
            None => {
                let mut d = Diag::error(
                    Code::Type,
                    ast.word_span(word),
                    format!("nothing can be declared with type `{text}`"),
                );
                d.note("types of variables: .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16 .f16x2 .f32 .f64 .pred");
                self.diags.push(d);
                None
            }
        }
    }

    fn error(&mut self, code: Code, span: crate::Span, message: impl Into<String>) {
        self.diags.push(Diag::error(code, span, message));
    }

    /// Whether `kind` is a kernel or function.
    fn is_function(kind: FnKind) -> bool {
        kind != FnKind::Prototype
    }
}
