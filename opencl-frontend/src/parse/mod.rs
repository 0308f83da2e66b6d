//! Parsing: preprocessed tokens to syntax trees.
//!
//! The grammar is LR(1) (LALRPOP). Whether a name is a type depends on the declarations before it, so the
//! lexer hands out two tokens per identifier: the identifier and a mark, classified only when the parser
//! asks for the mark; by then every reduction that the identifier caused has been done (J.-H. Jourdan and
//! F. Pottier, "A simple, possibly correct LR parser for C11", 2017).
//!
//! Each external declaration is parsed on its own: a syntax error in one leaves the others.

pub mod ast;
mod build;
mod error;
pub mod literal;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, Diag};
use crate::preprocess::{PpKind, PpTok, Unit};
use crate::session::Session;
use crate::source::Span;
use crate::symbol::{Interner, Symbol, fixed};
use crate::types::TypeId;

use ast::{Declarator, External};

#[allow(clippy::all, clippy::pedantic, missing_docs, unused_qualifications, unused)]
mod grammar {
    lalrpop_util::lalrpop_mod!(generated, "/parse/grammar.rs");
    pub use generated::ExternalParser;
}

/// Bounds on nesting.
mod limits {
    /// Brackets of any kind within each other.
    pub const BRACKETS: usize = 256;
    /// Height of an expression or statement tree.
    pub const TREE: u16 = 1500;
}

/// What the grammar sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tok {
    /// Keyword or punctuator.
    Fixed(Symbol),
    /// An identifier; a mark follows.
    Ident(Symbol),
    /// The identifier before is a type.
    MarkType,
    /// The identifier before is not a type.
    MarkName,
    /// Integer literal.
    Int(literal::IntLiteral),
    /// Floating literal.
    Float(literal::FloatLiteral),
    /// Character literal.
    Char(i32),
    /// String literal.
    Str(Symbol),
    /// `#pragma unroll`.
    Unroll(u32),
    /// `#pragma FP_CONTRACT`.
    FpContract(bool),
}

/// Errors from the lexer and from actions.
#[derive(Clone, Debug)]
pub enum UserError {
    /// A malformed literal at a token.
    Literal(u32, String),
    /// Nesting too deep at a token.
    TooDeep(u32),
}

/// Which names are types in the scopes that are open.
pub struct State {
    scopes: RefCell<Vec<FxHashMap<Symbol, bool>>>,
    builtin_types: Rc<BuiltinTypes>,
}

/// The types that no declaration makes.
type BuiltinTypes = FxHashMap<Symbol, TypeId>;

impl State {
    fn new(builtin_types: &Rc<BuiltinTypes>) -> State {
        State {
            scopes: RefCell::new(vec![FxHashMap::default()]),
            builtin_types: Rc::clone(builtin_types),
        }
    }

    fn is_type(&self, sym: Symbol) -> bool {
        let declared = self.scopes.borrow().iter().rev().find_map(|s| s.get(&sym)).copied();
        declared.unwrap_or_else(|| self.builtin_types.contains_key(&sym))
    }

    fn declare(&self, sym: Symbol, is_type: bool) {
        if let Some(scope) = self.scopes.borrow_mut().last_mut() {
            scope.insert(sym, is_type);
        }
    }

    fn declare_in(&self, declarator: &Declarator, is_type: bool) {
        if let Some(name) = declarator.name() {
            self.declare(name.sym, is_type);
        }
    }

    fn open(&self) {
        self.scopes.borrow_mut().push(FxHashMap::default());
    }

    fn close(&self) {
        self.scopes.borrow_mut().pop();
    }
}

/// The token stream of one external declaration.
struct Lexer<'t> {
    tokens: &'t [PpTok],
    names: &'t Interner,
    state: &'t State,
    next: usize,
    /// Tokens to leave out.
    skipped: Option<Range<usize>>,
    end: usize,
    mark: Option<Symbol>,
}

type Spanned = Result<(u32, Tok, u32), UserError>;

impl Iterator for Lexer<'_> {
    type Item = Spanned;

    fn next(&mut self) -> Option<Spanned> {
        let here = self.next as u32;
        if let Some(sym) = self.mark.take() {
            let tok = if self.state.is_type(sym) { Tok::MarkType } else { Tok::MarkName };
            return Some(Ok((here, tok, here)));
        }
        if let Some(skipped) = self.skipped.take_if(|s| s.start == self.next) {
            self.next = skipped.end;
        }
        while self.next < self.end
            && self.tokens[self.next].kind == PpKind::Unroll
            && !precedes_loop(self.tokens, self.next + 1)
        {
            self.next += 1;
        }
        if self.next >= self.end {
            return None;
        }
        let here = self.next as u32;
        let token = self.tokens[self.next];
        self.next += 1;
        let bad = |message| Some(Err(UserError::Literal(here, message)));
        let tok = match token.kind {
            PpKind::Ident if token.sym.is_keyword() => Tok::Fixed(token.sym.canonical_keyword()),
            PpKind::Ident => {
                self.mark = Some(token.sym);
                Tok::Ident(token.sym)
            }
            PpKind::Punct => Tok::Fixed(token.sym),
            PpKind::Number => {
                let text = self.names.text(token.sym);
                if literal::is_floating(text) {
                    match literal::floating(text) {
                        Ok(v) => Tok::Float(v),
                        Err(message) => return bad(message),
                    }
                } else {
                    match literal::integer(text) {
                        Ok(v) => Tok::Int(v),
                        Err(message) => return bad(message),
                    }
                }
            }
            PpKind::Char => match literal::character(self.names.text(token.sym)) {
                Ok(v) => Tok::Char(v),
                Err(message) => return bad(message),
            },
            PpKind::Str => Tok::Str(token.sym),
            PpKind::Unroll => Tok::Unroll(token.sym.0),
            PpKind::FpContract => Tok::FpContract(token.sym.0 == 1),
            PpKind::Other | PpKind::Newline | PpKind::End => return None,
        };
        Some(Ok((here, tok, here + 1)))
    }
}

/// True if a loop (or its attributes) follows an `#pragma unroll` that ends before `next`.
fn precedes_loop(tokens: &[PpTok], next: usize) -> bool {
    tokens.get(next).is_some_and(|t| {
        t.kind == PpKind::Ident
            && matches!(
                t.sym.canonical_keyword(),
                fixed::FOR | fixed::WHILE | fixed::DO | fixed::ATTRIBUTE | fixed::ATTRIBUTE_ALIAS
            )
    })
}

/// Warns about every `#pragma unroll` that stands before something else than a loop, anywhere in the text:
/// the parser passes over these.
fn check_unroll(session: &mut Session, unit: &Unit) {
    for (i, token) in unit.tokens.iter().enumerate() {
        if token.kind == PpKind::Unroll && !precedes_loop(&unit.tokens, i + 1) {
            let message = "#pragma unroll has no effect: no loop follows";
            let span = Span { first: i as u32, last: i as u32 };
            session.report_at(Diag::warning(Code::UnknownPragma, message), unit, span);
        }
    }
}

/// Parses a translation unit. Syntax errors are reported to the session.
pub fn parse(
    session: &mut Session,
    unit: &Unit,
    builtin_types: &Rc<BuiltinTypes>,
) -> Vec<External> {
    let state = State::new(builtin_types);
    let externals = externals(session, unit, &state, false);
    externals.into_iter().map(|(_, external)| external).collect()
}

/// Parses a unit of the library without the bodies of its functions. Each part comes with the token that it starts
/// at, for `whole`; the state is what `whole` needs.
pub fn heads(
    session: &mut Session,
    unit: &Unit,
    builtin_types: &Rc<BuiltinTypes>,
) -> (Vec<(usize, External)>, State) {
    let state = State::new(builtin_types);
    (externals(session, unit, &state, true), state)
}

/// A function whose head has been parsed, with its body.
pub fn whole(session: &mut Session, unit: &Unit, state: &State, start: usize) -> Option<External> {
    let end = chunk_end(&unit.tokens, start).ok()?;
    external(session, unit, state, start..end, false)
}

fn externals(
    session: &mut Session,
    unit: &Unit,
    state: &State,
    heads: bool,
) -> Vec<(usize, External)> {
    let mut out = Vec::new();
    let mut start = 0;
    check_unroll(session, unit);
    while unit.tokens[start].kind != PpKind::End {
        if session.too_many_errors() {
            break;
        }
        if unit.tokens[start].kind == PpKind::Unroll {
            start += 1;
            continue;
        }
        let end = match chunk_end(&unit.tokens, start) {
            Ok(end) => end,
            Err(ChunkError { at, code, message, hopeless }) => {
                let token = unit.tokens[at];
                let diag = Diag::error(code, message);
                session.report_at(diag, unit, Span { first: at as u32, last: at as u32 });
                if token.kind == PpKind::End || code == Code::Limit {
                    break;
                }
                if hopeless {
                    // Where the bracket should have been closed, nobody knows: what follows is not to blame.
                    let names = unit.tokens[start..].iter().filter(|t| t.kind == PpKind::Ident);
                    session.failed_names.extend(names.map(|t| t.sym));
                    break;
                }
                start = at + 1;
                continue;
            }
        };
        let external = external(session, unit, state, start..end, heads);
        out.extend(external.map(|external| (start, external)));
        start = end;
    }
    out
}

fn external(
    session: &mut Session,
    unit: &Unit,
    state: &State,
    range: Range<usize>,
    heads: bool,
) -> Option<External> {
    let tokens = &unit.tokens[range.clone()];
    let body = tokens.iter().position(|t| heads && t.is(fixed::LBRACE));
    // Only a function ends in a brace.
    let body = body.filter(|_| tokens.last().is_some_and(|t| t.is(fixed::RBRACE)));
    state.scopes.borrow_mut().truncate(1);
    let lexer = Lexer {
        tokens: &unit.tokens,
        names: &session.names,
        state,
        next: range.start,
        skipped: body.map(|open| range.start + open + 1..range.end - 1),
        end: range.end,
        mark: None,
    };
    match grammar::ExternalParser::new().parse(state, lexer) {
        Ok(external) => Some(external),
        Err(error) => {
            let diag = error::syntax_error(session, unit, error, range.end);
            session.report(diag);
            recover_types(unit, range.start, range.end, state);
            note_failed_names(session, &unit.tokens[range]);
            None
        }
    }
}

/// The names outside of brackets are those that the declaration would have declared.
fn note_failed_names(session: &mut Session, tokens: &[PpTok]) {
    let mut depth = 0usize;
    for token in tokens {
        match (token.kind, token.sym) {
            (PpKind::Punct, fixed::LPAREN | fixed::LBRACKET | fixed::LBRACE) => depth += 1,
            (PpKind::Punct, fixed::RPAREN | fixed::RBRACKET | fixed::RBRACE) => {
                depth = depth.saturating_sub(1);
            }
            (PpKind::Ident, name) if depth == 0 && !name.is_keyword() => {
                session.failed_names.insert(name);
            }
            _ => {}
        }
    }
}

/// After a syntax error in a typedef, its name still counts as a type: one error instead of many.
fn recover_types(unit: &Unit, start: usize, end: usize, state: &State) {
    state.scopes.borrow_mut().truncate(1);
    let tokens = &unit.tokens[start..end];
    if tokens.first().is_some_and(|t| t.kind == PpKind::Ident && t.sym == fixed::TYPEDEF)
        && let Some(last) =
            tokens.iter().rev().find(|t| t.kind == PpKind::Ident && !t.sym.is_keyword())
    {
        state.declare(last.sym, true);
    }
}

/// Why the end of a declaration was not found.
struct ChunkError {
    /// The token to point at.
    at: usize,
    code: Code,
    message: String,
    /// The text ended within brackets: nothing can be said of the rest.
    hopeless: bool,
}

/// Finds the end of the external declaration that starts at `start`: its `;`, or the `}` of a function body.
fn chunk_end(tokens: &[PpTok], start: usize) -> Result<usize, ChunkError> {
    let failed = |at: usize, code: Code, message: &str| ChunkError {
        at,
        code,
        message: message.to_string(),
        hopeless: false,
    };
    let mut open: Vec<(Symbol, usize)> = Vec::new();
    let mut i = start;
    // The specifiers of an aggregate may end in an attribute's `)`, like the head of a function.
    let mut aggregate = false;
    let mut assigned = false;
    if tokens[start].kind == PpKind::FpContract {
        return Ok(start + 1);
    }
    loop {
        let token = tokens[i];
        match token.kind {
            PpKind::End => {
                return match open.last() {
                    Some(&(sym, at)) => {
                        let text = match sym {
                            fixed::LBRACE => "{",
                            fixed::LPAREN => "(",
                            _ => "[",
                        };
                        let message = format!("this `{text}` is never closed");
                        Err(ChunkError { hopeless: true, ..failed(at, Code::Syntax, &message) })
                    }
                    None => Ok(i),
                };
            }
            PpKind::Ident if open.is_empty() => match token.sym {
                fixed::STRUCT | fixed::UNION | fixed::ENUM => aggregate = true,
                _ => {}
            },
            PpKind::Punct => match token.sym {
                fixed::LPAREN | fixed::LBRACKET => open.push((token.sym, i)),
                fixed::LBRACE => open.push((token.sym, i)),
                fixed::ASSIGN if open.is_empty() => assigned = true,
                fixed::RPAREN | fixed::RBRACKET | fixed::RBRACE => {
                    let wanted = match token.sym {
                        fixed::RPAREN => fixed::LPAREN,
                        fixed::RBRACKET => fixed::LBRACKET,
                        _ => fixed::LBRACE,
                    };
                    match open.pop() {
                        Some((sym, at)) if sym == wanted => {
                            let body = token.sym == fixed::RBRACE && open.is_empty() && !assigned;
                            let after_head = at > start && tokens[at - 1].is(fixed::RPAREN);
                            if body
                                && after_head
                                && !(aggregate && is_aggregate_body(tokens, start, at))
                            {
                                return Ok(i + 1);
                            }
                        }
                        Some((sym, at)) if token.sym == fixed::RBRACE && sym != fixed::LBRACE => {
                            return Err(failed(at, Code::Syntax, "this bracket is never closed"));
                        }
                        _ => return Err(failed(i, Code::Syntax, "unmatched closing bracket")),
                    }
                }
                fixed::SEMI if open.is_empty() => return Ok(i + 1),
                _ => {}
            },
            _ => {}
        }
        if open.len() > limits::BRACKETS {
            let message = format!("brackets are nested more than {} deep", limits::BRACKETS);
            return Err(failed(i, Code::Limit, &message));
        }
        i += 1;
    }
}

/// True if the brace at `at` opens the members of a struct whose keyword precedes it with only a tag and
/// attributes between.
fn is_aggregate_body(tokens: &[PpTok], start: usize, at: usize) -> bool {
    let Some(keyword) = (start..at).rev().find(|&i| {
        tokens[i].kind == PpKind::Ident
            && matches!(tokens[i].sym, fixed::STRUCT | fixed::UNION | fixed::ENUM)
    }) else {
        return false;
    };
    let mut depth = 0;
    let mut names = 0;
    let mut attribute = false;
    for token in &tokens[keyword + 1..at] {
        match token.sym {
            fixed::LPAREN => {
                if depth == 0 && !attribute {
                    return false;
                }
                depth += 1;
            }
            fixed::RPAREN => depth -= 1,
            fixed::ATTRIBUTE | fixed::ATTRIBUTE_ALIAS => attribute = true,
            _ if depth == 0 && token.kind == PpKind::Ident => {
                names += 1;
                attribute = false;
            }
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    names <= 1
}
