//! What commands answer: data, and its text.

use std::fmt;

use serde::Serialize;

/// What a command answers.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Answer {
    /// Nothing to say.
    Done,
    /// A sentence.
    Note {
        /// It.
        text: String,
    },
    /// A value.
    Value {
        /// What was asked for.
        expression: String,
        /// Its type.
        ty: String,
        /// Its bits.
        bits: u64,
        /// The value as text.
        text: String,
    },
    /// Rows under heads.
    Table {
        /// Heads.
        columns: Vec<String>,
        /// Rows.
        rows: Vec<Vec<String>>,
    },
    /// Lines of a text, one of them marked.
    Listing {
        /// Lines.
        lines: Vec<Line>,
    },
    /// Lines as they are.
    Drawing {
        /// Lines.
        lines: Vec<String>,
    },
    /// Several answers.
    All {
        /// They.
        answers: Vec<Answer>,
    },
}

/// A line of a listing.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line {
    /// The line's number, or a name in its place.
    pub number: String,
    /// `>` where execution stands, `*` where a breakpoint is.
    pub mark: String,
    /// The text.
    pub text: String,
}

impl Answer {
    /// A sentence.
    pub fn note(text: impl Into<String>) -> Answer {
        Answer::Note { text: text.into() }
    }

    /// Rows under heads.
    pub fn table(columns: &[&str], rows: Vec<Vec<String>>) -> Answer {
        Answer::Table { columns: columns.iter().map(|c| (*c).to_owned()).collect(), rows }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Done => Ok(()),
            Answer::Note { text } => writeln!(f, "{text}"),
            Answer::Value { expression, text, .. } => writeln!(f, "{expression} = {text}"),
            Answer::Table { columns, rows } => {
                let heads = std::iter::once(columns);
                let widths: Vec<usize> = (0..columns.len())
                    .map(|c| {
                        let cells = heads.clone().chain(rows).filter_map(|r| r.get(c));
                        cells.map(|t| t.chars().count()).max().unwrap_or(0)
                    })
                    .collect();
                for row in heads.chain(rows) {
                    let mut line = String::new();
                    for (text, width) in row.iter().zip(&widths) {
                        line.push_str(&format!("{text:width$}  "));
                    }
                    writeln!(f, "  {}", line.trim_end())?;
                }
                Ok(())
            }
            Answer::Listing { lines } => {
                let width = lines.iter().map(|l| l.number.chars().count()).max().unwrap_or(0);
                for l in lines {
                    let line = format!("{:1}{:>width$}  {}", l.mark, l.number, l.text);
                    writeln!(f, "{}", line.trim_end())?;
                }
                Ok(())
            }
            Answer::Drawing { lines } => lines.iter().try_for_each(|l| writeln!(f, "{l}")),
            Answer::All { answers } => answers.iter().try_for_each(|a| write!(f, "{a}")),
        }
    }
}
