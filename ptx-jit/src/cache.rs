//! Compiled code on disk, one file per kernel and block shape.
//!
//! The name of a file is a hash of everything that the code depends on. A file is written under another name and then
//! renamed, so that readers and several writers never see half of one. What was cut short or altered, or belongs to
//! another user, is ignored with a warning and replaced.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::blob::Blob;
use crate::emit::{Layout, SiteInfo};

const MAGIC: u64 = u64::from_le_bytes(*b"PTXJIT01");
/// Code starts at a page, whatever the page size.
const PAGE: u64 = 1 << 16;
const SUFFIX: &str = "jit";

/// A folder of compiled code.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Kernels.
    pub entries: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// A hash for names: FNV-1a of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub(crate) u128);

impl Key {
    pub(crate) fn new() -> Key {
        Key(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
    /// Adds a part; its length tells it from the next one.
    pub(crate) fn add(&mut self, part: &[u8]) {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul((1 << 88) + 0x13b);
        }
    }
}

impl Cache {
    /// The cache in `folder`, which is made when the first entry is stored; at most `limit` bytes.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Cache {
        Cache { folder: folder.into(), limit }
    }

    /// The cache of this user: in `PTXRUN_CACHE_DIR` (none if that is empty), else `ptxrun` in the folder for caches. At
    /// most `PTXRUN_CACHE_BYTES`, 256 MiB if that is not a number.
    pub fn from_environment() -> Option<Cache> {
        let folder = match std::env::var_os("PTXRUN_CACHE_DIR") {
            Some(own) if own.is_empty() => return None,
            Some(own) => PathBuf::from(own),
            None => match std::env::var_os("XDG_CACHE_HOME").filter(|d| !d.is_empty()) {
                Some(caches) => PathBuf::from(caches).join("ptxrun"),
                None => PathBuf::from(std::env::var_os("HOME").filter(|d| !d.is_empty())?)
                    .join(".cache/ptxrun"),
            },
        };
        let limit = std::env::var("PTXRUN_CACHE_BYTES").ok().and_then(|n| n.parse().ok());
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
                all.push((path, about.blocks() * 512, about.mtime()));
            }
        }
        Ok(all)
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{:032x}.{SUFFIX}", key.0))
    }

    /// The code of an entry, with its layout.
    pub(crate) fn load(&self, key: Key) -> Option<(Blob, Layout)> {
        let path = self.path(key);
        let file = File::options().read(true).custom_flags(libc_nofollow()).open(&path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                warn(&path, &error.to_string());
                return None;
            }
        };
        match open(&file, key) {
            Ok(found) => Some(found),
            Err(why) => {
                warn(&path, &why);
                None
            }
        }
    }

    /// Keeps code; what keeps it from being kept is a warning.
    pub(crate) fn store(&self, key: Key, code: &[u8], layout: &Layout) {
        let path = self.path(key);
        if let Err(error) = self.write(&path, key, code, layout) {
            warn(&path, &error.to_string());
        }
    }

    fn write(&self, path: &Path, key: Key, code: &[u8], layout: &Layout) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let bytes = head(key, code, layout);
        let start = (bytes.len() as u64).next_multiple_of(PAGE);
        let turn = COUNT.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!("{}-{turn}.draft", std::process::id()));
        let written = (|| {
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(&bytes)?;
            // The gap takes no room on the disk.
            file.set_len(start)?;
            io::Seek::seek(&mut file, io::SeekFrom::Start(start))?;
            file.write_all(code)?;
            drop(file);
            fs::rename(&draft, path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
        self.trim()
    }

    /// Removes the oldest entries beyond the limit.
    fn trim(&self) -> io::Result<()> {
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

const CUT: &str = "it is cut short";

fn open(file: &File, key: Key) -> Result<(Blob, Layout), String> {
    let failed = |e: io::Error| e.to_string();
    let about = file.metadata().map_err(failed)?;
    may_run(about.uid(), about.mode() & 0o022 != 0)?;
    let mut from = file;
    read(&mut from, key, |head, size| {
        let start = head.next_multiple_of(PAGE);
        if start.checked_add(size) != Some(about.len()) {
            return Err(CUT.into());
        }
        Blob::map(file, start, size as usize).map_err(failed)
    })
}

fn warn(path: &Path, why: &str) {
    eprintln!("warning: compiled code in {} is not used: {why}", path.display());
}

/// Does not follow a link that somebody put there.
fn libc_nofollow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits() as i32
}

/// A checksum of header and code: FNV-1a by words.
fn check(head: &[u8], code: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in [head, code] {
        for chunk in part.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x100_0000_01b3);
            hash ^= hash >> 29;
        }
    }
    hash
}

/// Whether code that belongs to a user may run: it is this one's, or the administrator's, and nobody else's to change.
///
/// # Errors
/// Why not.
pub fn may_run(user: u32, shared: bool) -> Result<(), &'static str> {
    if user != rustix::process::geteuid().as_raw() && user != 0 {
        return Err("it belongs to another user");
    }
    if shared { Err("others may write to it") } else { Ok(()) }
}

/// What stands before the code of an entry.
pub(crate) fn head(key: Key, code: &[u8], layout: &Layout) -> Vec<u8> {
    let mut head = vec![MAGIC, key.0 as u64, (key.0 >> 64) as u64, code.len() as u64];
    head.extend([layout.spill_bytes as u64, layout.barriers as u64, layout.sites.len() as u64]);
    for s in &layout.sites {
        let flags = u64::from(s.shared) | u64::from(s.narrow) << 1;
        head.extend([u64::from(s.effect), s.span, s.unit, flags]);
    }
    let mut bytes: Vec<u8> = head.iter().flat_map(|w| w.to_le_bytes()).collect();
    bytes.extend(check(&bytes, code).to_le_bytes());
    bytes
}

/// The entry of `key` that `from` begins with; `code` gives as many bytes of code as it is asked for, which begin at the
/// offset that it is given.
pub(crate) fn read(
    from: &mut impl Read,
    key: Key,
    code: impl FnOnce(u64, u64) -> Result<Blob, String>,
) -> Result<(Blob, Layout), String> {
    let cut = || CUT.to_string();
    let mut head = [0u8; 56];
    from.read_exact(&mut head).map_err(|_| cut())?;
    let word = |bytes: &[u8], n: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[8 * n..8 * n + 8]);
        u64::from_le_bytes(word)
    };
    if word(&head, 0) != MAGIC
        || (word(&head, 1), word(&head, 2)) != (key.0 as u64, (key.0 >> 64) as u64)
    {
        return Err("it is something else".into());
    }
    let (size, sites) = (word(&head, 3), word(&head, 6));
    if sites > 1 << 20 || size == 0 {
        return Err(cut());
    }
    let mut rest = vec![0u8; sites as usize * 32 + 8];
    from.read_exact(&mut rest).map_err(|_| cut())?;
    let blob = code(56 + rest.len() as u64, size)?;
    let (table, sum) = rest.split_at(sites as usize * 32);
    let whole = [&head[..], table].concat();
    if check(&whole, blob.bytes()) != word(sum, 0) {
        return Err("it was altered".into());
    }
    let site = |n: usize| {
        let flags = word(table, 4 * n + 3);
        SiteInfo {
            effect: word(table, 4 * n) as u32,
            span: word(table, 4 * n + 1),
            unit: word(table, 4 * n + 2),
            shared: flags & 1 != 0,
            narrow: flags & 2 != 0,
        }
    };
    let layout = Layout {
        spill_bytes: word(&head, 4) as usize,
        barriers: word(&head, 5) as usize,
        sites: (0..sites as usize).map(site).collect(),
    };
    Ok((blob, layout))
}
