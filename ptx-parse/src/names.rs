//! Interner whose strings are slices of the source text.

/// A name of the source text: the same text has the same id within one module.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Name(pub u32);

impl Name {
    /// The id as an index into per-name arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// All names of one module, in order of first appearance.
///
/// Stores offsets only. Names whose text does not stand in the source in one
/// piece (an opcode written with blanks before its modifiers) live in `extra`,
/// addressed behind the end of the source.
#[derive(Clone, Debug)]
pub struct Names {
    /// Offset and length of each name.
    entries: Vec<(u32, u32)>,
    /// Open-addressing table.
    slots: Vec<Entry>,
    /// The short names seen last, by the lowest bits of their hash. In a large module the table's
    /// pages outnumber what the TLB holds; the few hundred names in use at any time fit here.
    recent: Vec<Entry>,
    extra: Vec<u8>,
}

/// Elements of [`Names::recent`].
const RECENT: usize = 1024;

/// An entry of the table. A name of up to 16 bytes is its own key, so that
/// finding it touches no other memory; the key of a longer one is a hash.
#[derive(Copy, Clone, Debug, Default)]
struct Entry {
    key: Key,
    /// Name id + 1; 0 is free.
    id: u32,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Key {
    low: u64,
    high: u64,
    len: u32,
}

/// Longest name that is its own key.
const SHORT: usize = 16;

const K0: u64 = 0x9e37_79b9_7f4a_7c15;
const K1: u64 = 0xd6e8_feb8_6659_fd93;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ K0) * u128::from(b ^ K1);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn read8(s: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&s[at..at + 8]);
    u64::from_le_bytes(bytes)
}

impl Key {
    /// The key of `src[start..end]`.
    #[inline]
    fn of(src: &[u8], start: usize, end: usize) -> Key {
        let n = end - start;
        if n > SHORT {
            return Key::long(&src[start..end]);
        }
        let (low, high) = match src.get(start..start + SHORT) {
            Some(s) => (read8(s, 0), read8(s, 8)),
            None => {
                let mut bytes = [0; SHORT];
                bytes[..n].copy_from_slice(&src[start..end]);
                (read8(&bytes, 0), read8(&bytes, 8))
            }
        };
        // Keeps the lowest `n` bytes.
        let keep = |n: usize| if n >= 8 { !0 } else { (1u64 << (8 * n)) - 1 };
        Key { low: low & keep(n), high: high & keep(n.saturating_sub(8)), len: n as u32 }
    }

    #[inline(never)]
    fn long(s: &[u8]) -> Key {
        let n = s.len();
        let (mut low, mut high) = (n as u64, !(n as u64));
        let mut at = 0;
        while at + 16 < n {
            low = fold(read8(s, at) ^ low, read8(s, at + 8));
            high = fold(read8(s, at + 8), read8(s, at) ^ high);
            at += 16;
        }
        let (a, b) = (read8(s, n - 16), read8(s, n - 8));
        Key { low: fold(a ^ low, b), high: fold(b, a ^ high), len: n as u32 }
    }

    #[inline]
    fn hash(self) -> usize {
        fold(self.low, self.high ^ u64::from(self.len)) as usize
    }
}

impl Names {
    pub(crate) fn with_capacity(names: usize) -> Names {
        Names {
            entries: Vec::with_capacity(names),
            slots: vec![Entry::default(); (names * 2).next_power_of_two().max(64)],
            recent: vec![Entry::default(); RECENT],
            extra: Vec::new(),
        }
    }

    /// Number of distinct names.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The id of `src[start..end]`.
    #[inline]
    pub(crate) fn intern(&mut self, src: &[u8], start: u32, end: u32) -> Name {
        let (from, to) = (start as usize, end as usize);
        let key = Key::of(src, from, to);
        let hash = key.hash();
        let recent = self.recent[hash % RECENT];
        if recent.key == key && recent.id != 0 {
            return Name(recent.id - 1);
        }
        let name = match self.probe(src, &src[from..to], key, hash) {
            Ok(name) => name,
            Err(slot) => self.insert(slot, key, start),
        };
        if to - from <= SHORT {
            self.recent[hash % RECENT] = Entry { key, id: name.0 + 1 };
        }
        name
    }

    /// The id of a text that need not stand in the source.
    #[cold]
    pub(crate) fn intern_text(&mut self, src: &[u8], text: &[u8]) -> Name {
        let key = Key::of(text, 0, text.len());
        match self.probe(src, text, key, key.hash()) {
            Ok(name) => name,
            Err(slot) => {
                let start = (src.len() + self.extra.len()) as u32;
                self.extra.extend_from_slice(text);
                self.insert(slot, key, start)
            }
        }
    }

    /// The id of `text` if it occurs in the module.
    pub fn find(&self, src: &str, text: &str) -> Option<Name> {
        let text = text.as_bytes();
        let key = Key::of(text, 0, text.len());
        self.probe(src.as_bytes(), text, key, key.hash()).ok()
    }

    #[inline]
    fn probe(&self, src: &[u8], text: &[u8], key: Key, hash: usize) -> Result<Name, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash & mask;
        loop {
            let entry = self.slots[slot];
            if entry.id == 0 {
                return Err(slot);
            }
            let name = Name(entry.id.wrapping_sub(1));
            if entry.key == key && (text.len() <= SHORT || self.bytes(src, name) == text) {
                return Ok(name);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline(never)]
    fn insert(&mut self, slot: usize, key: Key, start: u32) -> Name {
        let id = self.entries.len() as u32;
        self.entries.push((start, key.len));
        self.slots[slot] = Entry { key, id: id + 1 };
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        Name(id)
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![Entry::default(); self.slots.len() * 2];
        let mask = slots.len() - 1;
        for &entry in self.slots.iter().filter(|e| e.id != 0) {
            let mut slot = entry.key.hash() & mask;
            while slots[slot].id != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = entry;
        }
        self.slots = slots;
    }

    /// The bytes of `name`.
    #[inline]
    pub(crate) fn bytes<'a>(&'a self, src: &'a [u8], name: Name) -> &'a [u8] {
        // A declaration that could not be read has no name.
        let (start, len) = self.entries.get(name.index()).copied().unwrap_or_default();
        let (start, len) = (start as usize, len as usize);
        match src.get(start..start + len) {
            Some(text) => text,
            None => &self.extra[start - src.len()..start - src.len() + len],
        }
    }

    /// Gives a name another text; finding names by text is over then.
    pub(crate) fn rename(&mut self, src: &[u8], name: Name, text: &str) {
        let start = (src.len() + self.extra.len()) as u32;
        self.extra.extend_from_slice(text.as_bytes());
        self.entries[name.index()] = (start, text.len() as u32);
    }

    /// The text of `name` in `src`, the text that the names were read from.
    #[inline]
    pub fn text<'a>(&'a self, src: &'a str, name: Name) -> &'a str {
        // Names consist of ASCII characters only: the lexer admits no others.
        std::str::from_utf8(self.bytes(src.as_bytes(), name)).unwrap_or("")
    }
}
