//! The built-in library: OpenCL C, split into parts that are compiled when a program uses a name of theirs.
//!
//! A part starts with a line `//! names…` that lists what it defines; the text up to the next such line
//! belongs to it. What stands before the first part of a file is common to its parts. `//! @half names…` lists
//! further functions of the same names for half-precision arguments. `__attribute__((elementwise(mask)))` on a scalar function makes it callable with vectors,
//! per component; bit i of the mask lets argument i stay scalar.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

const FILES: &[(&str, &str)] = &[
    ("workitem.cl", include_str!("workitem.cl")),
    ("math.cl", include_str!("math.cl")),
    ("math_exp.cl", include_str!("math_exp.cl")),
    ("math_gamma.cl", include_str!("math_gamma.cl")),
    ("math_parts.cl", include_str!("math_parts.cl")),
    ("math_trig.cl", include_str!("math_trig.cl")),
    ("integer.cl", include_str!("integer.cl")),
    ("common.cl", include_str!("common.cl")),
    ("relational.cl", include_str!("relational.cl")),
    ("async.cl", include_str!("async.cl")),
    ("image.cl", include_str!("image.cl")),
    ("half.cl", include_str!("half.cl")),
];

struct Index {
    parts: Vec<(&'static str, String)>,
    names: FxHashMap<&'static str, usize>,
    half: FxHashMap<&'static str, usize>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index =
            Index { parts: Vec::new(), names: FxHashMap::default(), half: FxHashMap::default() };
        for (file, text) in FILES {
            let mut rest = *text;
            let common = &text[..text.find("//! ").unwrap_or(0)];
            while let Some(start) = rest.find("//! ") {
                let part = &rest[start..];
                let end = part[4..].find("//! ").map_or(part.len(), |e| e + 4);
                let part_text = &part[..end];
                let number = index.parts.len();
                index.parts.push((*file, format!("{common}{part_text}")));
                let heading = part_text.lines().next().unwrap_or_default();
                let names = heading["//! ".len()..].split_whitespace();
                let half = heading.starts_with("//! @half");
                let table = if half { &mut index.half } else { &mut index.names };
                table.extend(names.filter(|n| *n != "@half").map(|n| (n, number)));
                rest = &part[end..];
            }
        }
        index
    })
}

/// Number of the part that defines a name.
pub fn part_of(name: &str) -> Option<usize> {
    index().names.get(name).copied()
}

/// Number of the part that defines a name for half-precision arguments.
pub fn half_part_of(name: &str) -> Option<usize> {
    index().half.get(name).copied()
}

/// File name and text of a part.
pub fn part(number: usize) -> (&'static str, &'static str) {
    let (file, text) = &index().parts[number];
    (file, text)
}

/// All names that the library defines for users.
pub fn names() -> impl Iterator<Item = &'static str> {
    let all = index().names.keys().chain(index().half.keys());
    all.copied().filter(|n| !n.starts_with("__"))
}
