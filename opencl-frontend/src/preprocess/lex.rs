//! Preprocessing tokens: the first pass over the text.

use logos::Logos;

use crate::source::{ExpansionId, FileSpan, Pos};
use crate::symbol::{Interner, Symbol, fixed};

/// Kinds of preprocessing tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PpKind {
    /// Identifier or keyword.
    Ident,
    /// Preprocessing number.
    Number,
    /// String literal with its quotes.
    Str,
    /// Character literal with its quotes.
    Char,
    /// Punctuator.
    Punct,
    /// A character that starts no token, or an unterminated literal or comment.
    Other,
    /// End of a line.
    Newline,
    /// End of the input or of an isolated token list.
    End,
    /// `#pragma unroll`: the count (0: no count given; 1: do not unroll) is the number of the symbol.
    Unroll,
    /// `#pragma FP_CONTRACT`: symbol 1 is on, 0 is off.
    FpContract,
}

/// One preprocessing token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PpTok {
    /// Kind.
    pub kind: PpKind,
    /// Its text.
    pub sym: Symbol,
    /// Where it is spelled.
    pub pos: Pos,
    /// Length of the spelling in the file.
    pub len: u32,
    /// The macro expansion that produced it.
    pub expansion: ExpansionId,
    /// White space or a comment stands before it.
    pub space: bool,
    /// First token of its line.
    pub line_start: bool,
    /// An identifier that must not be expanded any more.
    pub painted: bool,
}

impl PpTok {
    /// Where it is spelled.
    pub fn span(&self) -> FileSpan {
        FileSpan { lo: self.pos, hi: Pos(self.pos.0 + self.len) }
    }

    /// True for the punctuator `symbol`.
    pub fn is(&self, symbol: Symbol) -> bool {
        self.kind == PpKind::Punct && self.sym == symbol
    }
}

#[derive(Logos, Clone, Copy, PartialEq, Debug)]
enum Raw {
    #[regex(r"[ \t\r\x0b\x0c]+")]
    #[regex(r"//[^\n]*", allow_greedy = true)]
    #[token("/*", block_comment)]
    Space,
    #[token("\n")]
    Newline,
    #[regex(r"[A-Za-z_$][A-Za-z0-9_$]*")]
    Ident,
    #[regex(r"\.?[0-9]([eEpP][+-]|[0-9A-Za-z_.])*")]
    Number,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str,
    #[regex(r"'([^'\\\n]|\\[^\n])*'")]
    Char,
    #[regex(r"[\[\](){},;:?~#]|\.\.\.|\.|->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^!<>=]|##")]
    Punct,
}

fn block_comment(lexer: &mut logos::Lexer<'_, Raw>) -> bool {
    match lexer.remainder().find("*/") {
        Some(end) => {
            lexer.bump(end + 2);
            true
        }
        None => {
            lexer.bump(lexer.remainder().len());
            false
        }
    }
}

/// Joins the lines that end in a backslash. Returns the joined text and, per splice, the offset in the
/// joined text and the number of bytes removed up to there.
fn splice_lines(text: &str) -> (String, Vec<(u32, u32)>) {
    let mut joined = String::with_capacity(text.len());
    let mut removed = Vec::new();
    let mut rest = text;
    let mut total = 0;
    while let Some(at) = rest.find('\\') {
        let after = &rest[at + 1..];
        let length = if after.starts_with('\n') {
            2
        } else if after.starts_with("\r\n") {
            3
        } else {
            joined.push_str(&rest[..=at]);
            rest = after;
            continue;
        };
        joined.push_str(&rest[..at]);
        total += length as u32;
        removed.push((joined.len() as u32, total));
        rest = &rest[at + length..];
    }
    joined.push_str(rest);
    (joined, removed)
}

/// Splits `text`, whose first byte has position `base`, into tokens, ending with a newline and `End`.
pub fn tokenize(text: &str, base: u32, names: &mut Interner) -> Vec<PpTok> {
    let spliced = if text.contains("\\\n") || text.contains("\\\r\n") {
        Some(splice_lines(text))
    } else {
        None
    };
    let (clean, removed): (&str, &[(u32, u32)]) = match &spliced {
        Some((joined, removed)) => (joined, removed),
        None => (text, &[]),
    };
    let original = |offset: usize, is_end: bool| -> u32 {
        let offset = offset as u32;
        // A splice right at the end of a token belongs to what follows.
        let n = removed.partition_point(|r| if is_end { r.0 < offset } else { r.0 <= offset });
        base + offset + if n == 0 { 0 } else { removed[n - 1].1 }
    };
    let mut tokens = Vec::with_capacity(clean.len() / 4);
    let (mut space, mut line_start) = (false, true);
    let mut lexer = Raw::lexer(clean);
    while let Some(raw) = lexer.next() {
        let range = lexer.span();
        let kind = match raw {
            Ok(Raw::Space) => {
                space = true;
                continue;
            }
            Ok(Raw::Newline) => PpKind::Newline,
            Ok(Raw::Ident) => PpKind::Ident,
            Ok(Raw::Number) => PpKind::Number,
            Ok(Raw::Str) => PpKind::Str,
            Ok(Raw::Char) => PpKind::Char,
            Ok(Raw::Punct) => PpKind::Punct,
            Err(()) => PpKind::Other,
        };
        let pos = original(range.start, false);
        let sym =
            if kind == PpKind::Newline { fixed::HASH } else { names.intern(&clean[range.clone()]) };
        let len = original(range.end, true).saturating_sub(pos);
        tokens.push(PpTok {
            kind,
            sym,
            pos: Pos(pos),
            len,
            expansion: ExpansionId::NONE,
            space,
            line_start,
            painted: false,
        });
        space = false;
        line_start = kind == PpKind::Newline;
    }
    let end = PpTok {
        kind: PpKind::Newline,
        sym: fixed::HASH,
        pos: Pos(base + text.len() as u32),
        len: 0,
        expansion: ExpansionId::NONE,
        space: false,
        line_start,
        painted: false,
    };
    tokens.push(end);
    tokens.push(PpTok { kind: PpKind::End, ..end });
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(PpKind, String)> {
        let mut names = Interner::default();
        let tokens = tokenize(source, 0, &mut names);
        tokens[..tokens.len() - 2].iter().map(|t| (t.kind, names.text(t.sym).to_string())).collect()
    }

    #[test]
    fn kinds() {
        use PpKind::*;
        let got = texts("a+++b->c .5e-3f 0x1p+3 \"x\\\"y\" 'q' ... ## @ /* b */ // c");
        let want = [
            (Ident, "a"),
            (Punct, "++"),
            (Punct, "+"),
            (Ident, "b"),
            (Punct, "->"),
            (Ident, "c"),
            (Number, ".5e-3f"),
            (Number, "0x1p+3"),
            (Str, "\"x\\\"y\""),
            (Char, "'q'"),
            (Punct, "..."),
            (Punct, "##"),
            (Other, "@"),
        ];
        assert_eq!(got, want.map(|(k, t)| (k, t.to_string())));
    }

    #[test]
    fn splices_keep_positions() {
        let mut names = Interner::default();
        let source = "ab\\\ncd ef";
        let tokens = tokenize(source, 100, &mut names);
        assert_eq!(names.text(tokens[0].sym), "abcd");
        assert_eq!((tokens[0].pos.0, tokens[0].len), (100, 6));
        assert_eq!((tokens[1].pos.0, tokens[1].len), (107, 2));
    }
}
