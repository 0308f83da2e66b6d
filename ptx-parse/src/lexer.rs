//! Tokens, and the iterator that feeds them to the grammar.
//!
//! An opcode and its modifiers are one token ([`Tok::DotIdent`]); directives
//! that the grammar distinguishes have tokens of their own and every other
//! word with a leading dot is a [`Tok::Dot`].

use logos::Logos;

use crate::plain::Lane;

/// One kind of token. The text is found through the token's span.
#[derive(Logos, Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u8)]
#[logos(utf8 = false)]
#[logos(skip r"[ \t\r\n\f\x0b]+")]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
#[logos(skip(r"(//|#[ \t]*[0-9])[^\n]*", allow_greedy = true))]
pub enum Tok {
    // Names.
    #[regex(r"[a-zA-Z][a-zA-Z0-9_$]*")]
    Ident,
    #[regex(r"[a-zA-Z][a-zA-Z0-9_$]*(\.[a-zA-Z0-9_]+(::[a-zA-Z0-9_]+(:[0-9]+)?)*)+")]
    DotIdent,
    #[regex(r"[_$%][a-zA-Z0-9_$]+")]
    Reg,
    #[regex(r"[_$%][a-zA-Z0-9_$]+(\.[a-zA-Z0-9_]+)+")]
    DotReg,
    #[token("_", priority = 5)]
    Sink,

    // Literals.
    #[regex(r"0[xX][0-9a-fA-F]+U?")]
    #[regex(r"0[bB][01]+U?")]
    #[regex(r"0[0-7]*U?")]
    #[regex(r"[1-9][0-9]*U?")]
    Int,
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?", priority = 10)]
    #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?", priority = 10)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 10)]
    Float,
    #[regex(r"0[fF][0-9a-fA-F]{8}", priority = 12)]
    #[regex(r"0[dD][0-9a-fA-F]{16}", priority = 12)]
    BitsFloat,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str,

    // Directives.
    #[regex(r"\.[0-9]*[a-zA-Z_][a-zA-Z0-9_]*(::[a-zA-Z0-9_]+)*")]
    Dot,
    #[token(".version")]
    Version,
    #[token(".target")]
    Target,
    #[token(".address_size")]
    AddressSize,
    #[token(".entry")]
    #[token(".func")]
    FnKind,
    #[token(".extern")]
    #[token(".visible")]
    #[token(".weak")]
    #[token(".common")]
    Linkage,
    #[token(".reg")]
    #[token(".sreg")]
    #[token(".const")]
    #[token(".global")]
    #[token(".local")]
    #[token(".param")]
    #[token(".shared")]
    #[token(".tex")]
    Space,
    #[token(".align")]
    Align,
    #[token(".ptr")]
    Ptr,
    #[token(".attribute")]
    Attribute,
    #[token(".alias")]
    Alias,
    #[token(".maxnreg")]
    #[token(".maxntid")]
    #[token(".reqntid")]
    #[token(".minnctapersm")]
    #[token(".maxnctapersm")]
    #[token(".noreturn")]
    #[token(".abi_preserve")]
    #[token(".abi_preserve_control")]
    #[token(".minperctamemory")]
    #[token(".reqnctapercluster")]
    #[token(".maxclusterrank")]
    #[token(".explicitcluster")]
    #[token(".blocksareclusters")]
    FnAttr,
    #[token(".language")]
    Language,
    #[token(".pragma")]
    Pragma,
    #[token(".branchtargets")]
    BranchTargets,
    #[token(".calltargets")]
    CallTargets,
    #[token(".callprototype")]
    CallPrototype,
    #[token(".loc")]
    Loc,
    #[token(".loc_intermediate")]
    LocIntermediate,
    #[token(".file")]
    File,
    #[token(".section")]
    Section,
    #[regex(r"@@DWARF[^\n]*", allow_greedy = true)]
    Dwarf,
    #[token(".nv_intermediate_source_section")]
    Sources,
    #[token(".code_block")]
    CodeBlock,
    #[token(".source_begin", source_text)]
    SourceText,

    // Punctuation.
    #[token("{")]
    Open,
    #[token("}")]
    Close,
    /// `{` of a vector operand or an initialiser.
    VecOpen,
    /// `}` of a vector operand or an initialiser.
    VecClose,
    #[token("(")]
    ParenOpen,
    #[token(")")]
    ParenClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
    #[token(",")]
    Comma,
    #[token(";")]
    Semi,
    #[token(":")]
    Colon,
    #[token("@")]
    At,
    #[token("=")]
    Eq,
    #[token("?")]
    Question,
    #[token("<")]
    Lt,
    #[token(">")]
    Gt,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("!")]
    Not,
    #[token("~")]
    Tilde,
    #[token("|")]
    Pipe,
    #[token("*")]
    #[token("/")]
    #[token("%", priority = 1)]
    #[token("<<")]
    #[token(">>")]
    #[token("<=")]
    #[token(">=")]
    #[token("==")]
    #[token("!=")]
    #[token("&")]
    #[token("^")]
    #[token("&&")]
    #[token("||")]
    BinOp,

    /// A run of plain statements that [`crate::plain`] recognised.
    Plain,
    /// A text that is no token. Declared in the grammar and used by no
    /// production, so that the grammar's recovery sees it like any other
    /// unexpected token.
    Error,
}

/// Takes everything up to and including `.source_end` into the token.
fn source_text(lex: &mut logos::Lexer<'_, Tok>) -> Result<(), ()> {
    const END: &[u8] = b".source_end";
    let rest = lex.remainder();
    match rest.windows(END.len()).position(|w| w == END) {
        Some(at) => {
            lex.bump(at + END.len());
            Ok(())
        }
        None => Err(()),
    }
}

/// Tokens with their byte offsets, as the generated parser takes them.
pub(crate) struct Lexer<'s> {
    inner: logos::Lexer<'s, Tok>,
    src: &'s [u8],
    previous: Tok,
    /// Nesting of vector braces.
    vectors: u32,
    /// Nesting of blocks.
    blocks: u32,
    /// Whether the outermost block is a debug section and not a body.
    section: bool,
    /// `None` when all statements shall go through the grammar.
    lane: Option<Lane>,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(src: &'s [u8], lane: Option<Lane>) -> Lexer<'s> {
        Lexer {
            inner: Tok::lexer(src),
            src,
            previous: Tok::Semi,
            vectors: 0,
            blocks: 0,
            section: false,
            lane,
        }
    }

    pub(crate) fn text(&self) -> &'s [u8] {
        self.src
    }

    /// Whether a statement of a body may begin here.
    #[inline]
    fn at_statement(&self) -> bool {
        self.blocks > 0
            && !self.section
            && self.vectors == 0
            && matches!(self.previous, Tok::Semi | Tok::Open | Tok::Close)
    }

    /// Whether the `{` that starts at `at` opens a vector and not a block.
    ///
    /// The two are kept apart here and not in the grammar so that error
    /// recovery never takes the end of a vector for the end of a function.
    fn opens_vector(&self, at: usize) -> bool {
        match self.previous {
            Tok::DotIdent
            | Tok::Comma
            | Tok::ParenOpen
            | Tok::BracketOpen
            | Tok::Eq
            | Tok::VecOpen
            | Tok::Pipe => true,
            Tok::Dot | Tok::Space => self.in_instruction(at),
            // An opcode without modifiers; functions and sections, whose names stand before a block, are of the module.
            Tok::Ident => self.blocks > 0 && !self.section,
            _ => false,
        }
    }

    /// Whether the words before `at` are an opcode whose modifiers stand apart
    /// (`mov .b64 {`) and not a directive's (`.section .debug_info {`).
    #[cold]
    fn in_instruction(&self, at: usize) -> bool {
        let words = self.src[..at].split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let mut dotted = words.rev().take_while(|w| w[0] == b'.');
        !dotted.any(|w| w.starts_with(b".section"))
    }
}

impl Iterator for Lexer<'_> {
    type Item = (u32, Tok, u32);

    #[inline]
    fn next(&mut self) -> Option<(u32, Tok, u32)> {
        if self.at_statement()
            && let Some(lane) = &self.lane
            && let Some(run) = lane.run(&mut self.inner)
        {
            return Some(run);
        }
        let mut tok = self.inner.next()?.unwrap_or(Tok::Error);
        let span = self.inner.span();
        match tok {
            Tok::Open if self.vectors > 0 || self.opens_vector(span.start) => {
                self.vectors += 1;
                tok = Tok::VecOpen;
            }
            Tok::Close if self.vectors > 0 => {
                self.vectors -= 1;
                tok = Tok::VecClose;
            }
            Tok::Open => self.blocks += 1,
            Tok::Close => {
                self.blocks = self.blocks.saturating_sub(1);
                self.section &= self.blocks > 0;
            }
            Tok::Section | Tok::Sources => self.section |= self.blocks == 0,
            Tok::Semi => self.vectors = 0,
            _ => {}
        }
        self.previous = tok;
        // Texts of 4 GiB and more are refused before lexing.
        Some((span.start as u32, tok, span.end as u32))
    }
}
