//! System calls of kernels: `vprintf`, `malloc`, `free`, `__assertfail`.

use ptx_isa::effect::{Fault, Sys};
use ptx_isa::{Kind, Space};

use crate::code::EffectInfo;
use crate::cta::Group;
use crate::ctx::Ctx;
use crate::effects::{Trouble, lanes};
use crate::observer::Observer;
use crate::printf::{self, Arguments};
use crate::report::FaultKind;
use crate::worker::{At, Worker};

/// Longest string that a kernel may print.
const LONGEST: usize = 1 << 16;

/// The zero-terminated string at a generic address.
fn string(cx: &Ctx, lane: u8, address: u64) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::new();
    while text.len() < LONGEST {
        let mut byte = [0];
        cx.read(lane, Space::Generic, address.wrapping_add(text.len() as u64), &mut byte)?;
        if byte[0] == 0 {
            break;
        }
        text.push(byte[0]);
    }
    Ok(text)
}

/// Arguments that the caller packed in memory.
struct Packed<'a> {
    cx: &'a Ctx,
    lane: u8,
    at: u64,
    pointer: u32,
    fault: Option<Fault>,
}

impl Arguments for Packed<'_> {
    fn next(&mut self, bytes: u32) -> Option<u64> {
        self.at = self.at.next_multiple_of(bytes as u64);
        let mut v = [0; 8];
        let out = &mut v[..bytes as usize];
        match self.cx.read(self.lane, Space::Generic, self.at, out) {
            Ok(()) => {
                self.at += bytes as u64;
                Some(u64::from_le_bytes(v))
            }
            Err(f) => {
                self.fault = Some(f);
                None
            }
        }
    }
    fn pointer_bytes(&self) -> u32 {
        self.pointer
    }
    fn string(&mut self, address: u64) -> Option<Vec<u8>> {
        string(self.cx, self.lane, address).map_err(|f| self.fault = Some(f)).ok()
    }
}

impl<O: Observer> Worker<'_, O> {
    /// A system call of the lanes of `mask`, in lane order.
    pub(crate) fn system(
        &mut self,
        group: &mut Group,
        at: At,
        info: &EffectInfo,
        sys: Sys,
        mask: u32,
        write: u32,
    ) -> Result<(), Trouble> {
        let mut result = [0u64; 32];
        for l in lanes(mask) {
            let lane = l as u8;
            let value = |n: usize| info.src.get(n).map_or(0, |s| self.lane_value(*s, l));
            match sys {
                Sys::Vprintf => {
                    let format = string(&self.cx, lane, value(0))?;
                    let pointer = self.k.program.info.address_bits as u32 / 8;
                    let mut args =
                        Packed { cx: &self.cx, lane, at: value(1), pointer, fault: None };
                    let out = &mut group.ctas[at.cta].output;
                    let used = printf::format(out, &format, &mut args);
                    if let Some(fault) = args.fault {
                        return Err(fault.into());
                    }
                    result[l] = used.map_or(u32::MAX, |n| n) as u64;
                }
                Sys::Malloc => {
                    let size = value(0);
                    result[l] =
                        if size == 0 { 0 } else { self.cx.memory.alloc_heap(size).unwrap_or(0) };
                }
                Sys::Free => {
                    let address = value(0);
                    if address != 0 && self.cx.memory.free_heap(address).is_err() {
                        let message =
                            format!("free of {address:#x}, which `malloc` did not return");
                        return Err(Trouble::Kind(lane, FaultKind::BadFree, message));
                    }
                    self.cx.refresh();
                }
                Sys::AssertFail => return Err(self.assertion(group, at, lane, value)?),
            }
        }
        if let Some(dst) = info.dst.first() {
            self.set_lanes(*dst, &result, write);
        }
        debug_assert!(info.dst.first().is_none_or(|(_, k)| *k != Kind::P));
        Ok(())
    }

    /// Prints a failed assertion as devices do, and the fault that it is.
    fn assertion(
        &self,
        group: &mut Group,
        at: At,
        lane: u8,
        value: impl Fn(usize) -> u64,
    ) -> Result<Trouble, Fault> {
        let text = |n| {
            let text = match value(n) {
                0 => Vec::new(),
                a => string(&self.cx, lane, a)?,
            };
            Ok::<_, Fault>(String::from_utf8_lossy(&text).into_owned())
        };
        let (message, file, function) = (text(0)?, text(1)?, text(3)?);
        let line = value(2);
        let cta = &mut group.ctas[at.cta];
        let [bx, by, bz] = cta.id;
        let [tx, ty, tz] = self.thread(at.warp, lane);
        let text = format!(
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed."
        );
        cta.output.extend_from_slice(text.as_bytes());
        cta.output.push(b'\n');
        let message = format!("assertion `{message}` failed at {file}:{line} in {function}");
        Ok(Trouble::Kind(lane, FaultKind::Assertion, message))
    }
}
