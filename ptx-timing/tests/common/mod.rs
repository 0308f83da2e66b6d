//! Reading the recorded facts: from the fact folder beside the checkout where there is one, and
//! from the compact copies in `tests/data`, which every clone has.
#![allow(dead_code)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_interp::Kernel;
use ptx_parse::module::Module;

/// The fact folder; tests that call this say that they need it.
pub fn facts() -> PathBuf {
    golden::need::shared_path("facts")
}

/// A device's profile, or that of the file which `PROFILE` names, to try numbers without a build.
pub fn profile(name: &str) -> ptx_timing::Profile {
    let mut catalog = ptx_timing::Catalog::embedded().unwrap();
    let name = match std::env::var("PROFILE") {
        Ok(file) => catalog.add_file(file.as_ref()).unwrap(),
        Err(_) => name.to_owned(),
    };
    catalog.get(&name).unwrap_or_else(|e| panic!("{e}"))
}

/// The recordings of launches in the repository.
pub fn timing_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/data/timing")
}

/// Kernels of a folder, verified, their text, and what was recorded of them.
pub fn recordings(folder: &Path, name: &str) -> (Module, String, Vec<serde_json::Value>) {
    let file = format!("{name}.ptx");
    let text = std::fs::read_to_string(folder.join(&file)).unwrap();
    let (module, diags) = ptx_parse::parse_and_verify(&text, &file);
    assert!(diags.iter().all(|d| !d.is_error()), "{diags:?}");
    let cases = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    (module.unwrap(), text, serde_json::from_str(&cases).unwrap())
}

/// A kernel of a module.
pub fn kernel(module: &Module, entry: &str) -> Kernel {
    let index = ptx_parse::lower::entry_index(module, entry).unwrap();
    Kernel::decode(Arc::new(ptx_parse::lower::lower(module, index).unwrap()))
}

/// A fact file as TOML.
pub fn toml_file(name: &str) -> toml::Table {
    let path = facts().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A fact file as JSON.
pub fn json_file(name: &str) -> serde_json::Value {
    let path = facts().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Compares the compact copy with what the fact files give now, or rewrites it when the
/// environment variable `UPDATE_TEST_DATA` is set.
pub fn check_copy(name: &str, embedded: &str, current: &str) {
    if std::env::var_os("UPDATE_TEST_DATA").is_some() {
        let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(&path, current).unwrap_or_else(|e| panic!("{path}: {e}"));
    } else {
        assert!(
            embedded == current,
            "tests/data/{name} is out of date: UPDATE_TEST_DATA=1 cargo test -p ptx-timing"
        );
    }
}

/// Lane addresses as text: `128+4*16` is 16 addresses from 128 in steps of 4, `-*3` three inactive
/// lanes.
pub fn write_lanes(lanes: &[Option<u64>]) -> String {
    let mut out = String::new();
    let mut i = 0;
    while i < lanes.len() {
        if i > 0 {
            out.push(',');
        }
        let run = |same: &dyn Fn(usize) -> bool| {
            (i + 1..lanes.len()).take_while(|&j| same(j)).count() + 1
        };
        match lanes[i] {
            None => {
                let n = run(&|j| lanes[j].is_none());
                write!(out, "-*{n}").unwrap();
                i += n;
            }
            Some(first) => {
                let step = match lanes.get(i + 1) {
                    Some(Some(second)) => *second as i64 - first as i64,
                    _ => 0,
                };
                let n = run(&|j| lanes[j] == Some((first as i64 + step * (j - i) as i64) as u64));
                if n == 1 {
                    write!(out, "{first}").unwrap();
                } else {
                    write!(out, "{first}{step:+}*{n}").unwrap();
                }
                i += n;
            }
        }
    }
    out
}

/// Reads what [`write_lanes`] writes.
pub fn read_lanes(text: &str) -> Vec<Option<u64>> {
    let mut out = Vec::new();
    for item in text.split(',') {
        if let Some(n) = item.strip_prefix("-*") {
            out.extend(std::iter::repeat_n(None, n.parse().unwrap()));
        } else if let Some((run, n)) = item.split_once('*') {
            let sign = run[1..].find(['+', '-']).unwrap() + 1;
            let (first, step): (i64, i64) =
                (run[..sign].parse().unwrap(), run[sign..].parse().unwrap());
            out.extend((0..n.parse().unwrap()).map(|i: i64| Some((first + step * i) as u64)));
        } else {
            out.push(Some(item.parse().unwrap()));
        }
    }
    out
}

/// Addresses of a TOML array, -1 = inactive.
pub fn toml_lanes(value: &toml::Value) -> Vec<Option<u64>> {
    let list = value.as_array().unwrap();
    list.iter().map(|a| u64::try_from(a.as_integer().unwrap()).ok()).collect()
}
