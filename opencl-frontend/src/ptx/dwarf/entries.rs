//! The section of entries: bytes, symbols, and references to entries whose places are known when all are written.

use std::fmt::Write;

use rustc_hash::FxHashMap;

/// A part of the section.
enum Part {
    Bytes(Vec<u8>),
    /// Eight bytes.
    Symbol(String),
    /// Four bytes: the start of another section.
    Section(&'static str),
    /// Four bytes: the place of a type.
    Type(u32),
    /// Four bytes: the place of a function.
    Function(u32),
}

/// Bytes of the head of a unit.
const HEAD: u32 = 11;

/// Entries under construction.
#[derive(Default)]
pub struct Entries {
    parts: Vec<Part>,
    size: u32,
    types: FxHashMap<u32, u32>,
    functions: FxHashMap<u32, u32>,
}

impl Entries {
    fn add(&mut self, part: Part, size: u32) {
        self.parts.push(part);
        self.size += size;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u32;
        if let Some(Part::Bytes(last)) = self.parts.last_mut() {
            last.extend_from_slice(bytes);
        } else {
            self.parts.push(Part::Bytes(bytes.to_vec()));
        }
    }

    /// An entry begins. Its attributes follow.
    pub fn begin(&mut self, abbreviation: u8) {
        // A part of its own, so that an entry is a line.
        self.add(Part::Bytes(vec![abbreviation]), 1);
    }

    /// The entries inside another one end.
    pub fn close(&mut self) {
        self.byte(0);
    }

    pub fn byte(&mut self, v: u8) {
        self.bytes(&[v]);
    }

    pub fn half(&mut self, v: u16) {
        self.bytes(&v.to_le_bytes());
    }

    pub fn word(&mut self, v: u32) {
        self.bytes(&v.to_le_bytes());
    }

    pub fn zero_address(&mut self) {
        self.bytes(&[0; 8]);
    }

    pub fn text(&mut self, text: &str) {
        let end = text.find('\0').unwrap_or(text.len());
        self.bytes(&text.as_bytes()[..end]);
        self.byte(0);
    }

    /// Bytes with their number before them.
    pub fn block(&mut self, bytes: &[u8]) {
        self.byte(bytes.len() as u8);
        self.bytes(bytes);
    }

    /// A location: an operation, and the symbol that it is about.
    pub fn place(&mut self, operation: u8, symbol: &str) {
        self.byte(9);
        self.byte(operation);
        self.symbol(symbol);
    }

    pub fn symbol(&mut self, symbol: &str) {
        self.add(Part::Symbol(symbol.to_owned()), 8);
    }

    pub fn section(&mut self, name: &'static str) {
        self.add(Part::Section(name), 4);
    }

    /// Refers to a type, by a number of the caller's.
    pub fn ty(&mut self, number: u32) {
        self.add(Part::Type(number), 4);
    }

    /// The next entry is that type.
    pub fn mark_type(&mut self, number: u32) {
        self.types.insert(number, HEAD + self.size);
    }

    /// Refers to a function that is inlined.
    pub fn function(&mut self, number: u32) {
        self.add(Part::Function(number), 4);
    }

    /// The next entry is that function.
    pub fn mark_function(&mut self, number: u32) {
        self.functions.insert(number, HEAD + self.size);
    }

    /// The section as text.
    pub fn print(&self, out: &mut String) {
        // Length without itself, version, abbreviations, bytes of an address.
        let length = HEAD - 4 + self.size;
        let _ = writeln!(out, ".b32 {length}\n.b8 2, 0\n.b32 .debug_abbrev\n.b8 8");
        let place = |of: &FxHashMap<u32, u32>, n: &u32| of.get(n).copied().unwrap_or(0);
        for part in &self.parts {
            let _ = match part {
                Part::Bytes(bytes) => {
                    let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
                    writeln!(out, ".b8 {}", list.join(", "))
                }
                Part::Symbol(name) => writeln!(out, ".b64 {name}"),
                Part::Section(name) => writeln!(out, ".b32 {name}"),
                Part::Type(n) => writeln!(out, ".b32 {}", place(&self.types, n)),
                Part::Function(n) => writeln!(out, ".b32 {}", place(&self.functions, n)),
            };
        }
    }
}
