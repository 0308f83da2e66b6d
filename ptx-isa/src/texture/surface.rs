//! Surface accesses: elements of an array by byte, row and plane, without any filter.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use super::{Boundary, Texels, Texture};

impl Texture {
    /// Reads `out.len()` bytes of a surface at byte `x` of row `y` in plane or layer `z`.
    ///
    /// # Errors
    /// `None` outside the surface with [`Boundary::Trap`].
    pub fn surface_read(&self, at: [i32; 3], boundary: Boundary, out: &mut [u8]) -> Option<()> {
        out.fill(0);
        let Some(start) = self.surface_offset(at, boundary, out.len())? else { return Some(()) };
        if let Texels::Array(all) = &self.texels {
            for (to, from) in out.iter_mut().zip(all.get(start..)?) {
                *to = from.load(Ordering::Relaxed);
            }
        }
        Some(())
    }

    /// Writes `data` to a surface at byte `x` of row `y` in plane or layer `z`.
    ///
    /// # Errors
    /// `None` outside the surface with [`Boundary::Trap`].
    pub fn surface_write(&self, at: [i32; 3], boundary: Boundary, data: &[u8]) -> Option<()> {
        let Some(start) = self.surface_offset(at, boundary, data.len())? else { return Some(()) };
        if let Texels::Array(all) = &self.texels {
            for (to, from) in all.get(start..)?.iter().zip(data) {
                to.store(*from, Ordering::Relaxed);
            }
        }
        Some(())
    }

    /// Replaces the `bytes` (at most 8) at byte `x` of row `y` in plane or layer `z` by `update` of
    /// them. Updates are atomic with respect to one another.
    ///
    /// # Errors
    /// `None` outside the surface with [`Boundary::Trap`].
    pub fn surface_update(
        &self,
        at: [i32; 3],
        boundary: Boundary,
        bytes: usize,
        update: impl Fn(u64) -> u64,
    ) -> Option<()> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut word = [0; 8];
        self.surface_read(at, boundary, &mut word[..bytes])?;
        let new = update(u64::from_le_bytes(word)).to_le_bytes();
        self.surface_write(at, boundary, &new[..bytes])
    }

    /// Byte offset of a surface access: `None` is a fault, `Some(None)` an access without effect.
    pub(crate) fn surface_offset(
        &self,
        at: [i32; 3],
        boundary: Boundary,
        bytes: usize,
    ) -> Option<Option<usize>> {
        let texel = self.texel_bytes();
        let row = i64::from(self.size[0]) * texel as i64;
        let planes = if self.layers > 0 { self.layers } else { self.size[2] };
        let limits = [row - bytes as i64, i64::from(self.size[1]) - 1, i64::from(planes) - 1];
        let mut place = at.map(i64::from);
        for (value, &limit) in place.iter_mut().zip(&limits) {
            if (0..=limit).contains(value) {
                continue;
            }
            match boundary {
                Boundary::Trap => return None,
                Boundary::Zero => return Some(None),
                Boundary::Clamp => *value = (*value).clamp(0, limit.max(0)),
            }
        }
        let height = i64::from(self.size[1]);
        Some(Some(((place[2] * height + place[1]) * row + place[0]) as usize))
    }
}
