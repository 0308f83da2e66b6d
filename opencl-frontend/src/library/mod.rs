//! The built-in library: OpenCL C, split into parts that are compiled when a program uses a name of theirs.
//!
//! A part starts with a line `//! names…` that lists what it defines; the names up to the next such line
//! belong to it. `__attribute__((elementwise(mask)))` on a scalar function makes it callable with vectors,
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
];

struct Index {
    parts: Vec<(&'static str, &'static str)>,
    names: FxHashMap<&'static str, usize>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index { parts: Vec::new(), names: FxHashMap::default() };
        for (file, text) in FILES {
            let mut rest = *text;
            while let Some(start) = rest.find("//! ") {
                let part = &rest[start..];
                let end = part[4..].find("//! ").map_or(part.len(), |e| e + 4);
                let part_text = &part[..end];
                let number = index.parts.len();
                index.parts.push((*file, part_text));
                let heading = part_text.lines().next().unwrap_or_default();
                for name in heading["//! ".len()..].split_whitespace() {
                    index.names.insert(name, number);
                }
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

/// File name and text of a part.
pub fn part(number: usize) -> (&'static str, &'static str) {
    index().parts[number]
}

/// All names that the library defines for users.
pub fn names() -> impl Iterator<Item = &'static str> {
    index().names.keys().copied().filter(|n| !n.starts_with("__"))
}
