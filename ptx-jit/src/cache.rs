//! Compiled code on disk, one file per kernel and block shape.
//!
//! The name of a file is a hash of everything that the code depends on. A file is written under another name and then
//! renamed, so that readers and several writers never see half of one. What was cut short or altered, or belongs to
//! another user, is ignored with a warning and replaced.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ptx_parse::code::Program;

use crate::blob::Blob;
use crate::entry::{self, Key, Needs};
use crate::owner::{self, may_run};

/// Code starts at a page, whatever the page size.
const PAGE: u64 = 1 << 16;
const SUFFIX: &str = "jit";
/// An entry that is being written; its writer may have been killed.
const DRAFT: &str = "draft";
/// Nobody writes an entry for so long.
const LEFT: Duration = Duration::from_secs(3600);

/// A folder of compiled code.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    /// Bytes stored since the folder was looked through for entries beyond the limit, which takes long when there are
    /// thousands.
    stored: Arc<AtomicU64>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Kernels.
    pub entries: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

impl Cache {
    /// The cache in `folder`, which is made when the first entry is stored; at most `limit` bytes.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Cache {
        // The first entry is a reason to look.
        Cache { folder: folder.into(), limit, stored: Arc::new(AtomicU64::new(limit)) }
    }

    /// The cache of this user: in `PTXRUN_CACHE_DIR` (none if that is empty), else `ptxrun` in the folder for caches.
    /// At most `PTXRUN_CACHE_BYTES`, 256 MiB if that is not a number.
    pub fn from_environment() -> Option<Cache> {
        let folder = match environment::cache_dir() {
            Some(own) => own?,
            None => match std::env::var_os("XDG_CACHE_HOME").filter(|d| !d.is_empty()) {
                Some(caches) => PathBuf::from(caches).join("ptxrun"),
                None => PathBuf::from(std::env::var_os("HOME").filter(|d| !d.is_empty())?)
                    .join(".cache/ptxrun"),
            },
        };
        // What is no amount is refused where a program starts.
        let limit = environment::cache_bytes().ok().flatten();
        Some(Cache::new(folder, limit.unwrap_or(256 << 20)))
    }

    /// Where entries are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is in it.
    ///
    /// # Errors
    /// If the folder cannot be read; one that does not exist is empty.
    pub fn usage(&self) -> io::Result<Usage> {
        let files = self.files()?;
        Ok(Usage { entries: files.len() as u64, bytes: files.iter().map(|f| f.1).sum() })
    }

    /// Removes all entries; how many there were.
    ///
    /// # Errors
    /// If the folder cannot be read or an entry cannot be removed.
    pub fn clear(&self) -> io::Result<Usage> {
        let all = self.usage()?;
        self.remove_left(Duration::ZERO)?;
        for (path, ..) in self.files()? {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(all)
    }

    /// Path, bytes on disk and time of last use of each entry.
    fn files(&self) -> io::Result<Vec<(PathBuf, u64, i64)>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            // Another process may have removed it.
            if path.extension().is_some_and(|e| e == SUFFIX)
                && let Ok(about) = fs::symlink_metadata(&path)
                && about.is_file()
            {
                let (bytes, used) = owner::room(&about);
                all.push((path, bytes, used));
            }
        }
        Ok(all)
    }

    /// Whether the folder is one that nobody else puts code into; says once why not.
    fn is_allowed(&self) -> bool {
        // A folder that is not there yet is made for this user alone.
        let Ok(about) = fs::metadata(&self.folder) else { return true };
        let (user, mode) = owner::of(&about);
        match may_run(user, mode & 0o002 != 0) {
            Ok(()) => true,
            Err(why) => {
                warn(&self.folder, why);
                false
            }
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{:032x}.{SUFFIX}", key.0))
    }

    /// The code of an entry, with what running it needs.
    pub(crate) fn load(&self, key: Key, program: &Program) -> Option<(Blob, Needs)> {
        if !self.is_allowed() {
            return None;
        }
        let path = self.path(key);
        let file = owner::careful(File::options().read(true)).open(&path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                warn(&path, &error.to_string());
                return None;
            }
        };
        match open(&file, key, program) {
            Ok(found) => Some(found),
            Err(why) => {
                warn(&path, &why);
                None
            }
        }
    }

    /// Keeps code; what keeps it from being kept is a warning.
    pub(crate) fn store(&self, key: Key, needs: &[u64], code: &[u8]) {
        if !self.is_allowed() {
            return;
        }
        let path = self.path(key);
        if let Err(error) = self.write(&path, &entry::head(key, needs, code), code) {
            warn_of(&path, &format!("compiled code is not kept in {}: {error}", path.display()));
        }
    }

    fn write(&self, path: &Path, head: &[u8], code: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        owner::private_folder(fs::DirBuilder::new().recursive(true)).create(&self.folder)?;
        let start = (head.len() as u64).next_multiple_of(PAGE);
        if start + code.len() as u64 > environment::host::file_size() {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "files may not be so long here",
            ));
        }
        let turn = COUNT.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!("{}-{turn}.{DRAFT}", std::process::id()));
        let written = (|| {
            let mut fresh = File::options();
            let mut file = owner::private(fresh.write(true).create_new(true)).open(&draft)?;
            file.write_all(head)?;
            // The gap takes no room on the disk.
            file.set_len(start)?;
            io::Seek::seek(&mut file, io::SeekFrom::Start(start))?;
            file.write_all(code)?;
            drop(file);
            // A file, and what else has a name, gives way; a folder only when it is empty.
            fs::rename(&draft, path).or_else(|error| {
                fs::remove_dir(path).map_err(|_| error).and_then(|()| fs::rename(&draft, path))
            })
        })();
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
        let bytes = start + code.len() as u64;
        if self.stored.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.limit / 64
        {
            return Ok(());
        }
        self.stored.store(0, Ordering::Relaxed);
        self.trim()
    }

    /// Removes what writers that were killed have left, if it is older than that, or of a time that is yet to come.
    fn remove_left(&self, age: Duration) -> io::Result<()> {
        let now = SystemTime::now();
        for entry in fs::read_dir(&self.folder).into_iter().flatten() {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == DRAFT)
                && let Ok(written) = fs::symlink_metadata(&path).and_then(|about| about.modified())
                && now.duration_since(written).unwrap_or_else(|ahead| ahead.duration()) >= age
            {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Removes the oldest entries beyond the limit, and what is left of killed writers.
    fn trim(&self) -> io::Result<()> {
        self.remove_left(LEFT)?;
        let mut files = self.files()?;
        let mut bytes: u64 = files.iter().map(|f| f.1).sum();
        files.sort_by_key(|f| f.2);
        for (path, size, _) in files {
            if bytes <= self.limit {
                break;
            }
            bytes -= size;
            // Another process may have been faster.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }
}

fn open(file: &File, key: Key, program: &Program) -> Result<(Blob, Needs), String> {
    let failed = |e: io::Error| e.to_string();
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err("it is no file".into());
    }
    let (user, mode) = owner::of(&about);
    may_run(user, mode & 0o022 != 0)?;
    entry::read(file, key, program, |head, size| {
        let start = head.next_multiple_of(PAGE);
        if start.checked_add(size) != Some(about.len()) {
            return Err(entry::CUT.into());
        }
        if !is_empty(file, head, start).map_err(failed)? {
            return Err(entry::ALTERED.into());
        }
        Blob::map(file, start, size as usize).map_err(failed)
    })
}

/// Whether nothing stands in a part of a file.
fn is_empty(mut file: &File, from: u64, to: u64) -> io::Result<bool> {
    let mut bytes = Vec::with_capacity((to - from) as usize);
    io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
    io::Read::read_to_end(&mut io::Read::take(file, to - from), &mut bytes)?;
    Ok(bytes.iter().all(|byte| *byte == 0))
}

fn warn(path: &Path, why: &str) {
    warn_of(path, &format!("compiled code in {} is not used: {why}", path.display()));
}

/// Says it once for each path.
fn warn_of(path: &Path, text: &str) {
    static SAID: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let new = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    if !new {
        return;
    }
    environment::message::warn(text);
}
