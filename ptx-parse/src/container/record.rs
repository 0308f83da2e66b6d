//! Numbers, texts and lists as bytes: integers of variable length, lists with their length before them.

use std::ops::Range;
use std::sync::Arc;

/// Why bytes are no record.
pub(super) type Result<T> = std::result::Result<T, &'static str>;

/// Something that is written and read.
pub(super) trait Record: Sized {
    fn write(&self, to: &mut Writer);
    fn read(from: &mut Reader<'_>) -> Result<Self>;

    /// Elements of a list.
    fn write_all(all: &[Self], to: &mut Writer) {
        all.iter().for_each(|one| one.write(to));
    }
    /// So many elements of a list.
    fn read_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>> {
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(Self::read(from)?);
        }
        Ok(all)
    }
}

/// Bytes that grow.
pub(super) struct Writer {
    out: Vec<u8>,
    /// The module's text: pieces of it are places.
    pub(super) source: Arc<str>,
}

impl Writer {
    pub(super) fn new(source: &Arc<str>) -> Writer {
        Writer { out: Vec::new(), source: Arc::clone(source) }
    }
    pub(super) fn bytes(&self) -> &[u8] {
        &self.out
    }
    pub(super) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }
    pub(super) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.out.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.out.push(n as u8);
    }
    /// Small for numbers near zero on both sides.
    pub(super) fn signed(&mut self, n: i64) {
        self.number((n << 1 ^ n >> 63) as u64);
    }
    /// The number before an optional one.
    pub(super) fn option(&mut self, n: Option<u64>) {
        self.number(n.map_or(0, |n| n + 1));
    }
}

/// Bytes of a section, read in order.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the section begins in the file.
    base: usize,
    /// The module's text.
    pub(super) source: &'a Arc<str>,
}

const END: &str = "a record is cut short";

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize, base: usize, source: &'a Arc<str>) -> Reader<'a> {
        Reader { bytes, at, base, source }
    }
    /// Where in the file.
    pub(super) fn at(&self) -> usize {
        self.base + self.at
    }
    pub(super) fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(END)?;
        self.at += 1;
        Ok(byte)
    }
    #[inline]
    pub(super) fn number(&mut self) -> Result<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut n = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err("a number is too long")
    }
    pub(super) fn small(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| "a number is too large")
    }
    pub(super) fn signed(&mut self) -> Result<i64> {
        let n = self.number()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }
    pub(super) fn option(&mut self) -> Result<Option<u32>> {
        match self.number()? {
            0 => Ok(None),
            n => u32::try_from(n - 1).map(Some).map_err(|_| "a number is too large"),
        }
    }
    /// The length of a list, whose elements take a byte or more each.
    pub(super) fn count(&mut self) -> Result<usize> {
        let n = self.number()?;
        let left = self.bytes.len().saturating_sub(self.at);
        usize::try_from(n).ok().filter(|n| *n <= left).ok_or(END)
    }
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or(END)?;
        let bytes = self.bytes.get(self.at..end).ok_or(END)?;
        self.at = end;
        Ok(bytes)
    }
}

impl Record for u8 {
    fn write(&self, to: &mut Writer) {
        to.byte(*self);
    }
    fn read(from: &mut Reader<'_>) -> Result<u8> {
        from.byte()
    }
    fn write_all(all: &[u8], to: &mut Writer) {
        to.out.extend(all);
    }
    fn read_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<u8>> {
        from.take(count).map(<[u8]>::to_vec)
    }
}

macro_rules! unsigned {
    ($($ty:ident)*) => {$(
        impl Record for $ty {
            fn write(&self, to: &mut Writer) {
                to.number(u64::from(*self));
            }
            fn read(from: &mut Reader<'_>) -> Result<$ty> {
                $ty::try_from(from.number()?).map_err(|_| "a number is too large")
            }
        }
    )*};
}
unsigned!(u16 u32 u64);

impl Record for i64 {
    fn write(&self, to: &mut Writer) {
        to.signed(*self);
    }
    fn read(from: &mut Reader<'_>) -> Result<i64> {
        from.signed()
    }
}

impl Record for bool {
    fn write(&self, to: &mut Writer) {
        to.byte(u8::from(*self));
    }
    fn read(from: &mut Reader<'_>) -> Result<bool> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("neither yes nor no"),
        }
    }
}

impl<T: Record> Record for Vec<T> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        T::write_all(self, to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Vec<T>> {
        let count = from.count()?;
        T::read_all(count, from)
    }
}

impl<T: Record> Record for Option<T> {
    fn write(&self, to: &mut Writer) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Option<T>> {
        if bool::read(from)? { T::read(from).map(Some) } else { Ok(None) }
    }
}

impl<A: Record, B: Record> Record for (A, B) {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
        self.1.write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<(A, B)> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

impl Record for [u32; 3] {
    fn write(&self, to: &mut Writer) {
        u32::write_all(self, to);
    }
    fn read(from: &mut Reader<'_>) -> Result<[u32; 3]> {
        Ok([from.small()?, from.small()?, from.small()?])
    }
}

/// As start and length.
impl Record for Range<u32> {
    fn write(&self, to: &mut Writer) {
        self.start.write(to);
        self.end.wrapping_sub(self.start).write(to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Range<u32>> {
        let (start, length) = (from.small()?, from.small()?);
        let end = start.checked_add(length).ok_or("a range is too long")?;
        Ok(start..end)
    }
}

impl Record for String {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        u8::write_all(self.as_bytes(), to);
    }
    fn read(from: &mut Reader<'_>) -> Result<String> {
        String::from_utf8(Vec::read(from)?).map_err(|_| "a name is not UTF-8")
    }
}

impl Record for Arc<str> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        u8::write_all(self.as_bytes(), to);
    }
    fn read(from: &mut Reader<'_>) -> Result<Arc<str>> {
        String::read(from).map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round<T: Record + PartialEq + std::fmt::Debug>(value: T) {
        let source: Arc<str> = "".into();
        let mut to = Writer::new(&source);
        value.write(&mut to);
        let mut from = Reader::new(to.bytes(), 0, 0, &source);
        assert_eq!(T::read(&mut from), Ok(value));
        assert_eq!(from.at(), to.bytes().len());
        // Whatever is cut off, it is noticed.
        for end in 0..to.bytes().len() {
            assert!(T::read(&mut Reader::new(&to.bytes()[..end], 0, 0, &source)).is_err());
        }
    }

    #[test]
    fn round_trips() {
        for n in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            round(n);
            round(n as i64);
            round((n as i64).wrapping_neg());
        }
        round(vec![Some(5u32), None, Some(u32::MAX)]);
        round((String::from("name"), vec![0u8, 255, 128]));
        round(Arc::<str>::from("é"));
        round(vec![3u32..3, 0..u32::MAX]);
        round([1u32, 0, 70000]);
        round(vec![true, false]);
    }

    #[test]
    fn wrong_bytes() {
        let source: Arc<str> = "".into();
        let read = |bytes: &[u8]| u64::read(&mut Reader::new(bytes, 0, 0, &source));
        assert_eq!(read(&[0xff; 11]), Err("a number is too long"));
        let list = |bytes: &[u8]| Vec::<u64>::read(&mut Reader::new(bytes, 0, 0, &source));
        // A list that says to be longer than the file takes no memory.
        assert_eq!(list(&[0xff, 0xff, 0xff, 0xff, 0x7f, 0]), Err(END));
    }
}
