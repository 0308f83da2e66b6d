//! CTA barriers: how they count, for every engine.
//!
//! A barrier counts warps, as the hardware does: a warp whose live lanes have all arrived counts
//! 32, whatever its size. From sm_70 on lanes arrive one by one; below, any lane brings its warp.

use crate::effect::BarKind;
use crate::types::Kind;

/// State of one barrier.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// Lanes that arrived, by warp.
    arrived: Vec<u32>,
    /// Lanes arrived more than once before completion (`bar.arrive` ahead of the others).
    extra: u32,
    /// Threads to wait for, if counted.
    count: Option<u32>,
    any: bool,
    yes: u32,
    no: u32,
}

impl Barrier {
    /// Nobody is there.
    pub fn reset(&mut self, warps: usize) {
        self.arrived.clear();
        self.arrived.resize(warps, 0);
        self.extra = 0;
        self.count = None;
        self.any = false;
        self.yes = 0;
        self.no = 0;
    }

    fn complete(&self, live: impl Iterator<Item = u32>) -> bool {
        if !self.any {
            return false;
        }
        match self.count {
            None => self.arrived.iter().zip(live).all(|(a, l)| l & !a == 0),
            Some(count) => {
                let threads: u32 = self
                    .arrived
                    .iter()
                    .zip(live)
                    .map(|(a, l)| match (*a, l & !a) {
                        (0, _) => 0,
                        (_, 0) => 32,
                        (a, _) => a.count_ones(),
                    })
                    .sum();
                threads + self.extra >= count
            }
        }
    }

    /// Lanes `mask` of warp `w` arrive; with `whole` they bring `live`, all lanes of the warp.
    pub fn arrive(
        &mut self,
        w: usize,
        mask: u32,
        whole: Option<u32>,
        count: Option<u32>,
        predicate: u32,
    ) {
        let lanes = whole.unwrap_or(mask);
        self.extra += (self.arrived[w] & lanes).count_ones();
        self.arrived[w] |= lanes;
        self.any = true;
        if count.is_some() {
            self.count = count;
        }
        self.yes += (predicate & mask).count_ones();
        self.no += (!predicate & mask).count_ones();
    }

    /// The results of the barrier if it is complete; then it is free again. `live` are the lanes that
    /// have not exited, by warp.
    pub fn take_complete(&mut self, live: impl Iterator<Item = u32>) -> Option<Reduced> {
        if !self.complete(live) {
            return None;
        }
        let reduced = Reduced { popc: self.yes, and: self.no == 0, or: self.yes != 0 };
        self.reset(self.arrived.len());
        Some(reduced)
    }
}

/// Results of a barrier with reduction.
#[derive(Copy, Clone, Debug)]
pub struct Reduced {
    popc: u32,
    and: bool,
    or: bool,
}

impl Reduced {
    /// The result that `kind` gives, and its kind.
    pub fn value(self, kind: BarKind) -> Option<(Kind, u32)> {
        Some(match kind {
            BarKind::RedPopc => (Kind::W, self.popc),
            BarKind::RedAnd => (Kind::P, self.and as u32),
            BarKind::RedOr => (Kind::P, self.or as u32),
            _ => return None,
        })
    }
}
