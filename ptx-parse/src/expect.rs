//! Syntax errors in the user's words: what was found, what may stand there.

use crate::diag::{Code, Diag, closest};
use crate::lexer::Tok;
use crate::span::Span;
use lalrpop_util::ParseError;
use ptx_isa::table::table;

/// The message for an error of the generated parser.
pub(crate) fn syntax_error(src: &str, error: &ParseError<u32, Tok, ()>) -> Diag {
    match error {
        ParseError::UnrecognizedToken { token: (l, tok, r), expected } => {
            unexpected(src, Span::new(*l, *r), *tok, expected)
        }
        ParseError::UnrecognizedEof { location, expected } => at_end(src, *location, expected),
        ParseError::ExtraToken { token: (l, tok, r) } => {
            unexpected(src, Span::new(*l, *r), *tok, &[])
        }
        ParseError::InvalidToken { location } => {
            Diag::error(Code::Syntax, Span::point(*location), "unexpected character")
        }
        ParseError::User { .. } => {
            Diag::error(Code::Syntax, Span::point(0), "the text cannot be read")
        }
    }
}

fn has(expected: &[String], terminal: &str) -> bool {
    expected.iter().any(|e| e.trim_matches('"') == terminal)
}

fn at_end(src: &str, location: u32, expected: &[String]) -> Diag {
    let at = src.trim_end().len().min(location as usize) as u32;
    let span = Span::new(at.saturating_sub(1), at);
    let mut diag = Diag::error(Code::Syntax, span, "the text ends too early");
    if has(expected, "}") {
        diag.help("a `}` is missing: some function body or block is still open");
    } else {
        diag.help(format!("expected {}", describe(expected)));
    }
    diag
}

fn unexpected(src: &str, span: Span, tok: Tok, expected: &[String]) -> Diag {
    // A lexical error may have cut a character.
    let mut span = span;
    while !src.is_char_boundary(span.start as usize) {
        span.start -= 1;
    }
    while !src.is_char_boundary(span.end as usize) {
        span.end += 1;
    }
    let found = &src[span.range()];
    if tok == Tok::Error {
        return lexical(src, span);
    }
    if let Some(diag) = glued_number(src, span, tok) {
        return diag;
    }
    if src[span.start as usize..].starts_with("/*") {
        return Diag::error(Code::Syntax, span, "this comment is not closed");
    }
    let before = end_of_previous(src, span.start);
    let new_line = src[before as usize..span.start as usize].contains('\n');
    let instruction = tok == Tok::Ident && table().mnemonics().any(|m| m == found);
    if has(expected, ";") && (new_line || tok == Tok::Close || instruction) {
        let mut diag =
            Diag::error(Code::Syntax, Span::new(before.saturating_sub(1), before), "missing `;`");
        diag.here("the statement ends here");
        if tok != Tok::Close {
            diag.also(span, format!("`{}` begins the next one", shorten(found)));
        }
        return diag;
    }
    let mut diag = Diag::error(Code::Syntax, span, format!("unexpected `{}`", shorten(found)));
    let wanted = describe(expected);
    if !wanted.is_empty() {
        diag.here(format!("expected {wanted}"));
    }
    if has(expected, ".version")
        && let Some(near) = directive(found)
    {
        diag.help(format!("did you mean `{near}`?"));
    }
    match tok {
        Tok::Semi
            if has(expected, "Ident") && src[..span.start as usize].trim_end().ends_with(';') =>
        {
            diag.help("PTX has no empty statement: remove this `;`");
        }
        Tok::ParenOpen
            if let Some(ours) = word_before(src, span.start).and_then(|w| table().renamed(w)) =>
        {
            diag.help(format!("write `{ours};`"));
        }
        Tok::Eq => {
            diag.help("PTX has no assignment: the destination is the first operand, as in `add.s32 %r2, %r1, %r3;`");
        }
        Tok::Minus if has(expected, "+") => {
            diag.help("offsets are added: write `x+-8` for `x-8`");
        }
        Tok::FnAttr => {
            diag.note(
                "directives such as `.maxntid` stand between a kernel's parameters and its body",
            );
        }
        Tok::BranchTargets | Tok::CallTargets | Tok::CallPrototype => {
            diag.note("this directive stands in a function body and needs a label");
        }
        Tok::Linkage if has(expected, "Dot") => {
            diag.note("linking directives come first: `.visible .global .u32 x;`");
        }
        _ => {}
    }
    diag
}

/// The directive of a module that was probably meant.
fn directive(found: &str) -> Option<&'static str> {
    const ALL: [&str; 14] = [
        ".entry",
        ".func",
        ".global",
        ".shared",
        ".const",
        ".visible",
        ".extern",
        ".weak",
        ".version",
        ".target",
        ".address_size",
        ".file",
        ".section",
        ".pragma",
    ];
    match found {
        ".kernel" | ".function" | "__global__" | "kernel" | "void" => Some(".entry"),
        _ => closest(found, ALL).or_else(|| ALL.into_iter().find(|d| d[1..] == *found)),
    }
}

/// The word that ends at `at`.
fn word_before(src: &str, at: u32) -> Option<&str> {
    let text = src.get(..at as usize)?.trim_end();
    text.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()
}

/// The end of the last token before `at`, comments skipped.
fn end_of_previous(src: &str, at: u32) -> u32 {
    let mut text = &src[..at as usize];
    loop {
        text = text.trim_end();
        let line = text.rfind('\n').map_or(0, |i| i + 1);
        if let Some(comment) = text[line..].find("//") {
            text = &text[..line + comment];
        } else if text.ends_with("*/") {
            text = &text[..text.rfind("/*").unwrap_or(0)];
        } else {
            return text.len() as u32;
        }
    }
}

/// `08`, `1u`, `1.0f`: a number that ended earlier than meant.
fn glued_number(src: &str, span: Span, tok: Tok) -> Option<Diag> {
    let before = src.as_bytes()[..span.start as usize].last()?;
    if !before.is_ascii_alphanumeric() || !matches!(tok, Tok::Int | Tok::Ident | Tok::Float) {
        return None;
    }
    let start = src[..span.start as usize]
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .map_or(0, |i| i + 1);
    let number = &src[start..span.end as usize];
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let whole = Span::new(start as u32, span.end);
    let mut diag = Diag::error(Code::Literal, whole, format!("`{number}` is no number"));
    match tok {
        Tok::Ident if number.starts_with("0f") || number.starts_with("0F") => {
            diag.help("`0f` takes exactly eight hexadecimal digits, the bits of a binary32")
        }
        Tok::Ident if number.starts_with("0d") || number.starts_with("0D") => {
            diag.help("`0d` takes exactly sixteen hexadecimal digits, the bits of a binary64")
        }
        Tok::Ident => diag.help("the only suffix is `U`, on integers"),
        _ => diag.help("a leading zero makes a number octal, with digits 0 to 7"),
    };
    Some(diag)
}

fn lexical(src: &str, span: Span) -> Diag {
    let rest = &src.as_bytes()[span.start as usize..];
    match rest {
        [b'/', b'*', ..] => Diag::error(Code::Syntax, span, "this comment is not closed"),
        [b'"', ..] => Diag::error(Code::Syntax, span, "this string is not closed on its line"),
        [b'.', b's', b'o', ..] => {
            Diag::error(Code::Syntax, span, "`.source_begin` without `.source_end`")
        }
        [b'#', ..] => {
            let mut diag = Diag::error(
                Code::Syntax,
                Span::new(span.start, span.start + 1),
                "`#` has no meaning here",
            );
            diag.help("a comment begins with `//`");
            diag
        }
        [byte, ..] if !byte.is_ascii() => {
            let c = src.get(span.start as usize..).and_then(|s| s.chars().next());
            let mut diag = Diag::error(
                Code::Syntax,
                span,
                format!("character `{}` outside a comment", c.unwrap_or('\u{fffd}')),
            );
            diag.note("PTX is written in ASCII");
            diag
        }
        _ => {
            let text = String::from_utf8_lossy(&rest[..(span.end - span.start) as usize]);
            Diag::error(Code::Syntax, span, format!("`{}` has no meaning here", shorten(&text)))
        }
    }
}

fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.len() <= 40 && line.len() == text.len() {
        line.to_owned()
    } else {
        let cut: String = line.chars().take(37).collect();
        format!("{cut}...")
    }
}

/// What may stand at a place, by what the parser would take.
fn describe(expected: &[String]) -> String {
    let e = |t: &str| has(expected, t);
    let mut wanted: Vec<String> = Vec::new();
    if e(".version") {
        return "a directive of the module (`.entry`, `.func`, `.global`, …)".into();
    }
    if e("@") {
        return "an instruction, a label, a declaration or `}`".into();
    }
    let operand = e("Int") && e("Reg") && e("{v");
    if operand {
        wanted.push("an operand".into());
    } else if e("DotIdent") {
        wanted.push("an instruction".into());
    } else if e("Ident") && e("Reg") {
        wanted.push("a name".into());
    } else if e("Ident") {
        wanted.push("a word".into());
    }
    if !operand {
        let nouns = [("Int", "a number"), ("Str", "a string"), ("FnKind", "`.entry` or `.func`")];
        wanted.extend(nouns.iter().filter(|(t, _)| e(t)).map(|(_, noun)| (*noun).to_owned()));
        if e("Space") && e("Dot") {
            wanted.push("a state space or type".into());
        } else if e("Space") {
            wanted.push("a state space".into());
        } else if e("Dot") && !e("+") {
            wanted.push("a word with a dot".into());
        }
    }
    let operators = e("+") || e("BinOp");
    if operators {
        wanted.push("an operator".into());
    }
    if e("FnAttrTok") {
        wanted.push("a directive such as `.maxntid`".into());
    }
    for mark in [",", ";", ":", "=", "(", ")", "[", "]", "{", "}"] {
        if e(mark) && !(operand && matches!(mark, "(" | "[")) {
            wanted.push(format!("`{mark}`"));
        }
    }
    if e("}v") {
        wanted.push("`}`".into());
    }
    if !operators && (e("<") || e(">")) {
        wanted.push(if e("<") { "`<`".into() } else { "`>`".into() });
    }
    match wanted.len() {
        0 => String::new(),
        1 => wanted.remove(0),
        n => format!("{} or {}", wanted[..n - 1].join(", "), wanted[n - 1]),
    }
}
