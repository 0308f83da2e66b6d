//! The assembled container `.ptxb`: a verified module that is mapped instead of parsed and verified.
//!
//! ```text
//! head, 56 bytes:  magic, format, number of sections, length of the file, build, checksum, flags
//! table:           24 bytes per section: kind, offset, length
//! sections:        text, heads of the module, bodies of its functions, machine code
//! ```
//! All numbers are little-endian. The checksum is XXH3 of 128 bits over every other byte of the file; it finds damage,
//! not forgery. The build is a hash of the sources of parser, verifier and instruction table: what one build has
//! verified is not taken by another. The text is always there, so that any build can assemble it again.
//!
//! Opening checks the whole file and reads the heads. Bodies are read when something asks for them ([`Lazy`]), each
//! once, and checked as if the checksum had not been: every index that a body holds is in range.
//!
//! | module | what it does |
//! | --- | --- |
//! | `map` | the file in memory |
//! | `error` | why a container is refused |
//! | `record` | numbers, texts and lists as bytes |
//! | `module` | the module as records |
//! | `check` | indices of a body that was read |

mod check;
pub(crate) mod error;
mod map;
mod module;
mod record;

use std::path::Path;
use std::sync::Arc;

pub use error::{Error, Rule};
pub use map::Owner;

use crate::lazy::Lazy;
use crate::module::Module;
use map::Bytes;
use record::{Reader, Record, Writer};

/// What every container begins with. Its bytes show a transfer as text: a high bit, both line ends, a zero.
pub const MAGIC: [u8; 8] = *b"\x89PTXB\r\n\0";

/// The version of the format.
pub const FORMAT: u32 = 1;

/// What a verified module depends on: a hash of the sources of parser, verifier and instruction table.
pub const BUILD: u64 = match u64::from_str_radix(env!("PTX_PARSE_SOURCES"), 16) {
    Ok(hash) => hash,
    Err(_) => panic!("the build script writes a hexadecimal number"),
};

const HEAD: usize = 56;
const ENTRY: usize = 24;
/// Where the checksum stands.
const SUM: std::ops::Range<usize> = 32..48;
/// More sections than any version will have.
const MOST: u32 = 64;

mod flag {
    /// Verified with the forms outside PTX.
    pub const LENIENT: u64 = 1;
    /// The verifier had something to say.
    pub const FINDINGS: u64 = 2;
    /// Multiplications and additions stay apart.
    pub const NO_CONTRACTION: u64 = 4;
    /// All of them.
    pub const KNOWN: u64 = LENIENT | FINDINGS | NO_CONTRACTION;
}

/// Kinds of sections.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Section {
    /// PTX.
    Text = 1,
    /// Symbols, functions, files.
    Heads = 2,
    /// Bodies of functions and the opcodes that they use.
    Bodies = 3,
    /// Compiled code.
    Code = 4,
}

impl Section {
    const ALL: [Section; 4] = [Section::Text, Section::Heads, Section::Bodies, Section::Code];

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Section::Text => "text",
            Section::Heads => "heads",
            Section::Bodies => "bodies",
            Section::Code => "code",
        }
    }
}

/// What a module was verified with, and what came of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// Forms outside PTX were taken ([`ptx_isa::rows::lenient`]).
    pub lenient: bool,
    /// The verifier had warnings.
    pub findings: bool,
    /// Lowering leaves multiplications and additions apart ([`Module::contraction`]).
    pub no_contraction: bool,
}

/// A container whose checksum is right.
pub struct Container {
    bytes: Bytes,
    file: Arc<str>,
    build: u64,
    about: About,
    sections: Vec<(u32, std::ops::Range<usize>)>,
}

/// Whether these bytes begin a container.
pub fn is_container(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The length of a container whose first 24 bytes are given.
pub fn length(head: &[u8]) -> Option<u64> {
    is_container(head).then(|| word(head, 16))?
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn checksum(bytes: &[u8]) -> [u8; 16] {
    let mut hash = twox_hash::xxhash3_128::Hasher::new();
    hash.write(&bytes[..SUM.start]);
    hash.write(&bytes[SUM.end..]);
    hash.finish_128().to_le_bytes()
}

/// Gives bytes that were altered the right checksum, for tests of what comes behind it.
#[doc(hidden)]
pub fn seal(bytes: &mut [u8]) {
    if bytes.len() >= HEAD {
        let sum = checksum(bytes);
        bytes[SUM].copy_from_slice(&sum);
    }
}

impl Container {
    /// Maps a file and checks it.
    ///
    /// # Errors
    /// When it cannot be mapped, or is not what was written.
    pub fn open(path: &Path) -> Result<Arc<Container>, Error> {
        let file: Arc<str> = path.display().to_string().into();
        let bytes = Bytes::map(path).map_err(|error| Error::new(&file, 0, Rule::File(error)))?;
        Container::new(bytes, file)
    }

    /// Checks a container in memory; `file` is what messages call it.
    ///
    /// # Errors
    /// When it is not what was written.
    pub fn from_bytes(bytes: Vec<u8>, file: &str) -> Result<Arc<Container>, Error> {
        Container::new(Bytes::from(bytes), file.into())
    }

    fn new(bytes: Bytes, file: Arc<str>) -> Result<Arc<Container>, Error> {
        let all: &[u8] = &bytes;
        let refuse = |at: usize, rule: Rule| Error::new(&file, at as u64, rule);
        if !is_container(all) {
            return Err(refuse(0, Rule::Magic));
        }
        let cut = |is: usize| refuse(is, Rule::Length { says: HEAD as u64, is: is as u64 });
        let (Some(format), Some(count), Some(length), Some(build), Some(flags)) =
            (half(all, 8), half(all, 12), word(all, 16), word(all, 24), word(all, 48))
        else {
            return Err(cut(all.len()));
        };
        if format != FORMAT {
            return Err(refuse(8, Rule::Format { found: format }));
        }
        if length != all.len() as u64 {
            return Err(refuse(16, Rule::Length { says: length, is: all.len() as u64 }));
        }
        if count > MOST || all.len() < HEAD + ENTRY * count as usize {
            return Err(refuse(12, Rule::Sections));
        }
        if checksum(all) != all[SUM] {
            return Err(refuse(SUM.start, Rule::Checksum));
        }
        if flags & !flag::KNOWN != 0 {
            return Err(refuse(48, Rule::Flags));
        }
        let mut sections = Vec::with_capacity(count as usize);
        for n in 0..count as usize {
            let at = HEAD + ENTRY * n;
            let range = half(all, at).zip(word(all, at + 8)).zip(word(all, at + 16));
            let range = range.and_then(|((kind, start), length)| {
                let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
                let end = start.checked_add(length).filter(|end| *end <= all.len())?;
                Some((kind, start..end))
            });
            sections.push(range.ok_or_else(|| refuse(at, Rule::Sections))?);
        }
        let about = About {
            lenient: flags & flag::LENIENT != 0,
            findings: flags & flag::FINDINGS != 0,
            no_contraction: flags & flag::NO_CONTRACTION != 0,
        };
        Ok(Arc::new(Container { bytes, file, build, about, sections }))
    }

    /// What messages call the container.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whose file it is; `None` for one in memory.
    pub fn owner(&self) -> Option<Owner> {
        self.bytes.owner()
    }

    /// What the module was verified with.
    pub fn about(&self) -> About {
        self.about
    }

    /// The build that assembled it; only [`BUILD`] takes its module.
    pub fn build(&self) -> u64 {
        self.build
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Where a section lies.
    pub fn place(&self, section: Section) -> Option<std::ops::Range<usize>> {
        let found = self.sections.iter().find(|(kind, _)| *kind == section as u32);
        found.map(|(_, range)| range.clone())
    }

    /// The sections that are there, with their places.
    pub fn sections(&self) -> impl Iterator<Item = (Section, std::ops::Range<usize>)> + '_ {
        Section::ALL.into_iter().filter_map(|s| Some((s, self.place(s)?)))
    }

    /// The bytes of a section; none where it is missing.
    pub fn section(&self, section: Section) -> &[u8] {
        self.place(section).and_then(|range| self.bytes.get(range)).unwrap_or_default()
    }

    fn error(&self, at: usize, rule: Rule) -> Error {
        Error::new(&self.file, at as u64, rule)
    }

    /// The PTX.
    ///
    /// # Errors
    /// When it is missing or not UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        let place = self.place(Section::Text).ok_or_else(|| self.error(12, Rule::Sections))?;
        std::str::from_utf8(self.section(Section::Text)).map_err(|error| {
            let at = place.start + error.valid_up_to();
            self.error(at, Rule::Record("text is not UTF-8"))
        })
    }

    /// The module, of which bodies are read when they are asked for.
    ///
    /// # Errors
    /// When another build has verified it, or the heads do not hold together.
    pub fn module(self: &Arc<Self>) -> Result<Module, Error> {
        if self.build != BUILD {
            return Err(self.error(24, Rule::Build { found: self.build }));
        }
        let source: Arc<str> = self.text()?.into();
        let mut reader = self.reader(Section::Heads, 0, &source);
        let read = module::read_heads(&mut reader, self, &source);
        let module = read.map_err(|rule| self.error(reader.at(), Rule::Record(rule)))?;
        Ok(Module { contraction: !self.about.no_contraction, ..module })
    }

    /// A reader of a section from `start` on.
    fn reader<'a>(&'a self, section: Section, start: usize, source: &'a Arc<str>) -> Reader<'a> {
        let base = self.place(section).map_or(0, |range| range.start);
        Reader::new(self.section(section), start, base, source)
    }

    /// A part of [`Section::Bodies`] that is read on first use.
    fn part<T: Record + Default + 'static>(
        self: &Arc<Self>,
        start: usize,
        source: &Arc<str>,
        check: impl Fn(&T) -> Result<(), &'static str> + Send + Sync + 'static,
    ) -> Lazy<T> {
        let (container, source) = (Arc::clone(self), Arc::clone(source));
        Lazy::late(Arc::new(move || {
            let mut reader = container.reader(Section::Bodies, start, &source);
            let read = T::read(&mut reader).and_then(|value| check(&value).map(|()| value));
            read.map_err(|rule| container.error(reader.at(), Rule::Record(rule)))
        }))
    }
}

/// A module as the bytes of a container, with compiled code in a form that is its user's.
pub fn write(module: &Module, about: About, code: &[u8]) -> Vec<u8> {
    let mut bodies = Writer::new(&module.source);
    let mut heads = Writer::new(&module.source);
    module::write(module, &mut heads, &mut bodies);
    let mut sections = vec![
        (Section::Text, module.source.as_bytes()),
        (Section::Heads, heads.bytes()),
        (Section::Bodies, bodies.bytes()),
    ];
    if !code.is_empty() {
        sections.push((Section::Code, code));
    }
    let mut out = MAGIC.to_vec();
    out.extend(FORMAT.to_le_bytes());
    out.extend((sections.len() as u32).to_le_bytes());
    let flags = u64::from(about.lenient) * flag::LENIENT
        | u64::from(about.findings) * flag::FINDINGS
        | u64::from(about.no_contraction) * flag::NO_CONTRACTION;
    let data: usize = sections.iter().map(|(_, bytes)| bytes.len().next_multiple_of(8)).sum();
    let start = HEAD + ENTRY * sections.len();
    out.extend(((start + data) as u64).to_le_bytes());
    out.extend(BUILD.to_le_bytes());
    out.extend([0; 16]);
    out.extend(flags.to_le_bytes());
    let mut at = start;
    for (kind, bytes) in &sections {
        out.extend(u64::from(*kind as u32).to_le_bytes());
        out.extend((at as u64).to_le_bytes());
        out.extend((bytes.len() as u64).to_le_bytes());
        at += bytes.len().next_multiple_of(8);
    }
    for (_, bytes) in &sections {
        out.extend(*bytes);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    seal(&mut out);
    out
}
