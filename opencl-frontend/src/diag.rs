//! Diagnostics: what is wrong, where, and how it is shown.

use codespan_reporting::diagnostic::{Diagnostic, Label as CrLabel};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term;

use crate::source::{ExpansionId, FileSpan, SourceMap};
use crate::symbol::Interner;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Severity {
    /// Compiles, but deserves a look.
    Warning,
    /// Does not compile.
    Error,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of a diagnostic. The text form names it for the user and for `-Wno-…`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }
        impl Code {
            /// Name shown in brackets after the severity.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// A character that starts no token, an unterminated comment or literal.
    Lex = "invalid-token",
    /// A malformed number or character literal.
    Literal = "invalid-literal",
    /// A malformed preprocessor directive.
    Directive = "invalid-directive",
    /// `#error`.
    HashError = "user-error",
    /// `#warning`.
    HashWarning = "user-warning",
    /// A file that `#include` names does not exist.
    Include = "include-not-found",
    /// A macro use that does not fit its definition.
    MacroUse = "macro-arguments",
    /// A macro defined twice in different ways.
    MacroRedefined = "macro-redefined",
    /// Input that would take unbounded time or memory.
    Limit = "limit-exceeded",
    /// The grammar does not allow this token here.
    Syntax = "syntax",
    /// A name that is declared nowhere.
    Undeclared = "undeclared",
    /// A name declared twice in one scope.
    Redefinition = "redefinition",
    /// A type that the language does not allow here.
    InvalidType = "invalid-type",
    /// A combination of declaration specifiers without meaning.
    Specifiers = "invalid-specifiers",
    /// Address space rules.
    AddressSpace = "address-space",
    /// Operands of an operator do not fit it.
    Operands = "invalid-operands",
    /// No conversion between these types.
    Conversion = "incompatible-types",
    /// Something that must be an lvalue or modifiable is not.
    NotAssignable = "not-assignable",
    /// A member that the type does not have.
    NoMember = "no-member",
    /// A vector component selection that does not fit.
    Swizzle = "invalid-swizzle",
    /// Call arguments do not fit the function.
    Arguments = "invalid-arguments",
    /// No overload, or more than one, fits a call.
    Overload = "no-matching-function",
    /// An initialiser does not fit.
    Initializer = "invalid-initializer",
    /// A constant expression was required.
    NotConstant = "not-constant",
    /// A jump or label out of place.
    ControlFlow = "invalid-control-flow",
    /// A rule about kernels.
    Kernel = "invalid-kernel",
    /// Direct or indirect recursion.
    Recursion = "recursion",
    /// An attribute that is unknown or malformed.
    Attribute = "invalid-attribute",
    /// Needs an extension that is not enabled or a target that lacks it.
    Extension = "extension-required",
    /// Valid OpenCL C that this compiler does not compile yet.
    Unsupported = "unsupported",
    /// A compiler option that is unknown or malformed.
    Option = "invalid-option",
    /// A constant index outside of the array.
    ArrayBounds = "array-bounds",
    /// A variable that is read and never written.
    Uninitialized = "uninitialized",
    /// A variable that nothing uses.
    UnusedVariable = "unused-variable",
    /// Doubles computed in single precision on a target without them.
    DoubleDemoted = "double-demoted",
    /// An unknown pragma.
    UnknownPragma = "unknown-pragma",
    /// A value changed by an implicit conversion of a constant.
    ConstantConversion = "constant-conversion",
    /// Control reaches the end of a function that returns a value.
    ReturnType = "return-type",
    /// Division by a constant zero.
    DivisionByZero = "division-by-zero",
    /// A shift by more than the width.
    ShiftCount = "shift-count-overflow",
    /// An attribute that has no effect.
    IgnoredAttribute = "ignored-attribute",
    /// An expression statement without effect.
    UnusedValue = "unused-value",
    /// Pointers to different types mixed.
    IncompatiblePointers = "incompatible-pointer-types",
    /// Something went wrong inside the compiler.
    Internal = "internal",
}

/// A range with a remark.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Where.
    pub span: FileSpan,
    /// What about it; may be empty.
    pub message: String,
}

/// A remark of its own, optionally at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Where, if anywhere.
    pub span: Option<FileSpan>,
    /// The remark.
    pub message: String,
}

/// One diagnostic.
#[derive(Clone, Debug, PartialEq)]
pub struct Diag {
    /// Kind.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence.
    pub message: String,
    /// The place it is about, in the text that the user wrote. `None` for command-line problems.
    pub span: Option<FileSpan>,
    /// Further places.
    pub labels: Vec<Label>,
    /// Remarks, among them the macro stack.
    pub notes: Vec<Note>,
    /// A suggestion.
    pub help: Option<String>,
}

impl Diag {
    /// An error without a place.
    pub fn error(code: Code, message: impl Into<String>) -> Diag {
        Diag {
            code,
            severity: Severity::Error,
            message: message.into(),
            span: None,
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// A warning without a place.
    pub fn warning(code: Code, message: impl Into<String>) -> Diag {
        Diag { severity: Severity::Warning, ..Diag::error(code, message) }
    }

    /// Puts it at a place in a file.
    #[must_use]
    pub fn at(mut self, span: FileSpan) -> Diag {
        self.span = Some(span);
        self
    }

    /// Puts it at a token: the outermost macro use, with a note for each level of the macro stack.
    #[must_use]
    pub fn at_expanded(
        mut self,
        spelling: FileSpan,
        expansion: ExpansionId,
        map: &SourceMap,
        names: &Interner,
    ) -> Diag {
        let mut id = expansion;
        let mut inner = spelling;
        let mut stack = Vec::new();
        while let Some(e) = map.expansion(id) {
            stack.push(Note {
                span: Some(inner),
                message: format!("expanded from macro `{}`", names.text(e.name)),
            });
            inner = e.call;
            id = e.parent;
        }
        // clang's order: outermost macro last; a very deep stack shows its two ends.
        if stack.len() > 8 {
            let skipped = stack.len() - 6;
            stack.drain(3..3 + skipped);
            stack.insert(
                3,
                Note { span: None, message: format!("({skipped} macro expansions not shown)") },
            );
        }
        self.notes.extend(stack);
        self.span = Some(inner);
        self
    }

    /// Adds a labelled range.
    #[must_use]
    pub fn label(mut self, span: FileSpan, message: impl Into<String>) -> Diag {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, span: Option<FileSpan>, message: impl Into<String>) -> Diag {
        self.notes.push(Note { span, message: message.into() });
        self
    }

    /// Sets the suggestion.
    #[must_use]
    pub fn help(mut self, message: impl Into<String>) -> Diag {
        self.help = Some(message.into());
        self
    }
}

/// Renders diagnostics as text with source excerpts, with terminal colours where they are wanted.
pub fn render(diags: &[Diag], map: &SourceMap, color: bool) -> String {
    let mut files = SimpleFiles::new();
    for file in map.files() {
        files.add(file.name.as_str(), file.text.as_str());
    }
    let range = |span: FileSpan| {
        let file = map.file_of(span.lo);
        let base = map.files().get(file).map_or(0, |f| f.base);
        (file, (span.lo.0 - base) as usize..(span.hi.0 - base) as usize)
    };
    let config = term::Config::default();
    let mut out = String::new();
    for diag in diags {
        let mut shown = match diag.severity {
            Severity::Error => Diagnostic::error(),
            Severity::Warning => Diagnostic::warning(),
        }
        .with_code(diag.code.name())
        .with_message(&diag.message);
        if map.files().is_empty() {
            out.push_str(&format!("error[{}]: {}\n", diag.code.name(), diag.message));
            continue;
        }
        if let Some(span) = diag.span {
            let (file, bytes) = range(span);
            shown.labels.push(CrLabel::primary(file, bytes));
        }
        for label in &diag.labels {
            let (file, bytes) = range(label.span);
            shown.labels.push(CrLabel::secondary(file, bytes).with_message(&label.message));
        }
        for note in &diag.notes {
            match note.span {
                Some(span) => {
                    let (file, bytes) = range(span);
                    shown.labels.push(CrLabel::secondary(file, bytes).with_message(&note.message));
                }
                None => shown.notes.push(format!("note: {}", note.message)),
            }
        }
        if let Some(help) = &diag.help {
            shown.notes.push(format!("help: {help}"));
        }
        let text = if color {
            let mut ansi = term::termcolor::Ansi::new(Vec::new());
            term::emit_to_write_style(&mut ansi, &config, &files, &shown)
                .map(|()| String::from_utf8_lossy(&ansi.into_inner()).into_owned())
        } else {
            term::emit_into_string(&config, &files, &shown)
        };
        match text {
            Ok(text) => out.push_str(&text),
            Err(_) => out.push_str(&format!("error[{}]: {}\n", diag.code.name(), diag.message)),
        }
    }
    out
}

/// The candidate closest to `name`, if one is close enough to be what was meant.
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.len() / 3).clamp(1, 3);
    candidates
        .filter(|c| c.len().abs_diff(name.len()) <= limit && *c != name)
        .map(|c| (edit_distance(name.as_bytes(), c.as_bytes()), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// Optimal string alignment distance (insert, delete, replace, swap of neighbours).
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut best =
                (above[j] + usize::from(a[i] != b[j])).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_name() {
        let names = ["get_global_id", "get_local_id", "barrier"];
        assert_eq!(closest("get_gobal_id", names.into_iter()), Some("get_global_id"));
        assert_eq!(closest("barier", names.into_iter()), Some("barrier"));
        assert_eq!(closest("x", names.into_iter()), None);
    }
}
