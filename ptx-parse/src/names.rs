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
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Offset and length of each name.
    entries: Vec<(u32, u32)>,
    /// Open-addressing table: hash in the high half, id + 1 in the low half, 0 is free.
    slots: Vec<u64>,
    extra: Vec<u8>,
}

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

/// Equality without a call: names are short.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let n = a.len();
    if n != b.len() {
        return false;
    }
    if n < 8 {
        return a.iter().zip(b).all(|(x, y)| x == y);
    }
    let mut at = 0;
    while at + 8 < n {
        if read8(a, at) != read8(b, at) {
            return false;
        }
        at += 8;
    }
    read8(a, n - 8) == read8(b, n - 8)
}

#[inline]
fn hash(s: &[u8]) -> u32 {
    let n = s.len();
    let h = if n >= 8 {
        let mut h = n as u64;
        let mut at = 0;
        while at + 16 < n {
            h = fold(read8(s, at) ^ h, read8(s, at + 8));
            at += 16;
        }
        let last = read8(s, n - 8);
        if n - at > 8 { fold(read8(s, at) ^ h, last) } else { fold(last ^ h, h) }
    } else if n >= 4 {
        let low = u32::from_le_bytes([s[0], s[1], s[2], s[3]]);
        let high = u32::from_le_bytes([s[n - 4], s[n - 3], s[n - 2], s[n - 1]]);
        fold(u64::from(low) | u64::from(high) << 32, n as u64)
    } else if n > 0 {
        fold(u64::from(s[0]) | u64::from(s[n / 2]) << 8 | u64::from(s[n - 1]) << 16, n as u64)
    } else {
        0
    };
    (h ^ h >> 32) as u32
}

impl Names {
    pub(crate) fn with_capacity(names: usize) -> Names {
        Names {
            entries: Vec::with_capacity(names),
            slots: vec![0; (names * 2).next_power_of_two().max(64)],
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
        let text = &src[start as usize..end as usize];
        let hash = hash(text);
        match self.probe(src, text, hash) {
            Ok(name) => name,
            Err(slot) => self.insert(slot, hash, start, end - start),
        }
    }

    /// The id of a text that need not stand in the source.
    #[cold]
    pub(crate) fn intern_text(&mut self, src: &[u8], text: &[u8]) -> Name {
        let hash = hash(text);
        match self.probe(src, text, hash) {
            Ok(name) => name,
            Err(slot) => {
                let start = (src.len() + self.extra.len()) as u32;
                self.extra.extend_from_slice(text);
                self.insert(slot, hash, start, text.len() as u32)
            }
        }
    }

    /// The id of `text` if it occurs in the module.
    pub fn find(&self, src: &str, text: &str) -> Option<Name> {
        self.probe(src.as_bytes(), text.as_bytes(), hash(text.as_bytes())).ok()
    }

    #[inline]
    fn probe(&self, src: &[u8], text: &[u8], hash: u32) -> Result<Name, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                return Err(slot);
            }
            if (entry >> 32) as u32 == hash {
                let id = entry as u32 - 1;
                if same(self.bytes(src, Name(id)), text) {
                    return Ok(Name(id));
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    fn insert(&mut self, slot: usize, hash: u32, start: u32, len: u32) -> Name {
        let id = self.entries.len() as u32;
        self.entries.push((start, len));
        self.slots[slot] = u64::from(hash) << 32 | u64::from(id + 1);
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        Name(id)
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![0u64; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for &entry in self.slots.iter().filter(|&&e| e != 0) {
            let mut slot = (entry >> 32) as usize & mask;
            while slots[slot] != 0 {
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

    /// The text of `name` in `src`, the text that the names were read from.
    #[inline]
    pub fn text<'a>(&'a self, src: &'a str, name: Name) -> &'a str {
        // Names consist of ASCII characters only: the lexer admits no others.
        std::str::from_utf8(self.bytes(src.as_bytes(), name)).unwrap_or("")
    }
}
