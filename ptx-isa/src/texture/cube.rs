//! Cube maps: the face that a direction meets, and what lies behind the edges of a face.

use super::FRACTION;

/// The face of a cube map that a direction meets, and the coordinates there, from 0 to 1 (CUDA C++ Programming Guide,
/// "Cubemap Textures"). Faces are +x, -x, +y, -y, +z, -z.
#[must_use]
pub fn cube_face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (face, m, s, t) = if x.abs() > y.abs() && x.abs() > z.abs() {
        if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
    } else if y.abs() > z.abs() {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0])
}

/// Gives the weight of a corner of a footprint that has no texel to the three others: a third to each neighbour,
/// rounded, and the rest to the one across.
pub(super) fn share(weights: &mut [i64; 8], corner: usize) {
    let whole = std::mem::take(&mut weights[corner]);
    let third = (whole * 85 + 128) >> FRACTION;
    weights[corner ^ 1] += third;
    weights[corner ^ 2] += third;
    weights[corner ^ 3] += whole - 2 * third;
}

/// The texel of the next face that a texel of `face` would be which lies outside of it, in one dimension by one place.
pub(super) fn next_face(face: u32, at: [i64; 2], n: i64) -> (u32, [i64; 2]) {
    // Where the edge is met: from -1 to 1, in steps of half a texel, so that all is exact.
    let [s, t] = at.map(|i| (2 * i + 1 - n).clamp(-n, n));
    let direction = match face {
        0 => [n, -t, -s],
        1 => [-n, -t, s],
        2 => [s, n, t],
        3 => [s, -n, -t],
        4 => [s, -t, n],
        _ => [-s, -t, -n],
    };
    // The axis that is as long as that of the face.
    let own = (face / 2) as usize;
    let axis = (0..3).find(|&d| d != own && direction[d].abs() == n).unwrap_or(own);
    let [x, y, z] = direction;
    let (next, s, t) = match (axis, direction[axis] > 0) {
        (0, true) => (0, -z, -y),
        (0, false) => (1, z, -y),
        (1, true) => (2, x, z),
        (1, false) => (3, x, -z),
        (_, true) => (4, x, -y),
        (_, false) => (5, -x, -y),
    };
    (next, [s, t].map(|v| ((v + n) / 2).clamp(0, n - 1)))
}
