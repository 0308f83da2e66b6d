//! Compiled code that travels with a module, as bytes: the entries of a cache, one behind the other.
//!
//! ```text
//! number of entries, 8 bytes; for each: key, 16 bytes, offset and length, 8 bytes each; the entries
//! ```

use std::ops::Range;
use std::sync::Arc;

use ptx_parse::code::Program;

use crate::blob::Blob;
use crate::cache::Cache;
use crate::entry::{self, Key, Needs};

/// Bytes that somebody holds.
pub type Holder = Arc<dyn AsRef<[u8]> + Send + Sync>;

const ENTRY: usize = 32;

/// Compiled code of a module's kernels.
///
/// Code is found by a hash of everything that it depends on, so that a bundle of another build or for another processor
/// holds nothing. It is machine code: read one only from whom you would take a program ([`crate::may_run`]).
#[derive(Clone, Default)]
pub struct Bundle {
    held: Option<Holder>,
    entries: Vec<(Key, Range<usize>)>,
}

/// Code on its way into a bundle.
#[derive(Default)]
pub struct Collection(Vec<(Key, Vec<u8>)>);

/// Where compiled code is looked for and kept.
pub(crate) trait Store {
    fn load(&self, key: Key, program: &Program) -> Option<(Blob, Needs)>;
    fn store(&mut self, key: Key, needs: &[u64], code: &[u8]);
}

impl Store for &Cache {
    fn load(&self, key: Key, program: &Program) -> Option<(Blob, Needs)> {
        Cache::load(self, key, program)
    }
    fn store(&mut self, key: Key, needs: &[u64], code: &[u8]) {
        Cache::store(self, key, needs, code);
    }
}

impl Store for Collection {
    fn load(&self, _: Key, _: &Program) -> Option<(Blob, Needs)> {
        None
    }
    fn store(&mut self, key: Key, needs: &[u64], code: &[u8]) {
        if self.0.iter().all(|(known, _)| *known != key) {
            let mut bytes = entry::head(key, needs, code);
            bytes.extend(code);
            self.0.push((key, bytes));
        }
    }
}

impl Collection {
    /// How many kernels there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bundle's bytes; none for no code.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut out = (self.0.len() as u64).to_le_bytes().to_vec();
        let mut at = 8 + ENTRY * self.0.len();
        for (key, bytes) in &self.0 {
            out.extend(key.0.to_le_bytes());
            out.extend((at as u64).to_le_bytes());
            out.extend((bytes.len() as u64).to_le_bytes());
            at += bytes.len();
        }
        out.extend(self.0.into_iter().flat_map(|(_, bytes)| bytes));
        out
    }
}

impl Bundle {
    /// Reads what [`Collection::into_bytes`] has made, `range` of what is held. Entries that lead out of it are none.
    pub fn new(held: Holder, range: Range<usize>) -> Bundle {
        let all = (*held).as_ref().get(range.clone()).unwrap_or_default();
        let word = |at: usize| {
            let bytes = all.get(at..at.checked_add(8)?)?;
            usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
        };
        let most = all.len() / ENTRY;
        let entry = |n: usize| {
            let at = 8 + ENTRY * n;
            let key = u128::from_le_bytes(all.get(at..at + 16)?.try_into().ok()?);
            let (start, length) = (word(at + 16)?, word(at + 24)?);
            let end = start.checked_add(length).filter(|end| *end <= all.len())?;
            Some((Key(key), range.start + start..range.start + end))
        };
        let entries = (0..word(0).unwrap_or(0).min(most)).filter_map(entry).collect();
        Bundle { held: Some(held), entries }
    }

    /// How many kernels there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn load(&self, key: Key, program: &Program) -> Option<(Blob, Needs)> {
        let (_, range) = self.entries.iter().find(|(known, _)| *known == key)?;
        let bytes = (**self.held.as_ref()?).as_ref().get(range.clone())?;
        let read = entry::read(bytes, key, program, |start, size| {
            let code = bytes.get(start as usize..).filter(|code| code.len() as u64 == size);
            Blob::new(code.ok_or(entry::CUT)?).map_err(|e| e.to_string())
        });
        match read {
            Ok(found) => Some(found),
            Err(why) => {
                environment::message::warn(&format!(
                    "compiled code of a container is not used: {why}"
                ));
                None
            }
        }
    }
}
