//! Recorded whole kernels: cases, their generated inputs, and what the device returned.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::Error;
use crate::source::Source;

/// A scalar type of buffers and arguments.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Dtype {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Dtype::U8 | Dtype::S8 => 1,
            Dtype::U16 | Dtype::S16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::U32 | Dtype::S32 | Dtype::F32 => 4,
            Dtype::U64 | Dtype::S64 | Dtype::F64 => 8,
        }
    }

    /// The element's bits from an integer.
    fn int_bits(self, v: i128) -> u64 {
        match self {
            Dtype::F32 => (v as f32).to_bits() as u64,
            Dtype::F64 => (v as f64).to_bits(),
            Dtype::F16 => half::f16::from_f64(v as f64).to_bits() as u64,
            Dtype::Bf16 => half::bf16::from_f64(v as f64).to_bits() as u64,
            _ => v as u64,
        }
    }

    /// The element's bits from a number; integers are cut toward zero.
    fn float_bits(self, v: f64) -> u64 {
        match self {
            Dtype::F32 => (v as f32).to_bits() as u64,
            Dtype::F64 => v.to_bits(),
            Dtype::F16 => half::f16::from_f64(v).to_bits() as u64,
            Dtype::Bf16 => half::bf16::from_f64(v).to_bits() as u64,
            _ => v as i128 as u64,
        }
    }

    /// The number that the bits of one element mean.
    fn to_float(self, bytes: &[u8]) -> f64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        match self {
            Dtype::F32 => f32::from_bits(bits as u32) as f64,
            Dtype::F64 => f64::from_bits(bits),
            Dtype::F16 => half::f16::from_bits(bits as u16).to_f64(),
            Dtype::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
            _ => bits as f64,
        }
    }
}

/// Contents made by a rule from a seed.
#[derive(Clone, Debug, Deserialize)]
pub struct Fill {
    /// Rule and its numbers: `["uni", lo, hi]`, `["int", lo, hi]`, `["const", v]` ….
    pub r#gen: Vec<Value>,
    /// Seed.
    #[serde(default)]
    pub seed: u64,
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub enum Arg {
    /// The bytes of a scalar.
    Scalar(Vec<u8>),
    /// A buffer's address.
    Buffer(Buffer),
    /// A texture object.
    Texture(Image),
    /// A surface object.
    Surface(String, Image),
}

/// A buffer in device memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name in the case.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Contents before the launch.
    pub data: Vec<u8>,
    /// Whether the kernel must leave it alone.
    pub read_only: bool,
}

/// A texture or surface.
#[derive(Clone, Debug, Deserialize)]
pub struct Image {
    /// `array`, `linear` or `pitch`.
    #[serde(default)]
    pub kind: String,
    /// Channel type.
    pub dtype: Dtype,
    /// Elements of linear memory.
    pub n: Option<usize>,
    /// Width.
    #[serde(default)]
    pub w: u32,
    /// Height.
    #[serde(default)]
    pub h: u32,
    /// Depth.
    #[serde(default)]
    pub d: u32,
    /// Channels.
    #[serde(default = "one")]
    pub ch: u32,
    /// Address mode.
    #[serde(default)]
    pub addr: String,
    /// Filter.
    #[serde(default)]
    pub filter: String,
    /// Integers read as 0..1.
    #[serde(default)]
    pub normfloat: u8,
    /// Coordinates 0..1.
    #[serde(default)]
    pub normcoord: u8,
    /// Texels.
    #[serde(skip)]
    pub data: Vec<u8>,
}

fn one() -> u32 {
    1
}

/// A module variable that is set before or read after the launch.
#[derive(Clone, Debug)]
pub struct Global {
    /// Name in the module.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Bytes to set, or as many to read.
    pub data: Vec<u8>,
}

/// How an output may differ from the recording.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Mode {
    /// `bits`, `nanbits`, `sorted:T`, `positive:T`.
    Named(String),
    /// Absolute plus relative tolerance.
    Near {
        /// Relative.
        #[serde(default)]
        rel: f64,
        /// Absolute.
        #[serde(default)]
        abs: f64,
    },
}

/// One recorded launch.
pub struct Case {
    /// `module/case`.
    pub id: String,
    /// The module's name.
    pub ptx: PathBuf,
    /// The module's text.
    pub source: String,
    /// Kernel.
    pub entry: String,
    /// Grid.
    pub grid: [u32; 3],
    /// Block.
    pub block: [u32; 3],
    /// Dynamic shared bytes.
    pub shared: u32,
    /// Arguments.
    pub args: Vec<Arg>,
    /// Variables set before.
    pub globals_in: Vec<Global>,
    /// Variables read after.
    pub globals_out: Vec<Global>,
    /// Outputs by buffer (or `@variable`) name: type, mode, recorded bytes.
    pub expect: BTreeMap<String, (Dtype, Mode, Vec<u8>)>,
}

/// The recorded kernels: those beside the repository, else those kept in it.
///
/// # Panics
/// When they are there but damaged.
#[must_use]
pub fn shared() -> Option<Vec<Case>> {
    let root = crate::shared_or_packed("kernel-golden")?;
    Some(load(&root).unwrap_or_else(|e| panic!("kernel-golden: {e}")))
}

/// Every recorded result of the folder `root` by its name (in the zip file there).
///
/// # Errors
/// A file that is missing or damaged.
pub fn results(root: &Path) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let bad = |what: String| Error::Format(what);
    let file = std::fs::File::open(root.join("expected.zip")).map_err(|e| bad(e.to_string()))?;
    let mut zip = zip::ZipArchive::new(file).map_err(|e| bad(e.to_string()))?;
    let mut out = BTreeMap::new();
    for i in 0..zip.len() {
        let mut entry = zip.by_index(i).map_err(|e| bad(e.to_string()))?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|e| bad(e.to_string()))?;
        out.insert(entry.name().to_string(), bytes);
    }
    Ok(out)
}

/// Loads every case of `root` (the folder `kernel-golden`, or an archive of it).
///
/// # Errors
/// A file that is missing or not as described there.
pub fn load(root: &Path) -> Result<Vec<Case>, Error> {
    let root = Source::open(root)?;
    let bad = |what: String| Error::Format(what);
    let expected: Value = root.json("expected.json")?;
    let mut zip = match root.has("expected.zip") {
        true => {
            let bytes = std::io::Cursor::new(root.read("expected.zip")?);
            Some(zip::ZipArchive::new(bytes).map_err(|e| bad(e.to_string()))?)
        }
        false => None,
    };
    let mut blob = |name: &str| -> Result<Vec<u8>, Error> {
        let Some(zip) = &mut zip else { return root.read(&format!("expected/{name}")) };
        let mut out = Vec::new();
        let mut entry = zip.by_name(name).map_err(|e| bad(format!("{name}: {e}")))?;
        entry.read_to_end(&mut out).map_err(|e| bad(e.to_string()))?;
        Ok(out)
    };
    let mut cases = Vec::new();
    for file in root.list("cases", "json")? {
        let id = file["cases/".len()..file.len() - ".json".len()].to_string();
        let text: Value = root.json(&file)?;
        let outs = &expected["cases"][&id]["out"];
        cases.push(case(&root, id.clone(), &text, outs, &mut blob).ok_or_else(|| bad(id))??);
    }
    Ok(cases)
}

fn case(
    root: &Source,
    id: String,
    v: &Value,
    outs: &Value,
    blob: &mut dyn FnMut(&str) -> Result<Vec<u8>, Error>,
) -> Option<Result<Case, Error>> {
    let three = |v: &Value| -> Option<[u32; 3]> {
        let a = v.as_array()?;
        let at = |i: usize| a.get(i).and_then(Value::as_u64).map_or(1, |n| n as u32);
        Some([at(0), at(1), at(2)])
    };
    let mut args = Vec::new();
    let mut types: BTreeMap<String, Dtype> = BTreeMap::new();
    for a in v["args"].as_array()? {
        let arg = argument(a)?;
        match &arg {
            Arg::Buffer(b) => {
                types.insert(b.name.clone(), b.dtype);
            }
            Arg::Surface(name, i) => {
                types.insert(name.clone(), i.dtype);
            }
            _ => {}
        }
        args.push(arg);
    }
    let globals = |key: &str, filled: bool| -> Option<Vec<Global>> {
        let mut out = Vec::new();
        for g in v[key].as_array().into_iter().flatten() {
            let dtype: Dtype = serde_json::from_value(g["dtype"].clone()).ok()?;
            let n = g["n"].as_u64()? as usize;
            let data = if filled { fill(g, dtype, n)? } else { vec![0; n * dtype.bytes()] };
            out.push(Global { name: g["name"].as_str()?.into(), dtype, data });
        }
        Some(out)
    };
    let globals_in = globals("globals_in", true)?;
    let globals_out = globals("globals_out", false)?;
    let mut modes: Vec<(String, Value)> =
        v["compare"].as_object()?.iter().map(|(k, m)| (k.clone(), m["mode"].clone())).collect();
    for g in v["globals_out"].as_array().into_iter().flatten() {
        modes.push((format!("@{}", g["name"].as_str()?), g["mode"].clone()));
    }
    for g in &globals_out {
        types.insert(format!("@{}", g.name), g.dtype);
    }
    let mut expect = BTreeMap::new();
    for (name, mode) in modes {
        let bytes = match blob(outs[&name].as_str()?) {
            Ok(b) => b,
            Err(e) => return Some(Err(e)),
        };
        expect
            .insert(name.clone(), (*types.get(&name)?, serde_json::from_value(mode).ok()?, bytes));
    }
    let ptx = v["ptx"].as_str()?;
    let source = match root.text(ptx) {
        Ok(text) => text,
        Err(e) => return Some(Err(e)),
    };
    Some(Ok(Case {
        id,
        ptx: root.path(ptx),
        source,
        entry: v["entry"].as_str()?.into(),
        grid: three(&v["grid"])?,
        block: three(&v["block"])?,
        shared: v["shared"].as_u64()? as u32,
        args,
        globals_in,
        globals_out,
        expect,
    }))
}

fn argument(a: &Value) -> Option<Arg> {
    for (key, role) in [("buf_in", 0), ("buf_out", 1), ("buf_inout", 2)] {
        if let Some(name) = a[key].as_str() {
            let dtype: Dtype = serde_json::from_value(a["dtype"].clone()).ok()?;
            let n = a["n"].as_u64()? as usize;
            let data = if role == 1 { vec![0xa5; n * dtype.bytes()] } else { fill(a, dtype, n)? };
            return Some(Arg::Buffer(Buffer {
                name: name.into(),
                dtype,
                data,
                read_only: role == 0,
            }));
        }
    }
    if a["tex"].is_string() || a["surf"].is_string() {
        let mut image: Image = serde_json::from_value(a.clone()).ok()?;
        let n = image.n.unwrap_or(
            image.w as usize
                * image.h.max(1) as usize
                * image.d.max(1) as usize
                * image.ch as usize,
        );
        image.data = fill(a, image.dtype, n)?;
        return Some(match a["surf"].as_str() {
            Some(name) => Arg::Surface(name.into(), image),
            None => Arg::Texture(image),
        });
    }
    let (key, value) = a.as_object()?.iter().next()?;
    let dtype: Dtype = serde_json::from_value(Value::String(key.clone())).ok()?;
    let bits = match value.as_i64() {
        Some(i) => dtype.int_bits(i as i128),
        None => match value.as_u64() {
            Some(u) => dtype.int_bits(u as i128),
            None => dtype.float_bits(value.as_f64()?),
        },
    };
    Some(Arg::Scalar(bits.to_le_bytes()[..dtype.bytes()].to_vec()))
}

/// The contents that a `gen` rule describes.
fn fill(v: &Value, dtype: Dtype, n: usize) -> Option<Vec<u8>> {
    let f: Fill = serde_json::from_value(v.clone()).ok()?;
    let (kind, a) = f.r#gen.split_first()?;
    let number = |i: usize| a.get(i).and_then(Value::as_f64);
    let mut bits: Vec<u64> = Vec::with_capacity(n);
    match kind.as_str()? {
        "uni" => {
            let (lo, hi) = (number(0)?, number(1)?);
            bits.extend((0..n as u64).map(|i| dtype.float_bits(lo + (hi - lo) * unit(f.seed, i))));
        }
        "int" | "intf" => {
            let (lo, hi) = (integer(a.first()?)?, integer(a.get(1)?)?);
            let span = (hi - lo + 1) as u128;
            bits.extend(
                (0..n as u64).map(|i| dtype.int_bits(lo + (mix(f.seed, i) as u128 % span) as i128)),
            );
        }
        "const" => bits.resize(n, element(a.first()?, dtype)?),
        "list" => {
            for e in a.first()?.as_array()? {
                bits.push(element(e, dtype)?);
            }
            bits.resize(n, 0);
        }
        _ => return None,
    }
    Some(bits.iter().flat_map(|b| b.to_le_bytes()[..dtype.bytes()].to_vec()).collect())
}

fn integer(v: &Value) -> Option<i128> {
    v.as_i64().map(i128::from).or_else(|| v.as_u64().map(i128::from))
}

fn element(v: &Value, dtype: Dtype) -> Option<u64> {
    integer(v).map(|i| dtype.int_bits(i)).or_else(|| v.as_f64().map(|x| dtype.float_bits(x)))
}

/// The recorder's random numbers.
fn mix(seed: u64, i: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((i + 1).wrapping_mul(0xd134_2543_de82_ef95));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn unit(seed: u64, i: u64) -> f64 {
    (mix(seed, i) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// `None` when `got` agrees with `want` under `mode`, else a short reason.
pub fn differs(dtype: Dtype, mode: &Mode, got: &[u8], want: &[u8]) -> Option<String> {
    if got == want {
        return None;
    }
    if got.len() != want.len() {
        return Some(format!("{} bytes, not {}", got.len(), want.len()));
    }
    let size = dtype.bytes();
    let pairs = || got.chunks(size).zip(want.chunks(size));
    if let Mode::Named(name) = mode
        && name.starts_with("sorted")
    {
        let sort = |b: &[u8]| {
            let mut v: Vec<&[u8]> = b.chunks(size).collect();
            v.sort();
            v.concat()
        };
        return (sort(got) != sort(want)).then(|| "other elements".into());
    }
    let wrong = |(g, w): &(&[u8], &[u8])| {
        if g == w {
            return false;
        }
        let (x, y) = (dtype.to_float(g), dtype.to_float(w));
        match mode {
            Mode::Near { rel, abs } => {
                (x - y).abs() > abs + rel * y.abs() || x.is_nan() != y.is_nan()
            }
            Mode::Named(name) => !(name == "nanbits" && x.is_nan() && y.is_nan()),
        }
    };
    let count = pairs().filter(wrong).count();
    let first = pairs().position(|p| wrong(&p))?;
    let at = |b: &[u8]| dtype.to_float(&b[first * size..(first + 1) * size]);
    Some(format!(
        "{count} of {} differ, first [{first}]: got {}, want {}",
        got.len() / size,
        at(got),
        at(want)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_read() {
        let cases = shared().expect("the repository holds them");
        assert!(cases.len() >= 200);
        for c in &cases {
            assert!(!c.expect.is_empty(), "{}", c.id);
        }
    }
}
