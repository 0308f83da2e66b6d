//! Code of 512-bit vectors, sixteen lanes a slice.

pub(crate) mod words;
