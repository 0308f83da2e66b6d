//! Syntax errors, as the user sees them.

use lalrpop_util::ParseError;

use super::{Tok, UserError, limits};
use crate::absent;
use crate::diag::{Code, Diag};
use crate::preprocess::{PpKind, PpTok, Unit};
use crate::session::Session;
use crate::symbol::fixed;

/// The diagnostic for what the parser reports. `end`: the token behind the declaration.
pub(super) fn syntax_error(
    session: &Session,
    unit: &Unit,
    error: ParseError<u32, Tok, UserError>,
    end: usize,
) -> Diag {
    let place = |diag: Diag, at: u32| {
        let token = unit.tokens[(at as usize).min(unit.tokens.len() - 1)];
        diag.at_expanded(token.span(), token.expansion, &session.map, &session.names)
    };
    match error {
        ParseError::User { error: UserError::Literal(at, message) } => {
            place(Diag::error(Code::Literal, message), at)
        }
        ParseError::User { error: UserError::TooDeep(at) } => {
            place(Diag::error(Code::Limit, format!("nested more than {} deep", limits::TREE)), at)
        }
        ParseError::InvalidToken { location } => {
            place(Diag::error(Code::Syntax, "unexpected token"), location)
        }
        ParseError::UnrecognizedEof { expected, .. } => {
            let diag = Diag::error(
                Code::Syntax,
                format!("unexpected end of the declaration{}", expectation(&expected)),
            );
            place(diag, end.saturating_sub(1) as u32)
        }
        ParseError::UnrecognizedToken { token: (at, tok, _), expected } => {
            // A mark stands for the identifier before it.
            let index = if matches!(tok, Tok::MarkType | Tok::MarkName) {
                at.saturating_sub(1)
            } else {
                at
            };
            if let Some((absent, at)) = absent_at(session, unit, tok, index as usize) {
                return place(absent, at as u32);
            }
            let token = unit.tokens[(index as usize).min(unit.tokens.len() - 1)];
            let text = session.names.text(token.sym);
            let wants_semicolon = expected.iter().any(|e| e == "\";\"");
            let new_line = index > 0 && {
                let before = unit.tokens[index as usize - 1].span();
                let between = crate::source::FileSpan { lo: before.hi, hi: token.pos };
                before.hi <= token.pos && session.map.text(between).contains('\n')
            };
            if wants_semicolon && (new_line || tok == Tok::Fixed(fixed::RBRACE)) && index > 0 {
                let before = unit.tokens[index as usize - 1];
                let diag = Diag::error(Code::Syntax, "expected `;` after this");
                return diag.at_expanded(
                    before.span(),
                    before.expansion,
                    &session.map,
                    &session.names,
                );
            }
            let what = match tok {
                Tok::MarkType => format!("`{text}`, which is a type"),
                Tok::MarkName if expected.iter().any(|e| e == "MARK_TYPE") => {
                    let mut diag =
                        Diag::error(Code::Undeclared, format!("unknown type name `{text}`"));
                    let candidates = crate::types::builtin_type_names().iter().map(String::as_str);
                    let keywords =
                        ["char", "short", "int", "long", "float", "double", "half", "void", "bool"];
                    if let Some(meant) = crate::diag::closest(text, candidates.chain(keywords)) {
                        diag = diag.help(format!("did you mean `{meant}`?"));
                    }
                    return place(diag, index);
                }
                _ => format!("`{text}`"),
            };
            let mut diag =
                Diag::error(Code::Syntax, format!("unexpected {what}{}", expectation(&expected)));
            let previous = index.checked_sub(1).map(|i| unit.tokens[i as usize]);
            if let Some(previous) =
                previous.filter(|p| p.kind == PpKind::Ident && !p.sym.is_keyword())
                && matches!(tok, Tok::Ident(_))
            {
                let spelled = session.names.text(previous.sym);
                diag = diag.note(None, format!("`{spelled}` is not known as a type here"));
                let candidates = crate::types::builtin_type_names();
                if let Some(meant) =
                    crate::diag::closest(spelled, candidates.iter().map(|s| s.as_str()))
                {
                    diag = diag.help(format!("did you mean `{meant}` instead of `{spelled}`?"));
                }
            }
            place(diag, index)
        }
        ParseError::ExtraToken { token: (at, _, _) } => {
            place(Diag::error(Code::Syntax, "unexpected token"), at)
        }
    }
}

/// What the grammar would have allowed, if that is short enough to help.
fn expectation(expected: &[String]) -> String {
    let readable: Vec<String> = expected
        .iter()
        .filter(|e| e.starts_with('"') && !e.starts_with("\"__attribute"))
        .map(|e| format!("`{}`", e.trim_matches('"')))
        .collect();
    match readable.as_slice() {
        [] => String::new(),
        [one] => format!(", expected {one}"),
        list if list.len() <= 4 => format!(", expected one of {}", list.join(" ")),
        _ if expected.iter().any(|e| e == "INT") => ", expected an expression".into(),
        _ => String::new(),
    }
}

/// Where an optional part of the language is written that there is none of, the token is not what is wrong. `index`:
/// the token that the grammar does not allow.
fn absent_at(session: &Session, unit: &Unit, tok: Tok, index: usize) -> Option<(Diag, usize)> {
    let token = unit.tokens.get(index)?;
    let named = |at: usize| {
        let token = unit.tokens[at];
        let text = session.names.text(token.sym);
        (token.kind == PpKind::Ident).then(|| absent::refusal(text)).flatten()
    };
    if tok == Tok::MarkName
        && let Some(diag) = named(index)
    {
        return Some((diag, index));
    }
    let before = index.checked_sub(1).map(|i| unit.tokens[i]);
    if token.is(fixed::CARET) && !before.is_some_and(ends_operand) {
        return Some((absent::block(), index));
    }
    // The grammar takes what was meant as a declaration for a product: `queue_t *q`.
    let words = (0..index).rev().take_while(|&i| {
        let token = unit.tokens[i];
        token.kind == PpKind::Ident || token.is(fixed::STAR)
    });
    words.filter_map(|i| named(i).map(|diag| (diag, i))).last()
}

/// Whether an operator with two operands may follow.
fn ends_operand(token: PpTok) -> bool {
    match token.kind {
        PpKind::Punct => matches!(token.sym, fixed::RPAREN | fixed::RBRACKET | fixed::RBRACE),
        PpKind::Ident => !token.sym.is_keyword(),
        _ => true,
    }
}
