//! The launch file: a TOML text that names modules, buffers, textures, launches and checks.
//!
//! `docs/launch-file.md` describes the format for users.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ptx_runtime::opencl::Options;
use serde::Deserialize;
use toml::Spanned;

use crate::arg::{self, ArgError, ArgSpec};
use crate::cc;
use crate::npy::{self, NpyError};
use crate::plan::{self, Arg, Check, Plan, Tolerance};
use crate::values::{ElementType, Init, ValueError};

/// A launch file, read and resolved.
#[derive(Clone, Debug)]
pub struct LaunchFile {
    /// One line that says what it shows.
    pub title: Option<String>,
    /// The modules to run it on, each on its own; paths relative to the launch file are already joined.
    pub modules: Vec<PathBuf>,
    /// How modules in OpenCL C are compiled.
    pub build: Options,
    /// Buffers, launches and checks.
    pub plan: Plan,
}

/// Why a launch file cannot be used, and where in its text.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct LaunchFileError {
    /// What is wrong.
    #[source]
    pub problem: Problem,
    /// The bytes of the text that are to blame.
    pub span: Range<usize>,
}

/// What can be wrong with a launch file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Not TOML, or not the shape of a launch file.
    #[error("{0}")]
    Toml(String),
    /// A type, initialiser or value that cannot be read.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// An argument that cannot be read.
    #[error(transparent)]
    Arg(#[from] ArgError),
    /// A name that no `[buffer]` or `[texture]` has.
    #[error("no {kind} is named `{name}`{}", list(.known))]
    UnknownName {
        /// `buffer` or `texture`.
        kind: &'static str,
        /// The name.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// A file beside the launch file that cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A `.npy` file that is damaged or of an unsupported kind.
    #[error("{}: {error}", .path.display())]
    Npy {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: NpyError,
    },
    /// A `.npy` file with another element type than the buffer.
    #[error("the file holds {found}, the buffer {wanted}")]
    FileType {
        /// Type in the file.
        found: ElementType,
        /// Type of the buffer.
        wanted: ElementType,
    },
    /// Contents of another size than the buffer.
    #[error("{found} bytes for a buffer of {wanted}")]
    Size {
        /// Bytes given.
        found: usize,
        /// Bytes wanted.
        wanted: usize,
    },
    /// Neither `len` nor contents that tell it.
    #[error("give `len`, `values`, or `init = \"@FILE\"`: nothing says how long the buffer is")]
    NoLength,
    /// `init` and `values` together.
    #[error("give `init` or `values`, not both")]
    InitAndValues,
    /// A check without anything to compare, or with two things.
    #[error("a check names `buffer` with `expect` or `values`, or `stdout`")]
    BadCheck,
    /// A compiler option that is unknown or malformed.
    #[error("{0}")]
    Build(String),
    /// A texture whose dimensions, channels or format no device has.
    #[error("{0}")]
    Texture(&'static str),
}

fn list(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are {}", known.join(", ")) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    title: Option<String>,
    #[serde(default)]
    modules: Vec<String>,
    build: Option<Spanned<String>>,
    #[serde(default)]
    buffer: BTreeMap<String, Spanned<RawBuffer>>,
    #[serde(default)]
    texture: BTreeMap<String, Spanned<RawTexture>>,
    #[serde(default)]
    launch: Vec<RawLaunch>,
    #[serde(default)]
    check: Vec<Spanned<RawCheck>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBuffer {
    r#type: Spanned<String>,
    len: Option<usize>,
    init: Option<Spanned<String>>,
    values: Option<Spanned<Vec<Number>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTexture {
    size: Spanned<Vec<u32>>,
    format: Spanned<String>,
    channels: Option<Spanned<u8>>,
    #[serde(default)]
    layout: plan::Layout,
    #[serde(default)]
    address: plan::Address,
    #[serde(default)]
    filter: plan::Filter,
    #[serde(default)]
    read: plan::Read,
    #[serde(default)]
    coordinates: plan::Coordinates,
    bind: Option<String>,
    init: Option<Spanned<String>>,
    values: Option<Spanned<Vec<Number>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLaunch {
    entry: String,
    #[serde(default)]
    grid: Extent,
    #[serde(default)]
    block: Extent,
    #[serde(default)]
    shared: u32,
    #[serde(default)]
    args: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheck {
    buffer: Option<Spanned<String>>,
    r#type: Option<Spanned<String>>,
    expect: Option<Spanned<String>>,
    values: Option<Spanned<Vec<Number>>>,
    stdout: Option<Spanned<String>>,
    #[serde(default)]
    rel: f64,
    #[serde(default)]
    abs: f64,
}

/// A value in a list: TOML numbers, or text for what TOML cannot write (`"0xffffffffffffffff"`, `"0f7fc00000"`).
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Number {
    fn text(&self) -> String {
        match self {
            Number::Integer(n) => n.to_string(),
            Number::Float(x) => x.to_string(),
            Number::Text(text) => text.clone(),
        }
    }
}

/// `256`, `[16, 16]` or `[4, 4, 2]`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number or a list of one to three numbers")]
enum Extent {
    X([u32; 1]),
    Xy([u32; 2]),
    Xyz([u32; 3]),
    Line(u32),
}

impl Default for Extent {
    fn default() -> Self {
        Extent::Line(1)
    }
}

impl Extent {
    fn get(&self) -> [u32; 3] {
        match *self {
            Extent::Line(x) | Extent::X([x]) => [x, 1, 1],
            Extent::Xy([x, y]) => [x, y, 1],
            Extent::Xyz(all) => all,
        }
    }
}

type Result<T> = std::result::Result<T, LaunchFileError>;

fn at<E: Into<Problem>>(span: Range<usize>) -> impl FnOnce(E) -> LaunchFileError {
    move |problem| LaunchFileError { problem: problem.into(), span }
}

/// Reads the files that a launch file names.
struct Files<'a> {
    folder: &'a Path,
    read: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

/// Typed contents: bytes, and the shape that a `.npy` file gave them.
struct Contents {
    bytes: Vec<u8>,
    shape: Option<Vec<usize>>,
}

impl Files<'_> {
    fn raw(&self, name: &str, span: Range<usize>) -> Result<(PathBuf, Vec<u8>)> {
        let path = self.folder.join(name);
        let bytes = (self.read)(&path)
            .map_err(|error| at(span)(Problem::File { path: path.clone(), error }))?;
        Ok((path, bytes))
    }

    /// What an initialiser, a list or neither of them makes of a buffer. `len` is `None` where the contents decide.
    fn contents(
        &self,
        ty: ElementType,
        len: Option<usize>,
        init: Option<&Spanned<String>>,
        values: Option<&Spanned<Vec<Number>>>,
        whole: Range<usize>,
    ) -> Result<Contents> {
        let (init, span) = match (init, values) {
            (Some(_), Some(values)) => return Err(at(values.span())(Problem::InitAndValues)),
            (Some(text), None) => {
                (text.get_ref().parse::<Init>().map_err(at(text.span()))?, text.span())
            }
            (None, Some(values)) => {
                (Init::Values(values.get_ref().iter().map(Number::text).collect()), values.span())
            }
            (None, None) => (Init::Zero, whole.clone()),
        };
        if let Init::File(name) = &init {
            let (path, bytes) = self.raw(name, span.clone())?;
            let mut contents = Contents { bytes, shape: None };
            if name.ends_with(".npy") {
                let array = npy::read(&contents.bytes)
                    .map_err(|error| at(span.clone())(Problem::Npy { path, error }))?;
                if !array.ty.same_layout(ty) {
                    return Err(at(span)(Problem::FileType { found: array.ty, wanted: ty }));
                }
                contents = Contents { bytes: array.bytes, shape: Some(array.shape) };
            }
            let found = contents.bytes.len();
            let wanted =
                len.map_or(found.next_multiple_of(ty.size()), |n| n.saturating_mul(ty.size()));
            if found != wanted {
                return Err(at(span)(Problem::Size { found, wanted }));
            }
            return Ok(contents);
        }
        let len = match (len, &init) {
            (Some(len), _) => len,
            (None, Init::Values(values)) => values.len(),
            (None, _) => return Err(at(whole)(Problem::NoLength)),
        };
        let bytes = init.bytes(ty, len).map_err(at(span))?.unwrap_or_default();
        Ok(Contents { bytes, shape: None })
    }
}

/// Reads the contents of a buffer: of what has no end, as much as there is memory for buffers.
pub(crate) fn read_data(path: &Path) -> io::Result<Vec<u8>> {
    environment::files::read(path, environment::memory().unwrap_or(u64::MAX))
}

/// Reads a launch file from its text; files that it names are relative to `folder`.
pub fn parse(text: &str, folder: &Path) -> Result<LaunchFile> {
    parse_with(text, folder, &read_data)
}

fn parse_with(
    text: &str,
    folder: &Path,
    read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
) -> Result<LaunchFile> {
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        at(span)(Problem::Toml(error.message().into()))
    })?;
    let files = Files { folder, read };
    let mut plan = Plan::default();

    for (name, buffer) in &raw.buffer {
        let whole = buffer.span();
        let buffer = buffer.get_ref();
        let ty = buffer.r#type.get_ref().parse().map_err(at(buffer.r#type.span()))?;
        let contents =
            files.contents(ty, buffer.len, buffer.init.as_ref(), buffer.values.as_ref(), whole)?;
        plan.buffers.push(plan::Buffer {
            name: name.clone(),
            ty: Some(ty),
            shape: contents.shape,
            bytes: contents.bytes,
        });
    }
    for (name, texture) in &raw.texture {
        plan.textures.push(resolve_texture(&files, name, texture)?);
    }
    for launch in &raw.launch {
        let args = launch.args.iter().map(|arg| resolve_arg(&plan, arg)).collect::<Result<_>>()?;
        plan.launches.push(plan::PlannedLaunch {
            entry: launch.entry.clone(),
            grid: launch.grid.get(),
            block: launch.block.get(),
            shared: launch.shared,
            args,
        });
    }
    for check in &raw.check {
        let check = resolve_check(&files, &plan, check)?;
        plan.checks.push(check);
    }
    let modules = raw.modules.iter().map(|m| folder.join(m)).collect();
    let build = match &raw.build {
        None => Options::default(),
        Some(words) => {
            let mut options = Options::parse(words.get_ref())
                .map_err(|diag| at(words.span())(Problem::Build(cc::one_line(&diag))))?;
            for include in &mut options.include_dirs {
                *include = folder.join(&*include).display().to_string();
            }
            options
        }
    };
    Ok(LaunchFile { title: raw.title, modules, build, plan })
}

fn resolve_texture(
    files: &Files,
    name: &str,
    texture: &Spanned<RawTexture>,
) -> Result<plan::Texture> {
    let whole = texture.span();
    let raw = texture.get_ref();
    let format: ElementType = raw.format.get_ref().parse().map_err(at(raw.format.span()))?;
    use ElementType::*;
    if !matches!(format, U8 | U16 | U32 | S8 | S16 | S32 | F16 | F32) {
        let problem =
            Problem::Texture("the format of a texel is u8, u16, u32, s8, s16, s32, f16 or f32");
        return Err(at(raw.format.span())(problem));
    }
    let channels = raw.channels.as_ref().map_or(1, |c| *c.get_ref());
    if !matches!(channels, 1 | 2 | 4) {
        let span = raw.channels.as_ref().map_or(whole.clone(), Spanned::span);
        return Err(at(span)(Problem::Texture("a texel has 1, 2 or 4 channels")));
    }
    let mut size = [1; 3];
    let given = raw.size.get_ref();
    if given.is_empty() || given.len() > 3 || given.contains(&0) {
        let problem = Problem::Texture("a texture has one to three dimensions of at least 1 texel");
        return Err(at(raw.size.span())(problem));
    }
    size[..given.len()].copy_from_slice(given);
    let count = size.iter().fold(usize::from(channels), |n, &d| n.saturating_mul(d as usize));
    let contents =
        files.contents(format, Some(count), raw.init.as_ref(), raw.values.as_ref(), whole)?;
    Ok(plan::Texture {
        name: name.into(),
        size,
        dimensions: given.len() as u8,
        format,
        channels,
        layout: raw.layout,
        address: raw.address,
        filter: raw.filter,
        read: raw.read,
        coordinates: raw.coordinates,
        bind: raw.bind.clone(),
        bytes: contents.bytes,
    })
}

fn find_buffer(plan: &Plan, name: &str, span: Range<usize>) -> Result<usize> {
    plan.buffers.iter().position(|b| b.name == name).ok_or_else(|| {
        let known = plan.buffers.iter().map(|b| b.name.clone()).collect();
        at(span)(Problem::UnknownName { kind: "buffer", name: name.into(), known })
    })
}

fn resolve_arg(plan: &Plan, text: &Spanned<String>) -> Result<Arg> {
    let span = text.span();
    match arg::parse_named(text.get_ref()).map_err(at(span.clone()))? {
        ArgSpec::Scalar { ty, bytes } => Ok(Arg::Scalar { ty, bytes }),
        ArgSpec::Bytes(bytes) => Ok(Arg::Bytes(bytes)),
        ArgSpec::Named { name, offset } => {
            Ok(Arg::Buffer { index: find_buffer(plan, &name, span)?, offset })
        }
        ArgSpec::Texture(name) => match plan.textures.iter().position(|t| t.name == name) {
            Some(index) => Ok(Arg::Texture(index)),
            None => {
                let known = plan.textures.iter().map(|t| t.name.clone()).collect();
                Err(at(span)(Problem::UnknownName { kind: "texture", name, known }))
            }
        },
        ArgSpec::Buffer { .. } | ArgSpec::BufferFile(_) | ArgSpec::Typed { .. } => {
            Err(at(span)(Problem::Arg(ArgError::NotInLaunchFile)))
        }
    }
}

fn resolve_check(files: &Files, plan: &Plan, check: &Spanned<RawCheck>) -> Result<Check> {
    let whole = check.span();
    let raw = check.get_ref();
    match (&raw.buffer, &raw.stdout) {
        (Some(name), None) if raw.expect.is_some() != raw.values.is_some() => {
            let index = find_buffer(plan, name.get_ref(), name.span())?;
            let buffer = &plan.buffers[index];
            let ty = match &raw.r#type {
                Some(ty) => ty.get_ref().parse().map_err(at(ty.span()))?,
                None => buffer.ty.unwrap_or(ElementType::B8),
            };
            let len = Some(buffer.bytes.len() / ty.size());
            let contents =
                files.contents(ty, len, raw.expect.as_ref(), raw.values.as_ref(), whole)?;
            let tolerance = Tolerance { rel: raw.rel, abs: raw.abs };
            Ok(Check::Buffer { index, ty, expected: contents.bytes, tolerance })
        }
        (None, Some(text)) if raw.expect.is_none() && raw.values.is_none() => {
            let expected = match text.get_ref().strip_prefix('@') {
                Some(name) => files.raw(name, text.span())?.1,
                None => text.get_ref().clone().into_bytes(),
            };
            Ok(Check::Stdout { expected })
        }
        _ => Err(at(whole)(Problem::BadCheck)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Result<LaunchFile> {
        parse_with(text, Path::new("folder"), &|path| match path.to_str() {
            Some("folder/three.bin") => Ok(vec![1, 2, 3]),
            _ => Err(io::ErrorKind::NotFound.into()),
        })
    }

    /// The message and the text that it points at.
    fn error(text: &str) -> (String, &str) {
        let error = parse_text(text).unwrap_err();
        (error.to_string(), &text[error.span])
    }

    const GOOD: &str = r#"
        modules = ["k.ptx"]
        build = "-D N=4 -I include"
        [buffer]
        a = { type = "u32", len = 4, init = "iota" }
        b = { type = "f32", values = [1, 2.5, "0f40400000"] }
        c = { type = "u8", init = "@three.bin" }
        [texture.t]
        size = [2, 2]
        format = "u8"
        filter = "linear"
        [[launch]]
        entry = "k"
        grid = [2, 3]
        block = 32
        args = ["buf:a", "buf:b+4", "u32:7", "tex:t"]
        [[check]]
        buffer = "a"
        expect = "fill:3"
        [[check]]
        stdout = "done\n"
    "#;

    #[test]
    fn a_whole_file() {
        let file = parse_text(GOOD).unwrap();
        assert_eq!(file.modules, [PathBuf::from("folder/k.ptx")]);
        assert_eq!(file.build.include_dirs, ["folder/include"]);
        let plan = file.plan;
        assert_eq!(plan.buffers[0].bytes[4..8], [1, 0, 0, 0]);
        assert_eq!(plan.buffers[1].bytes[8..], 3.0f32.to_le_bytes());
        assert_eq!(plan.buffers[2].bytes, [1, 2, 3]);
        assert_eq!(plan.textures[0].bytes, [0; 4]);
        let launch = &plan.launches[0];
        assert_eq!((launch.grid, launch.block), ([2, 3, 1], [32, 1, 1]));
        assert_eq!(launch.args[1], Arg::Buffer { index: 1, offset: 4 });
        assert_eq!(launch.args[3], Arg::Texture(0));
        assert!(matches!(&plan.checks[0], Check::Buffer { expected, .. } if expected.len() == 16));
        assert!(matches!(&plan.checks[1], Check::Stdout { expected } if expected == b"done\n"));
    }

    #[test]
    fn errors_point_at_what_is_wrong() {
        for (from, to, message, place) in [
            ("\"buf:a\"", "\"buf:z\"", "no buffer is named `z`; there are a, b, c", "\"buf:z\""),
            ("\"tex:t\"", "\"tex:u\"", "no texture is named `u`; there are t", "\"tex:u\""),
            ("\"u32:7\"", "\"u32:-7\"", "-7 does not fit type u32", "\"u32:-7\""),
            ("\"iota\"", "\"iotas\"", "unknown initialiser `iotas`; it is zero, ", "\"iotas\""),
            ("\"u32\",", "\"i32\",", "unknown type `i32`; types are ", "\"i32\""),
            ("@three.bin", "@four.bin", "cannot read folder/four.bin: ", "\"@four.bin\""),
            ("size = [2, 2]", "size = []", "a texture has one to three dimensions", "[]"),
            ("-D N=4", "-frob", "unknown option `-frob`", "\"-frob -I include\""),
            ("expect = \"fill:3\"", "rel = 1", "a check names `buffer` with", ""),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let (found, at) = error(&text);
            assert!(found.starts_with(message), "{found}");
            if !place.is_empty() {
                assert_eq!(at, place);
            }
        }
        assert!(
            error(&GOOD.replacen("block =", "blocks =", 1)).0.contains("unknown field `blocks`")
        );
        assert!(error("[buffer]\na = { type = \"u8\" }").0.contains("nothing says how long"));
        assert!(error("[buffer\n").1.len() < 9);
    }

    #[test]
    fn every_sample_parses() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
        let mut count = 0;
        for folder in std::fs::read_dir(samples).unwrap() {
            let folder = folder.unwrap().path();
            for file in std::fs::read_dir(&folder).into_iter().flatten() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|e| e == "toml") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let file =
                        parse(&text, &folder).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                    assert!(
                        !file.plan.checks.is_empty() && file.modules.iter().all(|m| m.exists())
                    );
                    count += 1;
                }
            }
        }
        assert!(count >= 17, "{count} launch files");
    }
}
