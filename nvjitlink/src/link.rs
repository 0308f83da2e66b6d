//! A link: its inputs, its result, its logs.

use ptx_runtime::isa::types::Target;
use ptx_runtime::parse::container::{self, Container};
use ptx_runtime::parse::link::{Input, limit_registers, link};
use ptx_runtime::{Verified, VerifyOptions, cubin, device_runtime, fatbin};

use crate::options::Options;

/// `nvJitLinkResult`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// Done.
    Success = 0,
    /// An option is not known.
    UnrecognizedOption = 1,
    /// `-arch` is missing.
    MissingArch = 2,
    /// An argument is wrong.
    InvalidInput = 3,
    /// A text is refused.
    PtxCompile = 4,
    /// This library is broken.
    Internal = 6,
    /// An input is no image of a known kind.
    UnrecognizedInput = 8,
    /// The inputs do not link.
    Finalize = 9,
    /// A pointer is null.
    NullInput = 10,
    /// An input is not of the kind that the caller names.
    IncorrectInputType = 12,
    /// An input is for another architecture.
    ArchMismatch = 13,
    /// No PTX in a fat binary that fits the architecture.
    MissingFatbin = 15,
    /// `-arch` names none.
    UnrecognizedArch = 16,
    /// `-arch` names one that CUDA 13 does not build for.
    UnsupportedArch = 17,
    /// LTO-IR, or its result, was asked for.
    LtoNotEnabled = 18,
}

/// `nvJitLinkInputType`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Cubin,
    Ptx,
    Fatbin,
    /// A host object or library, which may hold machine code of a device.
    Host,
    /// LTO-IR, index files.
    Other(&'static str),
    Any,
}

impl Kind {
    pub(crate) fn of(number: u32) -> Option<Kind> {
        Some(match number {
            1 => Kind::Cubin,
            2 => Kind::Ptx,
            3 => Kind::Other("LTO-IR"),
            4 => Kind::Fatbin,
            5 | 6 => Kind::Host,
            7 => Kind::Other("an index file"),
            10 => Kind::Any,
            _ => return None,
        })
    }
}

/// A link under way.
pub(crate) struct Link {
    options: Options,
    texts: Vec<(String, String)>,
    result: Option<Linked>,
    errors: String,
    info: String,
}

struct Linked {
    file: Vec<u8>,
    text: String,
}

impl Link {
    pub(crate) fn new(options: Options) -> Link {
        Link {
            options,
            texts: Vec::new(),
            result: None,
            errors: String::new(),
            info: String::new(),
        }
    }

    fn refuse(&mut self, status: Status, why: impl std::fmt::Display) -> Status {
        self.errors += &format!("error: {why}\n");
        status
    }

    /// Takes an input.
    ///
    /// # Errors
    /// When it holds no PTX, or is for another device; the error log says more.
    pub(crate) fn add(&mut self, kind: Kind, data: &[u8], name: &str) -> Result<(), Status> {
        if let Kind::Other(what) = kind {
            let why = format!("{name} is {what}, which is not linked here; hand over PTX");
            return Err(self.refuse(Status::IncorrectInputType, why));
        }
        if kind == Kind::Host && device_runtime::left_out(data) {
            return Ok(());
        }
        let found = image(data, self.options.target);
        let is = |k: Kind| kind == Kind::Any || kind == k;
        let text = match found {
            Ok(Image::Text(text)) if is(Kind::Ptx) => text,
            Ok(Image::OfFatbin(text)) if is(Kind::Fatbin) => text,
            Ok(Image::OfAssembler(text, options)) if is(Kind::Cubin) => {
                if options.no_contraction != self.options.no_contraction {
                    let why = format!(
                        "{name} was assembled with --fmad={}; link with -fma={}",
                        !options.no_contraction,
                        u32::from(!options.no_contraction)
                    );
                    return Err(self.refuse(Status::Finalize, why));
                }
                text
            }
            Ok(_) => {
                let why = format!("{name} is not of the kind that the caller names");
                return Err(self.refuse(Status::IncorrectInputType, why));
            }
            Err((status, why)) => return Err(self.refuse(status, format!("{name}: {why}"))),
        };
        self.texts.push((name.to_owned(), text));
        Ok(())
    }

    /// Links what was added.
    ///
    /// # Errors
    /// When the texts do not link or the result is not valid; the error log says more.
    pub(crate) fn complete(&mut self) -> Result<(), Status> {
        let mut inputs: Vec<Input<'_>> =
            self.texts.iter().map(|(name, text)| Input { name, text }).collect();
        inputs.extend(device_runtime::needed_by(self.texts.iter().map(|(_, text)| text.as_str())));
        // One text stays as it is, with its debug sections.
        let linked = match &inputs[..] {
            [] => return Err(self.refuse(Status::InvalidInput, "nothing was added")),
            [only] => Ok(only.text.to_owned()),
            _ => link(&inputs),
        };
        let mut text = match linked {
            Ok(text) => text,
            Err(errors) => {
                let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
                return Err(self.refuse(Status::Finalize, all.join("\nerror: ")));
            }
        };
        if let Some(registers) = self.options.registers {
            text = limit_registers(&text, registers);
        }
        let options = VerifyOptions {
            no_contraction: self.options.no_contraction,
            ..VerifyOptions::default()
        };
        let name = self.texts.first().map_or("linked", |(name, _)| name.as_str()).to_owned();
        let verified = match Verified::with(&text, &name, options) {
            Ok(verified) => verified,
            Err(findings) => {
                self.errors += &findings.render(false);
                return Err(Status::PtxCompile);
            }
        };
        let (target, device) = (verified.module().info.target, self.options.target);
        if !target.runs_on(device) {
            let why = format!("the PTX is for {target}, -arch names {device}");
            return Err(self.refuse(Status::ArchMismatch, why));
        }
        if !self.options.relocatable
            && let Some(missing) = verified.undefined().map(str::to_owned)
        {
            let why = format!("the function `{missing}` is called and defined nowhere");
            return Err(self.refuse(Status::Finalize, why));
        }
        let functions = &verified.module().functions;
        let kernels: Vec<&str> = functions
            .iter()
            .filter(|f| f.entry && f.body.is_some())
            .map(|f| f.name.as_str())
            .collect();
        if self.options.verbose {
            self.info += &format!("{} texts, kernels: {}\n", self.texts.len(), kernels.join(" "));
        }
        let wanted = cubin::Wanted { target: device, relocatable: self.options.relocatable };
        match cubin::write(&verified, &kernels, wanted) {
            Ok(file) => {
                self.result = Some(Linked { file, text });
                Ok(())
            }
            Err(error) => Err(self.refuse(Status::Internal, error)),
        }
    }

    /// The file for the driver.
    ///
    /// # Errors
    /// Before [`Link::complete`].
    pub(crate) fn cubin(&self) -> Result<&[u8], Status> {
        self.result.as_ref().map(|r| &r.file[..]).ok_or(Status::InvalidInput)
    }

    /// The PTX, where it was asked for, with a zero at the end.
    ///
    /// # Errors
    /// Before [`Link::complete`], or without `-ptx`.
    pub(crate) fn ptx(&self) -> Result<Vec<u8>, Status> {
        let result = self.result.as_ref().ok_or(Status::InvalidInput)?;
        if !self.options.ptx {
            return Err(Status::LtoNotEnabled);
        }
        Ok([result.text.as_bytes(), &[0]].concat())
    }

    pub(crate) fn errors(&self) -> &str {
        &self.errors
    }

    pub(crate) fn info(&self) -> &str {
        &self.info
    }
}

/// PTX, and what it came in.
enum Image {
    Text(String),
    OfFatbin(String),
    OfAssembler(String, VerifyOptions),
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn of_assembler(file: &[u8]) -> Result<Image, (Status, String)> {
    let container = cubin::container(file).ok_or_else(|| {
        let why = "machine code of a device cannot be linked here; hand over PTX, or what ptxrun's ptxas makes";
        (Status::UnrecognizedInput, why.to_owned())
    })?;
    let of_container = || {
        let container = Container::from_bytes(container.to_vec(), "the object")?;
        Ok(Image::OfAssembler(container.text()?.to_owned(), container.about().into()))
    };
    of_container().map_err(|error: container::Error| (Status::UnrecognizedInput, error.to_string()))
}

fn image(data: &[u8], target: Target) -> Result<Image, (Status, String)> {
    if data.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        return match fatbin::best(data, target) {
            Ok(fatbin::Code::Ptx(bytes)) => Ok(Image::OfFatbin(text(&bytes))),
            Ok(fatbin::Code::Assembled(file)) => match of_assembler(&file)? {
                Image::OfAssembler(text, _) => Ok(Image::OfFatbin(text)),
                other => Ok(other),
            },
            Err(error) => Err((Status::MissingFatbin, error.to_string())),
        };
    }
    if data.starts_with(b"\x7fELF") {
        return of_assembler(data);
    }
    let text = text(data);
    if text.contains(".version") {
        return Ok(Image::Text(text));
    }
    Err((Status::UnrecognizedInput, "it is neither PTX nor a fat binary".to_owned()))
}
