//! The debugger's commands: what they are, and how they are read.

use ptx_isa::{Space, Ty};

use crate::error::Error;
use crate::expr::{self, Expr};
pub use crate::help::{Entry, HELP, find};

/// A way to move through the kernel.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Motion {
    /// One PTX instruction of the lane; `over` runs calls to their end.
    Instruction {
        /// Does not stop in functions that it calls.
        over: bool,
    },
    /// To another source line (PTX line where there is no source).
    Line {
        /// Does not stop in functions that it calls.
        over: bool,
    },
    /// Out of the executing function.
    Finish,
    /// One PTX instruction of any lanes of the warp.
    Warp,
    /// To where the lane comes to a barrier.
    Barrier,
    /// To where the lane goes on together with more lanes than now.
    Reconverge,
    /// To the next breakpoint or watchpoint.
    Free,
}

/// What accesses a watchpoint stops at.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum WatchKind {
    /// Those that change the value.
    Write,
    /// Those that read it.
    Read,
    /// Both.
    Any,
}

/// How `print` and `x` write a value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Format {
    /// By the type of the expression.
    Natural,
    /// The bits as a value of this type.
    As(Ty),
    /// Hexadecimal.
    Hex,
    /// Binary.
    Binary,
    /// Octal.
    Octal,
    /// A character.
    Char,
}

/// A moment of the launch.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The number of instructions that warps have issued.
    Time(u64),
    /// The first instruction.
    Start,
    /// The end.
    End,
}

/// What `info` can list.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Breakpoints and watchpoints.
    Breakpoints,
    /// Where every warp stands.
    Warps,
    /// Registers of the focused lane.
    Registers,
    /// Arguments of the kernel.
    Args,
    /// Variables of the module.
    Variables,
    /// Allocations of device memory.
    Memory,
    /// The launch.
    Launch,
    /// Source and PTX files.
    Files,
    /// Functions.
    Functions,
    /// Variables of the source in the function that is looked at.
    Locals,
}

/// A command.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Command {
    /// Starts the launch again, from its beginning, to the first breakpoint.
    Run,
    /// Starts it again and stops at its first instruction.
    Start,
    Forward {
        motion: Motion,
        count: u64,
    },
    Backward {
        motion: Motion,
        count: u64,
    },
    /// To a location in the focused lane.
    Until {
        location: String,
    },
    Goto(Moment),
    /// Who wrote this last?
    Who(Expr),
    Break {
        location: String,
        condition: Option<Expr>,
        once: bool,
    },
    Condition {
        number: u64,
        condition: Option<Expr>,
    },
    Ignore {
        number: u64,
        count: u64,
    },
    Enable {
        number: u64,
        on: bool,
    },
    Delete(Option<u64>),
    Watch {
        expr: Expr,
        text: String,
        kind: WatchKind,
    },
    /// Stop when a warp comes to a barrier, or not.
    CatchBarrier(bool),
    /// Rest before every launch and behind it, or not.
    CatchLaunch(bool),
    /// Rest at what checkers have found, or not.
    CatchFinding(bool),
    Block([u32; 3]),
    Warp(u32),
    Lane(u8),
    Thread([u32; 3]),
    Up(i32),
    Print {
        expr: Expr,
        text: String,
        format: Format,
    },
    Display {
        expr: Expr,
        text: String,
        format: Format,
    },
    Undisplay(u64),
    Lanes {
        expr: Expr,
        text: String,
        format: Format,
    },
    Examine {
        expr: Expr,
        space: Option<Space>,
        count: u32,
        format: Format,
    },
    Matrix {
        name: String,
        rows: Option<u32>,
        columns: Option<u32>,
        format: Format,
    },
    Set {
        to: Expr,
        value: Expr,
        text: String,
    },
    Info(Subject),
    Mask,
    Stack,
    Backtrace,
    Where,
    List(Option<String>),
    Disassemble(Option<String>),
    Output,
    Source(String),
    Help(Option<String>),
    Quit,
}

fn triple(text: &str) -> Option<[u32; 3]> {
    let text = text.trim().trim_start_matches('(').trim_end_matches(')');
    let mut out = [0; 3];
    let mut parts = text.split(',');
    for v in &mut out {
        match parts.next() {
            Some(part) => *v = part.trim().parse().ok()?,
            None => break,
        }
    }
    (!text.is_empty() && parts.next().is_none()).then_some(out)
}

/// The count and format behind a `/`.
fn format(text: &str) -> Option<(Option<u32>, Format)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (count, name) = text.split_at(digits);
    let count = if count.is_empty() { None } else { Some(count.parse().ok()?) };
    let format = match name.trim() {
        "" => Format::Natural,
        "x" => Format::Hex,
        "t" => Format::Binary,
        "o" => Format::Octal,
        "c" => Format::Char,
        "d" => Format::As(Ty::S64),
        "u" => Format::As(Ty::U64),
        "f" => Format::As(Ty::F32),
        ty => Format::As(expr::value_type(ty)?),
    };
    Some((count, format))
}

fn subject(text: &str) -> Option<Subject> {
    let all = [
        ("breakpoints", Subject::Breakpoints),
        ("warps", Subject::Warps),
        ("registers", Subject::Registers),
        ("args", Subject::Args),
        ("variables", Subject::Variables),
        ("memory", Subject::Memory),
        ("launch", Subject::Launch),
        ("files", Subject::Files),
        ("functions", Subject::Functions),
        ("locals", Subject::Locals),
    ];
    let found = all.iter().find(|(n, _)| !text.is_empty() && n.starts_with(text));
    found.map(|(_, s)| *s)
}

/// Reads a command; `None` for an empty line or a comment.
///
/// # Errors
/// When there is no such command, or its arguments are wrong.
pub fn parse(line: &str) -> Result<Option<Command>, Error> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(line.len());
    let entry = find(&line[..end])?;
    let mut rest = line[end..].trim_start();
    let usage = || Error::Usage { usage: entry.usage };
    let mut count = None;
    let mut shown = Format::Natural;
    if let Some(after) = rest.strip_prefix('/') {
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        (count, shown) = format(&after[..end]).ok_or_else(usage)?;
        rest = after[end..].trim_start();
        if !["print", "display", "lanes", "x", "matrix"].contains(&entry.names[0]) {
            return Err(usage());
        }
    }
    command(entry, rest, count, shown).map(Some)
}

fn command(
    entry: &'static Entry,
    rest: &str,
    count: Option<u32>,
    format: Format,
) -> Result<Command, Error> {
    let usage = || Error::Usage { usage: entry.usage };
    let none = |c: Command| if rest.is_empty() { Ok(c) } else { Err(usage()) };
    let number = || rest.parse::<u64>().map_err(|_| usage());
    let times = || if rest.is_empty() { Ok(1) } else { number() };
    let text = || if rest.is_empty() { Err(usage()) } else { Ok(rest.to_owned()) };
    let value = || text().and_then(|t| expr::parse(&t));
    let forward = |motion| Ok(Command::Forward { motion, count: times()? });
    let backward = |motion| Ok(Command::Backward { motion, count: times()? });
    match entry.names[0] {
        "run" => none(Command::Run),
        "start" => none(Command::Start),
        "continue" => forward(Motion::Free),
        "stepi" => forward(Motion::Instruction { over: false }),
        "nexti" => forward(Motion::Instruction { over: true }),
        "step" => forward(Motion::Line { over: false }),
        "next" => forward(Motion::Line { over: true }),
        "warpstep" => forward(Motion::Warp),
        "finish" => none(Command::Forward { motion: Motion::Finish, count: 1 }),
        "barrier" => none(Command::Forward { motion: Motion::Barrier, count: 1 }),
        "reconverge" => none(Command::Forward { motion: Motion::Reconverge, count: 1 }),
        "reverse-stepi" => backward(Motion::Instruction { over: false }),
        "reverse-nexti" => backward(Motion::Instruction { over: true }),
        "reverse-step" => backward(Motion::Line { over: false }),
        "reverse-next" => backward(Motion::Line { over: true }),
        "reverse-finish" => none(Command::Backward { motion: Motion::Finish, count: 1 }),
        "reverse-warpstep" => backward(Motion::Warp),
        "reverse-continue" => backward(Motion::Free),
        "until" => Ok(Command::Until { location: text()? }),
        "goto" => Ok(Command::Goto(match rest {
            "start" => Moment::Start,
            "end" => Moment::End,
            _ => Moment::Time(number()?),
        })),
        "who" => Ok(Command::Who(value()?)),
        "break" | "tbreak" => {
            let (location, condition) = condition(rest)?;
            if location.is_empty() {
                return Err(usage());
            }
            let once = entry.names[0] == "tbreak";
            Ok(Command::Break { location, condition, once })
        }
        "condition" => {
            let (n, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let number = n.parse().map_err(|_| usage())?;
            let rest = rest.trim();
            let condition = if rest.is_empty() { None } else { Some(expr::parse(rest)?) };
            Ok(Command::Condition { number, condition })
        }
        "ignore" => {
            let (n, count) = rest.split_once(' ').ok_or_else(usage)?;
            let number = n.parse().map_err(|_| usage())?;
            Ok(Command::Ignore { number, count: count.trim().parse().map_err(|_| usage())? })
        }
        "enable" => Ok(Command::Enable { number: number()?, on: true }),
        "disable" => Ok(Command::Enable { number: number()?, on: false }),
        "delete" if rest.is_empty() => Ok(Command::Delete(None)),
        "delete" => Ok(Command::Delete(Some(number()?))),
        "watch" => Ok(Command::Watch { expr: value()?, text: text()?, kind: WatchKind::Write }),
        "rwatch" => Ok(Command::Watch { expr: value()?, text: text()?, kind: WatchKind::Read }),
        "awatch" => Ok(Command::Watch { expr: value()?, text: text()?, kind: WatchKind::Any }),
        "catch" => match rest.split_whitespace().collect::<Vec<_>>()[..] {
            ["barrier"] | ["barrier", "on"] => Ok(Command::CatchBarrier(true)),
            ["barrier", "off"] => Ok(Command::CatchBarrier(false)),
            ["launch"] | ["launch", "on"] => Ok(Command::CatchLaunch(true)),
            ["launch", "off"] => Ok(Command::CatchLaunch(false)),
            ["finding"] | ["finding", "on"] => Ok(Command::CatchFinding(true)),
            ["finding", "off"] => Ok(Command::CatchFinding(false)),
            _ => Err(usage()),
        },
        "block" => triple(rest).map(Command::Block).ok_or_else(usage),
        "thread" => triple(rest).map(Command::Thread).ok_or_else(usage),
        "warp" => rest.parse().map(Command::Warp).map_err(|_| usage()),
        "lane" => match rest.parse() {
            Ok(lane @ 0..32) => Ok(Command::Lane(lane)),
            _ => Err(usage()),
        },
        "up" => none(Command::Up(1)),
        "down" => none(Command::Up(-1)),
        "print" => Ok(Command::Print { expr: value()?, text: text()?, format }),
        "display" => Ok(Command::Display { expr: value()?, text: text()?, format }),
        "undisplay" => Ok(Command::Undisplay(number()?)),
        "lanes" => Ok(Command::Lanes { expr: value()?, text: text()?, format }),
        "x" => {
            let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let named = first.starts_with('.').then(|| expr::space(first)).flatten();
            let expr = expr::parse(if named.is_some() { after.trim() } else { rest })?;
            Ok(Command::Examine { expr, space: named, count: count.unwrap_or(1), format })
        }
        "matrix" => {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let size = |n: usize| words.get(n).map(|w| w.parse().map_err(|_| usage())).transpose();
            let name = (*words.first().ok_or_else(usage)?).to_owned();
            Ok(Command::Matrix { name, rows: size(1)?, columns: size(2)?, format })
        }
        "set" => {
            let at = rest.find(" = ").ok_or_else(usage)?;
            let (to, value) = (expr::parse(&rest[..at])?, expr::parse(&rest[at + 3..])?);
            Ok(Command::Set { to, value, text: rest.to_owned() })
        }
        "info" => subject(rest).map(Command::Info).ok_or_else(usage),
        "mask" => none(Command::Mask),
        "stack" => none(Command::Stack),
        "backtrace" => none(Command::Backtrace),
        "where" => none(Command::Where),
        "list" => Ok(Command::List((!rest.is_empty()).then(|| rest.to_owned()))),
        "disassemble" => Ok(Command::Disassemble((!rest.is_empty()).then(|| rest.to_owned()))),
        "output" => none(Command::Output),
        "source" => Ok(Command::Source(text()?)),
        "help" => Ok(Command::Help((!rest.is_empty()).then(|| rest.to_owned()))),
        "quit" => none(Command::Quit),
        other => Err(Error::UnknownCommand(other.into())),
    }
}

/// A location and the condition behind its `if`.
fn condition(text: &str) -> Result<(String, Option<Expr>), Error> {
    match text.split_once(" if ") {
        Some((location, condition)) => {
            Ok((location.trim().into(), Some(expr::parse(condition.trim())?)))
        }
        None => Ok((text.trim().into(), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_help_is_read() {
        for entry in HELP {
            let line = match entry.names[0] {
                "until" | "break" | "tbreak" | "source" => "12",
                "goto" | "condition" | "enable" | "disable" | "warp" | "lane" | "undisplay" => "1",
                "who" | "watch" | "rwatch" | "awatch" | "print" | "display" | "lanes" | "x" => {
                    "%r1"
                }
                "ignore" => "1 2",
                "catch" => "barrier on",
                "block" | "thread" => "1,2",
                "matrix" => "tile 4 4",
                "set" => "%r1 = 3",
                "info" => "warps",
                _ => "",
            };
            for name in entry.names {
                let read = parse(&format!("{name} {line}"));
                assert!(matches!(read, Ok(Some(_))), "{name} {line}: {read:?}");
            }
        }
    }

    #[test]
    fn names_may_be_shortened_where_one_is_meant() {
        assert_eq!(parse("cont").unwrap(), parse("continue").unwrap());
        assert!(matches!(parse("re"), Err(Error::UnknownCommand(_))));
        assert!(matches!(parse("stepi x"), Err(Error::Usage { .. })));
        assert_eq!(parse("# nothing").unwrap(), None);
    }

    #[test]
    fn formats_and_conditions() {
        let Ok(Some(Command::Examine { count: 8, format, space, .. })) = parse("x/8f32 .shared 0")
        else {
            panic!()
        };
        assert_eq!((format, space), (Format::As(Ty::F32), Some(Space::Shared)));
        let read = parse("b loop if %tid.x == 3").unwrap();
        assert!(matches!(read, Some(Command::Break { condition: Some(_), .. })));
    }
}
