//! The debugger at a terminal, in a script and in a pipe.

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::answer::Answer;
use crate::command::{self, Command};
use crate::error::Error;
use crate::execute::Reply;
use crate::front::{Front, Rest};
use crate::session::{Reason, Resume};

/// Asks a terminal of another process for a line.
pub const PROMPT: u8 = 0;

/// Where commands come from once scripts are used up.
pub enum Input {
    /// A terminal, with history in this file.
    Editor(Box<DefaultEditor>, Option<PathBuf>),
    /// A pipe or file, line by line.
    Lines(Box<dyn BufRead + Send>),
    /// A connection to a terminal of another process, which shows what is printed: it is asked for each line by
    /// [`PROMPT`], and takes `source` for itself.
    Remote(Box<dyn BufRead + Send>),
    /// Nowhere.
    Nothing,
}

impl Input {
    /// A terminal with line editing; its history is kept in `history`.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub fn editor(history: Option<PathBuf>) -> Result<Input, Error> {
        let mut editor = DefaultEditor::new().map_err(|e| Error::Refused(e.to_string()))?;
        if let Some(path) = &history {
            // There is none before the first session.
            let _ = editor.load_history(path);
        }
        Ok(Input::Editor(Box::new(editor), history))
    }
}

/// The debugger's front of text.
pub struct Terminal {
    input: Input,
    /// Lines of scripts that are still to be read.
    script: VecDeque<String>,
    output: Box<dyn Write + Send>,
    /// Prints commands before their answers, as a terminal shows them.
    echo: bool,
    /// Answers as one JSON object a line.
    json: bool,
    last: String,
}

impl Terminal {
    /// A front that first reads the lines of `script`, then `input`.
    pub fn new(input: Input, script: &str, output: Box<dyn Write + Send>, json: bool) -> Terminal {
        let echo = !matches!(input, Input::Editor(..) | Input::Remote(_));
        let script = script.lines().map(str::to_owned).collect();
        Terminal { input, script, output, echo, json, last: String::new() }
    }

    fn print(&mut self, text: &str) {
        // A reader that has gone away is no error.
        let _ = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
    }

    fn answer(&mut self, answer: &Answer) {
        if *answer == Answer::Done {
            return;
        }
        let text = match self.json {
            true => serde_json::to_string(answer).unwrap_or_default() + "\n",
            false => answer.to_string(),
        };
        self.print(&text);
    }

    fn error(&mut self, error: &Error) {
        let text = match self.json {
            true => {
                serde_json::json!({"kind": "error", "text": error.to_string()}).to_string() + "\n"
            }
            false => format!("error: {error}\n"),
        };
        self.print(&text);
    }

    /// The next line; `None` at the end of input.
    fn line(&mut self) -> Option<String> {
        if let Some(line) = self.script.pop_front() {
            self.echoed(&line);
            return Some(line);
        }
        match &mut self.input {
            Input::Nothing => None,
            Input::Remote(lines) => {
                // A terminal that has gone away gives no line.
                let _ = self.output.write_all(&[PROMPT]).and_then(|()| self.output.flush());
                let mut line = String::new();
                let count = lines.read_line(&mut line).unwrap_or(0);
                (count > 0).then(|| line.trim_end().to_owned())
            }
            Input::Lines(lines) => {
                let mut line = String::new();
                match lines.read_line(&mut line) {
                    Ok(n) if n > 0 => {
                        let line = line.trim_end().to_owned();
                        self.echoed(&line);
                        Some(line)
                    }
                    _ => None,
                }
            }
            Input::Editor(editor, _) => match editor.readline("(ptx) ") {
                Ok(line) => {
                    // An empty line is the last command again.
                    let line = if line.trim().is_empty() { self.last.clone() } else { line };
                    let _ = editor.add_history_entry(&line);
                    self.last.clone_from(&line);
                    Some(line)
                }
                Err(ReadlineError::Interrupted) => Some(String::new()),
                Err(_) => None,
            },
        }
    }

    /// The next command for another process; `None` at the end of input.
    pub fn line_for_another(&mut self) -> Option<String> {
        loop {
            let line = self.line()?;
            match command::parse(&line) {
                Ok(Some(Command::Source(path))) => self.source(&path),
                _ => return Some(line),
            }
        }
    }

    /// Shows what another process prints.
    pub fn show(&mut self, text: &[u8]) {
        // A reader that has gone away is no error.
        let _ = self.output.write_all(text).and_then(|()| self.output.flush());
    }

    fn echoed(&mut self, line: &str) {
        if self.echo && !self.json {
            self.print(&format!("(ptx) {line}\n"));
        }
    }

    fn source(&mut self, path: &str) {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                for line in text.lines().rev() {
                    self.script.push_front(line.to_owned());
                }
            }
            Err(error) => self.error(&Error::Refused(format!("cannot read {path}: {error}"))),
        }
    }

    /// What the kernel has printed since the last stop.
    fn kernel_output(&mut self, rest: &mut Rest<'_>) {
        if matches!(self.input, Input::Remote(_)) {
            // It is the program's, which prints it when the launch has ended.
            return;
        }
        let fresh = rest.session.fresh_output();
        if fresh.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&fresh).into_owned();
        match self.json {
            true => {
                let line = serde_json::json!({"kind": "output", "text": text}).to_string();
                self.print(&(line + "\n"));
            }
            false => self.print(&text),
        }
    }
}

impl Front for Terminal {
    fn rest(&mut self, rest: &mut Rest<'_>) -> Resume {
        self.kernel_output(rest);
        if matches!(rest.stop.reason, Reason::Ready) {
            let answer = rest.launch();
            self.answer(&answer);
        } else {
            let answer = rest.stop_text();
            self.answer(&answer);
            for shown in rest.displays() {
                self.answer(&shown);
            }
        }
        loop {
            let Some(line) = self.line() else { return Resume::Quit };
            let command = match command::parse(&line) {
                Ok(Some(Command::Source(path))) => {
                    self.source(&path);
                    continue;
                }
                Ok(Some(command)) => command,
                Ok(None) => continue,
                Err(error) => {
                    self.error(&error);
                    continue;
                }
            };
            match rest.execute(&command) {
                Ok(Reply::Answer(answer)) => self.answer(&answer),
                Ok(Reply::Resume(resume)) => return resume,
                Err(error) => self.error(&error),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Input::Editor(editor, Some(path)) = &mut self.input {
            // History is a convenience; a folder that cannot be written takes it away.
            let _ = editor.save_history(path);
        }
    }
}

/// Lets Ctrl-C stop the kernel: it sets `pause`.
///
/// # Errors
/// When the host has no such signal.
pub fn stop_at_interrupt(
    pause: &std::sync::Arc<std::sync::atomic::AtomicBool>,
) -> Result<(), Error> {
    let done =
        signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::clone(pause));
    done.map(|_| ()).map_err(|e| Error::Refused(e.to_string()))
}
