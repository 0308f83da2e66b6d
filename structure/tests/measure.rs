//! What counts as an arrow and as a long function, on small crates.

use std::fs;
use std::path::Path;

use structure::{Crate, measure};

/// Measures a crate of these files (name, text).
fn crate_of(files: &[(&str, &str)]) -> Crate {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = folder.path().join("Cargo.toml");
    fs::write(&manifest, "[package]\nname = \"small\"\nedition = \"2024\"\n[workspace]\n")
        .expect("written");
    for (name, text) in files {
        let path = folder.path().join("src").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    measure(&manifest).expect("measured").remove(0)
}

fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let name = |path: &Path| path.strip_prefix("src").expect("a source").display().to_string();
    crate_of(files).arrows.iter().map(|(from, to)| format!("{} {}", name(from), name(to))).collect()
}

#[test]
fn names_are_arrows_and_declarations_are_not() {
    let lib = ("lib.rs", "mod a; mod b;");
    assert_eq!(arrows(&[lib, ("a.rs", ""), ("b.rs", "")]), [""; 0]);
    for named in [
        "use crate::b::B;",
        "pub use super::b::{self, B};",
        "use {crate::b as c};",
        "fn f() { crate::b::g::<u8>() }",
        "fn f() -> super::b::B { todo!() }",
        "fn f() { println!(\"{}\", crate::b::X) }",
        "macro_rules! m { ($x:expr) => { $crate::b::g($x) } }",
        "mod inner { use super::super::b::B; }",
    ] {
        assert_eq!(arrows(&[lib, ("a.rs", named), ("b.rs", "")]), ["a.rs b.rs"], "{named}");
    }
    for none in [
        "use std::b::B;",
        "use b::B;",
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(test)] use crate::b::B;",
        "// crate::b::B",
        "pub(in crate::b) struct S;",
        "use self::c::C; mod c { pub struct C; }",
    ] {
        assert_eq!(arrows(&[lib, ("a.rs", none), ("b.rs", "")]), [""; 0], "{none}");
    }
}

#[test]
fn a_path_leads_to_its_longest_module() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::c::C; #[cfg(test)] mod tests;"),
        ("a.rs", "use crate::C; use crate::b::c::D; use crate::m; use crate::b::Inner;"),
        ("b/mod.rs", "pub mod c; pub struct Inner;"),
        ("b/c.rs", "pub struct C; pub struct D; #[macro_export] macro_rules! m { () => {} }"),
        ("tests.rs", "use crate::a;"),
    ];
    let found = arrows(&files);
    assert_eq!(found, ["a.rs b/c.rs", "a.rs b/mod.rs", "a.rs lib.rs", "lib.rs b/c.rs"]);
    let files = [files[0], files[1], files[2], ("b/c.rs", "use crate::a;"), files[4]];
    let circles = crate_of(&files).circles;
    assert_eq!(circles.len(), 1);
    assert_eq!(circles[0].len(), 3, "a, b/c and lib: {circles:?}");
}

#[test]
fn a_long_function_counts_unless_it_is_one_match() {
    let long = |head: &str, arm: &str, tail: &str| {
        let arms = (0..130).map(|i| arm.replace('#', &i.to_string())).collect::<String>();
        crate_of(&[("lib.rs", &format!("fn f(x: E) -> u8 {{\n{head}\n{arms}{tail}\n}}\n"))])
            .long_functions
    };
    assert_eq!(long("let y = x;\nmatch x {", "E::A# => 1,\n", "}"), []);
    assert_eq!(long("Ok(match (x, 1) {", "(E::A#, _) => 1,\n", "}?)"), []);
    let plain = long("", "g(#);\n", "0");
    assert_eq!((plain[0].name.as_str(), plain[0].line, plain[0].lines), ("f", 1, 134));
    assert_eq!(long("match x {", "\"a#\" => 1,\n", "}").len(), 1, "texts are no enum");
    let arm = "E::A# => {\n".to_owned() + &"g();\n".repeat(40) + "}\n";
    assert_eq!(long("match x {", &arm, "}").len(), 1, "arms that are long themselves");
}
