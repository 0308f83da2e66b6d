//! Instruction descriptors (PTX ISA 9.7.18.4.2) and zero-column masks (9.7.18.4.3).

use crate::matrix::{Elem, TensorFactor};
use crate::num::narrow::Narrow;

/// `.kind`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names are PTX's
pub(crate) enum Kind {
    F16,
    Tf32,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4,
}

const KINDS: [(&str, Kind); 7] = [
    (".kind::f16", Kind::F16),
    (".kind::tf32", Kind::Tf32),
    (".kind::f8f6f4", Kind::F8f6f4),
    (".kind::i8", Kind::I8),
    (".kind::mxf8f6f4", Kind::Mxf8f6f4),
    (".kind::mxf4", Kind::Mxf4),
    (".kind::mxf4nvf4", Kind::Mxf4nvf4),
];

impl Kind {
    /// The kind that a modifier names.
    pub(crate) fn parse(token: &str) -> Option<Self> {
        KINDS.iter().find(|k| k.0 == token).map(|k| k.1)
    }

    /// Its place in the declaration, for constants of micro-ops.
    pub(crate) fn code(self) -> u32 {
        KINDS.iter().position(|k| k.1 == self).unwrap_or(0) as u32
    }

    /// Inverse of [`Kind::code`].
    pub(crate) fn from_code(code: u32) -> Self {
        KINDS[code as usize % KINDS.len()].1
    }

    fn name(self) -> &'static str {
        KINDS[self.code() as usize].0
    }

    /// Whether blocks of the factors are scaled.
    pub(crate) const fn scales(self) -> bool {
        matches!(self, Self::Mxf8f6f4 | Self::Mxf4 | Self::Mxf4nvf4)
    }

    /// Whether 4-bit elements are packed without padding.
    pub(crate) const fn packs(self) -> bool {
        matches!(self, Self::Mxf4 | Self::Mxf4nvf4)
    }
}

/// What the opcode says besides the kind.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// `.cta_group::2`.
    pub pair: bool,
    /// `.ws`.
    pub ws: bool,
    /// `.sp`.
    pub sparse: bool,
}

/// A decoded descriptor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Instruction {
    pub m: u32,
    pub n: u32,
    /// Columns of A.
    pub k: u32,
    /// Type of D.
    pub d: Elem,
    pub a: TensorFactor,
    pub b: TensorFactor,
    pub saturates: bool,
    pub negates: bool,
    /// A is contiguous along m, B along n.
    pub transposed: [bool; 2],
    /// Scale factors are `ue4m3` and not `ue8m0`.
    pub ue4m3: bool,
    /// Which column of the metadata counts, from its address on.
    pub selector: u32,
    /// First byte of the scale factors of A and B in their cell.
    pub factor: [u32; 2],
}

impl Instruction {
    /// Decodes the 32 bits, for the target with this number.
    ///
    /// # Errors
    /// When a field has a value that the manual does not list for the kind, or that only later targets have.
    pub(crate) fn decode(kind: Kind, form: Form, sm: u32, v: u32) -> Result<Self, String> {
        let bits = |at: u32, n: u32| v >> at & ((1 << n) - 1);
        let bad = |what: String| {
            Err(format!("instruction descriptor {v:#010x} of {}: {what}", kind.name()))
        };
        if (bits(2, 1) != 0) != form.sparse {
            return bad("bit 2 and `.sp` disagree about the sparsity of A".into());
        }
        let scales = kind.scales();
        let width = if kind.packs() { [3, 2] } else { [3, 3] };
        let [a, b] = [bits(7, width[0]), bits(10, width[1])].map(|code| factor(kind, code));
        let (Some(a), Some(b)) = (a, b) else {
            return bad("the type of A or B is none of the kind's".into());
        };
        let d = match (kind, if scales { 1 } else { bits(4, 2) }) {
            (Kind::F16 | Kind::F8f6f4, 0) => Elem::F16,
            (Kind::I8, 2) => Elem::S32,
            (Kind::I8, _) => return bad("the type of D is none of the kind's".into()),
            (_, 1) => Elem::F32,
            _ => return bad("the type of D is none of the kind's".into()),
        };
        if d == Elem::F16 && [a, b].contains(&TensorFactor::Small(Elem::Bf16)) {
            return bad("D is f16, so A and B are f16".into());
        }
        let m = if scales { bits(27, 2) << 7 } else { bits(24, 5) << 4 };
        let n = bits(17, 6) << 3;
        let dense = match kind {
            Kind::F16 => 16,
            Kind::Tf32 => 8,
            Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 => 32,
            Kind::Mxf4 | Kind::Mxf4nvf4 => 64,
        };
        let (larger_k, other_k) = match kind {
            Kind::Mxf8f6f4 => (0, bits(31, 1)),
            Kind::Mxf4 | Kind::Mxf4nvf4 => (bits(31, 1), bits(3, 1)),
            Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8 => (0, bits(29, 1)),
        };
        if other_k != 0 {
            return bad("the K of sm_107 is not executed".into());
        }
        // Products of 96 columns, which are dense.
        let dense = match larger_k {
            0 => dense,
            _ if sm != 103 => return bad("K = 96 is that of sm_103a and sm_103f".into()),
            _ if form.sparse => return bad("a sparse product has no K = 96".into()),
            _ => 96,
        };
        let selector = if form.sparse && !scales { bits(0, 2) } else { 0 };
        let most = u32::from(matches!(kind, Kind::F16 | Kind::Tf32));
        if selector > most {
            return bad(format!(
                "sparsity selectors are executed up to {most}, this is {selector}"
            ));
        }
        if scales && bits(26, 1) != 0 || kind.packs() && bits(12, 1) != 0 {
            return bad(
                "scale factors of 128 lanes and sparsity version 1 are those of sm_107".into()
            );
        }
        let ue4m3 = match (kind, bits(23, if kind.packs() { 2 } else { 1 })) {
            (Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4, 1) => false,
            (Kind::Mxf4nvf4, 0) => true,
            (Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4, _) => {
                return bad("the type of the scale factors is none of the kind's".into());
            }
            (Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8, _) => false,
        };
        let transposed = [bits(15, 1) != 0, bits(16, 1) != 0];
        if kind.packs() && transposed != [false; 2] {
            return bad("4-bit elements cannot be transposed".into());
        }
        let negated = [bits(13, 1) != 0, bits(14, 1) != 0];
        if kind == Kind::I8 && negated != [false; 2] {
            return bad("integers cannot be negated".into());
        }
        let one = Self {
            m,
            n,
            k: if form.sparse { 2 * dense } else { dense },
            d,
            a,
            b,
            saturates: kind == Kind::I8 && bits(3, 1) != 0,
            negates: negated[0] != negated[1],
            transposed,
            ue4m3,
            selector,
            factor: if scales { [bits(29, 2), bits(4, 2)] } else { [0; 2] },
        };
        if one.has_shape(kind, form) {
            Ok(one)
        } else {
            bad(format!("there is no such product with M = {m} and N = {n}"))
        }
    }

    /// Table 48 of the manual.
    fn has_shape(&self, kind: Kind, form: Form) -> bool {
        let ms: &[u32] = match form {
            Form { ws: true, .. } => &[32, 64, 128],
            Form { pair: false, .. } if kind.scales() => &[128],
            Form { pair: false, .. } => &[64, 128],
            Form { pair: true, sparse: true, .. } if kind.scales() => &[256],
            Form { pair: true, .. } => &[128, 256],
        };
        let n = self.n;
        let fits = match (form.ws, form.pair, kind) {
            (true, ..) => matches!(n, 64 | 128) || n == 256 && !form.sparse,
            (_, true, Kind::I8) => n.is_multiple_of(32),
            (_, true, _) => n.is_multiple_of(16),
            (_, false, Kind::I8) => n.is_multiple_of(if n > 32 { 16 } else { 8 }),
            (_, false, _) => n.is_multiple_of(8),
        };
        let narrow = !matches!(kind, Kind::F16 | Kind::Tf32);
        let step = if form.pair { 32 } else { 16 };
        ms.contains(&self.m)
            && fits
            && (8..=256).contains(&n)
            && !(narrow && self.transposed[1] && !n.is_multiple_of(step))
    }
}

/// The type of a factor.
fn factor(kind: Kind, code: u32) -> Option<TensorFactor> {
    use TensorFactor::{Narrow as N, Small};
    Some(match (kind, code) {
        (Kind::F16, 0) => Small(Elem::F16),
        (Kind::F16, 1) => Small(Elem::Bf16),
        (Kind::Tf32, 2) => Small(Elem::Tf32),
        (Kind::I8, 0) => Small(Elem::U8),
        (Kind::I8, 1) => Small(Elem::S8),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 0) => N(Narrow::E4m3),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 1) => N(Narrow::E5m2),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 3) => N(Narrow::E2m3),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 4) => N(Narrow::E3m2),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 5) => N(Narrow::E2m1),
        (Kind::Mxf4 | Kind::Mxf4nvf4, 1) => TensorFactor::Packed,
        _ => return None,
    })
}

/// The columns of B that count as zero: `mask[n]`. Spans of columns that are used and of columns that are not take turns
/// in every part of B; examples of the manual say which field counts which.
///
/// # Errors
/// When the columns are shifted, which the manual does not explain enough.
pub(crate) fn zero_columns(m: u32, n: u32, v: u64) -> Result<Vec<bool>, String> {
    let field = |at: u32, bits: u32| v >> at & ((1 << bits) - 1);
    if field(56, 6) != 0 {
        return Err(format!("zero-column mask {v:#x}: a column shift is not executed"));
    }
    if field(39, 1) == 0 {
        return Ok(vec![false; n as usize]);
    }
    let parts = (128 / m).max(1);
    let (zeros, used) = (field(40, 8) + 1, field(48, 8) + 1);
    let mut mask = Vec::with_capacity(n as usize);
    for part in 0..parts {
        let (start, first) = (field(8 * part, 8), field(32 + part, 1) != 0);
        let ahead = if first { zeros } else { used };
        for column in 0..u64::from(n / parts) {
            let at = (column + start) % (zeros + used);
            mask.push((at < ahead) == first);
        }
    }
    Ok(mask)
}
