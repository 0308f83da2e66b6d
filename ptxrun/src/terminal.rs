//! What every subcommand says and reads: exit status, errors, standard output, files.

use std::fmt::Display;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::{ColorChoice, CommandFactory};
use ptx_report::text::Paint;
use ptx_runtime::Diagnostics;
use serde_json::{Value, json};

use crate::cli::Common;

/// The program is invalid, faulted, or missed an expected result.
pub(crate) const INVALID: u8 = 1;
/// The command was used wrongly.
pub(crate) const USAGE: u8 = 2;

/// Why a command ends without success, with everything that was to be said about it already said.
pub(crate) struct Failed(pub(crate) u8);

pub(crate) type Outcome = Result<(), Failed>;

impl Common {
    /// Whether to colour what goes to standard error.
    pub(crate) fn color(&self) -> bool {
        self.color_on(std::io::stderr().is_terminal())
    }

    /// How to colour what goes to standard output.
    pub(crate) fn paint(&self) -> Paint {
        Paint(self.color_on(std::io::stdout().is_terminal()))
    }

    fn color_on(&self, terminal: bool) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                terminal
                    && !dumb_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        }
    }

    /// Reports an error in the form that was asked for.
    pub(crate) fn fail(&self, status: u8, kind: &str, message: impl Display) -> Failed {
        if self.json {
            print_json(
                &json!({"ok": false, "error": {"kind": kind, "message": message.to_string()}}),
            );
        } else {
            environment::sayln!("error: {message}");
        }
        Failed(status)
    }

    /// Reports errors in PTX.
    pub(crate) fn invalid(&self, diagnostics: &Diagnostics) -> Failed {
        if self.json {
            print_json(&json!({"ok": false, "diagnostics": diagnostics.to_json()}));
        } else {
            environment::say!("{}", diagnostics.render(self.color()));
        }
        Failed(INVALID)
    }
}

/// Whether the terminal can do nothing but write lines.
pub(crate) fn dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Why something that was printed did not arrive.
static LOST: OnceLock<std::io::Error> = OnceLock::new();

/// Writes to standard output. A reader that has gone away (`| head`) is no error; another failure, such as a full disk,
/// becomes the command's (see [`printed`]).
pub(crate) fn print(text: &[u8]) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text).and_then(|()| out.flush())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error);
    }
}

/// Writes a file that the command line names; `-` is standard output.
pub(crate) fn write_file(path: &Path, bytes: &[u8], common: &Common) -> Result<(), Failed> {
    if is_stdout(path) {
        print(bytes);
        return Ok(());
    }
    std::fs::write(path, bytes).map_err(|error| {
        common.fail(USAGE, "file", format!("cannot write {}: {error}", path.display()))
    })
}

/// The exit status of a command that would have this one: another one if what it printed was lost.
pub(crate) fn printed(status: u8) -> u8 {
    match LOST.get() {
        None => status,
        Some(error) => {
            environment::sayln!("error: cannot write to standard output: {error}");
            if status == 0 { USAGE } else { status }
        }
    }
}

/// The version of what `--json` prints (docs/json.md): it grows when a key goes or changes its meaning.
const JSON_VERSION: u32 = 1;

/// Prints an object, with the version of its form.
pub(crate) fn print_json(value: &Value) {
    let mut value = value.clone();
    if let Value::Object(object) = &mut value {
        object.insert("version".into(), JSON_VERSION.into());
    }
    print(format!("{value:#}\n").as_bytes());
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".into() } else { path.display().to_string() }
}

/// Most bytes of a file that are read: some, such as `/dev/zero`, have no end.
pub(crate) const MOST_READ: u64 = 512 << 20;

pub(crate) fn read_bytes(path: &Path, common: &Common) -> Result<Vec<u8>, Failed> {
    let result = if is_stdin(path) {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(MOST_READ + 1).read_to_end(&mut bytes).map(|_| bytes)
    } else {
        environment::files::read(path, MOST_READ)
    };
    let fail = |what: String| Err(common.fail(USAGE, "file", what));
    let name = display_name(path);
    match result {
        Err(error) => {
            let hint = match subcommand_like(path) {
                Some(name) if error.kind() == std::io::ErrorKind::NotFound => {
                    format!("; did you mean the subcommand `{name}`?")
                }
                _ => String::new(),
            };
            fail(format!("cannot read {name}: {error}{hint}"))
        }
        Ok(bytes) if bytes.len() as u64 > MOST_READ => {
            fail(format!("cannot read {name}: more than {MOST_READ} bytes"))
        }
        Ok(bytes) => Ok(bytes),
    }
}

/// The subcommand that a word without a dot or a slash is most like, if it is like one.
fn subcommand_like(path: &Path) -> Option<String> {
    let word = path.to_str().filter(|word| !word.contains(['.', '/']))?;
    let names = crate::cli::Cli::command();
    let names = names.get_subcommands().map(|command| command.get_name().to_owned());
    let like = names.map(|name| (strsim::jaro_winkler(word, &name), name));
    let best = like.filter(|(score, _)| *score > 0.8);
    best.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

pub(crate) fn read_text(path: &Path, common: &Common) -> Result<String, Failed> {
    read_bytes(path, common).map(text_of)
}

pub(crate) fn text_of(mut bytes: Vec<u8>) -> String {
    // Drivers take PTX with a final NUL; comments may hold any bytes.
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
