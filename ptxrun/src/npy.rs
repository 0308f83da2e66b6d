//! NumPy's `.npy` files: little-endian, C order.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use crate::values::ElementType;

/// An array as it stands in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Type of the elements.
    pub ty: ElementType,
    /// Lengths of the dimensions, outermost first.
    pub shape: Vec<usize>,
    /// The elements, little-endian, last dimension fastest.
    pub bytes: Vec<u8>,
}

/// Why a file is not an array that can be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NpyError {
    /// The file does not begin as `.npy` files do.
    #[error("not a .npy file")]
    NotNpy,
    /// The header is damaged.
    #[error("damaged .npy header: {0}")]
    Header(&'static str),
    /// A type that no buffer element has, such as complex numbers, strings or big-endian ones.
    #[error("unsupported element type {0} in .npy file")]
    Type(String),
    /// Fortran order.
    #[error("the array is in Fortran order; save it with numpy.ascontiguousarray")]
    FortranOrder,
    /// The data is shorter or longer than the shape says.
    #[error("the shape takes {wanted} bytes of data, the file holds {found}")]
    Length {
        /// Bytes by the shape.
        wanted: usize,
        /// Bytes in the file.
        found: usize,
    },
}

const MAGIC: &[u8] = b"\x93NUMPY";

fn type_of(descr: &str) -> Option<ElementType> {
    use ElementType::*;
    Some(match descr {
        "|b1" | "|u1" => U8,
        "|i1" => S8,
        "<u2" => U16,
        "<i2" => S16,
        "<f2" => F16,
        "<u4" => U32,
        "<i4" => S32,
        "<f4" => F32,
        "<u8" => U64,
        "<i8" => S64,
        "<f8" => F64,
        _ => return None,
    })
}

/// NumPy has no bfloat16 and no untyped bits: those are written as unsigned integers of their size.
fn descr_of(ty: ElementType) -> &'static str {
    use ElementType::*;
    match ty {
        U8 | B8 => "|u1",
        S8 => "|i1",
        U16 | B16 | Bf16 => "<u2",
        S16 => "<i2",
        F16 => "<f2",
        U32 | B32 => "<u4",
        S32 => "<i4",
        F32 => "<f4",
        U64 | B64 => "<u8",
        S64 => "<i8",
        F64 => "<f8",
    }
}

/// The value of `'key':` in a header, up to the text that ends it.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = format!("'{key}'");
    let rest = &header[header.find(&quoted)? + quoted.len()..];
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Reads the contents of a `.npy` file.
pub fn read(file: &[u8]) -> Result<Array, NpyError> {
    let rest = file.strip_prefix(MAGIC).ok_or(NpyError::NotNpy)?;
    let (length, start) = match rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 4),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 6),
        _ => return Err(NpyError::Header("unknown version")),
    };
    let header =
        rest.get(start..).and_then(|r| r.get(..length)).ok_or(NpyError::Header("cut short"))?;
    let header = std::str::from_utf8(header).map_err(|_| NpyError::Header("not text"))?;
    let bytes = &rest[start + length..];

    let descr = field(header, "descr").ok_or(NpyError::Header("no 'descr'"))?;
    let descr = match descr.strip_prefix('\'').and_then(|d| d.split_once('\'')) {
        Some((name, _)) => name,
        None => return Err(NpyError::Type("record".into())),
    };
    let ty = type_of(descr).ok_or_else(|| NpyError::Type(format!("'{descr}'")))?;
    let order = field(header, "fortran_order").ok_or(NpyError::Header("no 'fortran_order'"))?;
    let shape = field(header, "shape")
        .and_then(|s| s.strip_prefix('('))
        .and_then(|s| s.split_once(')'))
        .ok_or(NpyError::Header("no 'shape'"))?
        .0;
    let shape = shape
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .map(|n| n.trim_end_matches('L').parse().map_err(|_| NpyError::Header("bad 'shape'")))
        .collect::<Result<Vec<usize>, _>>()?;
    // In one dimension or fewer both orders are the same bytes.
    if order.starts_with("True") && shape.iter().filter(|&&n| n != 1).count() > 1 {
        return Err(NpyError::FortranOrder);
    }
    let wanted = shape
        .iter()
        .try_fold(ty.size(), |size, &n| size.checked_mul(n))
        .ok_or(NpyError::Header("shape too large"))?;
    if bytes.len() != wanted {
        return Err(NpyError::Length { wanted, found: bytes.len() });
    }
    Ok(Array { ty, shape, bytes: bytes.to_vec() })
}

/// The contents of a `.npy` file (version 1.0) that holds this array.
pub fn write(array: &Array) -> Vec<u8> {
    let shape: String = array.shape.iter().map(|n| format!("{n}, ")).collect();
    let shape =
        if array.shape.len() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}",
        descr_of(array.ty)
    );
    // The data starts on a multiple of 64, and the header ends in a newline.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut out = Vec::with_capacity(128 + array.bytes.len());
    out.extend(MAGIC);
    out.extend([1, 0]);
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(&array.bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_survive_the_round_trip() {
        for shape in [vec![6], vec![2, 3], vec![], vec![0, 4]] {
            let count: usize = shape.iter().product();
            let array = Array { ty: ElementType::F32, shape, bytes: vec![7; 4 * count] };
            let file = write(&array);
            assert_eq!((file.len() - array.bytes.len()) % 64, 0);
            assert_eq!(read(&file), Ok(array));
        }
    }

    #[test]
    fn reads_what_numpy_writes() {
        let file = include_bytes!("../../samples/reduce_shared/total.npy");
        let array = read(file).unwrap();
        assert_eq!((array.ty, array.shape), (ElementType::S32, vec![1]));
        assert_eq!(write(&read(file).unwrap()), file);
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = write(&Array { ty: ElementType::U8, shape: vec![3], bytes: vec![1, 2, 3] });
        assert_eq!(read(b"PK"), Err(NpyError::NotNpy));
        assert_eq!(read(&good[..20]), Err(NpyError::Header("cut short")));
        assert_eq!(read(&good[..good.len() - 1]), Err(NpyError::Length { wanted: 3, found: 2 }));
        let text = String::from_utf8_lossy(&good[10..]).into_owned();
        let with = |from: &str, to: &str| {
            let mut file = good[..10].to_vec();
            file.extend(text.replacen(from, to, 1).bytes());
            read(&file)
        };
        assert_eq!(with("|u1", ">u2"), Err(NpyError::Type("'>u2'".into())));
        assert_eq!(with("(3,)", "(x,)"), Err(NpyError::Header("bad 'shape'")));
        assert_eq!(with("'shape'", "'shapf'"), Err(NpyError::Header("no 'shape'")));
    }
}
