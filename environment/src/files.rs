//! Reading files that anybody may have named or made.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Whether reading a file might wait for ever: a FIFO to which nobody writes. What the process itself was given
/// (`/dev/stdin`, `/dev/fd/63` of `<(…)`) has a writer.
fn may_wait(path: &Path) -> io::Result<bool> {
    let given = path.starts_with("/dev") || path.starts_with("/proc");
    Ok(!given && is_fifo(&fs::metadata(path)?))
}

#[cfg(unix)]
fn is_fifo(about: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}
#[cfg(not(unix))]
fn is_fifo(_: &fs::Metadata) -> bool {
    false
}

/// Opens a file for reading.
///
/// # Errors
/// If it cannot be opened, or is a FIFO, which nobody might ever write to.
pub fn open(path: &Path) -> io::Result<File> {
    if may_wait(path)? {
        let why = "it is a FIFO, which might never end; redirect it to standard input";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

/// The bytes of a file, `most` of them at most: some, such as `/dev/zero`, have no end.
///
/// # Errors
/// As [`open`], or if it cannot be read or has more bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let about = file.metadata()?;
    let long = || io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes"));
    let mut bytes = Vec::new();
    if about.is_file() {
        if about.len() > most {
            return Err(long());
        }
        bytes.try_reserve_exact(about.len() as usize + 1)?;
    }
    (&mut file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(long()) } else { Ok(bytes) }
}

/// Whether a file is an ordinary one: reading its head takes nothing away, as it would from a pipe.
pub fn is_regular(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read() {
        let own = Path::new(file!()).file_name().unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(own);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(read(&path, bytes.len() as u64).unwrap(), bytes);
        let long = read(&path, bytes.len() as u64 - 1).unwrap_err();
        assert_eq!(long.kind(), io::ErrorKind::FileTooLarge);
        assert!(is_regular(&path));
        if cfg!(unix) {
            let long = read(Path::new("/dev/zero"), 1000).unwrap_err();
            assert_eq!(long.kind(), io::ErrorKind::FileTooLarge);
            assert!(!is_regular(Path::new("/dev/zero")));
            assert!(read(Path::new("/dev/null"), 0).unwrap().is_empty());
        }
    }
}
