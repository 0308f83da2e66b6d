//! The state of the preprocessor: files, macros, expansions, and the tokens handed on.

use std::path::PathBuf;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::lex::{self, PpKind, PpTok};
use super::unit::Unit;
use crate::diag::{Code, Diag};
use crate::session::Session;
use crate::symbol::{Symbol, fixed};

/// Bounds that keep hostile input from taking unbounded time or memory.
pub(super) mod limits {
    /// Files open at once.
    pub const INCLUDE_DEPTH: usize = 64;
    /// Files opened in all.
    pub const INCLUDES: usize = 4096;
    /// Macro arguments within macro arguments.
    pub const ARGUMENT_DEPTH: usize = 128;
    /// Tokens produced by macros, and tokens handed on.
    pub const TOKENS: usize = 4 << 20;
    /// Bytes that `#` and `##` may produce.
    pub const PASTED_BYTES: usize = 16 << 20;
}

pub(super) enum Body {
    Tokens(Rc<[PpTok]>),
    Text(Box<str>),
    File,
    Line,
    Counter,
}

pub(super) struct Macro {
    /// Names of the parameters; `None` for an object-like macro.
    pub(super) params: Option<Rc<[Symbol]>>,
    pub(super) variadic: bool,
    pub(super) body: Body,
    /// Live expansions of this macro.
    pub(super) active: u32,
    pub(super) predefined: bool,
    pub(super) defined_at: Option<crate::source::FileSpan>,
}

pub(super) struct FileFrame {
    pub(super) tokens: Rc<[PpTok]>,
    pub(super) next: usize,
    pub(super) file: usize,
    pub(super) conditions: Vec<Condition>,
    pub(super) directory: Option<PathBuf>,
}

pub(super) struct Condition {
    pub(super) opened: PpTok,
    /// The present group is skipped.
    pub(super) skipping: bool,
    /// A group has been taken, or an enclosing one is skipped.
    pub(super) done: bool,
    pub(super) seen_else: bool,
}

pub(super) struct MacroFrame {
    pub(super) tokens: Rc<[PpTok]>,
    pub(super) next: usize,
    /// The macro to enable again at the end.
    pub(super) name: Option<Symbol>,
    /// An isolated list: reading stops at its end.
    pub(super) isolated: bool,
}

/// State of the preprocessor.
pub struct Preprocessor<'s> {
    pub(super) session: &'s mut Session,
    pub(super) macros: FxHashMap<Symbol, Macro>,
    /// The first of the symbols of the constants.
    pub(super) first_constant: Symbol,
    /// The constants that `macros` has, or had until they were undefined.
    pub(super) loaded: [bool; super::predefined::CONSTANTS.len()],
    pub(super) files: Vec<FileFrame>,
    pub(super) frames: Vec<MacroFrame>,
    pub(super) once: FxHashSet<String>,
    pub(super) opened: usize,
    pub(super) produced: usize,
    pub(super) pasted: usize,
    pub(super) argument_depth: usize,
    pub(super) counter: u32,
    /// A limit was hit: everything ends.
    pub(super) stopped: bool,
    pub(super) unit: Unit,
    /// Pragma tokens found while the expander was looking for the next token.
    pub(super) pending: Vec<PpTok>,
}

impl Preprocessor<'_> {
    pub(super) fn run(&mut self) {
        loop {
            let token = self.next_expanded();
            if !self.pending.is_empty() {
                self.unit.tokens.append(&mut self.pending);
            }
            if token.kind == PpKind::Ident && token.sym == fixed::PRAGMA_OPERATOR {
                self.pragma_operator(token);
                continue;
            }
            if token.kind == PpKind::Other {
                self.report_bad_token(token);
                continue;
            }
            self.unit.tokens.push(token);
            if token.kind == PpKind::End {
                break;
            }
            if self.unit.tokens.len() > limits::TOKENS {
                self.stop(token, "the preprocessed program is too large");
            }
        }
    }

    pub(super) fn report_bad_token(&mut self, token: PpTok) {
        let text = self.session.names.text(token.sym);
        let message = if text.starts_with("/*") {
            "unterminated comment".to_string()
        } else if text.starts_with('"') {
            "unterminated string literal".to_string()
        } else if text.starts_with('\'') {
            "unterminated character literal".to_string()
        } else {
            format!(
                "unexpected character `{}`",
                text.chars().take(8).collect::<String>().escape_debug()
            )
        };
        self.error(Code::Lex, token, message);
    }

    /// Ends everything after an error about size.
    pub(super) fn stop(&mut self, token: PpTok, what: &str) {
        if !self.stopped {
            self.stopped = true;
            self.error(Code::Limit, token, what.to_string());
        }
        self.frames.retain(|f| f.isolated);
        for frame in &mut self.frames {
            frame.next = frame.tokens.len();
        }
        for file in &mut self.files {
            file.next = file.tokens.len() - 1;
            file.conditions.clear();
        }
    }

    pub(super) fn error(&mut self, code: Code, token: PpTok, message: impl Into<String>) {
        let diag = Diag::error(code, message);
        self.report(diag, token);
    }

    pub(super) fn warn(&mut self, code: Code, token: PpTok, message: impl Into<String>) {
        let diag = Diag::warning(code, message);
        self.report(diag, token);
    }

    pub(super) fn report(&mut self, diag: Diag, token: PpTok) {
        let diag =
            diag.at_expanded(token.span(), token.expansion, &self.session.map, &self.session.names);
        self.session.report(diag);
    }

    pub(super) fn open(&mut self, name: &str, text: &str, directory: Option<PathBuf>) -> bool {
        let Some(file) = self.session.map.add_file(name, text) else { return false };
        let base = self.session.map.files()[file].base;
        let tokens = lex::tokenize(text, base, &mut self.session.names).into();
        self.files.push(FileFrame { tokens, next: 0, file, conditions: Vec::new(), directory });
        self.opened += 1;
        true
    }

    /// The next token of the innermost file, without directives and skipped groups. Newlines are dropped.
    pub(super) fn next_from_file(&mut self) -> PpTok {
        loop {
            let frame = self.files.last_mut().expect("the main file stays open");
            let token = frame.tokens[frame.next];
            match token.kind {
                PpKind::End => {
                    if let Some(condition) = frame.conditions.pop() {
                        self.error(
                            Code::Directive,
                            condition.opened,
                            "this conditional is never closed by #endif",
                        );
                        continue;
                    }
                    if self.files.len() == 1 {
                        return token;
                    }
                    self.files.pop();
                    continue;
                }
                PpKind::Newline => frame.next += 1,
                _ if token.line_start && token.is(fixed::HASH) => {
                    frame.next += 1;
                    self.directive(token);
                }
                _ if frame.conditions.last().is_some_and(|c| c.skipping) => self.skip_line(),
                _ => {
                    frame.next += 1;
                    return token;
                }
            }
        }
    }

    pub(super) fn skip_line(&mut self) {
        let frame = self.files.last_mut().expect("the main file stays open");
        while !matches!(frame.tokens[frame.next].kind, PpKind::Newline | PpKind::End) {
            frame.next += 1;
        }
    }

    /// The rest of the current line of the file.
    pub(super) fn take_line(&mut self) -> Vec<PpTok> {
        let frame = self.files.last_mut().expect("the main file stays open");
        let start = frame.next;
        self.skip_line();
        let frame = self.files.last().expect("the main file stays open");
        frame.tokens[start..frame.next].to_vec()
    }

    pub(super) fn define_from_options(&mut self) {
        let defines = self.session.options.defines.clone();
        let mut text = String::new();
        for (name, value) in &defines {
            match value {
                Some(value) => text.push_str(&format!("#define {name} {value}\n")),
                None => text.push_str(&format!("#undef {name}\n")),
            }
        }
        if !text.is_empty() && self.open("<command line>", &text, None) {
            let end = self.next_from_file();
            debug_assert_eq!(end.kind, PpKind::End);
            self.files.clear();
        }
    }

    /// Strips the marks of where a token came from, for comparison of definitions.
    pub(super) fn same_body(a: &[PpTok], b: &[PpTok]) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).enumerate().all(|(i, (x, y))| {
                x.kind == y.kind && x.sym == y.sym && (i == 0 || x.space == y.space)
            })
    }

    pub(super) fn synthetic(&self, kind: PpKind, sym: Symbol, like: PpTok) -> PpTok {
        PpTok { kind, sym, painted: false, line_start: false, ..like }
    }
}
