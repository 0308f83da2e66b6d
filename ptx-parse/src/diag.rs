//! What is wrong with a text: data here, and the one place that renders it.

use crate::span::Span;
use codespan_reporting::diagnostic as report;
use codespan_reporting::files::{self, Files};
use codespan_reporting::term;
use serde::Serialize;
use std::ops::Range;
use std::sync::OnceLock;

/// How bad a finding is.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The module is refused.
    Error,
    /// The module is taken; something is likely not meant.
    Warning,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// Kinds of findings, stable for tools.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every kind.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];
            /// The kind's name in reports and JSON.
            pub const fn text(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// The text does not follow the grammar.
    Syntax "syntax";
    /// A malformed or too large literal.
    Literal "literal";
    /// A constant expression without a value.
    ConstantExpr "constant-expression";
    /// An unknown or misplaced selector such as `.x`.
    Selector "selector";
    /// An unknown or illegal type.
    Type "type";
    /// A name that is not declared.
    UnknownName "unknown-name";
    /// A name declared twice.
    Duplicate "duplicate";
    /// No such instruction.
    UnknownOpcode "unknown-opcode";
    /// A modifier that the instruction does not have, or a missing one.
    Modifier "modifier";
    /// Too few, too many or wrong operands.
    Operand "operand";
    /// A wrong guard predicate.
    Guard "guard";
    /// The `.version` is too low or unknown.
    Version "version";
    /// The `.target` is too low or unknown.
    Target "target";
    /// A directive that is misplaced or has wrong arguments.
    Directive "directive";
    /// A declaration that breaks a rule.
    Declaration "declaration";
    /// A wrong initialiser.
    Initializer "initializer";
    /// A label that is missing or out of scope.
    Label "label";
    /// A call that does not fit its function.
    Call "call";
    /// A wrong state space.
    Space "space";
    /// An instruction that verifies and cannot run.
    Unsupported "unsupported";
    /// More than the target offers.
    Limit "limit";
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.text())
    }
}

/// A further place that a finding mentions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diag {
    /// Its kind.
    pub code: Code,
    /// Whether the module is refused.
    pub severity: Severity,
    /// One sentence: what was found.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to say below the place itself; often nothing.
    pub label: String,
    /// Other places, such as an earlier definition.
    pub labels: Vec<Label>,
    /// Rules that explain the finding.
    pub notes: Vec<String>,
    /// What would be right.
    pub help: Vec<String>,
}

impl Diag {
    /// An error.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diag {
        Diag {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }
    /// A warning.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Diag {
        Diag { severity: Severity::Warning, ..Diag::error(code, span, message) }
    }
    /// Says something below the place itself.
    pub fn here(&mut self, text: impl Into<String>) -> &mut Diag {
        self.label = text.into();
        self
    }
    /// Adds another place.
    pub fn also(&mut self, span: Span, text: impl Into<String>) -> &mut Diag {
        self.labels.push(Label { span, text: text.into() });
        self
    }
    /// Adds a rule.
    pub fn note(&mut self, text: impl Into<String>) -> &mut Diag {
        self.notes.push(text.into());
        self
    }
    /// Adds a remedy.
    pub fn help(&mut self, text: impl Into<String>) -> &mut Diag {
        self.help.push(text.into());
        self
    }
    /// Whether the module is refused for this.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Line and column, both from 1; columns count characters.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A finding with places as lines and columns, for `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Located<'a> {
    /// The text's name.
    pub file: &'a str,
    /// First character.
    pub start: Position,
    /// One past the last character.
    pub end: Position,
    /// Byte range.
    pub span: Span,
    /// Kind.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// What was found.
    pub message: &'a str,
    /// What is said below the place.
    pub label: &'a str,
    /// Other places.
    pub labels: Vec<LocatedLabel<'a>>,
    /// Rules.
    pub notes: &'a [String],
    /// Remedies.
    pub help: &'a [String],
}

/// A further place of a [`Located`] finding.
#[derive(Clone, Debug, Serialize)]
pub struct LocatedLabel<'a> {
    /// First character.
    pub start: Position,
    /// One past the last character.
    pub end: Position,
    /// What is there.
    pub text: &'a str,
}

/// Most bytes of a line that reports show.
const LONGEST_LINE: usize = 2000;

/// A text with its name and the beginnings of its lines: turns findings into
/// text for people or data for tools.
pub struct Reporter<'a> {
    name: &'a str,
    src: &'a str,
    lines: OnceLock<Vec<u32>>,
}

impl<'a> Files<'a> for Reporter<'a> {
    type FileId = ();
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, (): ()) -> Result<&'a str, files::Error> {
        Ok(self.name)
    }

    fn source(&'a self, (): ()) -> Result<&'a str, files::Error> {
        Ok(self.src)
    }

    fn line_index(&'a self, (): (), byte: usize) -> Result<usize, files::Error> {
        Ok(self.line(byte as u32))
    }

    fn line_range(&'a self, (): (), line: usize) -> Result<Range<usize>, files::Error> {
        let lines = self.lines();
        let start = lines
            .get(line)
            .ok_or(files::Error::LineTooLarge { given: line, max: lines.len() - 1 })?;
        let end = lines.get(line + 1).map_or(self.src.len(), |end| *end as usize);
        Ok(*start as usize..end)
    }
}

impl<'a> Reporter<'a> {
    /// A reporter for `src`, called `name` in the reports.
    pub fn new(name: &'a str, src: &'a str) -> Reporter<'a> {
        Reporter { name, src, lines: OnceLock::new() }
    }

    /// Where each line begins: computed for the first finding, as most texts have none.
    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let ends = self.src.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0).chain(ends.map(|(i, _)| i as u32 + 1)).collect()
        })
    }

    /// Index of the line of a byte offset.
    fn line(&self, offset: u32) -> usize {
        self.lines().partition_point(|&start| start <= offset).max(1) - 1
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.lines()[line] as usize;
        let text = self.src.as_bytes().get(start..offset as usize).unwrap_or(&[]);
        let column = text.iter().filter(|&&b| b & 0xc0 != 0x80).count();
        Position { line: line as u32 + 1, column: column as u32 + 1 }
    }

    /// The finding as data with lines and columns.
    pub fn locate<'d>(&'d self, diag: &'d Diag) -> Located<'d> {
        Located {
            file: self.name,
            start: self.position(diag.span.start),
            end: self.position(diag.span.end),
            span: diag.span,
            code: diag.code,
            severity: diag.severity,
            message: &diag.message,
            label: &diag.label,
            labels: diag
                .labels
                .iter()
                .map(|l| LocatedLabel {
                    start: self.position(l.span.start),
                    end: self.position(l.span.end),
                    text: &l.text,
                })
                .collect(),
            notes: &diag.notes,
            help: &diag.help,
        }
    }

    /// How to show a finding: without the lines of the text where one is too long to be read.
    fn style(&self, diag: &Diag) -> term::DisplayStyle {
        let long = |at: u32| {
            self.line_range((), self.line(at)).is_ok_and(|line| line.len() > LONGEST_LINE)
        };
        let places = diag.labels.iter().map(|l| l.span).chain([diag.span]);
        if places.flat_map(|s| [s.start, s.end]).any(long) {
            term::DisplayStyle::Medium
        } else {
            term::DisplayStyle::Rich
        }
    }

    fn diagnostic(diag: &Diag) -> report::Diagnostic<()> {
        let severity = match diag.severity {
            Severity::Error => report::Severity::Error,
            Severity::Warning => report::Severity::Warning,
        };
        let mut labels =
            vec![report::Label::primary((), diag.span.range()).with_message(&diag.label)];
        labels.extend(
            diag.labels
                .iter()
                .map(|l| report::Label::secondary((), l.span.range()).with_message(&l.text)),
        );
        let notes = diag.notes.iter().map(|n| format!("note: {n}"));
        let help = diag.help.iter().map(|h| format!("help: {h}"));
        report::Diagnostic::new(severity)
            .with_code(diag.code.text())
            .with_message(&diag.message)
            .with_labels(labels)
            .with_notes(notes.chain(help).collect())
    }

    /// The finding as plain text.
    pub fn plain(&self, diag: &Diag) -> String {
        let chars = term::Chars::ascii();
        let display_style = self.style(diag);
        let config = term::Config { chars, display_style, ..term::Config::default() };
        term::emit_into_string(&config, self, &Reporter::diagnostic(diag))
            .unwrap_or_else(|_| format!("{}: {}\n", self.name, diag.message))
    }

    /// The finding as text with terminal colours.
    pub fn coloured(&self, diag: &Diag) -> String {
        let mut out = term::termcolor::Ansi::new(Vec::new());
        let config = term::Config { display_style: self.style(diag), ..term::Config::default() };
        let styles = term::Styles::default();
        let mut writer = term::StylesWriter::new(&mut out, &styles);
        match term::emit_to_write_style(&mut writer, &config, self, &Reporter::diagnostic(diag)) {
            Ok(()) => String::from_utf8_lossy(&out.into_inner()).into_owned(),
            Err(_) => self.plain(diag),
        }
    }
}

/// The candidate closest to `word`, if it is close enough to be a slip.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (word.len() / 3).clamp(1, 3);
    let mut best = None;
    for candidate in candidates {
        if candidate.len().abs_diff(word.len()) > limit {
            continue;
        }
        let distance = edit_distance(word.as_bytes(), candidate.as_bytes());
        if distance > 0 && distance <= limit && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let width = b.len() + 1;
    let mut d = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(!a[i - 1].eq_ignore_ascii_case(&b[j - 1]));
                let mut best = d[(i - 1) * width + j - 1] + change;
                best = best.min(d[(i - 1) * width + j] + 1).min(d[i * width + j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len() * width + b.len()]
}
