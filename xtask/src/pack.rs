//! `golden pack`: the archives under `golden/data` from the full recordings.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use golden::set::{Operands, Set};
use golden::{Form, Golden};
use lzma_rust2::{XzOptions, XzWriter};
use serde_json::json;

/// Rows that must stay together, in the order in which the kernel saw them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Unit {
    Row = 1,
    Warp = 32,
    Block = 128,
}

/// What a form's lanes may see of each other.
fn unit(form: &Form) -> Unit {
    let inst = form.inst();
    match form.group() {
        "wgmma" | "async" => Unit::Block,
        _ if inst.starts_with("bar") => Unit::Block,
        "warp" | "mma" | "wmma" | "matrix_move" | "ldst" | "atom" => Unit::Warp,
        _ => Unit::Row,
    }
}

/// Rows kept of `n`: spread evenly, each somewhere within its stretch, so that no period of the
/// table's regimes hides one.
fn sample(n: usize, unit: Unit, keep: usize) -> Vec<usize> {
    let size = unit as usize;
    let (all, keep) = (n / size, (keep / size).min(n / size));
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut rows = Vec::new();
    for i in 0..keep {
        let (from, to) = (i * all / keep, (i + 1) * all / keep);
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chosen = from + (state >> 33) as usize % (to - from);
        rows.extend(chosen * size..(chosen + 1) * size);
    }
    rows
}

/// The sample of a full set. Tables get a suffix for the unit by which they are cut.
fn extract(golden: &Golden) -> Set {
    let mut set = Set { block: golden.block(), ..Set::default() };
    for form in golden.forms() {
        let unit = unit(&form);
        let keep = if form.info().class == "matrix" { 512 } else { 256 };
        let rows = sample(form.rows(), unit, keep);
        let mut info = form.info().clone();
        info.table = match unit {
            Unit::Row => info.table,
            Unit::Warp => format!("{}@{keep}w", info.table),
            Unit::Block => format!("{}@{keep}b", info.table),
        };
        set.tables.entry(info.table.clone()).or_insert_with(|| Operands {
            slots: form.slots(),
            words: rows.iter().flat_map(|&r| form.row(r).iter().copied()).collect(),
        });
        let mut packed = Vec::new();
        for (slot, kind) in info.outs.iter().enumerate() {
            let width = golden::output_width(kind).unwrap_or(0);
            for &row in &rows {
                packed.extend(&form.output(slot, row).to_le_bytes()[..width]);
            }
        }
        set.results.insert(info.name.clone(), packed);
        set.forms.push(info);
    }
    for (key, value) in [("device", json!("NVIDIA H200")), ("sm", json!("9.0"))] {
        set.about.insert(key.into(), value);
    }
    set
}

/// Writes `files` as a `.tar.xz` that is the same whenever and wherever it is made.
fn write(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, name, &bytes[..])?;
    }
    let tar = tar.into_inner()?;
    let mut options = XzOptions::with_preset(9);
    options.set_block_size(NonZeroU64::new(1 << 30));
    let mut xz = XzWriter::new(Vec::new(), options)?;
    xz.write_all(&tar)?;
    let packed = xz.finish()?;
    let mut back = Vec::new();
    lzma_rust2::XzReader::new(&packed[..], false).read_to_end(&mut back)?;
    ensure!(back == tar, "the archive does not unpack to what was packed");
    fs::write(path, &packed).with_context(|| path.display().to_string())?;
    println!(
        "{}: {} files, {} bytes, {} packed",
        path.display(),
        files.len(),
        tar.len(),
        packed.len()
    );
    Ok(())
}

/// Every file below `root/folder` by its name below `root`.
fn add(root: &Path, folder: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let path = root.join(folder);
    for entry in fs::read_dir(&path).with_context(|| path.display().to_string())? {
        let entry = entry?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add(root, &name, files)?;
        } else {
            files.insert(name.clone(), fs::read(root.join(&name))?);
        }
    }
    Ok(())
}

/// `golden pack`.
pub fn pack(from: &Path) -> Result<ExitCode> {
    let isa = from.join("isa-golden");
    let golden = Golden::load(&isa).context("the full recordings")?;
    let mut files = extract(&golden).files();
    add(&isa, "modules", &mut files)?;
    add(&isa, "rejected", &mut files)?;
    files.insert("rejected.json".into(), fs::read(isa.join("rejected.json"))?);
    write(&golden::packed("isa-golden"), &files)?;

    // Results are stored one by one: a zip inside would not compress again.
    let kernels = from.join("kernel-golden");
    let mut files = BTreeMap::new();
    add(&kernels, "cases", &mut files)?;
    add(&kernels, "ptx", &mut files)?;
    files.insert("expected.json".into(), fs::read(kernels.join("expected.json"))?);
    for (name, bytes) in golden::kernels::results(&kernels)? {
        files.insert(format!("expected/{name}"), bytes);
    }
    write(&golden::packed("kernel-golden"), &files)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_units_whole_and_reach_both_ends() {
        for (n, unit, keep) in [
            (1024, Unit::Row, 256),
            (1536, Unit::Warp, 512),
            (512, Unit::Block, 256),
            (128, Unit::Row, 256),
        ] {
            let rows = sample(n, unit, keep);
            assert_eq!(rows.len(), keep.min(n));
            assert!(rows.windows(2).all(|w| w[0] < w[1]));
            for chunk in rows.chunks(unit as usize) {
                assert!(chunk[0].is_multiple_of(unit as usize));
                assert_eq!(chunk[chunk.len() - 1], chunk[0] + unit as usize - 1);
            }
            assert!(rows[0] < n / 2 && rows[rows.len() - 1] >= n / 2);
        }
    }
}
