//! An instruction is known by its row: no source file but those under `ptx-isa/src/rows` names one in a text.
//!
//! A text (a string literal outside tests, comments and attributes) names an instruction when
//!
//! 1. it spells an opcode: a mnemonic of the table and a modifier (`mov.u32`, `"ld.param.{ty} %r"`) or the beginning of
//!    one (`"cvt."`), where PTX has its instructions: at the beginning of the text or of a line, behind a guard, a
//!    semicolon or a brace;
//! 2. it is a mnemonic and nothing else, and stands where texts are compared: in a pattern, beside `==` or `!=`, as
//!    argument of `starts_with` and its like, in `matches!`, or in a list.
//!
//! A word that is only shown (`"barrier"` as the name of a stall) is none, nor is advice in a sentence for people
//! ("use `mul.lo`"). The second rule does not hold for the
//! OpenCL C compiler, whose own words `min`, `fma` and `barrier` are builtins of that language.
//!
//! There is one exception. A compiler has to write PTX text: the emitter of the OpenCL C compiler is its one table of
//! what each operation is written as, and nothing else in that crate writes any.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use ptx_runtime::isa::table;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Expr, Lit, LitStr, Pat};

/// Folders of crates whose files are held to the rule.
const CRATES: &[&str] = &[
    "cuda-driver",
    "cuda-runtime",
    "gpuocelot",
    "nvjitlink",
    "nvjitlink-loader",
    "nvml",
    "opencl-frontend",
    "opencl-icd",
    "ptx-check",
    "ptx-interp",
    "ptx-isa",
    "ptx-jit",
    "ptx-parse",
    "ptx-report",
    "ptx-runtime",
    "ptx-timing",
    "ptxrun",
];

/// Where instructions are named: the rows, and what the compiler writes.
const TABLES: &[&str] = &["ptx-isa/src/rows/", "opencl-frontend/src/ptx/"];

/// Words of another language that look like mnemonics: file, word, language.
const OTHER_WORDS: &[(&str, &str, &str)] =
    &[("ptxrun/src/arg.rs", "tex", "kinds of arguments on the command line")];

/// A literal that names an instruction.
#[derive(Debug, PartialEq)]
struct Named {
    line: usize,
    text: String,
}

/// Whether a word is an instruction of the table.
fn is_mnemonic(word: &str) -> bool {
    table().mnemonics().any(|m| m == word)
}

/// The first rule.
fn spells_opcode(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(['\n', ';', '{', '}']).enumerate().any(|(n, statement)| {
        let mut statement = statement.trim_start();
        if statement.starts_with('@') || statement.starts_with('%') {
            statement = statement.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        }
        let end = statement.find(|c| !word(c)).unwrap_or(statement.len());
        let Some(modifier) = statement[end..].strip_prefix('.') else { return false };
        // A brace after the dot is a modifier that is filled in.
        let cut = text.ends_with(statement) && n == 0 || text.contains(&format!("{statement}{{"));
        is_mnemonic(&statement[..end]) && (modifier.starts_with(word) || modifier.is_empty() && cut)
    })
}

/// Finds the literals of a file that name instructions.
struct Finder {
    /// Whether the second rule holds.
    words: bool,
    found: Vec<Named>,
}

impl Finder {
    fn of(source: &str, words: bool) -> Vec<Named> {
        let file = syn::parse_file(source).expect("a source file");
        let mut finder = Finder { words, found: Vec::new() };
        finder.visit_file(&file);
        finder.found
    }

    fn add(&mut self, text: &LitStr) {
        self.found.push(Named { line: text.span().start().line, text: text.value() });
    }

    /// A literal where texts are compared.
    fn compared(&mut self, expr: &Expr) {
        match expr {
            Expr::Reference(inner) => self.compared(&inner.expr),
            Expr::Lit(lit) => self.compared_literal(&lit.lit),
            _ => {}
        }
    }

    fn compared_literal(&mut self, lit: &Lit) {
        if let Lit::Str(text) = lit
            && self.words
            && is_mnemonic(&text.value())
        {
            self.add(text);
        }
    }

    fn tokens(&mut self, tokens: TokenStream, compared: bool) {
        let mut attribute = false;
        for token in tokens {
            // `#[…]` is documentation.
            let hash = matches!(&token, TokenTree::Punct(p) if p.as_char() == '#');
            match token {
                TokenTree::Group(_) if attribute => {}
                TokenTree::Group(group) => self.tokens(group.stream(), compared),
                TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.visit_lit_str(&text);
                        if compared {
                            self.compared_literal(&Lit::Str(text));
                        }
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
            attribute = hash;
        }
    }
}

/// Whether an item is for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let tokens = match &a.meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        a.path().is_ident("test") || a.path().is_ident("cfg") && tokens == "test"
    })
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(m) => &m.attrs,
            syn::Item::Fn(f) => &f.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        if spells_opcode(&text.value()) {
            self.add(text);
        }
    }

    fn visit_pat(&mut self, pat: &'ast Pat) {
        if let Pat::Lit(lit) = pat {
            self.compared_literal(&lit.lit);
        }
        visit::visit_pat(self, pat);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(b) if matches!(b.op, BinOp::Eq(_) | BinOp::Ne(_)) => {
                self.compared(&b.left);
                self.compared(&b.right);
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let compares = ["starts_with", "ends_with", "strip_prefix", "strip_suffix"];
                let finds = ["contains", "find", "rfind", "eq", "split", "split_once"];
                if compares.iter().chain(&finds).any(|m| *m == name) {
                    call.args.iter().for_each(|a| self.compared(a));
                }
            }
            Expr::Array(list) => list.elems.iter().for_each(|e| self.compared(e)),
            Expr::Tuple(list) => list.elems.iter().for_each(|e| self.compared(e)),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_macro(&mut self, makro: &'ast syn::Macro) {
        self.tokens(makro.tokens.clone(), makro.path.is_ident("matches"));
    }
}

/// The `.rs` files under a folder that are no tests.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn only_rows_name_instructions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut wrong = Vec::new();
    let mut used = vec![false; OTHER_WORDS.len()];
    let mut in_tables = 0;
    for name in CRATES {
        let mut files = Vec::new();
        sources(&root.join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name} has sources");
        for path in files {
            let file = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let source = std::fs::read_to_string(&path).unwrap();
            let found = Finder::of(&source, *name != "opencl-frontend");
            if TABLES.iter().any(|t| file.starts_with(t)) {
                in_tables += found.len();
                continue;
            }
            for Named { line, text } in found {
                match OTHER_WORDS.iter().position(|(f, w, _)| *f == file && *w == text) {
                    Some(known) => used[known] = true,
                    None => wrong.push(format!("{file}:{line}: {text:?}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "ask the row instead of naming it:\n{}", wrong.join("\n"));
    assert!(used.iter().all(|u| *u), "an exception is not needed any more: {OTHER_WORDS:?}");
    assert!(in_tables > 100, "the tables name instructions");
}

#[test]
fn names_are_found_where_they_decide() {
    let named =
        |source: &str| Finder::of(source, true).into_iter().map(|n| n.text).collect::<Vec<_>>();
    let names = named(
        r##"
        //! "mov.u32"
        /// `add.s32`
        const LIST: [&str; 2] = ["shfl", "nothing"];
        fn f(x: &str) -> bool {
            let shown = "barrier";
            let sentence = "write to set. Then call";
            match x { "mul" | "other" => true, _ => x == "fma" }
                || matches!(x, "popc") || x.starts_with("clz") || x.starts_with("cvt.")
                || format!("\tld.param.{x}") == shown || x == "see `add.s32`" || x == "@%p bra.uni" || x == sentence
        }
        #[cfg(test)]
        mod tests { const T: &str = "mov.u32"; }
        #[test]
        fn t() { assert_eq!("add.s32", "x"); }
        "##,
    );
    assert_eq!(
        names,
        ["shfl", "mul", "fma", "popc", "clz", "cvt.", "\tld.param.{x}", "@%p bra.uni"],
    );
    let words = Finder::of(r#"fn f(x: &str) -> bool { x == "min" || x == "min.s32" }"#, false);
    assert_eq!(words.len(), 1, "{words:?}");
}
