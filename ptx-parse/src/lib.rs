//! PTX text to a verified module and back.
//!
//! - [`parse`]: text to [`Ast`], never stopping at the first error;
//! - [`print`](mod@print): tree to canonical text;
//! - [`verify`](mod@verify): tree to verified [`module::Module`];
//! - [`diag`]: findings and their rendering;
//! - [`link`](mod@link): several texts to one;
//! - [`module`], [`code`]: the verified module and what it is lowered to;
//! - [`container`]: the verified module as a file.
//!
//! ```
//! let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
//!     .visible .entry k(.param .u32 n)\n{\n\
//!     .reg .b32 %r<3>;\n\
//!     ld.param.u32 %r1, [n];\n\
//!     add.u32 %r2, %r1, 1;\n\
//!     ret;\n}\n";
//! let (ast, findings) = ptx_parse::parse(text);
//! assert!(findings.is_empty());
//! let (module, findings) = ptx_parse::verify::verify(&ast, "k.ptx");
//! assert!(module.is_some() && findings.is_empty());
//! // All errors are found at once, each with its place.
//! let wrong = text.replace("%r1, 1;", "%r7, 1; add.f32 %r2, %r1, 1;");
//! let (module, findings) = ptx_parse::parse_and_verify(&wrong, "k.ptx");
//! assert!(module.is_none());
//! assert!(findings.len() >= 2);
//! assert_eq!(&wrong[findings[0].span.range()], "%r7");
//! ```

pub mod ast;
mod builder;
pub mod code;
pub mod container;
pub mod diag;
mod expect;
mod fold;
mod foreign;
mod lazy;
mod lexer;
pub mod link;
pub mod lower;
pub mod module;
mod names;
mod plain;
pub mod print;
mod same;
mod span;
mod thunk;
pub mod verify;

pub use ast::Ast;
pub use diag::{Diag, Reporter, Severity};
pub use names::{Name, Names};
pub use span::Span;
pub use verify::{parse_and_verify, parse_and_verify_with};

#[allow(missing_docs, clippy::all, clippy::pedantic, unused_qualifications)]
mod grammar {
    lalrpop_util::lalrpop_mod!(generated, "/grammar.rs");
    pub(crate) use generated::ModuleParser;
}

/// Reads a module (PTX ISA 4). The tree holds everything that could be read;
/// the findings are in the order of the text.
pub fn parse(src: &str) -> (Ast<'_>, Vec<Diag>) {
    let builder = builder::Builder::new(src);
    let lane = plain::Lane::new(builder.queue.clone());
    let lexer = lexer::Lexer::new(src.as_bytes(), Some(lane));
    let (ast, diags) = parse_with(builder, lexer);
    if diags.is_empty() { (ast, diags) } else { parse_by_grammar(src) }
}

/// [`parse`] without the fast lane for plain statements, so that tests can compare the two.
#[doc(hidden)]
pub fn parse_by_grammar(src: &str) -> (Ast<'_>, Vec<Diag>) {
    parse_with(builder::Builder::new(src), lexer::Lexer::new(src.as_bytes(), None))
}

fn parse_with<'s>(
    mut builder: builder::Builder<'s>,
    lexer: lexer::Lexer<'s>,
) -> (Ast<'s>, Vec<Diag>) {
    // Offsets are 32 bits wide, and names from outside the text need some room.
    if lexer.text().len() >= u32::MAX as usize / 2 {
        builder.diags.push(Diag::error(
            diag::Code::Limit,
            Span::point(0),
            "the text is longer than 2 GiB",
        ));
        return builder.finish(Ok(()));
    }
    let outcome = grammar::ModuleParser::new().parse(&mut builder, lexer);
    builder.finish(outcome)
}
