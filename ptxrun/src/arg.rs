//! Kernel arguments as text: `u32:5`, `f32:1.5`, `buf:4096`, `buf:@x.npy`, `f32[1024]:iota`, and the forms of launch
//! files.

use crate::values::{ElementType, Init, ValueError};

/// One argument as written.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgSpec {
    /// `u32:5`: a number.
    Scalar {
        /// Its type.
        ty: ElementType,
        /// Its bytes, little-endian.
        bytes: Vec<u8>,
    },
    /// `bytes:00ff12`: a structure passed by value.
    Bytes(Vec<u8>),
    /// `buf:4096`: a zeroed buffer of that many bytes.
    Buffer {
        /// Its length in bytes.
        len: usize,
    },
    /// `buf:@x.npy`, `buf:@in.bin`: a buffer with the contents of a file.
    BufferFile(String),
    /// `f32[1024]:iota`: a buffer with typed contents.
    Typed {
        /// Type of the elements.
        ty: ElementType,
        /// How many; `None` for `f32[]:1,2,3`.
        count: Option<usize>,
        /// Contents.
        init: Init,
    },
    /// `buf:NAME` or `buf:NAME+16` in a launch file.
    Named {
        /// Name of the buffer.
        name: String,
        /// Byte offset.
        offset: u64,
    },
    /// `tex:NAME` or `surf:NAME` in a launch file.
    Texture(String),
}

/// Why an argument cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArgError {
    /// None of the forms.
    #[error(
        "`{0}` is no argument; write TYPE:VALUE (u32:5), buf:BYTES, buf:@FILE, TYPE[COUNT]:INIT (f32[1024]:iota) or bytes:HEX"
    )]
    Form(String),
    /// A type or value that cannot be read.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Not a size.
    #[error("`{0}` is not a number of bytes; write buf:4096 or buf:@FILE")]
    Size(String),
    /// Not pairs of hexadecimal digits.
    #[error("`{0}` is not pairs of hexadecimal digits")]
    Hex(String),
    /// Not an offset.
    #[error("`{0}` is not an offset in bytes")]
    Offset(String),
    /// A buffer made on the spot inside a launch file, where buffers have names.
    #[error("a launch file names its buffers: declare it under [buffer] and write \"buf:NAME\"")]
    NotInLaunchFile,
}

/// Reads an argument of the command line.
pub fn parse(text: &str) -> Result<ArgSpec, ArgError> {
    let form = || ArgError::Form(text.into());
    // A buffer of which nothing is said holds zeros.
    let (head, rest) = match text.split_once(':') {
        Some(parts) => parts,
        None if text.ends_with(']') => (text, "zero"),
        None => return Err(form()),
    };
    match head {
        "buf" => match rest.strip_prefix('@') {
            Some("") => Err(ArgError::Size(rest.into())),
            Some(file) => Ok(ArgSpec::BufferFile(file.into())),
            None => Ok(ArgSpec::Buffer {
                len: number(rest).ok_or_else(|| ArgError::Size(rest.into()))?,
            }),
        },
        _ => parse_common(text, head, rest),
    }
}

/// Reads an argument of a launch file.
pub fn parse_named(text: &str) -> Result<ArgSpec, ArgError> {
    let (head, rest) = text.split_once(':').ok_or_else(|| ArgError::Form(text.into()))?;
    match head {
        "buf" => {
            if rest.starts_with('@') || rest.is_empty() {
                return Err(ArgError::NotInLaunchFile);
            }
            let (name, offset) = match rest.split_once('+') {
                Some((name, offset)) => {
                    (name, number(offset).ok_or_else(|| ArgError::Offset(offset.into()))? as u64)
                }
                None => (rest, 0),
            };
            Ok(ArgSpec::Named { name: name.into(), offset })
        }
        "tex" | "surf" => Ok(ArgSpec::Texture(rest.into())),
        _ => parse_common(text, head, rest),
    }
}

fn parse_common(text: &str, head: &str, rest: &str) -> Result<ArgSpec, ArgError> {
    if head == "bytes" {
        return Ok(ArgSpec::Bytes(hex(rest).ok_or_else(|| ArgError::Hex(rest.into()))?));
    }
    if let Some((ty, count)) = head.strip_suffix(']').and_then(|h| h.split_once('[')) {
        let ty = ty.parse()?;
        let count = match count {
            "" => None,
            _ => Some(number(count).ok_or_else(|| ArgError::Form(text.into()))?),
        };
        let init: Init = rest.parse()?;
        let count = match (&init, count) {
            (Init::Values(values), None) => Some(values.len()),
            (Init::File(_), None) => None,
            (_, None) => return Err(ArgError::Form(text.into())),
            (_, some) => some,
        };
        return Ok(ArgSpec::Typed { ty, count, init });
    }
    let ty: ElementType = head.parse().map_err(|_| ArgError::Form(text.into()))?;
    let mut bytes = Vec::new();
    ty.parse(rest, &mut bytes)?;
    Ok(ArgSpec::Scalar { ty, bytes })
}

/// A count of bytes or elements, decimal or hexadecimal, with `K`, `M` or `G` for powers of 1024.
pub fn number(text: &str) -> Option<usize> {
    let (digits, shift) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => usize::from_str_radix(hex, 16).ok()?,
        None if digits.starts_with('+') => return None,
        None => digits.parse().ok()?,
    };
    value.checked_mul(1 << shift)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_the_command_line() {
        let scalar = |ty, bytes: &[u8]| Ok(ArgSpec::Scalar { ty, bytes: bytes.to_vec() });
        assert_eq!(parse("u32:5"), scalar(ElementType::U32, &[5, 0, 0, 0]));
        assert_eq!(parse("f32:1.5"), scalar(ElementType::F32, &1.5f32.to_le_bytes()));
        assert_eq!(parse("b64:0x10"), scalar(ElementType::B64, &[16, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(parse("buf:4096"), Ok(ArgSpec::Buffer { len: 4096 }));
        assert_eq!(parse("buf:64K"), Ok(ArgSpec::Buffer { len: 65536 }));
        assert_eq!(parse("buf:@in.bin"), Ok(ArgSpec::BufferFile("in.bin".into())));
        assert_eq!(parse("bytes:00ff"), Ok(ArgSpec::Bytes(vec![0, 255])));
        let iota = ArgSpec::Typed { ty: ElementType::F32, count: Some(1024), init: Init::Iota };
        assert_eq!(parse("f32[1024]:iota"), Ok(iota));
        assert_eq!(parse("f32[100]"), parse("f32[100]:zero"));
        assert!(matches!(parse("f32[]"), Err(ArgError::Form(_))));
        assert!(matches!(parse("s32[]:1,2,3"), Ok(ArgSpec::Typed { count: Some(3), .. })));
        assert!(matches!(parse("s32[]:@x.npy"), Ok(ArgSpec::Typed { count: None, .. })));
    }

    #[test]
    fn bad_arguments_say_what_is_wrong() {
        assert!(matches!(parse("5"), Err(ArgError::Form(_))));
        assert!(matches!(parse("i32:5"), Err(ArgError::Form(_))));
        assert!(matches!(parse("u8:256"), Err(ArgError::Value(ValueError::OutOfRange { .. }))));
        assert!(matches!(parse("buf:lots"), Err(ArgError::Size(_))));
        assert!(matches!(parse("buf:@"), Err(ArgError::Size(_))));
        assert!(matches!(parse("buf:+4"), Err(ArgError::Size(_))));
        assert!(matches!(parse("bytes:0"), Err(ArgError::Hex(_))));
        assert!(matches!(parse("bytes:é"), Err(ArgError::Hex(_))));
        assert!(matches!(parse("f32[]:iota"), Err(ArgError::Form(_))));
        assert!(matches!(parse("f32[x]:iota"), Err(ArgError::Form(_))));
    }

    #[test]
    fn forms_of_launch_files() {
        let named = |name: &str, offset| Ok(ArgSpec::Named { name: name.into(), offset });
        assert_eq!(parse_named("buf:a"), named("a", 0));
        assert_eq!(parse_named("buf:a+0x10"), named("a", 16));
        assert_eq!(parse_named("surf:s"), Ok(ArgSpec::Texture("s".into())));
        assert_eq!(parse_named("buf:@x.npy"), Err(ArgError::NotInLaunchFile));
        assert!(matches!(parse_named("buf:a+b"), Err(ArgError::Offset(_))));
    }
}
