//! CTA barriers.
//!
//! A barrier counts warps, as the hardware does: a warp whose live lanes have all arrived counts
//! 32, whatever its size. From sm_70 on lanes arrive one by one; below, any lane brings its warp.

use ptx_isa::Kind;
use ptx_isa::effect::{Bar, BarKind};

use crate::cta::Cta;

/// State of one barrier.
#[derive(Default)]
pub(crate) struct Barrier {
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
    pub(crate) fn reset(&mut self, warps: usize) {
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
}

impl Cta {
    /// Lanes `mask` of warp `w` arrive at barrier `id`. `whole`: they bring their warp.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn arrive(
        &mut self,
        w: usize,
        mask: u32,
        id: u8,
        bar: &Bar,
        count: Option<u32>,
        predicate: u32,
        whole: bool,
    ) {
        let b = &mut self.bars[id as usize];
        let lanes = if whole { self.warps[w].live } else { mask };
        b.extra += (b.arrived[w] & lanes).count_ones();
        b.arrived[w] |= lanes;
        b.any = true;
        if bar.counted {
            b.count = count;
        }
        b.yes += (predicate & mask).count_ones();
        b.no += (!predicate & mask).count_ones();
    }

    /// Whether barrier `id` is complete: then it is free again, and `wake` gets the value of each
    /// kind of reduction.
    pub(crate) fn take_complete(&mut self, id: u8) -> Option<Reduced> {
        let live = self.warps.iter().map(|w| w.live);
        let b = &mut self.bars[id as usize];
        if !b.complete(live) {
            return None;
        }
        let reduced = Reduced { popc: b.yes, and: b.no == 0, or: b.yes != 0 };
        b.reset(self.warps.len());
        Some(reduced)
    }
}

/// Results of a barrier with reduction.
#[derive(Copy, Clone)]
pub(crate) struct Reduced {
    popc: u32,
    and: bool,
    or: bool,
}

impl Reduced {
    /// The result that `kind` gives, and its kind.
    pub(crate) fn value(self, kind: BarKind) -> Option<(Kind, u32)> {
        Some(match kind {
            BarKind::RedPopc => (Kind::W, self.popc),
            BarKind::RedAnd => (Kind::P, self.and as u32),
            BarKind::RedOr => (Kind::P, self.or as u32),
            _ => return None,
        })
    }
}
