//! The built-in library: OpenCL C, split into parts that are compiled when a program uses a name of theirs.
//!
//! A part starts with a line `//! names…` that lists what it defines; the text up to the next such line
//! belongs to it. What stands before the first part of a file is common to its parts. `//! @half names…` lists
//! further functions of the same names for half-precision arguments. `__attribute__((elementwise(mask)))` on a scalar
//! function makes it callable with vectors, per component; bit i of the mask lets argument i stay scalar.

// Written by `build.rs`: the files with their texts; for each part the number of its file, where the common text
// of the file ends, and where the part starts and ends; the names in order, each with the number of its part.
include!(concat!(env!("OUT_DIR"), "/library.rs"));

fn find(table: &[(&str, usize)], name: &str) -> Option<usize> {
    table.binary_search_by(|entry| entry.0.cmp(name)).ok().map(|at| table[at].1)
}

/// Number of the part that defines a name.
pub fn part_of(name: &str) -> Option<usize> {
    find(NAMES, name)
}

/// Number of the part that defines a name for half-precision arguments.
pub fn half_part_of(name: &str) -> Option<usize> {
    find(HALF, name)
}

/// File name and text of a part.
pub fn part(number: usize) -> (&'static str, String) {
    let (file, common, start, end) = PARTS[number];
    let (name, text) = FILES[file];
    (name, [&text[..common], &text[start..end]].concat())
}

/// All names that the library defines for users.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().chain(HALF).map(|entry| entry.0).filter(|n| !n.starts_with("__"))
}
