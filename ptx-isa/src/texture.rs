//! Texture and surface objects that `tex`, `tld4`, `txq`, `suld`, `sust`, `sured` read and write.

/// A texture, sampler or surface object.
#[derive(Debug, Default)]
pub struct Texture {}
