//! Options and logs of loading and linking, and the linker's state.
//!
//! Linking itself is [`ptx_runtime::parse::link`]: several PTX texts become one, and that text is
//! what `cuLinkComplete` gives out.

use std::sync::{Mutex, PoisonError};

use ptx_runtime::parse::link::{Input, limit_registers, link};
use ptx_runtime::{Verified, VerifyOptions, device_runtime};

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::image::{self, Image, Refused};
use c_border::{In, Out, OutText, Raw};

/// All linker invocations.
pub static LINKS: Handles<Link> = Handles::new(15);

/// Where a log goes: its buffer, its size, and where the number of bytes written is put.
#[derive(Copy, Clone, Default)]
struct Log {
    buffer: usize,
    size: usize,
    written: Option<Out<usize>>,
}

impl Log {
    fn put(&self, text: &str) {
        OutText { buffer: Raw::new(self.buffer), size: self.size }.put(text);
        if let Some(written) = self.written {
            let n = if text.is_empty() { 0 } else { (text.len() + 1).min(self.size) };
            written.put(n);
        }
    }
}

/// Options of loading and linking (`CUjit_option`); those that steer an optimiser mean nothing here.
#[derive(Copy, Clone, Default)]
pub struct Options {
    info: Log,
    error: Log,
    /// Most registers per thread.
    registers: Option<u32>,
}

/// The highest option number of this version.
const LAST_OPTION: u32 = 35;

impl Options {
    /// Reads the caller's two arrays.
    pub fn read(count: u32, names: In<u32>, values: Out<usize>) -> Result<Options> {
        let mut options = Options::default();
        if count == 0 {
            return Ok(options);
        }
        if names.is_null() || values.is_null() {
            return Err(Error::InvalidValue);
        }
        for i in 0..count as usize {
            let place = values.at(i);
            let value = place.get()?;
            match names.at(i)? {
                0 if value as u32 == 0 => return Err(Error::InvalidValue),
                0 => options.registers = Some(value as u32),
                3 => options.info.buffer = value,
                4 => {
                    (options.info.size, options.info.written) = (value as u32 as usize, Some(place))
                }
                5 => options.error.buffer = value,
                6 => {
                    (options.error.size, options.error.written) =
                        (value as u32 as usize, Some(place))
                }
                // CU_JIT_WALL_TIME gives back milliseconds as a float.
                2 => place.put(0),
                id if id > LAST_OPTION => return Err(Error::InvalidValue),
                _ => {}
            }
        }
        Ok(options)
    }

    /// The text with the limits that the caller has set.
    fn limit(&self, text: Vec<u8>) -> Vec<u8> {
        match self.registers {
            Some(n) => limit_registers(&String::from_utf8_lossy(&text), n).into_bytes(),
            None => text,
        }
    }

    /// The module of an image, with the limits that the caller has set.
    pub fn verified(
        &self,
        image: Image,
        driver: &Driver,
    ) -> std::result::Result<Verified, Refused> {
        match self.registers {
            Some(_) => {
                let text = self.limit(image.into_text()?);
                image::verify(&text, VerifyOptions::default(), driver)
            }
            None => image.verified(driver),
        }
    }

    /// Writes the information log.
    pub fn info(&self, text: &str) {
        self.info.put(text);
    }

    /// Writes the error log.
    pub fn error(&self, text: &str) {
        self.error.put(text);
    }

    /// Writes why something was refused; without a log of the caller's, to standard error.
    pub fn refuse(&self, refused: Refused) -> Result {
        crate::log::note(&refused.log);
        self.info.put("");
        self.error.put(&refused.log);
        if self.error.buffer == 0 && !refused.log.is_empty() {
            environment::sayln!("libcuda.so.1 of ptxrun: {}", refused.log.trim_end());
        }
        Err(refused.code)
    }
}

/// Kinds of input (`CUjitInputType`).
mod input {
    pub const CUBIN: u32 = 0;
    pub const PTX: u32 = 1;
    pub const FATBIN: u32 = 2;
    pub const OBJECT: u32 = 3;
    pub const LIBRARY: u32 = 4;
    pub const NVVM: u32 = 5;
}

/// A linker invocation.
#[derive(Default)]
pub struct Link {
    options: Options,
    inputs: Mutex<Vec<(String, String)>>,
    /// The result stays where `cuLinkComplete` said until the invocation ends.
    output: Mutex<Option<Vec<u8>>>,
}

impl Link {
    /// A linker without input.
    pub fn new(options: Options) -> Link {
        Link { options, ..Link::default() }
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Adds an input.
    pub fn add(&self, kind: u32, name: &str, data: &[u8], driver: &Driver) -> Result {
        match kind {
            input::LIBRARY | input::OBJECT if device_runtime::left_out(data) => return Ok(()),
            input::CUBIN | input::PTX | input::FATBIN | input::OBJECT | input::LIBRARY => {}
            input::NVVM => return Err(Error::NotSupported),
            _ => return Err(Error::InvalidValue),
        }
        let checked = image::of_bytes(data, driver).and_then(Image::into_text).and_then(|text| {
            let text = String::from_utf8_lossy(&text).into_owned();
            let (_, findings) = ptx_runtime::parse::parse(&text);
            if findings.iter().any(ptx_runtime::parse::Diag::is_error) {
                let reporter = ptx_runtime::parse::Reporter::new(name, &text);
                let log: String = findings.iter().map(|d| reporter.plain(d)).collect();
                return Err(Refused::new(Error::InvalidPtx, log));
            }
            Ok(text)
        });
        match checked {
            Ok(text) => {
                let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
                inputs.push((name.to_owned(), text));
                Ok(())
            }
            Err(refused) => self.options.refuse(refused),
        }
    }

    /// Links; address and size of the result.
    pub fn complete(&self, driver: &Driver) -> Result<(usize, usize)> {
        let inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<Input<'_>> =
            inputs.iter().map(|(name, text)| Input { name, text }).collect();
        list.extend(device_runtime::needed_by(inputs.iter().map(|(_, text)| text.as_str())));
        let linked = link(&list).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Refused::new(Error::Unknown, format!("error: {}", lines.join("\nerror: ")))
        });
        let linked = linked.and_then(|text| {
            // The merged text must hold as a module; findings of the inputs show here.
            if !list.is_empty() {
                image::verify(text.as_bytes(), VerifyOptions::default(), driver)
                    .map_err(|r| Refused::new(Error::Unknown, r.log))?;
            }
            Ok(text)
        });
        match linked {
            Ok(text) => {
                self.options.info("");
                self.options.error("");
                let mut bytes = self.options.limit(text.into_bytes());
                bytes.push(0);
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = output.insert(bytes);
                Ok((kept.as_ptr() as usize, kept.len()))
            }
            Err(refused) => {
                self.options.refuse(refused)?;
                Err(Error::Unknown)
            }
        }
    }
}
