//! Where recordings are read from: a folder, or an archive packed from one (`.tar.xz`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Error;

/// The texts of an archive (`.tar.xz`), by path.
///
/// # Errors
/// When the archive cannot be read.
pub fn texts_of(archive: &Path) -> Result<BTreeMap<String, String>, Error> {
    match Source::open(archive)? {
        Source::Folder(_) => Ok(BTreeMap::new()),
        Source::Archive { files, .. } => Ok(files
            .into_iter()
            .map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned()))
            .collect()),
    }
}

/// Files by their path below the root, with forward slashes.
pub(crate) enum Source {
    Folder(PathBuf),
    Archive { path: PathBuf, files: BTreeMap<String, Vec<u8>> },
}

impl Source {
    /// Opens a folder or unpacks an archive into memory.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        if !path.is_file() {
            return Ok(Source::Folder(path.into()));
        }
        let io = |source| Error::Io { path: path.into(), source };
        let packed = fs::File::open(path).map_err(io)?;
        let mut archive = tar::Archive::new(lzma_rust2::XzReader::new(packed, false));
        let mut files = BTreeMap::new();
        for entry in archive.entries().map_err(io)? {
            let mut entry = entry.map_err(io)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = entry.path().map_err(io)?.to_string_lossy().replace('\\', "/");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(io)?;
            files.insert(name.trim_start_matches("./").to_string(), bytes);
        }
        Ok(Source::Archive { path: path.into(), files })
    }

    /// The place of a file, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match self {
            Source::Folder(root) => root.join(name),
            Source::Archive { path, .. } => path.join(name),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Source::Folder(root) => root.join(name).is_file(),
            Source::Archive { files, .. } => files.contains_key(name),
        }
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let io = |source| Error::Io { path: self.path(name), source };
        match self {
            Source::Folder(root) => fs::read(root.join(name)).map_err(io),
            Source::Archive { files, .. } => {
                files.get(name).cloned().ok_or_else(|| io(std::io::ErrorKind::NotFound.into()))
            }
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.read(name)?).into_owned())
    }

    pub(crate) fn json<T: for<'a> Deserialize<'a>>(&self, name: &str) -> Result<T, Error> {
        serde_json::from_slice(&self.read(name)?)
            .map_err(|source| Error::Json { path: self.path(name), source })
    }

    /// A binary file as it is, or unpacked from `NAME.gz`.
    pub(crate) fn binary(&self, name: &str) -> Result<Vec<u8>, Error> {
        if self.has(name) {
            return self.read(name);
        }
        let name = format!("{name}.gz");
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(&self.read(&name)?[..])
            .read_to_end(&mut out)
            .map_err(|source| Error::Io { path: self.path(&name), source })?;
        Ok(out)
    }

    /// Files below `folder` whose name ends in `.EXT`, sorted.
    pub(crate) fn list(&self, folder: &str, ext: &str) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        match self {
            Source::Folder(root) => walk(root, folder, &mut found)?,
            Source::Archive { files, .. } => {
                let prefix = format!("{folder}/");
                found.extend(files.keys().filter(|n| n.starts_with(&prefix)).cloned());
            }
        }
        found.retain(|n| Path::new(n).extension().is_some_and(|e| e == ext));
        found.sort();
        Ok(found)
    }
}

fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> Result<(), Error> {
    let path = root.join(folder);
    let io = |source| Error::Io { path: path.clone(), source };
    for entry in fs::read_dir(&path).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(io)?.is_dir() {
            walk(root, &name, found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}
