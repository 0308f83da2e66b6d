//! Compares a buffer with what was expected.

use crate::plan::Tolerance;
use crate::values::ElementType;

/// Where and by how much a buffer differs from what was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Elements that differ.
    pub differing: usize,
    /// Elements compared.
    pub total: usize,
    /// The first few that differ.
    pub first: Vec<Difference>,
}

/// One element that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Index of the element.
    pub index: usize,
    /// What the kernel left there.
    pub found: String,
    /// What should be there.
    pub expected: String,
}

/// How many differing elements a report shows.
pub const SHOWN: usize = 5;

/// Compares element by element; `None` when all pass. The slices have equal length, a multiple of the element size.
pub fn compare(
    ty: ElementType,
    found: &[u8],
    expected: &[u8],
    tolerance: Tolerance,
) -> Option<Mismatch> {
    let exact = tolerance == Tolerance::default();
    let passes = |found: &[u8], expected: &[u8]| {
        found == expected
            || !exact && {
                let (f, e) = (ty.to_f64(found), ty.to_f64(expected));
                // NaN is near NaN only; infinities pass by the equality above.
                (f.is_nan() && e.is_nan())
                    || (f - e).abs() <= tolerance.abs + tolerance.rel * e.abs() && e.is_finite()
            }
    };
    let mut mismatch =
        Mismatch { differing: 0, total: expected.len() / ty.size(), first: Vec::new() };
    for (index, (f, e)) in found.chunks(ty.size()).zip(expected.chunks(ty.size())).enumerate() {
        if !passes(f, e) {
            mismatch.differing += 1;
            if mismatch.first.len() < SHOWN {
                mismatch.first.push(Difference {
                    index,
                    found: ty.format(f),
                    expected: ty.format(e),
                });
            }
        }
    }
    (mismatch.differing > 0).then_some(mismatch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn exact_comparison_sees_the_sign_of_zero() {
        let none = Tolerance::default();
        assert_eq!(compare(F32, &floats(&[1.0]), &floats(&[1.0]), none), None);
        let mismatch = compare(F32, &floats(&[0.0, 2.0]), &floats(&[-0.0, 2.0]), none).unwrap();
        assert_eq!((mismatch.differing, mismatch.total, mismatch.first[0].index), (1, 2, 0));
    }

    #[test]
    fn tolerance_is_absolute_plus_relative() {
        let t = Tolerance { rel: 0.01, abs: 0.0 };
        assert_eq!(compare(F32, &floats(&[100.9]), &floats(&[100.0]), t), None);
        assert!(compare(F32, &floats(&[101.1]), &floats(&[100.0]), t).is_some());
        assert!(compare(F32, &floats(&[f32::NAN]), &floats(&[1.0]), t).is_some());
        assert!(compare(F32, &floats(&[1.0]), &floats(&[f32::INFINITY]), t).is_some());
        assert_eq!(compare(F32, &floats(&[f32::NAN]), &floats(&[-f32::NAN]), t), None);
    }
}
