//! Device, memory, modules and launches over the PTX engines.
