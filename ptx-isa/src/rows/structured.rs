//! Vectors of structured sparsity in registers (PTX ISA 9.7.10.30, 9.7.10.31) over `crate::structured`.

use crate::class;
use crate::matched::Match;
use crate::meaning::Cx;
use crate::row::{Exactness, ROW, Row, Sem};
use crate::structured;
use crate::types::{Kind, ptx};

const SP: Row = Row {
    since: ptx(9, 4),
    sm: 100,
    targets: "sm_107a",
    class: class::matrix,
    exact: Exactness::Manual,
    ..ROW
};
const ELEMENT: (&str, &str) = ("elemsize", ".b8 .b16");
const INDEX: (&str, &str) = ("idxsize", ".b2 .b4");
const NUM: (&str, &str) = ("num", ".x1 .x2 .x4 .x8 .x16 .x32 .x64");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "spcompress.elemsize.idxsize.sp::2:4.num dmeta*!:.b32, dcomp*!:.b32, %a*!:.b32, %spec:.b32",
        does: "Keeps two of four elements each, the greatest or least ones, and their indices.",
        sets: &[ELEMENT, INDEX, NUM],
        section: "9.7.10.30",
        counts: Some(compressed),
        check: Some(|m| fits(m, &["dmeta", "dcomp", "a"], compressed)),
        sem: Sem::Ops(compress),
        ..SP
    },
    Row {
        syntax: "spdecompress.elemsize.idxsize.factor.num d*!:.b32, %meta*!:.b32, %comp*!:.b32",
        does: "Puts elements where their indices say, and zeros between them.",
        sets: &[
            ELEMENT,
            INDEX,
            (
                "factor",
                ".sp::1:2 .sp::1:4 .sp::1:8 .sp::1:16 .sp::2:4 .sp::2:8 .sp::2:16 .sp::4:8 .sp::4:16",
            ),
            NUM,
        ],
        section: "9.7.10.31",
        counts: Some(decompressed),
        check: Some(decompresses),
        sem: Sem::Ops(decompress),
        ..SP
    },
];

fn number(m: &Match, set: &str, before: usize) -> u32 {
    m.get(set).and_then(|t| t[before..].parse().ok()).unwrap_or(1)
}

/// Bits of an element, bits of an index, repetitions.
fn shape(m: &Match) -> [u32; 3] {
    [number(m, "elemsize", 2), number(m, "idxsize", 2), number(m, "num", 2)]
}

/// How many elements of how many are kept.
fn factor(m: &Match) -> [u32; 2] {
    let parts =
        m.get("factor").and_then(|f| f.strip_prefix(".sp::")).and_then(|f| f.split_once(':'));
    let [kept, of] = parts.map_or([2, 4], |(a, b)| [a, b].map(|n| n.parse().unwrap_or(1)));
    [kept, of]
}

/// Registers of the operands of `spcompress`.
fn compressed(m: &Match, name: &str) -> u32 {
    let [element, index, num] = shape(m);
    match name {
        "dmeta" => (num * index).div_ceil(element),
        "dcomp" => num,
        _ => 2 * num,
    }
}

/// Registers of the operands of `spdecompress`.
fn decompressed(m: &Match, name: &str) -> u32 {
    let ([element, index, num], [kept, of]) = (shape(m), factor(m));
    let bits = match name {
        "meta" => kept * index,
        "comp" => kept * element,
        _ => of * element,
    };
    (bits * num).div_ceil(32)
}

/// No instruction has more than 253 registers in its vectors.
fn fits(m: &Match, names: &[&str], count: fn(&Match, &str) -> u32) -> Result<(), String> {
    let all: u32 = names.iter().map(|n| count(m, n)).sum();
    if all <= 253 {
        Ok(())
    } else {
        Err(format!("the vectors have {all} registers, 253 are possible"))
    }
}

fn decompresses(m: &Match) -> Result<(), String> {
    let ([element, index, num], [kept, of]) = (shape(m), factor(m));
    if kept * element > 32 {
        return Err("the elements that are kept of a group fill more than 32 bits".into());
    }
    if 1 << index < of {
        return Err(format!("an index of {index} bits does not reach {of} elements"));
    }
    if !(32..=4096).contains(&(of * element * num)) {
        return Err("the result has 1 to 128 registers".into());
    }
    fits(m, &["d", "meta", "comp"], decompressed)
}

fn compress(x: &mut Cx) {
    let [element, index, num] = shape(x.m);
    let mut src = x.rd_vec("a");
    src.push(x.rd("spec"));
    let meta = compressed(x.m, "dmeta") as usize;
    let results = vec![Kind::W; meta + num as usize];
    let values =
        x.warp("spcompress", structured::compress, [element, index, num, 0], &src, &results);
    x.wr_vec("dmeta", &values[..meta]);
    x.wr_vec("dcomp", &values[meta..]);
}

fn decompress(x: &mut Cx) {
    let ([element, index, num], [kept, of]) = (shape(x.m), factor(x.m));
    let mut src = x.rd_vec("meta");
    src.extend(x.rd_vec("comp"));
    let results = vec![Kind::W; decompressed(x.m, "d") as usize];
    let k = [element, index, num, kept | of << 8];
    let values = x.warp("spdecompress", structured::decompress, k, &src, &results);
    x.wr_vec("d", &values);
}
