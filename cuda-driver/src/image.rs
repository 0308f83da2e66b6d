//! Images that programs load: PTX text, containers of it, fat binaries, what the linker made. Verified text is kept by
//! content, so that loading it again costs a comparison.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use environment::files;
use ptx_runtime::isa::types::Target;
use ptx_runtime::parse::container::{self, Container};
use ptx_runtime::parse::diag::Code;
use ptx_runtime::{Verified, VerifyOptions};
use ptx_runtime::{cubin, fatbin};

use crate::driver::Driver;
use crate::error::Error;
use c_border::{PointerError, Raw};

/// Why an image was refused: the code and what the error log says.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The code.
    pub code: Error,
    /// For the log.
    pub log: String,
}

impl Refused {
    /// A refusal.
    pub fn new(code: Error, log: impl Into<String>) -> Refused {
        Refused { code, log: log.into() }
    }
}

/// Most texts that are kept.
const KEPT: usize = 1024;

/// Length and hash of a text, and how it was verified.
type CacheKey = (usize, u64, VerifyOptions);

static CACHE: LazyLock<Mutex<HashMap<CacheKey, Verified>>> = LazyLock::new(Mutex::default);

/// A quick hash; equal texts are compared before one stands for the other.
fn hash(text: &[u8]) -> u64 {
    let mut h = 0x9e37_79b9_7f4a_7c15u64;
    let mix = |h: u64, w: u64| (h ^ w).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29);
    let words = text.chunks_exact(8);
    let rest = words.remainder();
    for w in words {
        h = mix(h, u64::from_le_bytes(w.try_into().unwrap_or_default()));
    }
    rest.iter().fold(h, |h, b| mix(h, u64::from(*b)))
}

/// What an image holds for us.
pub enum Image {
    /// PTX.
    Text(Vec<u8>),
    /// PTX that was verified.
    Container(Arc<Container>),
}

impl From<container::Error> for Refused {
    fn from(error: container::Error) -> Refused {
        Refused::new(Error::InvalidImage, format!("error: {error}"))
    }
}

impl Image {
    /// The PTX.
    ///
    /// # Errors
    /// When a container holds none, or was made with options that a text cannot say.
    pub fn into_text(self) -> Result<Vec<u8>, Refused> {
        match self {
            Image::Text(text) => Ok(text),
            Image::Container(container) if container.about().no_contraction => {
                let log =
                    "error: what was assembled with --fmad=false cannot be linked; link its PTX";
                Err(Refused::new(Error::NotSupported, log))
            }
            Image::Container(container) => Ok(container.text()?.as_bytes().to_vec()),
        }
    }

    /// The module: text is verified, a container's was, unless its text reads registers that this driver supplies.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verified(self, driver: &Driver) -> Result<Verified, Refused> {
        let container = match self {
            Image::Text(text) => return verify(&text, VerifyOptions::default(), driver),
            Image::Container(container) => container,
        };
        // Programs keep what an assembler gave them; another build of ours can have assembled it.
        let older = container.build() != container::BUILD;
        if older || matches!(crate::grid::with_workspace(container.text()?), Cow::Owned(_)) {
            return verify(container.text()?.as_bytes(), container.about().into(), driver);
        }
        let verified = Verified::from_container(&container)?;
        suits(&verified, driver).map(|()| verified)
    }
}

/// Verifies text, or finds that it was verified before.
pub fn verify(text: &[u8], options: VerifyOptions, driver: &Driver) -> Result<Verified, Refused> {
    let key = (text.len(), hash(text), options);
    let known = CACHE.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    if let Some(verified) = known
        && verified.module().source.as_bytes() == text
    {
        return Ok(verified);
    }
    let source = String::from_utf8_lossy(text);
    let verified = Verified::with(&crate::grid::with_workspace(&source), "ptx", options).map_err(
        |findings| {
            let version = findings.diags().iter().any(|d| {
                d.is_error() && d.code == Code::Version && d.message.ends_with("is not known")
            });
            let code = if version { Error::UnsupportedPtxVersion } else { Error::InvalidPtx };
            Refused::new(code, findings.render(false))
        },
    )?;
    suits(&verified, driver)?;
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.len() >= KEPT {
        cache.clear();
    }
    cache.insert(key, verified.clone());
    Ok(verified)
}

/// Whether the module is whole and for this device.
fn suits(verified: &Verified, driver: &Driver) -> Result<(), Refused> {
    if let Some(name) = verified.undefined() {
        let log = format!("error: the function `{name}` is called and defined nowhere");
        return Err(Refused::new(Error::InvalidPtx, log));
    }
    let target = verified.module().info.target;
    let device = driver.capability();
    if !target.runs_on(Target::device(device)) {
        let log = format!("the module is for {target}, the device is sm_{device}");
        return Err(Refused::new(Error::InvalidPtx, log));
    }
    Ok(())
}

/// What an image in memory holds, whose length is only known from itself.
///
/// # Errors
/// When it is no image of a known kind.
pub fn in_memory(image: Raw, driver: &Driver) -> Result<Image, Refused> {
    let bad = |log: &str| Refused::new(Error::InvalidImage, log);
    let invalid = |e: PointerError| Refused::new(e.into(), "the image pointer is not valid");
    if image.is_null() || !image.is_mapped(1) {
        return Err(invalid(PointerError::Null));
    }
    // A text may be shorter than a word: it ends the comparison.
    let mut head = Vec::new();
    for at in 0..4 {
        let byte = image.bytes(at, 1).map_err(invalid)?[0];
        head.push(byte);
        if byte == 0 {
            break;
        }
    }
    let magic = <[u8; 4]>::try_from(&head[..]).map_or(0, u32::from_le_bytes);
    match magic {
        fatbin::MAGIC => {
            let header = image.bytes(0, fatbin::HEADER).map_err(invalid)?;
            let size = fatbin::total(&header).map_err(|e| bad(&e.to_string()))?;
            if !image.is_mapped(size) {
                return Err(bad("the fat binary is truncated"));
            }
            let all = image.bytes(0, size).map_err(invalid)?;
            from_fatbin(&all, driver)
        }
        fatbin::WRAPPER => {
            let data = image.bytes(8, 8).map_err(invalid)?;
            let at = u64::from_le_bytes(data.try_into().unwrap_or_default());
            let inner = Raw::new(at as usize);
            let head =
                if inner.is_mapped(4) { inner.bytes(0, 4).map_err(invalid)? } else { vec![0; 4] };
            if head != fatbin::MAGIC.to_le_bytes() {
                return Err(bad("the wrapper leads to no fat binary"));
            }
            in_memory(inner, driver)
        }
        _ if head.starts_with(b"\x7fELF") => {
            let header = image.is_mapped(cubin::HEADER).then(|| image.bytes(0, cubin::HEADER));
            let header = header.transpose().map_err(invalid)?.unwrap_or_default();
            let size = cubin::length(&header).and_then(|size| usize::try_from(size).ok());
            match size.filter(|size| image.is_mapped(*size)) {
                Some(size) => from_elf(&image.bytes(0, size).map_err(invalid)?, driver),
                None => Err(machine_code(driver)),
            }
        }
        _ if container::MAGIC.starts_with(&head) && head.len() == 4 => {
            let start = image.bytes(0, 24).map_err(invalid)?;
            let size = container::length(&start).and_then(|size| usize::try_from(size).ok());
            match size.filter(|size| image.is_mapped(*size)) {
                Some(size) => {
                    let bytes = image.bytes(0, size).map_err(invalid)?;
                    Ok(Image::Container(Container::from_bytes(bytes, "the image")?))
                }
                None => Err(bad("the container is truncated")),
            }
        }
        _ => plain(image.text().map_err(invalid)?).map(Image::Text),
    }
}

/// Most bytes of an image in a file: some files, such as `/dev/zero`, have no end.
pub const MOST_READ: u64 = 1 << 32;

/// What a file holds; a container is mapped.
///
/// # Errors
/// When it cannot be read or is no image of a known kind.
pub fn in_file(path: &str, driver: &Driver) -> Result<Image, Refused> {
    let missing = |_| Refused::new(Error::FileNotFound, "");
    let path = Path::new(path);
    if files::is_regular(path) {
        let mut magic = Vec::new();
        let file = files::open(path).map_err(missing)?;
        file.take(container::MAGIC.len() as u64).read_to_end(&mut magic).map_err(missing)?;
        if container::is_container(&magic) {
            return Ok(Image::Container(Container::open(path)?));
        }
    }
    of_bytes(&files::read(path, MOST_READ).map_err(missing)?, driver)
}

/// What an image of known length holds.
///
/// # Errors
/// When it is no image of a known kind.
pub fn of_bytes(bytes: &[u8], driver: &Driver) -> Result<Image, Refused> {
    if bytes.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        return from_fatbin(bytes, driver);
    }
    if bytes.starts_with(b"\x7fELF") {
        return from_elf(bytes, driver);
    }
    if container::is_container(bytes) {
        return Ok(Image::Container(Container::from_bytes(bytes.to_vec(), "the image")?));
    }
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    plain(bytes[..end].to_vec()).map(Image::Text)
}

/// What our assembler made; a device's own machine code is refused.
fn from_elf(file: &[u8], driver: &Driver) -> Result<Image, Refused> {
    let container = cubin::container(file).ok_or_else(|| machine_code(driver))?;
    Ok(Image::Container(Container::from_bytes(container.to_vec(), "the image")?))
}

fn machine_code(driver: &Driver) -> Refused {
    let device = driver.capability();
    Refused::new(
        Error::NoBinaryForGpu,
        format!(
            "the image is machine code; this driver runs PTX: build with PTX, for instance nvcc -gencode \
             arch=compute_{device},code=compute_{device}, or NVRTC's and nvJitLink's PTX output, or with ptxrun's ptxas"
        ),
    )
}

/// Text that has the one directive which every module begins with.
fn plain(text: Vec<u8>) -> Result<Vec<u8>, Refused> {
    if text.windows(8).any(|w| w == b".version") {
        Ok(text)
    } else {
        Err(Refused::new(Error::InvalidImage, "the image is neither PTX nor a fat binary"))
    }
}

fn from_fatbin(bytes: &[u8], driver: &Driver) -> Result<Image, Refused> {
    let code = fatbin::best(bytes, Target::device(driver.capability())).map_err(|e| {
        let code = match e {
            fatbin::FatbinError::NoPtx { .. } => Error::NoBinaryForGpu,
            _ => Error::InvalidImage,
        };
        Refused::new(code, e.to_string())
    })?;
    match code {
        fatbin::Code::Ptx(text) => Ok(Image::Text(text)),
        fatbin::Code::Assembled(file) => from_elf(&file, driver),
    }
}
