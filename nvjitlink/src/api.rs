//! The exported functions. Handles are numbers, never addresses: a freed or foreign one is an error.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use c_border::{In, Out, PointerError, Raw, Text, guarded};

use crate::link::{Kind, Link, Status};
use crate::options;

/// Most bytes of a file: some, such as `/dev/zero`, have no end.
const MOST_READ: u64 = 1 << 32;

/// The version that this library gives. The interface is that of CUDA 13.5, but from 12.3 on clients (cuda.core, and
/// numba-cuda through it) hand over LTO-IR, which is not linked here; below it they use the driver's linker, with PTX.
const VERSION: (u32, u32) = (12, 0);

struct Links {
    next: usize,
    live: Option<HashMap<usize, Link>>,
}

static LINKS: Mutex<Links> = Mutex::new(Links { next: 1, live: None });

fn links() -> MutexGuard<'static, Links> {
    LINKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<PointerError> for Status {
    fn from(_: PointerError) -> Status {
        Status::NullInput
    }
}

/// Runs a function of the interface.
fn answer(body: impl FnOnce() -> Result<(), Status>) -> u32 {
    let status = guarded(|| body().err().unwrap_or(Status::Success), Status::Internal);
    status as u32
}

/// Runs a function on a link.
fn with(handle: usize, body: impl FnOnce(&mut Link) -> Result<(), Status>) -> u32 {
    answer(|| {
        let mut links = links();
        let link = links.live.as_mut().and_then(|all| all.get_mut(&handle));
        body(link.ok_or(Status::InvalidInput)?)
    })
}

fn create(handle: Out<usize>, count: u32, words: In<usize>) -> u32 {
    answer(|| {
        let handle = handle.required()?;
        let words: Vec<String> = words
            .list(count as usize)?
            .into_iter()
            .map(|at| Raw::new(at).text().map(|t| String::from_utf8_lossy(&t).into_owned()))
            .collect::<Result<_, _>>()?;
        let link = Link::new(options::read(&words)?);
        let mut links = links();
        let number = links.next << 4;
        links.next += 1;
        links.live.get_or_insert_default().insert(number, link);
        handle.put(number);
        Ok(())
    })
}

fn destroy(handle: Out<usize>) -> u32 {
    answer(|| {
        let number = handle.get()?;
        let mut links = links();
        links.live.as_mut().and_then(|all| all.remove(&number)).ok_or(Status::InvalidInput)?;
        handle.put(0);
        Ok(())
    })
}

fn add_data(handle: usize, kind: u32, data: Raw, size: usize, name: Text) -> u32 {
    with(handle, |link| {
        let kind = Kind::of(kind).ok_or(Status::InvalidInput)?;
        if size == 0 {
            return Err(Status::InvalidInput);
        }
        let bytes = data.bytes(0, size)?;
        let name = if name.is_null() { "input".to_owned() } else { name.get()? };
        link.add(kind, &bytes, &name)
    })
}

fn add_file(handle: usize, kind: u32, name: Text) -> u32 {
    with(handle, |link| {
        let kind = Kind::of(kind).ok_or(Status::InvalidInput)?;
        let name = name.get()?;
        let bytes =
            environment::files::read(name.as_ref(), MOST_READ).map_err(|_| Status::InvalidInput)?;
        link.add(kind, &bytes, &name)
    })
}

fn complete(handle: usize) -> u32 {
    with(handle, Link::complete)
}

fn put_size(out: Out<usize>, size: usize) -> Result<(), Status> {
    Ok(out.set(size)?)
}

fn put_bytes(out: Raw, bytes: &[u8]) -> Result<(), Status> {
    Ok(out.write(0, bytes)?)
}

/// A log with a zero at the end; an empty one has no bytes.
fn log(text: &str) -> Vec<u8> {
    if text.is_empty() { Vec::new() } else { [text.as_bytes(), &[0]].concat() }
}

/// Exports functions. Those of a version are all the same one; `nvjitlink-loader` has their names.
macro_rules! exported {
    ($($(#[$doc:meta])* $name:ident ($($arg:ident: $ty:ty),*) $body:expr;)*) => {$(
        $(#[$doc])*
        // SAFETY: the name is of the interface that this library has. `libnvJitLink.so.13`, which has it too, asks for
        // it by this library's handle.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> u32 { $body }
    )*};
}

exported! {
    /// Begins a link with options.
    nvJitLinkCreate(handle: Out<usize>, count: u32, words: In<usize>) create(handle, count, words);
    /// Ends it.
    nvJitLinkDestroy(handle: Out<usize>) destroy(handle);
    /// Adds an image in memory.
    nvJitLinkAddData(handle: usize, kind: u32, data: Raw, size: usize, name: Text) add_data(handle, kind, data, size, name);
    /// Adds a file.
    nvJitLinkAddFile(handle: usize, kind: u32, name: Text) add_file(handle, kind, name);
    /// Links.
    nvJitLinkComplete(handle: usize) complete(handle);
    /// Bytes of the file for the driver.
    nvJitLinkGetLinkedCubinSize(handle: usize, size: Out<usize>) with(handle, |l| put_size(size, l.cubin()?.len()));
    /// The file for the driver.
    nvJitLinkGetLinkedCubin(handle: usize, out: Raw) with(handle, |l| put_bytes(out, l.cubin()?));
    /// Bytes of the linked PTX with its zero.
    nvJitLinkGetLinkedPtxSize(handle: usize, size: Out<usize>) with(handle, |l| put_size(size, l.ptx()?.len()));
    /// The linked PTX.
    nvJitLinkGetLinkedPtx(handle: usize, out: Raw) with(handle, |l| put_bytes(out, &l.ptx()?));
    /// There is no LTO-IR.
    nvJitLinkGetLinkedLTOIRSize(handle: usize, _size: Out<usize>) with(handle, |_| Err(Status::LtoNotEnabled));
    /// There is no LTO-IR.
    nvJitLinkGetLinkedLTOIR(handle: usize, _out: Raw) with(handle, |_| Err(Status::LtoNotEnabled));
    /// Bytes of the error log.
    nvJitLinkGetErrorLogSize(handle: usize, size: Out<usize>) with(handle, |l| put_size(size, log(l.errors()).len()));
    /// The error log.
    nvJitLinkGetErrorLog(handle: usize, out: Raw) with(handle, |l| put_bytes(out, &log(l.errors())));
    /// Bytes of the information log.
    nvJitLinkGetInfoLogSize(handle: usize, size: Out<usize>) with(handle, |l| put_size(size, log(l.info()).len()));
    /// The information log.
    nvJitLinkGetInfoLog(handle: usize, out: Raw) with(handle, |l| put_bytes(out, &log(l.info())));
    /// The version, as said at its constant.
    nvJitLinkVersion(major: Out<u32>, minor: Out<u32>)
        answer(|| {
            major.set(VERSION.0)?;
            Ok(minor.set(VERSION.1)?)
        });
}
