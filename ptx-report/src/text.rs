//! Text for a terminal: tables with aligned columns, bars, and colour where it is wanted.

use std::fmt::Write;

/// A colour or weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// As it is.
    #[default]
    Plain,
    /// Headings and the number that matters.
    Bold,
    /// What may be skipped.
    Dim,
    /// Good.
    Green,
    /// To look at.
    Yellow,
    /// Bad.
    Red,
}

/// Whether to colour, decided by the caller: it knows where the text goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paint(pub bool);

impl Paint {
    /// The text in a style.
    pub fn with(self, style: Style, text: &str) -> String {
        let code = match style {
            _ if !self.0 || text.is_empty() => return text.to_owned(),
            Style::Plain => return text.to_owned(),
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Green => "32",
            Style::Yellow => "33",
            Style::Red => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.with(Style::Bold, text)
    }

    /// An aside.
    pub fn dim(self, text: &str) -> String {
        self.with(Style::Dim, text)
    }
}

/// One cell of a table.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::Plain)
    }
}

/// A table. Columns are as wide as their widest cell; the last one is not padded.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns; a heading that starts with `>` is of right-aligned numbers.
    pub fn new(headings: &[&str]) -> Self {
        let columns = headings
            .iter()
            .map(|h| match h.strip_prefix('>') {
                Some(rest) => (rest.to_owned(), true),
                None => ((*h).to_owned(), false),
            })
            .collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Adds a row of any length.
    pub fn push(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, each line indented by two spaces.
    pub fn render(&self, paint: Paint) -> String {
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|r| r.get(i)).map(|c| c.text.chars().count());
            cells.chain([self.columns[i].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut out = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = (&str, Style)>| {
            let mut text = String::from("  ");
            for (i, (cell, style)) in cells.enumerate() {
                let space = " ".repeat(widths[i] - cell.chars().count());
                let painted = paint.with(style, cell);
                let gap = if i == 0 { "" } else { "  " };
                let _ = match self.columns[i].1 {
                    true => write!(text, "{gap}{space}{painted}"),
                    false => write!(text, "{gap}{painted}{space}"),
                };
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        if self.columns.iter().any(|c| !c.0.is_empty()) {
            line(&mut self.columns.iter().map(|c| (c.0.as_str(), Style::Bold)));
        }
        for row in &self.rows {
            line(&mut row.iter().map(|c| (c.text.as_str(), c.style)));
        }
        out
    }
}

/// A share as a bar of `width` characters.
pub fn bar(share: f64, width: usize) -> String {
    let filled = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("{}{}", "#".repeat(filled), ".".repeat(width - filled))
}

/// Breaks a paragraph into lines of at most `width` characters, each after `indent`.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            let _ = writeln!(out, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(out, "{indent}{line}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_colour_takes_no_room() {
        let mut table = Table::new(&["name", ">n", "note"]);
        table.row(["a".into(), "1".into(), Cell::default()]);
        table.row([Cell::styled("longer", Style::Red), "100".into(), "x".into()]);
        assert_eq!(
            table.render(Paint(false)),
            "  name      n  note\n  a         1\n  longer  100  x\n"
        );
        let coloured = table.render(Paint(true));
        assert!(coloured.contains("\u{1b}[31mlonger\u{1b}[0m  100"));
    }

    #[test]
    fn bars_and_paragraphs() {
        assert_eq!(bar(0.5, 4), "##..");
        assert_eq!(bar(7.0, 2), "##");
        assert_eq!(wrap("a bb ccc", 4, "> "), "> a bb\n> ccc\n");
    }
}
