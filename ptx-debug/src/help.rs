//! The names of the debugger's commands, and how they are explained.

use crate::error::Error;

/// How a command is written and what it does.
pub struct Entry {
    /// Its names, the full one first.
    pub names: &'static [&'static str],
    /// How it is written.
    pub usage: &'static str,
    /// What it does.
    pub does: &'static str,
}

const fn entry(names: &'static [&'static str], usage: &'static str, does: &'static str) -> Entry {
    Entry { names, usage, does }
}

/// Every command, as `help` shows them.
pub const HELP: &[Entry] = &[
    entry(
        &["run", "r"],
        "run",
        "start the launch from its beginning and run to the first breakpoint",
    ),
    entry(&["start"], "start", "start the launch and stop at its first instruction"),
    entry(
        &["continue", "c"],
        "continue [N]",
        "run to the next breakpoint, N times; behind the end: the next launch",
    ),
    entry(&["stepi", "si"], "stepi [N]", "execute one PTX instruction of the lane"),
    entry(&["nexti", "ni"], "nexti [N]", "the same; a call counts as one instruction"),
    entry(&["step", "s"], "step [N]", "run to another source line (PTX line without source)"),
    entry(&["next", "n"], "next [N]", "the same, without stopping in functions that it calls"),
    entry(&["finish", "fin"], "finish", "run to where the executing function has returned"),
    entry(&["until", "u"], "until LOCATION", "run until the lane comes to a location"),
    entry(&["warpstep", "ws"], "warpstep [N]", "execute one instruction of any lanes of the warp"),
    entry(&["barrier", "bar"], "barrier", "run until the lane comes to a barrier"),
    entry(
        &["reconverge", "rec"],
        "reconverge",
        "run until the lane goes on with more lanes than now",
    ),
    entry(
        &["reverse-stepi", "rsi"],
        "reverse-stepi [N]",
        "go back by one PTX instruction of the lane",
    ),
    entry(&["reverse-nexti", "rni"], "reverse-nexti [N]", "the same, over calls"),
    entry(
        &["reverse-step", "rs"],
        "reverse-step [N]",
        "go back to the start of the lane's last line",
    ),
    entry(&["reverse-next", "rn"], "reverse-next [N]", "the same, over calls"),
    entry(
        &["reverse-finish", "rf"],
        "reverse-finish",
        "go back to the call of the executing function",
    ),
    entry(
        &["reverse-warpstep", "rws"],
        "reverse-warpstep [N]",
        "go back by one instruction of the warp",
    ),
    entry(
        &["reverse-continue", "rc"],
        "reverse-continue [N]",
        "go back to the last breakpoint or watchpoint",
    ),
    entry(&["goto", "go"], "goto TIME|start|end", "go to a moment of the launch, back or forth"),
    entry(
        &["who"],
        "who REGISTER|LOAD",
        "find who wrote a register or memory last: who %r5, who *(f32 *)%rd1",
    ),
    entry(
        &["break", "b"],
        "break LOCATION [if CONDITION]",
        "stop before a line, FILE:LINE, ptx:LINE, label, function, *INDEX",
    ),
    entry(&["tbreak", "tb"], "tbreak LOCATION [if CONDITION]", "the same, once"),
    entry(
        &["condition", "cond"],
        "condition N [CONDITION]",
        "give breakpoint N a condition, or take it away",
    ),
    entry(&["ignore"], "ignore N COUNT", "let breakpoint N pass so often"),
    entry(&["enable"], "enable N", "switch breakpoint or watchpoint N on"),
    entry(&["disable"], "disable N", "switch it off"),
    entry(&["delete", "d"], "delete [N]", "delete it, or all"),
    entry(
        &["watch", "w"],
        "watch EXPRESSION",
        "stop when a register of the lane or memory changes",
    ),
    entry(&["rwatch"], "rwatch EXPRESSION", "stop when memory is read"),
    entry(&["awatch"], "awatch EXPRESSION", "stop when memory is read or written"),
    entry(
        &["catch"],
        "catch barrier|launch|finding on|off",
        "stop where a warp comes to a barrier; rest before every launch and behind it; stop at what --check found",
    ),
    entry(&["block"], "block X[,Y[,Z]]", "look at another block of the cluster"),
    entry(&["warp"], "warp N", "look at another warp of the block"),
    entry(&["lane"], "lane N", "look at another lane of the warp"),
    entry(&["thread", "t"], "thread X[,Y[,Z]]", "look at the lane of a thread of the block"),
    entry(&["up"], "up", "look at the caller"),
    entry(&["down"], "down", "look at the callee again"),
    entry(
        &["print", "p"],
        "print[/FORMAT] EXPRESSION",
        "show a value; FORMAT: x t o c d u f, or a type such as f16",
    ),
    entry(&["display"], "display[/FORMAT] EXPRESSION", "show a value at every stop"),
    entry(&["undisplay"], "undisplay N", "no longer"),
    entry(
        &["lanes"],
        "lanes[/FORMAT] EXPRESSION",
        "show a value in all lanes of the warp as a table",
    ),
    entry(&["x"], "x[/COUNT FORMAT] [.SPACE] ADDRESS", "show memory: x/8f32 .shared 0, x/4x %rd1"),
    entry(
        &["matrix", "mat"],
        "matrix[/FORMAT] ARRAY [ROWS COLUMNS]",
        "show an array of the module or of shared memory as a matrix",
    ),
    entry(&["set"], "set PLACE = EXPRESSION", "change a register of the lane, or memory"),
    entry(
        &["info", "i"],
        "info SUBJECT",
        "list breakpoints, warps, registers, locals, args, variables, memory, launch, files, functions",
    ),
    entry(
        &["mask"],
        "mask",
        "draw the lanes of the warp: executing, switched off, elsewhere, ended",
    ),
    entry(&["stack"], "stack", "draw the splits of the warp and where each will meet others"),
    entry(&["backtrace", "bt"], "backtrace", "list the calls that led here"),
    entry(&["where"], "where", "show the place and the time again"),
    entry(
        &["list", "l"],
        "list [LOCATION]",
        "show the source around the place, or around a location",
    ),
    entry(&["disassemble", "dis"], "disassemble [LOCATION]", "show PTX beside its source"),
    entry(&["output"], "output", "show what the kernel has printed"),
    entry(&["source"], "source FILE", "read commands from a file"),
    entry(&["help", "h"], "help [COMMAND]", "list commands, or explain one"),
    entry(&["quit", "q"], "quit", "end the debugger"),
];

/// The entry of a command; an unambiguous beginning of its name is enough.
///
/// # Errors
/// When there is none, or several.
pub fn find(name: &str) -> Result<&'static Entry, Error> {
    if let Some(exact) = HELP.iter().find(|e| e.names.contains(&name)) {
        return Ok(exact);
    }
    let mut found = HELP.iter().filter(|e| !name.is_empty() && e.names[0].starts_with(name));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(Error::UnknownCommand(name.into())),
    }
}
