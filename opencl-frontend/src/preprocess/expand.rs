//! Macro expansion (C99 6.10.3).

use std::rc::Rc;

use smallvec::SmallVec;

use super::lex::{self, PpKind, PpTok};
use super::state::{Body, MacroFrame, Preprocessor, limits};
use crate::diag::Code;
use crate::source::{Expansion, ExpansionId};
use crate::symbol::{Symbol, fixed};

impl Preprocessor<'_> {
    /// The next token, with macros expanded.
    pub(super) fn next_expanded(&mut self) -> PpTok {
        loop {
            let token = self.next_unexpanded();
            if token.kind != PpKind::Ident || token.painted {
                return token;
            }
            match self.find_macro(token.sym) {
                None => return token,
                Some(m) if m.active > 0 => return PpTok { painted: true, ..token },
                Some(_) => {}
            }
            if !self.expand(token) {
                return token;
            }
        }
    }

    fn next_unexpanded(&mut self) -> PpTok {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(&token) = frame.tokens.get(frame.next) {
                frame.next += 1;
                return token;
            }
            if frame.isolated {
                return self.end_token();
            }
            self.pop_frame();
        }
        self.next_from_file()
    }

    fn end_token(&self) -> PpTok {
        let file = self.files.last().expect("a file is open");
        PpTok { kind: PpKind::End, ..file.tokens[file.tokens.len() - 1] }
    }

    fn pop_frame(&mut self) {
        if let Some(name) = self.frames.pop().and_then(|f| f.name)
            && let Some(m) = self.macros.get_mut(&name)
        {
            m.active = m.active.saturating_sub(1);
        }
    }

    /// True if the next token, whatever frame or line it stands on, is `(`.
    fn next_is_paren(&self) -> bool {
        for frame in self.frames.iter().rev() {
            if let Some(token) = frame.tokens.get(frame.next) {
                return token.is(fixed::LPAREN);
            }
            if frame.isolated {
                return false;
            }
        }
        let Some(file) = self.files.last() else { return false };
        file.tokens[file.next..]
            .iter()
            .find(|t| t.kind != PpKind::Newline)
            .is_some_and(|t| t.is(fixed::LPAREN))
    }

    /// Expands the list on its own, as for a macro argument or a directive's operand.
    pub(super) fn expand_list(&mut self, tokens: Rc<[PpTok]>) -> Vec<PpTok> {
        if self.argument_depth >= limits::ARGUMENT_DEPTH {
            if let Some(&first) = tokens.first() {
                self.stop(first, "macro arguments are nested too deeply");
            }
            return Vec::new();
        }
        self.argument_depth += 1;
        let floor = self.frames.len();
        self.frames.push(MacroFrame { tokens, next: 0, name: None, isolated: true });
        let mut out = Vec::new();
        loop {
            let token = self.next_expanded();
            if token.kind == PpKind::End || self.stopped {
                break;
            }
            out.push(token);
        }
        while self.frames.len() > floor {
            self.pop_frame();
        }
        self.argument_depth -= 1;
        out
    }

    /// Replaces a macro name. False if it is not a use of the macro after all.
    fn expand(&mut self, token: PpTok) -> bool {
        let m = &self.macros[&token.sym];
        let (params, variadic) = (m.params.clone(), m.variadic);
        let body: Rc<[PpTok]> = match &m.body {
            Body::Tokens(tokens) => tokens.clone(),
            Body::Text(text) => {
                let text = text.clone();
                let mut tokens = lex::tokenize(&text, 0, &mut self.session.names);
                tokens.truncate(tokens.len() - 2);
                for t in &mut tokens {
                    (t.pos, t.len) = (token.pos, token.len);
                }
                tokens.into()
            }
            Body::File => {
                let file = self.session.map.location(token.pos).file;
                let sym = self.session.names.intern(&format!("{file:?}"));
                [self.synthetic(PpKind::Str, sym, token)].into()
            }
            Body::Line => {
                let line = self.line_of(token).to_string();
                let sym = self.session.names.intern(&line);
                [self.synthetic(PpKind::Number, sym, token)].into()
            }
            Body::Counter => {
                let value = self.counter.to_string();
                self.counter = self.counter.wrapping_add(1);
                let sym = self.session.names.intern(&value);
                [self.synthetic(PpKind::Number, sym, token)].into()
            }
        };
        let mut arguments: Vec<Rc<[PpTok]>> = Vec::new();
        if let Some(params) = &params {
            if !self.next_is_paren() {
                return false;
            }
            let wanted = params.len() + usize::from(variadic);
            match self.arguments(token, params.len(), variadic) {
                Some(found) => arguments = found,
                None => return true,
            }
            if arguments.len() == 1 && arguments[0].is_empty() && wanted == 0 {
                arguments.clear();
            }
            if variadic && arguments.len() + 1 == wanted {
                arguments.push([].into());
            }
            if arguments.len() != wanted {
                let name = self.session.names.text(token.sym).to_string();
                let at_least = if variadic { "at least " } else { "" };
                let message = format!(
                    "macro `{name}` takes {at_least}{} arguments, {} given",
                    params.len(),
                    arguments.len()
                );
                let defined = self.macros[&token.sym].defined_at;
                let mut diag = crate::diag::Diag::error(Code::MacroUse, message);
                if let Some(at) = defined {
                    diag = diag.note(Some(at), format!("macro `{name}` is defined here"));
                }
                self.report(diag, token);
                return true;
            }
        }
        let expansion = self.session.map.add_expansion(Expansion {
            name: token.sym,
            call: token.span(),
            parent: token.expansion,
        });
        let tokens =
            self.substitute(&body, params.as_deref(), variadic, &arguments, expansion, token);
        self.produced += tokens.len() + 1;
        if self.produced > limits::TOKENS {
            self.stop(token, "macro expansion produces too many tokens");
            return true;
        }
        if let Some(m) = self.macros.get_mut(&token.sym) {
            m.active += 1;
        }
        self.frames.push(MacroFrame {
            tokens: tokens.into(),
            next: 0,
            name: Some(token.sym),
            isolated: false,
        });
        true
    }

    /// Line number of the outermost use that led to `token`.
    fn line_of(&mut self, token: PpTok) -> u32 {
        let mut pos = token.pos;
        let mut id = token.expansion;
        while let Some(e) = self.session.map.expansion(id) {
            pos = e.call.lo;
            id = e.parent;
        }
        self.session.map.location(pos).line
    }

    /// Collects the arguments of a function-like macro, from `(` on.
    fn arguments(
        &mut self,
        name: PpTok,
        params: usize,
        variadic: bool,
    ) -> Option<Vec<Rc<[PpTok]>>> {
        self.next_unexpanded();
        let mut arguments = Vec::new();
        let mut current = Vec::new();
        let mut depth = 0usize;
        loop {
            let mut token = self.next_unexpanded();
            if self.stopped {
                return None;
            }
            if token.kind == PpKind::End {
                self.error(Code::MacroUse, name, "this macro use has no closing parenthesis");
                return None;
            }
            if token.kind == PpKind::Ident
                && self.macros.get(&token.sym).is_some_and(|m| m.active > 0)
            {
                token.painted = true;
            }
            if depth == 0 && token.is(fixed::RPAREN) {
                arguments.push(current.into());
                return Some(arguments);
            }
            let in_rest = variadic && arguments.len() >= params;
            if depth == 0 && token.is(fixed::COMMA) && !in_rest {
                arguments.push(std::mem::take(&mut current).into());
                continue;
            }
            if token.is(fixed::LPAREN) {
                depth += 1;
            } else if token.is(fixed::RPAREN) {
                depth -= 1;
            }
            current.push(token);
            if current.len() > limits::TOKENS {
                self.stop(name, "macro argument is too long");
                return None;
            }
        }
    }

    fn substitute(
        &mut self,
        body: &[PpTok],
        params: Option<&[Symbol]>,
        variadic: bool,
        arguments: &[Rc<[PpTok]>],
        expansion: ExpansionId,
        call: PpTok,
    ) -> Vec<PpTok> {
        let param_of = |t: &PpTok| -> Option<usize> {
            let params = params?;
            if t.kind != PpKind::Ident {
                return None;
            }
            if variadic && t.sym == fixed::VA_ARGS {
                return Some(params.len());
            }
            params.iter().position(|p| *p == t.sym)
        };
        let mut expanded: SmallVec<[Option<Rc<[PpTok]>>; 8]> =
            SmallVec::from_elem(None, arguments.len());
        let mut out: Vec<PpTok> = Vec::with_capacity(body.len());
        let mut i = 0;
        // Set while the left operand of `##` came out empty.
        let mut left_empty = false;
        while i < body.len() {
            let token = PpTok { expansion, ..body[i] };
            if params.is_some()
                && token.is(fixed::HASH)
                && let Some(p) = body.get(i + 1).and_then(param_of)
            {
                let sym = self.stringize(&arguments[p]);
                out.push(PpTok { kind: PpKind::Str, sym, ..token });
                left_empty = false;
                i += 2;
                continue;
            }
            if token.is(fixed::HASHHASH) && i > 0 && i + 1 < body.len() {
                i += 1;
                let right = PpTok { expansion, ..body[i] };
                let operand: SmallVec<[PpTok; 4]> = if params.is_some() && right.is(fixed::HASH) {
                    match body.get(i + 1).and_then(param_of) {
                        Some(p) => {
                            i += 1;
                            let sym = self.stringize(&arguments[p]);
                            SmallVec::from_elem(PpTok { kind: PpKind::Str, sym, ..right }, 1)
                        }
                        None => SmallVec::from_elem(right, 1),
                    }
                } else {
                    match param_of(&right) {
                        Some(p) => {
                            // GNU: `, ## __VA_ARGS__` drops the comma when there are no arguments.
                            if variadic
                                && p + 1 == arguments.len()
                                && out.last().is_some_and(|t| t.is(fixed::COMMA))
                            {
                                if arguments[p].is_empty() {
                                    out.pop();
                                } else {
                                    let list = self.expanded_argument(&mut expanded, arguments, p);
                                    out.extend_from_slice(&list);
                                }
                                i += 1;
                                continue;
                            }
                            arguments[p].iter().copied().collect()
                        }
                        None => SmallVec::from_elem(right, 1),
                    }
                };
                i += 1;
                if left_empty {
                    left_empty = operand.is_empty();
                    out.extend(operand);
                } else if let Some((&first, rest)) = operand.split_first() {
                    let left = out.pop().unwrap_or(first);
                    let pasted = self.paste(left, first, call);
                    out.push(PpTok { expansion, ..pasted });
                    out.extend_from_slice(rest);
                }
                continue;
            }
            left_empty = false;
            match param_of(&token) {
                Some(p) => {
                    let pasted_next = body.get(i + 1).is_some_and(|t| t.is(fixed::HASHHASH))
                        && i + 2 < body.len();
                    let start = out.len();
                    if pasted_next {
                        left_empty = arguments[p].is_empty();
                        out.extend_from_slice(&arguments[p]);
                    } else {
                        let list = self.expanded_argument(&mut expanded, arguments, p);
                        out.extend_from_slice(&list);
                    }
                    if let Some(first) = out.get_mut(start) {
                        first.space = token.space;
                    }
                }
                None => out.push(token),
            }
            if self.produced + out.len() > limits::TOKENS {
                self.stop(call, "macro expansion produces too many tokens");
                return Vec::new();
            }
            i += 1;
        }
        out
    }

    fn expanded_argument(
        &mut self,
        cache: &mut [Option<Rc<[PpTok]>>],
        arguments: &[Rc<[PpTok]>],
        index: usize,
    ) -> Rc<[PpTok]> {
        if let Some(done) = &cache[index] {
            return done.clone();
        }
        let list: Rc<[PpTok]> = self.expand_list(arguments[index].clone()).into();
        cache[index] = Some(list.clone());
        list
    }

    fn stringize(&mut self, tokens: &[PpTok]) -> Symbol {
        let mut text = String::from("\"");
        for (i, token) in tokens.iter().enumerate() {
            if i > 0 && (token.space || token.line_start) {
                text.push(' ');
            }
            let spelled = self.session.names.text(token.sym);
            if matches!(token.kind, PpKind::Str | PpKind::Char) {
                for c in spelled.chars() {
                    if matches!(c, '"' | '\\') {
                        text.push('\\');
                    }
                    text.push(c);
                }
            } else {
                text.push_str(spelled);
            }
            if text.len() > 1 << 20 {
                break;
            }
        }
        text.push('"');
        self.count_pasted(text.len(), tokens.first().copied());
        self.session.names.intern(&text)
    }

    fn count_pasted(&mut self, bytes: usize, token: Option<PpTok>) {
        self.pasted += bytes;
        if self.pasted > limits::PASTED_BYTES
            && let Some(token) = token
        {
            self.stop(token, "# and ## produce too much text");
        }
    }

    fn paste(&mut self, left: PpTok, right: PpTok, call: PpTok) -> PpTok {
        let text =
            format!("{}{}", self.session.names.text(left.sym), self.session.names.text(right.sym));
        self.count_pasted(text.len(), Some(call));
        let tokens = lex::tokenize(&text, 0, &mut self.session.names);
        if tokens.len() == 3 && tokens[0].kind != PpKind::Other && !tokens[0].space {
            return PpTok { kind: tokens[0].kind, sym: tokens[0].sym, painted: false, ..left };
        }
        self.error(Code::MacroUse, call, format!("pasting forms `{text}`, which is not one token"));
        left
    }
}
