//! Source files, positions in them, and the macro expansions that tokens went through.
//!
//! A position is a byte offset into the concatenation of all files. A token that comes out of the
//! preprocessor carries the position of its spelling and the expansion that produced it; a syntax node
//! carries the range of its tokens. Everything else (line, column, macro stack) is derived on demand.

use std::sync::OnceLock;

use crate::symbol::Symbol;

/// A byte offset into the concatenation of all files of a compilation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Pos(pub u32);

/// Half-open range of positions, within one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileSpan {
    /// First byte.
    pub lo: Pos,
    /// One past the last byte.
    pub hi: Pos,
}

/// Range of preprocessed tokens (indices into the unit's token table, both inclusive).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Span {
    /// First token.
    pub first: u32,
    /// Last token.
    pub last: u32,
}

impl Span {
    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// Which macro expansion a token came from; `NONE` for a token of the source itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExpansionId(pub u32);

impl ExpansionId {
    /// Not from a macro.
    pub const NONE: ExpansionId = ExpansionId(0);
}

/// One use of a macro.
#[derive(Clone, Copy, Debug)]
pub struct Expansion {
    /// Name of the macro.
    pub name: Symbol,
    /// The macro's name where it was used.
    pub call: FileSpan,
    /// The expansion in which the use itself stands.
    pub parent: ExpansionId,
}

/// One file (or in-memory buffer).
#[derive(Debug)]
pub struct SourceFile {
    /// Name as the user gave it or as it was found.
    pub name: String,
    /// The text as read.
    pub text: String,
    /// Position of its first byte.
    pub base: u32,
    line_starts: OnceLock<Vec<u32>>,
    /// `#line` directives: (offset of the following line, presumed line, presumed file).
    pub line_marks: Vec<(u32, u32, Option<String>)>,
}

impl SourceFile {
    /// Offset of the first byte of each line.
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0).chain(ends.map(|(i, _)| i as u32 + 1)).collect()
        })
    }

    /// A line of the text, counted from 1, without its end.
    pub fn line(&self, number: u32) -> Option<&str> {
        let starts = self.line_starts();
        let start = *starts.get((number as usize).checked_sub(1)?)? as usize;
        let end = starts.get(number as usize).map_or(self.text.len(), |&next| next as usize);
        self.text.get(start..end).map(|line| line.trim_end_matches(['\n', '\r']))
    }
}

/// Line and column (both from 1) in a named file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// File name, after `#line`.
    pub file: String,
    /// Line, after `#line`.
    pub line: u32,
    /// Column in bytes.
    pub column: u32,
}

/// All files and macro expansions of a compilation.
#[derive(Debug)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    expansions: Vec<Expansion>,
}

impl Default for SourceMap {
    fn default() -> Self {
        let none =
            Expansion { name: Symbol(0), call: FileSpan::default(), parent: ExpansionId::NONE };
        SourceMap { files: Vec::new(), expansions: vec![none] }
    }
}

impl SourceMap {
    /// Adds a file and returns its number, or `None` when the position space is exhausted.
    pub fn add_file(&mut self, name: &str, text: &str) -> Option<usize> {
        let base = self.files.last().map_or(0, |f| f.base + f.text.len() as u32 + 1);
        if text.len() >= (u32::MAX / 2 - base.min(u32::MAX / 2)) as usize {
            return None;
        }
        self.files.push(SourceFile {
            name: name.to_string(),
            text: text.to_string(),
            base,
            line_starts: OnceLock::new(),
            line_marks: Vec::new(),
        });
        Some(self.files.len() - 1)
    }

    /// All files in order of their positions.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// A file, to note a `#line` directive.
    pub fn file_mut(&mut self, index: usize) -> &mut SourceFile {
        &mut self.files[index]
    }

    /// Number of the file that holds `pos`.
    pub fn file_of(&self, pos: Pos) -> usize {
        self.files.partition_point(|f| f.base <= pos.0).saturating_sub(1)
    }

    /// The text of a range.
    pub fn text(&self, span: FileSpan) -> &str {
        let Some(file) = self.files.get(self.file_of(span.lo)) else { return "" };
        file.text
            .get((span.lo.0 - file.base) as usize..(span.hi.0 - file.base) as usize)
            .unwrap_or("")
    }

    /// Line and column of a position, with `#line` applied.
    pub fn location(&self, pos: Pos) -> Location {
        let index = self.file_of(pos);
        let Some(file) = self.files.get(index) else {
            return Location { file: String::new(), line: 1, column: 1 };
        };
        let line_starts = file.line_starts();
        let offset = pos.0 - file.base;
        let row = line_starts.partition_point(|&s| s <= offset) - 1;
        let column = offset - line_starts[row] + 1;
        let mut line = row as u32 + 1;
        let mut name = file.name.clone();
        let mark = file.line_marks.partition_point(|m| m.0 <= offset);
        if mark > 0 {
            let (at, presumed, ref renamed) = file.line_marks[mark - 1];
            let marked_row = line_starts.partition_point(|&s| s <= at) - 1;
            line = presumed.wrapping_add((row - marked_row) as u32);
            if let Some(renamed) =
                file.line_marks[..mark].iter().rev().find_map(|m| m.2.clone()).or(renamed.clone())
            {
                name = renamed;
            }
        }
        Location { file: name, line, column }
    }

    /// Records a macro use.
    pub fn add_expansion(&mut self, expansion: Expansion) -> ExpansionId {
        self.expansions.push(expansion);
        ExpansionId(self.expansions.len() as u32 - 1)
    }

    /// The record of a macro use.
    pub fn expansion(&self, id: ExpansionId) -> Option<&Expansion> {
        if id == ExpansionId::NONE { None } else { self.expansions.get(id.0 as usize) }
    }
}
