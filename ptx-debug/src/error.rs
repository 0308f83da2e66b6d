//! Why a command cannot be carried out.

/// Why a command cannot be carried out: what is wrong, and a way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such command.
    #[error("no command is named `{0}`; `help` lists them")]
    UnknownCommand(String),
    /// Arguments that the command does not take.
    #[error("write: {usage}")]
    Usage {
        /// How it is written.
        usage: &'static str,
    },
    /// A location that cannot be read.
    #[error(
        "`{0}` is no location; write a line, FILE:LINE, ptx:LINE, a label, a function, or *INDEX"
    )]
    Location(String),
    /// A location without code.
    #[error("no instruction stands at `{0}` or behind it")]
    NoCode(String),
    /// A file that the PTX does not name.
    #[error("no code comes from `{name}`; files: {}", .known.join(", "))]
    NoFile {
        /// As given.
        name: String,
        /// The files.
        known: Vec<String>,
    },
    /// An expression that cannot be read.
    #[error("column {column} of the expression: {message}")]
    Expression {
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A name that means nothing here.
    #[error("`{0}` is no register, special register, variable or parameter of this function")]
    UnknownName(String),
    /// A register that the decoded code does not keep.
    #[error("the code never uses register {0}, so it has no value")]
    Unused(String),
    /// An expression that cannot be computed.
    #[error("{0}")]
    Evaluate(String),
    /// The command looks at a running kernel.
    #[error("the kernel is not running; `start` runs it to its first instruction")]
    NotRunning,
    /// A lane that is nowhere.
    #[error("{0}")]
    NoLane(String),
    /// A number that names nothing.
    #[error("there is no {what} {number}")]
    NoSuch {
        /// What.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// Anything else.
    #[error("{0}")]
    Refused(String),
}
