//! What to do with buffers after the last launch: `--out 2=c.npy:f32` and `--print 2:f32:8`.

use std::fmt;
use std::path::PathBuf;

use crate::values::{ElementType, ValueError};

/// A buffer, by the position of its argument (from 0) or by its name in the launch file.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// Position among the arguments.
    Index(usize),
    /// Name in the launch file.
    Name(String),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Index(index) => write!(f, "{index}"),
            Which::Name(name) => f.write_str(name),
        }
    }
}

impl From<&str> for Which {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Which::Name(text.into()), Which::Index)
    }
}

/// `INDEX=FILE` or `INDEX=FILE.npy:TYPE`.
#[derive(Clone, Debug, PartialEq)]
pub struct OutSpec {
    /// Which buffer.
    pub which: Which,
    /// Where to write it.
    pub file: PathBuf,
    /// Element type of a `.npy` file; the buffer's own where it is missing.
    pub ty: Option<ElementType>,
}

impl OutSpec {
    /// True when the file is to be a `.npy` file instead of raw bytes.
    pub fn is_npy(&self) -> bool {
        self.file.extension().is_some_and(|e| e == "npy")
    }
}

/// `INDEX:TYPE` or `INDEX:TYPE:COUNT`.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintSpec {
    /// Which buffer.
    pub which: Which,
    /// How its elements are read.
    pub ty: ElementType,
    /// How many are printed; all where it is missing.
    pub count: Option<usize>,
}

/// Why an output cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OutputError {
    /// No `=`, or nothing on one side of it.
    #[error(
        "write INDEX=FILE or INDEX=FILE.npy:TYPE, where INDEX is the position of the argument from 0"
    )]
    Out,
    /// Not two or three parts.
    #[error(
        "write INDEX:TYPE or INDEX:TYPE:COUNT, where INDEX is the position of the argument from 0"
    )]
    Print,
    /// An unknown type.
    #[error(transparent)]
    Type(#[from] ValueError),
}

/// Reads the value of `--out`.
pub fn parse_out(text: &str) -> Result<OutSpec, OutputError> {
    let (which, file) = text.split_once('=').ok_or(OutputError::Out)?;
    let (file, ty) = match file.rsplit_once(':') {
        Some((file, ty)) if file.ends_with(".npy") => (file, Some(ty.parse()?)),
        _ => (file, None),
    };
    if which.is_empty() || file.is_empty() {
        return Err(OutputError::Out);
    }
    Ok(OutSpec { which: which.into(), file: file.into(), ty })
}

/// Reads the value of `--print`.
pub fn parse_print(text: &str) -> Result<PrintSpec, OutputError> {
    let parts: Vec<&str> = text.split(':').collect();
    let (which, ty, count) = match parts[..] {
        [which, ty] => (which, ty, None),
        [which, ty, count] => (which, ty, Some(count.parse().map_err(|_| OutputError::Print)?)),
        _ => return Err(OutputError::Print),
    };
    if which.is_empty() {
        return Err(OutputError::Print);
    }
    Ok(PrintSpec { which: which.into(), ty: ty.parse()?, count })
}

/// Reads `4`, `4,2` or `4,2,1` (also with `x` between the numbers): blocks of a grid, threads of a block.
pub fn parse_extent(text: &str) -> Result<[u32; 3], String> {
    let parts: Option<Vec<u32>> = text.split([',', 'x']).map(|n| n.trim().parse().ok()).collect();
    let mut extent = [1; 3];
    match parts {
        Some(parts) if parts.len() <= 3 && !parts.contains(&0) => {
            extent[..parts.len()].copy_from_slice(&parts);
            Ok(extent)
        }
        _ => Err("write one to three positive numbers: 4 or 4,2 or 4,2,1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs() {
        let out = parse_out("2=c.npy:f32").unwrap();
        assert_eq!(
            (&out.which, out.ty, out.is_npy()),
            (&Which::Index(2), Some(ElementType::F32), true)
        );
        let out = parse_out("sums=dir:x/c.bin").unwrap();
        assert_eq!((&out.which, out.ty), (&Which::Name("sums".into()), None));
        assert_eq!(out.file, PathBuf::from("dir:x/c.bin"));
        assert_eq!(parse_out("c.npy"), Err(OutputError::Out));
        assert_eq!(parse_out("1="), Err(OutputError::Out));
        assert!(matches!(parse_out("1=c.npy:i32"), Err(OutputError::Type(_))));
    }

    #[test]
    fn prints() {
        let print = parse_print("0:u32:8").unwrap();
        assert_eq!(
            print,
            PrintSpec { which: Which::Index(0), ty: ElementType::U32, count: Some(8) }
        );
        assert_eq!(parse_print("c:f16").unwrap().count, None);
        assert_eq!(parse_print("0"), Err(OutputError::Print));
        assert_eq!(parse_print("0:u32:x"), Err(OutputError::Print));
    }

    #[test]
    fn extents() {
        assert_eq!(parse_extent("4"), Ok([4, 1, 1]));
        assert_eq!(parse_extent("4,2"), Ok([4, 2, 1]));
        assert_eq!(parse_extent("4x2x3"), Ok([4, 2, 3]));
        assert!(parse_extent("0").is_err());
        assert!(parse_extent("1,2,3,4").is_err());
        assert!(parse_extent("-1").is_err());
    }
}
