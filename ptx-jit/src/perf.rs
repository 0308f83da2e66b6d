//! A `jitdump` file for `perf`: `perf record -k mono`, `perf inject --jit`, `perf annotate` show compiled kernels with
//! the PTX line of each instruction. Written to the directory that `PTXRUN_JITDUMP` names.
//!
//! Format: `tools/perf/Documentation/jitdump-specification.txt` of Linux.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

use memmap2::Mmap;
use ptx_parse::code::Program;

struct Dump {
    file: File,
    /// `perf` finds the file by this mapping.
    _mark: Mmap,
    codes: u64,
}

#[cfg(unix)]
fn now() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// There is no `perf` whose clock this would be.
#[cfg(not(unix))]
fn now() -> u64 {
    0
}

fn open() -> Option<Mutex<Dump>> {
    let folder = environment::JITDUMP.raw()?;
    let pid = std::process::id();
    let path = std::path::Path::new(&folder).join(format!("jit-{pid}.dump"));
    let mut file =
        File::options().read(true).write(true).create(true).truncate(true).open(path).ok()?;
    let mut head = Vec::new();
    // Magic, version, size of this header, machine (x86-64), padding, process.
    for word in [0x4a69_5444, 1, 40, 62, 0, pid] {
        head.extend(word.to_le_bytes());
    }
    head.extend(now().to_le_bytes());
    head.extend(0u64.to_le_bytes());
    file.write_all(&head).ok()?;
    // SAFETY: the mapping is never read; `perf` only looks at its name.
    let mark = unsafe { memmap2::MmapOptions::new().len(4096).map_exec(&file) }.ok()?;
    Some(Mutex::new(Dump { file, _mark: mark, codes: 0 }))
}

/// Offsets in the code and lines of the module text, where a dump is wanted.
pub(crate) fn lines(program: &Program, places: &[(u32, u32)]) -> Vec<(u32, u32)> {
    if environment::JITDUMP.raw().is_none() {
        return Vec::new();
    }
    places.iter().map(|p| (p.0, crate::unsupported::line(program, p.1))).collect()
}

/// Records machine code at `address`; `lines`: offset in the code and line of the module text.
pub(crate) fn record(name: &str, module: &str, address: u64, code: &[u8], lines: &[(u32, u32)]) {
    // `perf record` sets this; without a dump it looks names up in the map.
    if std::env::var_os("PERF_BUILDID_DIR").is_some() {
        let path = format!("/tmp/perf-{}.map", std::process::id());
        if let Ok(mut map) = File::options().append(true).create(true).open(path) {
            let _ = writeln!(map, "{address:x} {:x} {name}", code.len());
        }
    }
    static DUMP: OnceLock<Option<Mutex<Dump>>> = OnceLock::new();
    let Some(dump) = DUMP.get_or_init(open) else { return };
    let mut dump = dump.lock().unwrap_or_else(PoisonError::into_inner);
    let mut out = Vec::new();
    let record = |out: &mut Vec<u8>, kind: u32, body: &[u8]| {
        out.extend(kind.to_le_bytes());
        out.extend((body.len() as u32 + 16).to_le_bytes());
        out.extend(now().to_le_bytes());
        out.extend(body);
    };
    let text = |body: &mut Vec<u8>, s: &str| {
        body.extend(s.bytes().filter(|b| *b != 0));
        body.push(0);
    };
    let mut body = Vec::new();
    body.extend(address.to_le_bytes());
    body.extend((lines.len() as u64).to_le_bytes());
    for (at, line) in lines {
        body.extend((address + *at as u64).to_le_bytes());
        body.extend(line.to_le_bytes());
        body.extend(0u32.to_le_bytes());
        text(&mut body, module);
    }
    record(&mut out, 2, &body);
    let mut body = Vec::new();
    let pid = std::process::id();
    body.extend(pid.to_le_bytes());
    body.extend(pid.to_le_bytes());
    for word in [address, address, code.len() as u64, dump.codes] {
        body.extend(word.to_le_bytes());
    }
    text(&mut body, name);
    body.extend(code);
    record(&mut out, 0, &body);
    dump.codes += 1;
    // A measuring aid that cannot write changes nothing for the program.
    let _ = dump.file.write_all(&out);
}
