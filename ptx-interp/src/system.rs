//! System calls of kernels: `vprintf`, `malloc`, `free`, `__assertfail`.

use ptx_isa::effect::{Accessor, Fault, Machine, Sys};
use ptx_isa::{Kind, Space};

use crate::code::EffectInfo;
use crate::cta::{At, Group};
use crate::observer::{Observer, WarpEvent};
use crate::printf::{self, Arguments};
use crate::report::FaultKind;
use crate::rows::lanes;
use crate::trouble::Trouble;
use crate::worker::Worker;

/// Longest string that a kernel may print.
const LONGEST: usize = 1 << 16;

/// The zero-terminated string at a generic address.
fn string(m: &mut dyn Machine, lane: u8, address: u64) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::new();
    while text.len() < LONGEST {
        let mut byte = [0];
        let at = address.wrapping_add(text.len() as u64);
        m.read(Accessor::Host, lane, Space::Generic, at, &mut byte)?;
        if byte[0] == 0 {
            break;
        }
        text.push(byte[0]);
    }
    Ok(text)
}

/// `vprintf` of one lane: appends to `out` what it prints. `format` and `at` are its arguments, generic addresses of the
/// format and of the packed values; `pointer` is the size of pointers in bytes. The number of values, or `None` when one
/// is missing.
///
/// # Errors
/// When memory that it reads is not there.
pub fn print(
    machine: &mut dyn Machine,
    lane: u8,
    out: &mut Vec<u8>,
    format: u64,
    at: u64,
    pointer: u32,
) -> Result<Option<u32>, Fault> {
    let format = string(machine, lane, format)?;
    let mut args = Packed { machine, lane, at, pointer, fault: None };
    let used = printf::format(out, &format, &mut args);
    match args.fault {
        Some(fault) => Err(fault),
        None => Ok(used),
    }
}

/// Arguments that the caller packed in memory.
struct Packed<'a> {
    machine: &'a mut dyn Machine,
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
        match self.machine.read(Accessor::System, self.lane, Space::Generic, self.at, out) {
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
        string(self.machine, self.lane, address).map_err(|f| self.fault = Some(f)).ok()
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
                    let (format, at_arguments) = (value(0), value(1));
                    let pointer = self.k.program.info.address_bits as u32 / 8;
                    let mut out = std::mem::take(&mut group.ctas[at.cta].output);
                    let before = out.len();
                    let mut view = self.view(group, at, info, mask, write);
                    let printed = print(&mut view, lane, &mut out, format, at_arguments, pointer);
                    let printed = printed.and_then(|used| {
                        let text = &out[before..];
                        view.tell_system(lane, WarpEvent::Print { lane, text })?;
                        Ok(used)
                    });
                    let kept = self.l.output.hold(group.index, at.cta == 0, &mut out, before);
                    group.ctas[at.cta].output = out;
                    let used = printed?.filter(|_| kept);
                    result[l] = used.unwrap_or(u32::MAX) as u64;
                }
                Sys::Malloc => {
                    let bytes = value(0);
                    let address =
                        if bytes == 0 { 0 } else { self.cx.memory.alloc_heap(bytes).unwrap_or(0) };
                    result[l] = address;
                    let mut view = self.view(group, at, info, mask, write);
                    view.tell_system(lane, WarpEvent::Malloc { lane, address, bytes })?;
                }
                Sys::Free => {
                    let address = value(0);
                    let mut view = self.view(group, at, info, mask, write);
                    view.tell_system(lane, WarpEvent::Free { lane, address })?;
                    if address != 0 && self.cx.memory.free_heap(address).is_err() {
                        let message = match self.cx.memory.freed(address) {
                            Some(a) if a.heap && a.start == address => {
                                format!("second free of {address:#x}, {} bytes of `malloc`", a.size)
                            }
                            _ => format!("free of {address:#x}, which `malloc` did not return"),
                        };
                        return Err(Trouble::Kind(lane, FaultKind::BadFree, message));
                    }
                    self.cx.refresh();
                }
                Sys::AssertFail => {
                    let values = [0, 1, 2, 3].map(value);
                    return Err(self.assertion(group, at, info, lane, values)?);
                }
            }
        }
        if let Some(dst) = info.dst.first() {
            self.set_lanes(*dst, &result, write);
        }
        debug_assert!(info.dst.first().is_none_or(|(_, k)| *k != Kind::P));
        Ok(())
    }

    /// Prints a failed assertion as devices do, and the fault that it is. `values` are the arguments
    /// of `__assertfail`.
    fn assertion(
        &mut self,
        group: &mut Group,
        at: At,
        info: &EffectInfo,
        lane: u8,
        values: [u64; 4],
    ) -> Result<Trouble, Fault> {
        let mut view = self.view(group, at, info, 1 << lane, 0);
        let mut text = |address| {
            let text = match address {
                0 => Vec::new(),
                a => string(&mut view, lane, a)?,
            };
            Ok::<_, Fault>(String::from_utf8_lossy(&text).into_owned())
        };
        let [message, file, line, function] = values;
        let (message, file, function) = (text(message)?, text(file)?, text(function)?);
        let cta = &mut group.ctas[at.cta];
        let [bx, by, bz] = cta.id;
        let [tx, ty, tz] = self.l.geometry.thread(at.warp as u32, lane);
        let text = format!(
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed."
        );
        cta.output.extend_from_slice(text.as_bytes());
        cta.output.push(b'\n');
        let message = format!("assertion `{message}` failed at {file}:{line} in {function}");
        Ok(Trouble::Kind(lane, FaultKind::Assertion, message))
    }
}
