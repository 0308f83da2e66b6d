//! Host pages behind reserved device addresses: ranges of addresses, and memory that is shown in them.
//!
//! Every page of a range can be read and written as long as the range lives, whether memory is shown there or not: a
//! kernel that still runs when its memory goes away reads zeros and does no harm. What kernels may access is decided by
//! the device's allocations, not here.

use std::fs::File;
use std::io;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::Duration;

/// A range of addresses of this process.
#[derive(Debug)]
pub struct Range {
    start: usize,
    bytes: usize,
}

/// Bytes of a page.
pub const SIZE: usize = 4096;
/// Bytes of a large page, at whose multiples shared memory begins.
pub const LARGE: usize = 2 << 20;

/// The whole pages that hold `bytes` bytes at `at`: first address, and bytes.
fn around(at: usize, bytes: usize) -> (usize, usize) {
    let start = at / SIZE * SIZE;
    (start, (at + bytes).next_multiple_of(SIZE) - start)
}

#[cfg(target_os = "linux")]
mod host {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

    use super::{SIZE, around};

    /// Maps fresh zeroed pages, at `at` if that is not 0, in place of what is there.
    ///
    /// # Safety
    /// At an `at` that is not 0 there are `bytes` bytes that nobody uses but through raw pointers.
    unsafe fn map(at: usize, bytes: usize, file: Option<(&File, u64)>) -> io::Result<usize> {
        let place = std::ptr::with_exposed_provenance_mut(at);
        let fixed = if at == 0 { 0 } else { libc::MAP_FIXED };
        let (kind, fd, offset) = match file {
            Some((file, offset)) => (libc::MAP_SHARED, file.as_raw_fd(), offset),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0),
        };
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without MAP_FIXED nothing is replaced; with it, the caller's promise.
        let mapped = unsafe { libc::mmap(place, bytes, rights, kind | fixed, fd, offset) };
        if mapped == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(mapped.expose_provenance())
        }
    }

    /// Ends a mapping.
    ///
    /// # Safety
    /// Nobody uses the pages any more.
    pub unsafe fn unmap(at: usize, bytes: usize) {
        if bytes > 0 {
            // SAFETY: the caller's promise.
            let _ = unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(at), bytes) };
        }
    }

    /// Fresh pages at a multiple of `align`.
    pub fn reserve(bytes: usize, align: usize) -> io::Result<usize> {
        let all = bytes.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: nothing is replaced.
        let at = unsafe { map(0, all, None) }?;
        let start = at.next_multiple_of(align);
        // SAFETY: the ends of a mapping that nobody knows yet.
        unsafe {
            unmap(at, start - at);
            unmap(start + bytes, at + all - start - bytes);
        }
        Ok(start)
    }

    /// Shows a part of a file, or zeros, in pages of a range.
    ///
    /// # Safety
    /// The pages belong to a range that lives.
    pub unsafe fn show(at: usize, bytes: usize, file: Option<(&File, u64)>) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { map(at, bytes, file) }.map(|_| ())
    }

    /// Memory that is no file of any folder, of a size that nobody can change.
    pub fn memory(bytes: u64) -> io::Result<File> {
        // SAFETY: a name and flags.
        let fd = unsafe {
            libc::memfd_create(c"ptxrun".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that was made for us.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(bytes)?;
        // SAFETY: a descriptor of ours and constants.
        let sealed =
            unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) };
        if sealed < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
    }

    /// The memory behind a descriptor that another process exported; the descriptor stays the caller's.
    pub fn import(fd: i32) -> io::Result<File> {
        // SAFETY: asks about a number; one that is no descriptor, or no sealed memory, is an error.
        let seals = unsafe { libc::fcntl(fd, libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a new descriptor.
        let own = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made for us.
        Ok(unsafe { File::from_raw_fd(own) })
    }

    /// The runs of pages of a range that may hold something, as offset and bytes: all, if the host does not say.
    fn touched(start: usize, length: usize) -> Vec<(usize, usize)> {
        const ENTRY: usize = 8;
        // Bits 63 and 62 of an entry: in memory, swapped out (Documentation/admin-guide/mm/pagemap.rst of Linux).
        const HELD: u64 = 3 << 62;
        let Ok(map) = File::open("/proc/self/pagemap") else { return vec![(0, length)] };
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut entries = [0; 1024 * ENTRY];
        let pages = length / SIZE;
        for first in (0..pages).step_by(entries.len() / ENTRY) {
            let count = (pages - first).min(entries.len() / ENTRY);
            let wanted = &mut entries[..count * ENTRY];
            if map.read_exact_at(wanted, ((start / SIZE + first) * ENTRY) as u64).is_err() {
                return vec![(0, length)];
            }
            for (i, entry) in wanted.as_chunks().0.iter().enumerate() {
                if u64::from_ne_bytes(*entry) & HELD == 0 {
                    continue;
                }
                let offset = (first + i) * SIZE;
                match runs.last_mut() {
                    Some((at, bytes)) if *at + *bytes == offset => *bytes += SIZE,
                    _ => runs.push((offset, SIZE)),
                }
            }
        }
        runs
    }

    /// Replaces the pages that hold `bytes` bytes at `at` by those of a file, which hold the same.
    ///
    /// # Safety
    /// The pages are memory of this process that is read and written through raw pointers only, and that nobody writes
    /// until this returns.
    pub unsafe fn share(at: usize, bytes: usize) -> io::Result<File> {
        let (start, length) = around(at, bytes);
        let file = memory(length as u64)?;
        // Pages that were never touched take no memory here, and shall take none there.
        for (offset, bytes) in touched(start, length) {
            let place = std::ptr::with_exposed_provenance::<u8>(start + offset);
            // SAFETY: a part of the range, which nobody writes now.
            file.write_all_at(unsafe { std::slice::from_raw_parts(place, bytes) }, offset as u64)?;
        }
        // SAFETY: the caller's promise.
        unsafe { map(start, length, Some((&file, 0))) }?;
        Ok(file)
    }

    /// Replaces the pages that hold `bytes` bytes at `at` by fresh ones; what else lies in the first and the last page
    /// stays.
    ///
    /// # Safety
    /// As for [`share`].
    pub unsafe fn unshare(at: usize, bytes: usize) -> io::Result<()> {
        let (start, length) = around(at, bytes);
        let kept = [(start, at - start), (at + bytes, start + length - at - bytes)];
        let kept = kept.map(|(from, bytes)| {
            let place = std::ptr::with_exposed_provenance::<u8>(from);
            // SAFETY: a part of the pages, which nobody writes now.
            (from, unsafe { std::slice::from_raw_parts(place, bytes) }.to_vec())
        });
        // SAFETY: the caller's promise.
        unsafe { map(start, length, None) }?;
        for (to, bytes) in kept {
            let place = std::ptr::with_exposed_provenance_mut::<u8>(to);
            // SAFETY: the same part of the new pages.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        }
        Ok(())
    }

    /// The descriptor of a file and its inode.
    pub fn identity(file: &File) -> io::Result<(i32, u64)> {
        Ok((file.as_raw_fd(), file.metadata()?.ino()))
    }

    /// Memory that another process of the same user has open under a descriptor, as long as that lives.
    pub fn of_process(process: u32, descriptor: i32, inode: u64) -> io::Result<File> {
        let path = format!("/proc/{process}/fd/{descriptor}");
        let bad = || io::Error::from(io::ErrorKind::InvalidInput);
        // Only memory is opened: to open a pipe or a device may wait, or do something.
        if !std::fs::read_link(&path)?.to_string_lossy().starts_with("/memfd:ptxrun") {
            return Err(bad());
        }
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        let file = File::options().read(true).write(true).custom_flags(flags).open(path)?;
        let found = import(file.as_raw_fd())?;
        if found.metadata()?.ino() == inode { Ok(found) } else { Err(bad()) }
    }

    /// Whether a process lives.
    pub fn is_alive(process: u32) -> bool {
        let Ok(process) = libc::pid_t::try_from(process) else { return false };
        // SAFETY: signal 0 is none; the call only asks.
        let asked = unsafe { libc::kill(process, 0) };
        asked == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
    }

    /// A descriptor for another process or part of the program, which closes it.
    pub fn export(file: &File) -> io::Result<i32> {
        // SAFETY: a descriptor of ours.
        let fd = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0) };
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
    }
}

#[cfg(not(target_os = "linux"))]
mod host {
    use std::fs::File;
    use std::io;

    pub unsafe fn unmap(_: usize, _: usize) {}
    pub fn reserve(_: usize, _: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub unsafe fn show(_: usize, _: usize, _: Option<(&File, u64)>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn memory(_: u64) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn import(_: i32) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn export(_: &File) -> io::Result<i32> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub unsafe fn share(_: usize, _: usize) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub unsafe fn unshare(_: usize, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn identity(_: &File) -> io::Result<(i32, u64)> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn of_process(_: u32, _: i32, _: u64) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn is_alive(_: u32) -> bool {
        false
    }
}

pub use host::{export, identity, import, is_alive, memory, of_process};

impl Range {
    /// Takes `bytes` addresses from a multiple of `align` on, which is a power of two and at least a page.
    ///
    /// # Errors
    /// When there are none.
    pub fn reserve(bytes: usize, align: usize) -> io::Result<Range> {
        Ok(Range { start: host::reserve(bytes, align)?, bytes })
    }

    /// The first address.
    pub fn start(&self) -> u64 {
        self.start as u64
    }

    /// How many addresses there are.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Shows a file's bytes from an offset on at an address of the range, or zeros; all in whole pages.
    ///
    /// # Errors
    /// When the place is not in the range, or the host refuses.
    pub fn show(&self, at: u64, bytes: u64, file: Option<(&File, u64)>) -> io::Result<()> {
        let inside = at
            .checked_sub(self.start())
            .is_some_and(|o| o <= self.bytes() && bytes <= self.bytes() - o);
        if !inside || bytes == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: just looked up; the range lives as long as `self`.
        unsafe { host::show(at as usize, bytes as usize, file) }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: its owner has taken the range back from every context, after the work that might use it.
        unsafe { host::unmap(self.start, self.bytes) }
    }
}

/// Held for reading by work that writes device memory, and for writing while other pages come in its place.
static CHANGE: RwLock<()> = RwLock::new(());

/// While the guard lives, pages of device memory stay as they are.
pub fn touch() -> RwLockReadGuard<'static, ()> {
    CHANGE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a moment when no kernel, copy or fill of any context runs, and lets none begin while the guard lives.
pub fn hold() -> RwLockWriteGuard<'static, ()> {
    // No waiting writer keeps others from beginning: what runs may wait for a kernel or a copy that has not begun.
    loop {
        match CHANGE.try_write() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// Pages of an allocation that are those of a file, which other processes may show.
pub struct Exported {
    file: File,
    /// Host address of the allocation, and its bytes.
    host: usize,
    bytes: usize,
}

impl Exported {
    /// Makes the pages of device memory those of a file, which hold the same. The guard is that of [`hold`].
    ///
    /// # Safety
    /// `bytes` bytes at `host` are an allocation of the device, of whole pages but for their ends.
    ///
    /// # Errors
    /// When the host refuses.
    pub unsafe fn new(
        _still: &RwLockWriteGuard<'static, ()>,
        host: usize,
        bytes: usize,
    ) -> io::Result<Exported> {
        // SAFETY: the caller's promise; those who write device memory hold the lock, or are calls of the driver.
        let file = unsafe { host::share(host, bytes) }?;
        Ok(Exported { file, host, bytes })
    }

    /// The file, where the allocation begins in it, and its bytes.
    pub fn place(&self) -> (&File, u64, u64) {
        (&self.file, (self.host % SIZE) as u64, self.bytes as u64)
    }

    /// The allocation ends: the pages are this process's own and zero again. What others show stays with them.
    pub fn end(&self) {
        let _still = hold();
        // SAFETY: the pages that `new` was promised, which nobody writes now.
        // Without new pages the old ones stay, and whoever gets the addresses next shares them: the host is out of
        // mappings then, and nothing else would go on either.
        let _ = unsafe { host::unshare(self.host, self.bytes) };
    }
}
