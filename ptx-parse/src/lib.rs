//! PTX text to a verified module and back.
