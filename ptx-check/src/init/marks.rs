//! Which values of a warp nobody wrote.

use ptx_isa::Kind;
use ptx_isa::meaning::{Src, V};

use crate::hash::HashMap;
use crate::transfer::{Bytes, whole};

/// Where an undefined value comes from.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub(super) enum From {
    /// A register that was never written.
    Register(Kind, u32),
    /// A number of `Host::keep`.
    Kept(u32),
}

/// Undefined bytes of a register by lane.
#[derive(Clone)]
pub(super) struct Mark {
    pub bytes: Bytes,
    pub from: From,
}

/// Registers of an activation, those of kind `P` first, then `W`, then `D`.
pub(super) struct Frame {
    pub function: u32,
    /// Registers of each kind.
    counts: [u32; 3],
    /// By register: lanes with undefined bytes. What is not in `details` was never written there.
    pub undefined: Vec<u32>,
    details: HashMap<usize, Mark>,
}

impl Frame {
    pub(super) fn new(function: u32, counts: [u32; 3], undefined: Vec<u32>) -> Frame {
        Frame { function, counts, undefined, details: HashMap::default() }
    }

    /// Marks bytes of some lanes as defined.
    pub(super) fn define(&mut self, place: usize, lanes: u32) {
        self.undefined[place] &= !lanes;
        if self.details.is_empty() {
            return;
        }
        if self.undefined[place] == 0 {
            self.details.remove(&place);
        } else if let Some(mark) = self.details.get_mut(&place) {
            let gone = mark.bytes.iter_mut().enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0);
            gone.for_each(|(_, bytes)| *bytes = 0);
        }
    }
}

/// The place of a register in the lists of its frame.
pub(super) fn place_of(counts: [u32; 3], kind: Kind, number: u32) -> Option<usize> {
    let before: u32 = counts[..kind as usize].iter().sum();
    (number < counts[kind as usize]).then_some((before + number) as usize)
}

/// A warp.
#[derive(Default)]
pub(super) struct Warp {
    /// By number of the activation.
    pub frames: Vec<Option<Frame>>,
    pub temporaries: HashMap<(Kind, u32), Mark>,
    /// Lanes that have written a byte of local memory, by address.
    pub local: Vec<u32>,
    /// Undefined bytes that a copy has read, by lane, and where they come from.
    pub copied: HashMap<u8, (Vec<bool>, From)>,
}

impl Warp {
    pub(super) fn frame(&mut self, activation: u32) -> Option<&mut Frame> {
        self.frames.get_mut(activation as usize)?.as_mut()
    }

    pub(super) fn get(&self, activation: u32, v: V) -> Option<Mark> {
        match v.src {
            Src::Reg(n) => {
                let frame = self.frames.get(activation as usize)?.as_ref()?;
                let place = place_of(frame.counts, v.kind, n)?;
                let lanes = frame.undefined[place];
                if lanes == 0 {
                    return None;
                }
                if let Some(mark) = frame.details.get(&place) {
                    return Some(mark.clone());
                }
                let bytes = |l: usize| if lanes >> l & 1 != 0 { whole(v.kind) } else { 0 };
                let bytes = std::array::from_fn(bytes);
                Some(Mark { bytes, from: From::Register(v.kind, n) })
            }
            Src::Temp(n) => self.temporaries.get(&(v.kind, n)).cloned(),
            _ => None,
        }
    }

    /// Sets the marks of some lanes.
    pub(super) fn set(&mut self, activation: u32, v: V, mask: u32, bytes: &Bytes, from: From) {
        let old = self.get(activation, v);
        if old.is_none() && bytes.iter().all(|b| *b == 0) {
            return;
        }
        let mut new = old.unwrap_or(Mark { bytes: [0; 32], from });
        for l in (0..32).filter(|l| mask >> l & 1 != 0) {
            new.bytes[l] = bytes[l];
            if bytes[l] != 0 {
                new.from = from;
            }
        }
        let undefined = (0..32).filter(|l| new.bytes[*l] != 0).fold(0, |all, l| all | 1 << l);
        match v.src {
            Src::Reg(n) => {
                let Some(frame) = self.frame(activation) else { return };
                let Some(place) = place_of(frame.counts, v.kind, n) else { return };
                frame.undefined[place] = undefined;
                match undefined {
                    0 => drop(frame.details.remove(&place)),
                    _ => drop(frame.details.insert(place, new)),
                }
            }
            Src::Temp(n) if undefined == 0 => drop(self.temporaries.remove(&(v.kind, n))),
            Src::Temp(n) => drop(self.temporaries.insert((v.kind, n), new)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_defined_one_after_the_other() {
        let mut warp = Warp::default();
        warp.frames.push(Some(Frame::new(0, [1, 2, 0], vec![0, 0xff, 0xff])));
        let v = |n| V { kind: Kind::W, src: Src::Reg(n) };
        let bytes = |warp: &Warp, n, lane: usize| warp.get(0, v(n)).map_or(0, |m| m.bytes[lane]);
        // Never written, then one byte of a lane, then all but that lane.
        let mut some = [0; 32];
        some[3] = 2;
        warp.set(0, v(1), 0x0f, &some, From::Kept(7));
        assert_eq!([0, 3, 7, 8].map(|lane| bytes(&warp, 1, lane)), [0, 2, 0xf, 0]);
        assert!(warp.get(0, v(1)).is_some_and(|m| m.from == From::Kept(7)));
        warp.frame(0).expect("there").define(2, !8);
        assert_eq!([0, 3, 7].map(|lane| bytes(&warp, 1, lane)), [0, 2, 0]);
        assert_eq!(bytes(&warp, 0, 3), 0xf);
        warp.frame(0).expect("there").define(2, 8);
        assert!(warp.get(0, v(1)).is_none());
        assert_eq!(place_of([1, 2, 0], Kind::D, 0), None);
    }
}
