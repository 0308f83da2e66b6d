//! Expected values: lists with repetitions and ranges, or a checksum.

use std::ops::Range;

use ptxrun::values::ElementType;

/// What a range of a buffer must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This many elements of this checksum.
    Checksum { count: usize, crc32: u32 },
    /// Not known yet: this many elements.
    Unknown { count: usize },
}

/// Longest list that is written out.
const LISTED: usize = 64;

/// Reads values; `count` is what stands in brackets behind the type.
pub(crate) fn read(ty: ElementType, count: Option<usize>, text: &str) -> Result<Expected, String> {
    let counted = || count.ok_or("write how many elements: u32[64]");
    if text.trim() == "?" {
        return Ok(Expected::Unknown { count: counted()? });
    }
    if let Some(sum) = text.trim().strip_prefix("crc32:") {
        let crc32 = u32::from_str_radix(sum, 16).map_err(|_| format!("`{sum}` is no checksum"))?;
        return Ok(Expected::Checksum { count: counted()?, crc32 });
    }
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        if let Some((range, step)) = range(word) {
            range.step_by(step).for_each(|value| ty.push_i64(value, &mut bytes));
        } else {
            let (value, times) = match word.rsplit_once('*') {
                Some((value, times)) => {
                    (value, times.parse().map_err(|_| format!("`{times}` is not a count"))?)
                }
                None => (word, 1),
            };
            let start = bytes.len();
            ty.parse(value, &mut bytes).map_err(|e| e.to_string())?;
            let one = bytes[start..].to_vec();
            bytes.truncate(start);
            bytes.extend(one.repeat(times));
        }
    }
    match count {
        Some(count) if bytes.len() != count * ty.size() => {
            Err(format!("{} values, {count} announced", bytes.len() / ty.size()))
        }
        _ if bytes.is_empty() => Err("no values".into()),
        _ => Ok(Expected::Bytes(bytes)),
    }
}

/// `0..64` or `0..64:2`
fn range(word: &str) -> Option<(Range<i64>, usize)> {
    let (from, to) = word.split_once("..")?;
    let (to, step) = to.split_once(':').unwrap_or((to, "1"));
    Some((from.parse().ok()?..to.parse().ok()?, step.parse().ok().filter(|s| *s > 0)?))
}

impl Expected {
    /// How many elements are looked at.
    pub fn count(&self, ty: ElementType) -> usize {
        match self {
            Expected::Bytes(bytes) => bytes.len() / ty.size(),
            Expected::Checksum { count, .. } | Expected::Unknown { count } => *count,
        }
    }

    /// What differs in the elements that were found, the first of which is element `from`.
    pub fn difference(&self, ty: ElementType, from: usize, found: &[u8]) -> Option<String> {
        match self {
            Expected::Bytes(bytes) if bytes == found => None,
            Expected::Bytes(bytes) => {
                let (want, got) = (bytes.chunks(ty.size()), found.chunks(ty.size()));
                let differ: Vec<usize> = want
                    .zip(got)
                    .enumerate()
                    .filter(|(_, (w, g))| w != g)
                    .map(|(i, _)| i)
                    .collect();
                let element =
                    |bytes: &[u8], i: usize| one(ty, &bytes[i * ty.size()..][..ty.size()]);
                let shown: Vec<String> = differ
                    .iter()
                    .take(4)
                    .map(|&i| {
                        format!(
                            "[{}] expected {}, got {}",
                            from + i,
                            element(bytes, i),
                            element(found, i)
                        )
                    })
                    .collect();
                Some(format!(
                    "{} of {} differ: {}",
                    differ.len(),
                    bytes.len() / ty.size(),
                    shown.join("; ")
                ))
            }
            Expected::Checksum { crc32, .. } => {
                let got = crc32fast::hash(found);
                (got != *crc32)
                    .then(|| format!("expected crc32:{crc32:08x}, got {}", list(ty, found)))
            }
            Expected::Unknown { .. } => Some(format!("not known yet; got {}", list(ty, found))),
        }
    }
}

/// An element as text that reads back to the same bits.
pub(crate) fn one(ty: ElementType, bytes: &[u8]) -> String {
    let text = ty.format(bytes);
    let mut back = Vec::new();
    match ty.parse(&text, &mut back) {
        Ok(()) if back == bytes => text,
        _ => {
            let hex: String = bytes.iter().rev().map(|b| format!("{b:02X}")).collect();
            match ty {
                ElementType::F64 => format!("0d{hex}"),
                _ => format!("0f{hex}"),
            }
        }
    }
}

/// Elements as this notation writes them: each repetition once, a checksum for long ones.
pub(crate) fn list(ty: ElementType, bytes: &[u8]) -> String {
    let all: Vec<String> = bytes.chunks(ty.size()).map(|element| one(ty, element)).collect();
    let whole: Option<Vec<i64>> = all.iter().map(|word| word.parse().ok()).collect();
    if let Some(&[first, .., last]) = whole.as_deref()
        && all.len() > 3
        && whole.iter().flatten().zip(first..).all(|(value, want)| *value == want)
    {
        return format!("{first}..{}", last + 1);
    }
    let mut words: Vec<(String, usize)> = Vec::new();
    for word in all {
        match words.last_mut() {
            Some((last, times)) if *last == word => *times += 1,
            _ => words.push((word, 1)),
        }
    }
    if words.len() > LISTED {
        return format!("crc32:{:08x}", crc32fast::hash(bytes));
    }
    let words = words.into_iter().map(|(word, times)| match times {
        1 => word,
        2 => format!("{word} {word}"),
        _ => format!("{word}*{times}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{F32, U32};

    fn words(text: &str) -> Vec<u32> {
        match read(U32, None, text).expect("values") {
            Expected::Bytes(bytes) => {
                bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values() {
        assert_eq!(words("1 0x10 7*3 0..3 0..9:4"), [1, 16, 7, 7, 7, 0, 1, 2, 0, 4, 8]);
        assert!(read(U32, Some(2), "1").is_err(), "one of two");
        assert!(read(U32, None, "").is_err(), "a check that checks nothing");
        assert!(read(U32, None, "-1").is_err());
        assert!(read(U32, None, "?").is_err(), "how many is not said");
        assert_eq!(read(U32, Some(3), "?"), Ok(Expected::Unknown { count: 3 }));
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["7", "5 5", "0..8", "1 2*3 9", "4294967295"] {
            let Ok(Expected::Bytes(bytes)) = read(U32, None, text) else { panic!("{text}") };
            assert_eq!(list(U32, &bytes), text);
        }
        for bits in [0x7fff_ffffu32, 0x3f80_0000, 0x8000_0000, 1, 0x7f80_0000] {
            let text = one(F32, &bits.to_le_bytes());
            let back = read(F32, None, &text);
            assert_eq!(back, Ok(Expected::Bytes(bits.to_le_bytes().to_vec())), "{text}");
        }
        let noise: Vec<u8> = (0..800u32).map(|i| (i * i >> 3) as u8).collect();
        let text = list(U32, &noise);
        assert!(text.starts_with("crc32:"));
        assert_eq!(
            read(U32, Some(200), &text).expect("a checksum").difference(U32, 0, &noise),
            None
        );
    }

    #[test]
    fn differences_are_named() {
        let expected = read(U32, None, "1 2 3").expect("values");
        let found: Vec<u8> = [1u32, 5, 3].iter().flat_map(|w| w.to_le_bytes()).collect();
        let said = expected.difference(U32, 10, &found);
        assert_eq!(said.as_deref(), Some("1 of 3 differ: [11] expected 2, got 5"));
    }
}
