//! The fast lane of the parser: runs of plain statements as one token.
//!
//! Nearly all text of a module is labels and instructions on registers,
//! numbers and simple addresses, and the LR machine costs 45 % of the
//! instructions spent on them. The token iterator recognises such statements
//! itself ([`Lane::run`]) and hands a whole run to the grammar as one
//! [`Tok::Plain`]; the grammar's action replays the tokens of the run into the
//! same builder functions that the grammar's operand rules use
//! ([`Builder::plain`]). Whatever is not plain, errors included, is rewound to
//! the start of its statement and goes through the grammar.
//!
//! The two sides meet in a queue because the parser looks one token ahead: a
//! run is recognised before the action of the statement in front of it. Error
//! recovery drops tokens, and runs with them; a text with errors is therefore
//! read again by the grammar alone ([`crate::parse`]).

use std::cell::RefCell;
use std::rc::Rc;

use crate::ast::{DirectiveKind, Operand};
use crate::builder::Builder;
use crate::lexer::Tok;

/// A token with its extent.
pub(crate) type Token = (u32, Tok, u32);

/// Tokens of recognised runs, each run closed by a [`Tok::Plain`].
pub(crate) type Queue = Rc<RefCell<Vec<Token>>>;

/// Runs end after so many tokens, so that the queue stays in the first-level cache.
const LONGEST: usize = 1024;

/// Recognises plain statements.
pub(crate) struct Lane {
    queue: Queue,
}

impl Lane {
    pub(crate) fn new(queue: Queue) -> Lane {
        Lane { queue }
    }

    /// Reads plain statements from `lexer` for as long as there are any; `None` if there is
    /// none. The lexer then stands behind the last one.
    pub(crate) fn run<'s>(&self, lexer: &mut logos::Lexer<'s, Tok>) -> Option<Token> {
        let mut queue = self.queue.borrow_mut();
        let begin = queue.len();
        // Behind the last statement, and where its tokens end.
        let mut done = (lexer.clone(), begin);
        let mut next = token(lexer);
        while queue.len() - begin < LONGEST {
            let Some(after) = statement(next, lexer, &mut queue) else { break };
            match after {
                After::Statement => {
                    done = (lexer.clone(), queue.len());
                    next = token(lexer);
                }
                // One token too many was read, it begins the next statement.
                After::Location { behind, token } => {
                    done = (behind, queue.len());
                    next = token;
                }
            }
        }
        *lexer = done.0;
        queue.truncate(done.1);
        let (l, r) = match &queue[begin..] {
            [] => return None,
            [first, .., last] => (first.0, last.2),
            [only] => (only.0, only.2),
        };
        queue.push((l, Tok::Plain, r));
        Some((l, Tok::Plain, r))
    }
}

enum After<'s> {
    Statement,
    Location { behind: logos::Lexer<'s, Tok>, token: Token },
}

/// What stands for the end of the text; it ends every run.
const END: Token = (0, Tok::Error, 0);

#[inline]
fn token(lexer: &mut logos::Lexer<'_, Tok>) -> Token {
    match lexer.next() {
        Some(tok) => {
            let span = lexer.span();
            (span.start as u32, tok.unwrap_or(Tok::Error), span.end as u32)
        }
        None => END,
    }
}

/// Reads one statement that begins with `first`; `None` if it is not plain.
#[inline]
fn statement<'s>(
    first: Token,
    lexer: &mut logos::Lexer<'s, Tok>,
    queue: &mut Vec<Token>,
) -> Option<After<'s>> {
    queue.push(first);
    let mut t = first;
    match first.1 {
        Tok::Ident | Tok::DotIdent | Tok::Reg => {}
        Tok::At => {
            t = push(lexer, queue);
            if t.1 == Tok::Not {
                t = push(lexer, queue);
            }
            if !matches!(t.1, Tok::Ident | Tok::Reg) {
                return None;
            }
            t = push(lexer, queue);
        }
        Tok::Loc => return location(lexer, queue),
        _ => return None,
    }
    let opcode = t.1;
    t = push(lexer, queue);
    match opcode {
        Tok::Ident | Tok::Reg if t.1 == Tok::Colon => {
            return (first.1 != Tok::At).then_some(After::Statement);
        }
        Tok::Ident | Tok::DotIdent => {}
        _ => return None,
    }
    if t.1 == Tok::Semi {
        return Some(After::Statement);
    }
    let mut vector = false;
    loop {
        // An operand begins at `t`.
        match t.1 {
            Tok::Ident | Tok::Reg => t = push(lexer, queue),
            Tok::DotIdent | Tok::DotReg | Tok::Sink | Tok::Int | Tok::Float | Tok::BitsFloat => {
                t = push(lexer, queue);
            }
            Tok::Minus => {
                t = push(lexer, queue);
                if t.1 != Tok::Int {
                    return None;
                }
                t = push(lexer, queue);
            }
            Tok::BracketOpen if !vector => {
                t = push(lexer, queue);
                if !matches!(t.1, Tok::Ident | Tok::Reg) {
                    return None;
                }
                t = push(lexer, queue);
                if t.1 == Tok::Plus {
                    t = push(lexer, queue);
                    if t.1 == Tok::Minus {
                        t = push(lexer, queue);
                    }
                    if t.1 != Tok::Int {
                        return None;
                    }
                    t = push(lexer, queue);
                }
                if t.1 != Tok::BracketClose {
                    return None;
                }
                t = push(lexer, queue);
            }
            Tok::Open if !vector => {
                vector = true;
                t = push(lexer, queue);
                continue;
            }
            _ => return None,
        }
        if vector && t.1 == Tok::Close {
            vector = false;
            t = push(lexer, queue);
        }
        match t.1 {
            Tok::Comma => t = push(lexer, queue),
            Tok::Semi if !vector => return Some(After::Statement),
            _ => return None,
        }
    }
}

#[inline]
fn push(lexer: &mut logos::Lexer<'_, Tok>, queue: &mut Vec<Token>) -> Token {
    let t = token(lexer);
    queue.push(t);
    t
}

/// `.loc file line column` without what a comma would add.
fn location<'s>(lexer: &mut logos::Lexer<'s, Tok>, queue: &mut Vec<Token>) -> Option<After<'s>> {
    for _ in 0..3 {
        if push(lexer, queue).1 != Tok::Int {
            return None;
        }
    }
    let behind = lexer.clone();
    let token = token(lexer);
    (token.1 != Tok::Comma).then_some(After::Location { behind, token })
}

impl Builder<'_> {
    /// Takes the first run of plain statements out of the queue.
    pub(crate) fn plain(&mut self) {
        let queue = self.queue.clone();
        let mut queue = queue.borrow_mut();
        let mut rest = &queue[..];
        while let Some(&first) = rest.first() {
            rest = &rest[1..];
            if first.1 == Tok::Plain {
                break;
            }
            rest = self.plain_statement(first, rest);
        }
        let left = rest.len();
        let taken = queue.len() - left;
        queue.drain(..taken);
    }

    /// One statement, `rest` begins behind its first token. Gives what follows it.
    #[inline]
    fn plain_statement<'t>(&mut self, first: Token, rest: &'t [Token]) -> &'t [Token] {
        let (l, tok, r) = first;
        let (opcode, mut rest) = match (tok, rest) {
            (Tok::At, [(_, Tok::Not, _), name, opcode, rest @ ..]) => {
                self.guard(name.0, name.2, true);
                (*opcode, rest)
            }
            (Tok::At, [name, opcode, rest @ ..]) => {
                self.guard(name.0, name.2, false);
                (*opcode, rest)
            }
            (Tok::Loc, [file, line, column, rest @ ..]) => {
                for word in [file, line, column] {
                    self.int(word.0, word.2);
                }
                self.directive(DirectiveKind::Loc, l, column.2);
                return rest;
            }
            (_, [(_, Tok::Colon, _), rest @ ..]) => {
                self.label(l, r);
                return rest;
            }
            (_, rest) => (first, rest),
        };
        self.opcode(opcode.0, opcode.2);
        // Where the vector being read began, and its first element on the scratch stack.
        let (mut vector, mut mark) = (0, 0);
        let first_operand = self.scratch.len() as u32;
        while let [(l, tok, r), more @ ..] = rest {
            let (l, r) = (*l, *r);
            rest = more;
            let operand = match tok {
                Tok::Semi if self.scratch.len() as u32 == first_operand => {
                    self.instr_bare(r);
                    break;
                }
                Tok::Semi => {
                    self.instr(first_operand, r);
                    break;
                }
                Tok::Comma => continue,
                Tok::Open => {
                    (vector, mark) = (l, self.scratch.len() as u32);
                    continue;
                }
                Tok::Close => self.vector(vector, mark, r),
                Tok::BracketOpen => {
                    let (operand, more) = self.plain_address(l, rest);
                    rest = more;
                    operand
                }
                Tok::Minus => {
                    let Some((number, more)) = rest.split_first() else { break };
                    rest = more;
                    let number = self.int_operand(number.0, number.2);
                    self.unary(b'-', l, number)
                }
                Tok::DotIdent | Tok::DotReg => self.part_operand(l, r),
                Tok::Sink => self.sink(l, r),
                Tok::Int => self.int_operand(l, r),
                Tok::Float => self.float_operand(l, r),
                Tok::BitsFloat => self.bits_operand(l, r),
                _ => self.name_operand(l, r),
            };
            self.scratch.push(operand);
        }
        rest
    }

    /// `name]`, `name+4]` or `name+-4]`; the bracket opened at `l`.
    #[inline]
    fn plain_address<'t>(&mut self, l: u32, rest: &'t [Token]) -> (Operand, &'t [Token]) {
        let [name, rest @ ..] = rest else { return (self.sink(l, l), rest) };
        let mark = self.scratch.len() as u32;
        let base = self.name_operand(name.0, name.2);
        let (operand, rest) = match rest {
            [(plus, Tok::Plus, _), (minus, Tok::Minus, _), n, rest @ ..] => {
                let number = self.int_operand(n.0, n.2);
                let number = self.unary(b'-', *minus, number);
                let tail = self.tail_begin(base, *plus, number);
                (self.tail_end(tail), rest)
            }
            [(plus, Tok::Plus, _), n, rest @ ..] => {
                let number = self.int_operand(n.0, n.2);
                let tail = self.tail_begin(base, *plus, number);
                (self.tail_end(tail), rest)
            }
            rest => (base, rest),
        };
        let (end, rest) = match rest {
            [(_, _, end), rest @ ..] => (*end, rest),
            [] => (l, rest),
        };
        self.scratch.push(operand);
        (self.memory(l, mark, end), rest)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    fn texts() -> Vec<String> {
        let mut files = Vec::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        collect(&root.join("samples"), &mut files);
        for recorded in ["isa-golden/modules", "kernel-golden/ptx", "facts/h200"] {
            collect(&root.join("../shared").join(recorded), &mut files);
        }
        assert!(files.len() > 20, "the samples are missing");
        files.iter().flat_map(std::fs::read_to_string).collect()
    }

    fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(dir) else { return };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                collect(&path, out);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                out.push(path);
            }
        }
    }

    /// Where everything stands: [`crate::Ast::difference`] does not look at that.
    fn places(ast: &crate::Ast<'_>) -> Vec<(u32, u32)> {
        let spans = ast.instrs.iter().map(|i| i.span());
        let spans = spans.chain(ast.operands.iter().map(|o| o.span()));
        let spans = spans.chain(ast.directives.iter().map(|d| d.span));
        spans.map(|s| (s.start, s.end)).chain(ast.words.iter().map(|w| (w.start, 0))).collect()
    }

    #[test]
    fn the_fast_lane_reads_what_the_grammar_reads() {
        for text in texts() {
            let (a, da) = crate::parse(&text);
            let (b, db) = crate::parse_by_grammar(&text);
            assert_eq!((da.len(), db.len()), (0, 0));
            assert_eq!(a.difference(&b), None);
            assert_eq!(places(&a), places(&b));
        }
    }

    /// Texts with one token too many, too few or changed: the same findings.
    #[test]
    fn errors_are_those_of_the_grammar() {
        let marks = [";", ",", "{", "}", "[", "]", "@", "!", ":", "x", "5", ".f32", "-", "+", "("];
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) as usize % n
        };
        let mut texts = texts();
        texts.retain(|t| t.len() < 20_000 && t.is_ascii());
        let mut broken = 0;
        for round in 0..4000 {
            let text = &texts[round % texts.len()];
            let at = random(text.len());
            let end = (at + random(3)).min(text.len());
            let text = format!("{}{}{}", &text[..at], marks[random(marks.len())], &text[end..]);
            let (a, da) = crate::parse(&text);
            let (b, db) = crate::parse_by_grammar(&text);
            let told = |ds: &[crate::Diag]| -> Vec<_> {
                ds.iter().map(|d| (d.span, d.message.clone())).collect()
            };
            assert_eq!(told(&da), told(&db), "{}", &text[at.saturating_sub(80)..end]);
            broken += usize::from(!da.is_empty());
            if da.is_empty() {
                assert_eq!((a.difference(&b), places(&a)), (None, places(&b)));
            }
        }
        assert!(broken > 1000, "only {broken} of the texts were broken");
    }
}
