//! Kernels a user would write, with launch files and checked results.
