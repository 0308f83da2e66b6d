//! Whose a file of compiled code is, and how one is made for this user alone. Where files have no owner as on Unix, no
//! code is taken from any.

use std::fs::{DirBuilder, Metadata, OpenOptions};

/// Whose a file is: the user's number, and the permission bits.
#[cfg(unix)]
pub(crate) fn of(about: &Metadata) -> (u32, u32) {
    use std::os::unix::fs::MetadataExt;
    (about.uid(), about.mode())
}
#[cfg(not(unix))]
pub(crate) fn of(_: &Metadata) -> (u32, u32) {
    (u32::MAX, 0o777)
}

/// Bytes that a file takes on the disk, and the time of its last use in seconds.
#[cfg(unix)]
pub(crate) fn room(about: &Metadata) -> (u64, i64) {
    use std::os::unix::fs::MetadataExt;
    (about.blocks() * 512, about.mtime())
}
#[cfg(not(unix))]
pub(crate) fn room(about: &Metadata) -> (u64, i64) {
    let since = about.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    (about.len(), since.map_or(0, |d| d.as_secs() as i64))
}

/// Does not follow a link that somebody put there, and does not wait for the other end of a pipe.
pub(crate) fn careful(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits() as i32);
    }
    options
}

/// A new file is this user's alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// A new folder is this user's alone.
pub(crate) fn private_folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder
}

/// Whether code that belongs to a user may run: it is this one's, or the administrator's, and nobody else's to change.
///
/// # Errors
/// Why not.
pub fn may_run(user: u32, shared: bool) -> Result<(), &'static str> {
    #[cfg(unix)]
    let mine = user == rustix::process::geteuid().as_raw() || user == 0;
    #[cfg(not(unix))]
    let mine = {
        let _ = user;
        false
    };
    if !mine {
        return Err("it belongs to another user");
    }
    if shared { Err("others may write to it") } else { Ok(()) }
}
