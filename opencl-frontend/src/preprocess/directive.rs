//! Preprocessor directives.

use std::path::PathBuf;
use std::rc::Rc;

use super::lex::{self, PpKind, PpTok};
use super::state::{Body, Condition, Macro, Preprocessor, limits};
use super::unit::ExtensionEvent;
use crate::diag::{Code, Diag, closest};
use crate::source::{FileSpan, Pos};
use crate::symbol::{Symbol, fixed};

/// Extensions that a program may switch on.
const EXTENSIONS: &[&str] = &[
    "cl_khr_fp64",
    "cl_khr_fp16",
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_3d_image_writes",
    "cl_nv_pragma_unroll",
];

impl Preprocessor<'_> {
    /// Handles the directive after `#`.
    pub(super) fn directive(&mut self, hash: PpTok) {
        let frame = self.files.last_mut().expect("a file is open");
        let name = frame.tokens[frame.next];
        if matches!(name.kind, PpKind::Newline | PpKind::End) {
            return;
        }
        frame.next += 1;
        let skipping = frame.conditions.last().is_some_and(|c| c.skipping);
        match name.sym {
            fixed::IF | fixed::IFDEF | fixed::IFNDEF => self.open_condition(name, skipping),
            fixed::ELIF | fixed::ELSE | fixed::ENDIF => self.continue_condition(name),
            _ if skipping => self.skip_line(),
            fixed::DEFINE => self.define(),
            fixed::UNDEF => {
                let line = self.take_line();
                match line.first() {
                    Some(t) if t.kind == PpKind::Ident => {
                        self.find_macro(t.sym);
                        self.macros.remove(&t.sym);
                    }
                    _ => self.error(Code::Directive, name, "#undef needs a macro name"),
                }
            }
            fixed::INCLUDE => self.include(name),
            fixed::LINE => {
                let line = self.take_line();
                let line = self.expand_list(line.into());
                self.line(name, &line);
            }
            // What a preprocessor leaves: `# 33 "file" flags`.
            _ if name.kind == PpKind::Number => {
                let rest = self.take_line();
                let file = rest.first().copied();
                self.line(name, &[Some(name), file].into_iter().flatten().collect::<Vec<_>>());
            }
            fixed::ERROR | fixed::WARNING => {
                let line = self.take_line();
                let text = self.raw_text(&line);
                if name.sym == fixed::ERROR {
                    self.error(Code::HashError, name, format!("#error {text}"));
                } else {
                    self.warn(Code::HashWarning, name, format!("#warning {text}"));
                }
            }
            fixed::PRAGMA => {
                let line = self.take_line();
                self.pragma(&line, name);
            }
            _ => {
                let text = self.session.names.text(name.sym).to_string();
                let known = [
                    "if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef", "include",
                    "line", "error", "warning", "pragma",
                ];
                let mut diag = Diag::error(Code::Directive, format!("unknown directive `#{text}`"));
                if let Some(meant) = closest(&text, known.into_iter()) {
                    diag = diag.help(format!("did you mean `#{meant}`?"));
                }
                self.report(diag, if name.kind == PpKind::Ident { name } else { hash });
                self.skip_line();
            }
        }
    }

    fn raw_text(&self, line: &[PpTok]) -> String {
        match (line.first(), line.last()) {
            (Some(a), Some(b)) => {
                self.session.map.text(FileSpan { lo: a.pos, hi: Pos(b.pos.0 + b.len) }).to_string()
            }
            _ => String::new(),
        }
    }

    fn open_condition(&mut self, name: PpTok, skipping: bool) {
        let line = self.take_line();
        let mut taken = false;
        if !skipping {
            taken = match name.sym {
                fixed::IF => self.condition(name, &line),
                _ => match line.first() {
                    Some(t) if t.kind == PpKind::Ident => {
                        self.find_macro(t.sym).is_some() == (name.sym == fixed::IFDEF)
                    }
                    _ => {
                        self.error(Code::Directive, name, "a macro name is missing here");
                        false
                    }
                },
            };
        }
        let frame = self.files.last_mut().expect("a file is open");
        frame.conditions.push(Condition {
            opened: name,
            skipping: !taken,
            done: taken || skipping,
            seen_else: false,
        });
    }

    fn continue_condition(&mut self, name: PpTok) {
        let line = self.take_line();
        let frame = self.files.last_mut().expect("a file is open");
        let Some(condition) = frame.conditions.last_mut() else {
            let text = self.session.names.text(name.sym).to_string();
            return self.error(Code::Directive, name, format!("#{text} without #if"));
        };
        match name.sym {
            fixed::ENDIF => {
                frame.conditions.pop();
            }
            _ if condition.seen_else => {
                let text = self.session.names.text(name.sym).to_string();
                self.error(Code::Directive, name, format!("#{text} after #else"));
            }
            fixed::ELSE => {
                condition.seen_else = true;
                condition.skipping = condition.done;
                condition.done = true;
            }
            _ => {
                let evaluate = !condition.done;
                condition.skipping = true;
                if evaluate && self.condition(name, &line) {
                    let frame = self.files.last_mut().expect("a file is open");
                    let condition = frame.conditions.last_mut().expect("checked above");
                    condition.skipping = false;
                    condition.done = true;
                }
            }
        }
    }

    fn define(&mut self) {
        let line = self.take_line();
        let Some(&name) = line.first().filter(|t| t.kind == PpKind::Ident) else {
            let frame = self.files.last().expect("a file is open");
            let at = line.first().copied().unwrap_or(frame.tokens[frame.next]);
            return self.error(Code::Directive, at, "#define needs a macro name");
        };
        if name.sym == fixed::DEFINED {
            return self.error(Code::Directive, name, "`defined` cannot be a macro name");
        }
        let mut rest = &line[1..];
        let (mut params, mut variadic): (Option<Rc<[Symbol]>>, bool) = (None, false);
        if rest.first().is_some_and(|t| t.is(fixed::LPAREN) && !t.space) {
            let mut list: Vec<Symbol> = Vec::new();
            let mut i = 1;
            loop {
                match rest.get(i) {
                    Some(t) if t.is(fixed::RPAREN) && (list.is_empty() || variadic) => break,
                    Some(t) if t.is(fixed::ELLIPSIS) => variadic = true,
                    Some(t) if t.kind == PpKind::Ident && !list.contains(&t.sym) && !variadic => {
                        list.push(t.sym)
                    }
                    other => {
                        let at = other.copied().unwrap_or(name);
                        return self.error(Code::Directive, at, "malformed macro parameter list");
                    }
                }
                i += 1;
                match rest.get(i) {
                    Some(t) if t.is(fixed::RPAREN) => break,
                    Some(t) if t.is(fixed::COMMA) && !variadic => i += 1,
                    other => {
                        let at = other.copied().unwrap_or(name);
                        return self.error(Code::Directive, at, "malformed macro parameter list");
                    }
                }
            }
            params = Some(Rc::from(list));
            rest = &rest[i + 1..];
        }
        let misplaced =
            [rest.first(), rest.last()].into_iter().flatten().find(|t| t.is(fixed::HASHHASH));
        if let Some(&t) = misplaced {
            return self.error(Code::Directive, t, "`##` needs an operand on either side");
        }
        if let Some(params) = &params {
            let stray = rest.iter().zip(rest.iter().skip(1).map(Some).chain([None]));
            let mut stray = stray.filter(|(t, next)| {
                let named = next.is_some_and(|n| {
                    params.contains(&n.sym) || variadic && n.sym == fixed::VA_ARGS
                });
                t.is(fixed::HASH) && !named
            });
            if let Some((&t, _)) = stray.next() {
                return self.error(
                    Code::Directive,
                    t,
                    "`#` needs a parameter of the macro behind it",
                );
            }
        }
        self.find_macro(name.sym);
        if let Some(old) = self.macros.get(&name.sym) {
            let same = match &old.body {
                Body::Tokens(tokens) => {
                    old.params == params
                        && old.variadic == variadic
                        && Self::same_body(tokens, rest)
                }
                _ => false,
            };
            if !same {
                let text = self.session.names.text(name.sym).to_string();
                let mut diag =
                    Diag::warning(Code::MacroRedefined, format!("macro `{text}` is redefined"));
                if let Some(at) = old.defined_at {
                    diag = diag.note(Some(at), "previous definition");
                } else if old.predefined {
                    diag = diag.note(None, "it is predefined by the compiler");
                }
                self.report(diag, name);
            }
        }
        let body = Body::Tokens(rest.into());
        let defined_at = Some(name.span());
        self.macros.insert(
            name.sym,
            Macro { params, variadic, body, active: 0, predefined: false, defined_at },
        );
    }

    fn include(&mut self, name: PpTok) {
        let mut line = self.take_line();
        let is_name =
            |t: Option<&PpTok>| t.is_some_and(|t| t.kind == PpKind::Str || t.is(fixed::LT));
        if !is_name(line.first()) {
            line = self.expand_list(line.into());
        }
        let (path, quoted) = match line.first() {
            Some(t) if t.kind == PpKind::Str => {
                (self.session.names.text(t.sym).trim_matches('"').to_string(), true)
            }
            Some(t) if t.is(fixed::LT) => {
                let Some(end) = line.iter().position(|t| t.is(fixed::GT)) else {
                    return self.error(Code::Directive, name, "#include <…> has no closing `>`");
                };
                let mut text = String::new();
                for (i, t) in line[1..end].iter().enumerate() {
                    if i > 0 && t.space {
                        text.push(' ');
                    }
                    text.push_str(self.session.names.text(t.sym));
                }
                (text, false)
            }
            _ => return self.error(Code::Directive, name, "#include needs \"file\" or <file>"),
        };
        let at = line[0];
        if self.files.len() >= limits::INCLUDE_DEPTH || self.opened >= limits::INCLUDES {
            return self.stop(at, "#include is nested too deeply");
        }
        let Some((found, text, directory)) = self.find_include(&path, quoted) else {
            return self.error(Code::Include, at, format!("cannot find include file `{path}`"));
        };
        if self.once.contains(&found) {
            return;
        }
        self.opened += 1;
        if !self.open(&found, &text, directory) {
            self.stop(at, "the program is too large");
        }
    }

    fn find_include(&self, path: &str, quoted: bool) -> Option<(String, String, Option<PathBuf>)> {
        if let Some((_, text)) = self.session.options.headers.iter().find(|(name, _)| name == path)
        {
            return Some((path.to_string(), text.clone(), None));
        }
        if self.session.options.headers_only {
            return None;
        }
        let own = self.files.last().and_then(|f| f.directory.clone()).filter(|_| quoted);
        let listed = self.session.options.include_dirs.iter().map(PathBuf::from);
        own.into_iter().chain(listed).find_map(|directory| {
            let full = directory.join(path);
            if !full.is_file() {
                return None;
            }
            let bytes = std::fs::read(&full).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Some((full.display().to_string(), text, full.parent().map(|p| p.to_path_buf())))
        })
    }

    fn line(&mut self, name: PpTok, line: &[PpTok]) {
        let number = line.first().filter(|t| t.kind == PpKind::Number);
        let Some(number) = number.and_then(|t| self.session.names.text(t.sym).parse::<u32>().ok())
        else {
            return self.error(Code::Directive, name, "#line needs a line number");
        };
        let renamed = match line.get(1) {
            None => None,
            Some(t) if t.kind == PpKind::Str => {
                Some(self.session.names.text(t.sym).trim_matches('"').to_string())
            }
            Some(&t) => {
                return self.error(Code::Directive, t, "the file name of #line must be a string");
            }
        };
        let frame = self.files.last().expect("a file is open");
        let file = frame.file;
        let after = frame.tokens[frame.next];
        let base = self.session.map.files()[file].base;
        let offset = after.pos.0 + after.len - base;
        self.session.map.file_mut(file).line_marks.push((offset, number, renamed));
    }

    pub(super) fn pragma(&mut self, line: &[PpTok], at: PpTok) {
        let word = |i: usize| line.get(i).filter(|t| t.kind == PpKind::Ident).map(|t| t.sym);
        match word(0) {
            Some(fixed::ONCE) => {
                let file = self.files.last().expect("a file is open").file;
                let name = self.session.map.files()[file].name.clone();
                self.once.insert(name);
            }
            Some(first @ (fixed::UNROLL | fixed::NOUNROLL)) => {
                let mut rest: Vec<PpTok> = self.expand_list(line[1..].into());
                if rest.first().is_some_and(|t| t.is(fixed::LPAREN))
                    && rest.last().is_some_and(|t| t.is(fixed::RPAREN))
                {
                    rest.pop();
                    rest.remove(0);
                }
                let count = match rest.as_slice() {
                    _ if first == fixed::NOUNROLL => 1,
                    [] => 0,
                    [t] if t.kind == PpKind::Number => {
                        match self.session.names.text(t.sym).parse::<u32>() {
                            Ok(n) if (1..=1 << 16).contains(&n) => n,
                            _ => {
                                return self.error(
                                    Code::Directive,
                                    *t,
                                    "the unroll count must be a positive integer",
                                );
                            }
                        }
                    }
                    [t, ..] => {
                        return self.error(
                            Code::Directive,
                            *t,
                            "the unroll count must be a positive integer",
                        );
                    }
                };
                self.pending.push(self.synthetic(PpKind::Unroll, Symbol(count), at));
            }
            Some(fixed::OPENCL) if word(1) == Some(fixed::EXTENSION) => {
                let colon = line.get(3).is_some_and(|t| t.is(fixed::COLON));
                let enabled = match word(4) {
                    Some(fixed::ENABLE | fixed::REQUIRE) => Some(true),
                    Some(fixed::DISABLE) => Some(false),
                    _ => None,
                };
                match (word(2), enabled) {
                    (Some(name), Some(enabled)) if colon => {
                        let text = self.session.names.text(name).to_string();
                        if enabled && text != "all" && !EXTENSIONS.contains(&text.as_str()) {
                            let message = format!("extension `{text}` is not supported");
                            self.warn(Code::UnknownPragma, at, message);
                        }
                        let token = self.unit.tokens.len() as u32;
                        self.unit.extensions.push(ExtensionEvent { token, name, enabled });
                    }
                    _ => self.error(
                        Code::Directive,
                        at,
                        "expected `#pragma OPENCL EXTENSION name : enable|disable`",
                    ),
                }
            }
            Some(fixed::OPENCL | fixed::STDC) if word(1) == Some(fixed::FP_CONTRACT) => {
                let on = match word(2) {
                    Some(fixed::ON | fixed::DEFAULT) => 1,
                    Some(fixed::OFF) => 0,
                    _ => {
                        return self.error(
                            Code::Directive,
                            at,
                            "FP_CONTRACT takes ON, OFF or DEFAULT",
                        );
                    }
                };
                self.pending.push(self.synthetic(PpKind::FpContract, Symbol(on), at));
            }
            _ => self.warn(Code::UnknownPragma, at, "unknown pragma ignored"),
        }
    }

    /// `_Pragma("…")`.
    pub(super) fn pragma_operator(&mut self, at: PpTok) {
        let parts = [self.next_expanded(), self.next_expanded(), self.next_expanded()];
        if !parts[0].is(fixed::LPAREN)
            || parts[1].kind != PpKind::Str
            || !parts[2].is(fixed::RPAREN)
        {
            return self.error(
                Code::Directive,
                at,
                "_Pragma takes one string literal in parentheses",
            );
        }
        let literal = self.session.names.text(parts[1].sym);
        let text = literal[1..literal.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\");
        let mut tokens = lex::tokenize(&text, 0, &mut self.session.names);
        tokens.truncate(tokens.len() - 2);
        for t in &mut tokens {
            (t.pos, t.len, t.expansion) = (parts[1].pos, parts[1].len, parts[1].expansion);
        }
        self.pragma(&tokens, at);
    }
}
