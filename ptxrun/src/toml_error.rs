//! Shows an error of a launch file with the line that is to blame.

use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;

use crate::launch_file::LaunchFileError;

/// The error with its line and a caret.
pub fn render(name: &str, text: &str, error: &LaunchFileError, color: bool) -> String {
    let label = Label::primary((), error.span.clone());
    let diagnostic = Diagnostic::error().with_message(error.to_string()).with_labels(vec![label]);
    let file = SimpleFile::new(name, text);
    let config = term::Config { chars: term::Chars::ascii(), ..term::Config::default() };
    let mut out = String::new();
    let written = if color {
        let mut buffer = term::termcolor::Ansi::new(Vec::new());
        let styles = term::Styles::default();
        let mut writer = term::StylesWriter::new(&mut buffer, &styles);
        let written = term::emit_to_write_style(&mut writer, &config, &file, &diagnostic);
        out = String::from_utf8_lossy(&buffer.into_inner()).into_owned();
        written
    } else {
        term::emit_to_string(&mut out, &config, &file, &diagnostic)
    };
    // A span that does not fit the text must not hide the message.
    if written.is_err() { format!("error: {error}\n") } else { out }
}

/// Line and column of a byte of the text, both from 1.
pub fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_file::parse;
    use std::path::Path;

    const TEXT: &str = "[buffer]\na = { type = \"u9\", len = 3 }\n";

    #[test]
    fn the_line_is_shown_with_a_caret() {
        let error = parse(TEXT, Path::new("")).unwrap_err();
        let shown = render("k.toml", TEXT, &error, false);
        assert!(shown.contains("k.toml:2:14"), "{shown}");
        assert!(
            shown.contains("a = { type = \"u9\", len = 3 }") && shown.contains("^^^^"),
            "{shown}"
        );
        assert!(render("k.toml", TEXT, &error, true).contains('\u{1b}'));
        assert_eq!(position(TEXT, error.span.start), (2, 14));
    }
}
