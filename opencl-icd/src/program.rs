//! Programs: what they are made of, and what builds came to.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ptx_runtime::opencl::{self, Object, Options, diag};
use ptx_runtime::parse::container;
use ptx_runtime::{Module, Verified};

use crate::binary::{self, Entry, Source};
use crate::cl::{self, Error, Result};
use crate::context::Context;
use crate::device::Device;
use crate::object;
use crate::registry::{self, Handle};
use c_border::ParamValue;

/// A program.
pub struct Program {
    pub(crate) handle: Handle<Program>,
    /// Its context.
    pub context: Arc<Context>,
    /// The devices that it may be built for.
    pub devices: Vec<Arc<Device>>,
    /// The source, where it was made from one.
    pub source: Option<String>,
    /// It was made from sources or binaries, not by linking.
    pub buildable: bool,
    state: Mutex<State>,
}
object!(Program, INVALID_PROGRAM);

#[derive(Default)]
struct State {
    /// By device.
    builds: Vec<Build>,
    kernels: usize,
}

/// What there is for a device.
#[derive(Clone)]
pub struct Build {
    /// `cl_build_status`
    pub status: i32,
    /// The options of the last build.
    pub options: String,
    /// What it said.
    pub log: String,
    /// What came of it.
    pub product: Product,
}

/// A form of a program.
#[derive(Clone)]
pub enum Product {
    /// None.
    Nothing,
    /// PTX that was given and not built yet.
    Given(Arc<str>),
    /// A container that was given and not built yet.
    Assembled(Verified),
    /// Compiled objects, or a library of them.
    Objects(Arc<Vec<Source>>, bool),
    /// Loaded code.
    Executable(Arc<Executable>),
}

/// Loaded code.
pub struct Executable {
    /// The binary.
    pub ptx: Arc<str>,
    /// The code in the context's memory.
    pub module: Module,
    /// Its kernels.
    pub entries: Vec<Entry>,
    /// Whether hosts may ask how arguments were declared: always of a binary, on request (`-cl-kernel-arg-info`) of
    /// a program that was made from source.
    pub arg_info: bool,
    /// Whether approximate functions need not be the GPU's bits (`-cl-fast-relaxed-math`).
    pub fast_approx: bool,
}

impl Default for Build {
    fn default() -> Self {
        Build {
            status: cl::BUILD_NONE,
            options: String::new(),
            log: String::new(),
            product: Product::Nothing,
        }
    }
}

/// Why something was not built: the code and the log.
struct Failed(Error, String);

/// A translated program, before it is loaded.
#[derive(Clone)]
struct Translated {
    ptx: Arc<str>,
    verified: Verified,
    log: String,
}

/// Translations by what went into them.
static CACHE: LazyLock<Mutex<HashMap<String, Translated>>> = LazyLock::new(Mutex::default);
/// Most entries of the cache.
const CACHED: usize = 64;

/// Translates, or finds what came of the same before. Without a key nothing is remembered.
fn cached(
    key: Option<String>,
    make: impl FnOnce() -> std::result::Result<Translated, Failed>,
) -> std::result::Result<Translated, Failed> {
    let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(key) = &key
        && let Some(found) = lock().get(key)
    {
        return Ok(found.clone());
    }
    let made = make()?;
    if let Some(key) = key {
        let mut all = lock();
        if all.len() >= CACHED {
            all.clear();
        }
        all.insert(key, made.clone());
    }
    Ok(made)
}

/// Options as the compiler takes them. `wrong`: the code for bad ones.
fn options(text: &str, device: &Device, wrong: Error) -> std::result::Result<Options, Failed> {
    let base = Options {
        sm: device.target(),
        global_offset: true,
        on_host: device.is_host(),
        ..Options::default()
    };
    base.with_text(text).map_err(|diag| Failed(wrong, format!("error: {}\n", diag.message)))
}

fn failure(code: Error, failure: &opencl::Failure) -> Failed {
    let of_options = failure.diags.iter().any(|d| d.code == diag::Code::Option);
    Failed(if of_options { Error::INVALID_BUILD_OPTIONS } else { code }, failure.rendered.clone())
}

fn verify(ptx: &str, log: String, code: Error) -> std::result::Result<Translated, Failed> {
    let verified = Verified::new(ptx, "program.ptx").map_err(|d| Failed(code, d.render(false)))?;
    Ok(Translated { ptx: ptx.into(), verified, log })
}

/// The program of a container.
fn assembled(verified: Verified) -> Translated {
    let (ptx, log) = (verified.module().source.clone(), verified.warnings().render(false));
    Translated { ptx, verified, log }
}

/// From source to code.
fn translate(text: &str, given: &str, device: &Device) -> std::result::Result<Translated, Failed> {
    // An included file may change.
    let key = (!text.contains("#") || !text.contains("include"))
        .then(|| format!("{} {} {given}\n{text}", device.target(), device.is_host()));
    cached(key, || {
        let options = options(given, device, Error::INVALID_BUILD_OPTIONS)?;
        let output = opencl::compile("program.cl", text, &options)
            .map_err(|f| failure(Error::BUILD_PROGRAM_FAILURE, &f))?;
        let ptx = binary::annotate(&output.ptx, &output.kernels);
        verify(&ptx, output.rendered, Error::BUILD_PROGRAM_FAILURE)
    })
}

/// Checks a source; what it says.
fn check(source: &Source, device: &Device) -> std::result::Result<(Object, String), Failed> {
    let mut options = options(&source.options, device, Error::INVALID_COMPILER_OPTIONS)?;
    options.headers = source.headers.clone();
    opencl::compile_object("program.cl", &source.text, &options)
        .map_err(|f| failure(Error::COMPILE_PROGRAM_FAILURE, &f))
}

/// Options of `clLinkProgram`: whether to make a library, and those for the compiler.
fn link_options(text: &str) -> std::result::Result<(bool, String), Failed> {
    let mut library = false;
    let mut rest = Vec::new();
    for word in text.split_whitespace() {
        match word {
            "-create-library" => library = true,
            "-enable-link-options" => {}
            "-cl-no-signed-zeroes" => rest.push("-cl-no-signed-zeros"),
            "-cl-denorms-are-zero"
            | "-cl-no-signed-zeros"
            | "-cl-unsafe-math-optimizations"
            | "-cl-finite-math-only"
            | "-cl-fast-relaxed-math" => rest.push(word),
            _ => {
                let log = format!("error: unknown option `{word}`\n");
                return Err(Failed(Error::INVALID_LINKER_OPTIONS, log));
            }
        }
    }
    Ok((library, rest.join(" ")))
}

fn link(
    sources: &[Source],
    given: &str,
    device: &Device,
) -> std::result::Result<Translated, Failed> {
    let options = options(given, device, Error::INVALID_LINKER_OPTIONS)?;
    let objects: std::result::Result<Vec<Object>, Failed> =
        sources.iter().map(|s| Ok(check(s, device)?.0)).collect();
    let output =
        opencl::link(&objects?, &options).map_err(|f| failure(Error::LINK_PROGRAM_FAILURE, &f))?;
    let ptx = binary::annotate(&output.ptx, &output.kernels);
    verify(&ptx, output.rendered, Error::LINK_PROGRAM_FAILURE)
}

impl Program {
    fn make(
        context: &Arc<Context>,
        devices: Vec<Arc<Device>>,
        source: Option<String>,
        buildable: bool,
        builds: Vec<Build>,
    ) -> Program {
        let state = Mutex::new(State { builds, kernels: 0 });
        let context = Arc::clone(context);
        Program { handle: Handle::default(), context, devices, source, buildable, state }
    }

    /// A program from source.
    pub fn from_source(context: &Arc<Context>, source: String) -> Program {
        let devices = context.devices.clone();
        let builds = vec![Build::default(); devices.len()];
        Program::make(context, devices, Some(source), true, builds)
    }

    /// A program from a binary for each device.
    ///
    /// # Errors
    /// When one of them is neither PTX nor a container of it nor an object.
    pub fn from_binaries(
        context: &Arc<Context>,
        binaries: Vec<(Arc<Device>, Vec<u8>)>,
        status: &mut [i32],
    ) -> Result<Program> {
        let mut devices = Vec::new();
        let mut builds = Vec::new();
        let mut failed = false;
        for ((device, bytes), status) in binaries.into_iter().zip(status) {
            let product = if let Some((sources, library)) = binary::read_objects(&bytes) {
                Product::Objects(Arc::new(sources), library)
            } else if container::is_container(&bytes) {
                match Verified::from_bytes(bytes, "the program binary") {
                    Ok(verified) => Product::Assembled(verified),
                    Err(error) => {
                        context.tell(&error.to_string());
                        failed = true;
                        *status = Error::INVALID_BINARY.0;
                        Product::Nothing
                    }
                }
            } else {
                // Some programs count a zero at the end.
                let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
                match std::str::from_utf8(&bytes[..end]) {
                    Ok(text) if binary::is_ptx(text.as_bytes()) => Product::Given(text.into()),
                    _ => {
                        failed = true;
                        *status = Error::INVALID_BINARY.0;
                        Product::Nothing
                    }
                }
            };
            builds.push(Build { product, ..Build::default() });
            devices.push(device);
        }
        if failed {
            return Err(Error::INVALID_BINARY);
        }
        Ok(Program::make(context, devices, None, true, builds))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index(&self, device: &Arc<Device>) -> Result<usize> {
        let found = self.devices.iter().position(|d| Arc::ptr_eq(d, device));
        found.ok_or(Error::INVALID_DEVICE)
    }

    /// What there is for a device.
    ///
    /// # Errors
    /// When the program is not for the device.
    pub fn build_of(&self, device: &Arc<Device>) -> Result<Build> {
        let index = self.index(device)?;
        Ok(self.state().builds[index].clone())
    }

    /// The code for a device. PTX that was given need not be built.
    pub fn executable(&self, device: &Arc<Device>) -> Option<Arc<Executable>> {
        let build = self.build_of(device).ok()?;
        let code = match build.product {
            Product::Executable(code) => return Some(code),
            Product::Given(ptx) if build.status == cl::BUILD_NONE => {
                self.assemble(&ptx).and_then(|t| self.load(t, "")).ok()?.0
            }
            Product::Assembled(verified) if build.status == cl::BUILD_NONE => {
                self.load(assembled(verified), "").ok()?.0
            }
            _ => return None,
        };
        let index = self.index(device).ok()?;
        let mut state = self.state();
        let kept = &mut state.builds[index].product;
        if matches!(kept, Product::Given(_) | Product::Assembled(_)) {
            *kept = code;
        }
        match kept {
            Product::Executable(code) => Some(Arc::clone(code)),
            _ => None,
        }
    }

    /// Code for all devices that have some.
    pub fn executables(&self) -> Vec<(Arc<Device>, Arc<Executable>)> {
        let all = self.devices.iter();
        all.filter_map(|d| Some((Arc::clone(d), self.executable(d)?))).collect()
    }

    /// Counts a kernel of this program.
    pub fn attach(&self) {
        self.state().kernels += 1;
    }
    /// The opposite of [`Program::attach`].
    pub fn detach(&self) {
        self.state().kernels -= 1;
    }

    /// Starts a build for devices; nothing else may.
    ///
    /// # Errors
    /// When a device is not the program's, kernels exist, or a build is on its way.
    pub fn start(&self, devices: &[Arc<Device>], options: &str) -> Result {
        let indices: Result<Vec<usize>> = devices.iter().map(|d| self.index(d)).collect();
        let mut state = self.state();
        let busy = |i: &usize| state.builds[*i].status == cl::BUILD_IN_PROGRESS;
        let indices = indices?;
        if state.kernels > 0 || indices.iter().any(busy) {
            return Err(Error::INVALID_OPERATION);
        }
        for i in indices {
            let build = &mut state.builds[i];
            build.status = cl::BUILD_IN_PROGRESS;
            build.options = options.to_string();
            build.log.clear();
        }
        Ok(())
    }

    /// Ends a build; the code of a failure. Wrong options leave the status of a program that was not built.
    fn end(
        &self,
        device: &Arc<Device>,
        outcome: std::result::Result<(Product, String), Failed>,
    ) -> Result {
        let index = self.index(device)?;
        let build = &mut self.state().builds[index];
        match outcome {
            Ok((product, log)) => {
                build.product = product;
                build.log = log;
                build.status = cl::BUILD_SUCCESS;
                Ok(())
            }
            Err(Failed(code, log)) => {
                build.log = log;
                build.status = cl::BUILD_ERROR;
                if self.source.is_some() {
                    build.product = Product::Nothing;
                }
                Err(code)
            }
        }
    }

    fn load(&self, t: Translated, options: &str) -> std::result::Result<(Product, String), Failed> {
        let module = Module::from_verified(&self.context.machine, &t.verified)
            .map_err(|e| Failed(Error::OUT_OF_RESOURCES, format!("error: {e}\n")))?;
        let entries = binary::entries(&t.ptx, module.entries());
        let arg_info = self.source.is_none() || options.contains("-cl-kernel-arg-info");
        let fast_approx = options.split_whitespace().any(|word| word == "-cl-fast-relaxed-math");
        let code = Executable { ptx: t.ptx, module, entries, arg_info, fast_approx };
        Ok((Product::Executable(Arc::new(code)), t.log))
    }

    /// `clBuildProgram`, after [`Program::start`].
    ///
    /// # Errors
    /// The code of the first device for which it failed.
    pub fn build(&self, devices: &[Arc<Device>], options: &str) -> Result {
        let mut result = Ok(());
        for device in devices {
            let product = self.build_of(device)?.product;
            let translated = match (&self.source, product) {
                (Some(text), _) => translate(text, options, device),
                (None, Product::Objects(sources, _)) => link(&sources, "", device),
                (None, Product::Given(ptx)) => self.assemble(&ptx),
                (None, Product::Assembled(verified)) => Ok(assembled(verified)),
                (None, Product::Executable(code)) => self.assemble(&code.ptx),
                (None, Product::Nothing) => Err(Failed(Error::INVALID_BINARY, String::new())),
            };
            let ended = self.end(device, translated.and_then(|t| self.load(t, options)));
            result = result.and(ended);
        }
        result
    }

    fn assemble(&self, ptx: &str) -> std::result::Result<Translated, Failed> {
        cached(Some(format!("ptx\n{ptx}")), || verify(ptx, String::new(), Error::INVALID_BINARY))
    }

    /// `clCompileProgram`, after [`Program::start`].
    ///
    /// # Errors
    /// The code of the first device for which it failed.
    pub fn compile(
        &self,
        devices: &[Arc<Device>],
        options: &str,
        headers: &[(String, String)],
    ) -> Result {
        let text = self.source.clone().ok_or(Error::INVALID_OPERATION)?;
        let source = Source { options: options.into(), text, headers: headers.to_vec() };
        let mut result = Ok(());
        for device in devices {
            let outcome = check(&source, device)
                .map(|(_, log)| (Product::Objects(Arc::new(vec![source.clone()]), false), log));
            let ended = self.end(device, outcome).map_err(|code| match code {
                Error::INVALID_BUILD_OPTIONS => Error::INVALID_COMPILER_OPTIONS,
                code => code,
            });
            result = result.and(ended);
        }
        result
    }

    /// A program for `clLinkProgram` to make of others.
    ///
    /// # Errors
    /// When the options are wrong, or an input has no object for a device.
    pub fn to_link(
        context: &Arc<Context>,
        devices: Vec<Arc<Device>>,
        options: &str,
        inputs: &[Arc<Program>],
    ) -> Result<(Program, Vec<Vec<Source>>)> {
        link_options(options).map_err(|Failed(code, _)| code)?;
        let mut all = Vec::new();
        for device in &devices {
            let mut sources = Vec::new();
            for input in inputs {
                match input.build_of(device).map(|b| b.product) {
                    Ok(Product::Objects(s, _)) => sources.extend(s.iter().cloned()),
                    _ => return Err(Error::INVALID_OPERATION),
                }
            }
            all.push(sources);
        }
        let build = Build {
            status: cl::BUILD_IN_PROGRESS,
            options: options.to_string(),
            ..Build::default()
        };
        let builds = vec![build; devices.len()];
        Ok((Program::make(context, devices, None, false, builds), all))
    }

    /// Links what [`Program::to_link`] collected.
    ///
    /// # Errors
    /// The code of the first device for which it failed.
    pub fn link(&self, options: &str, sources: Vec<Vec<Source>>) -> Result {
        let mut result = Ok(());
        for (device, sources) in self.devices.iter().zip(sources) {
            let outcome = link_options(options).and_then(|(library, options)| {
                if library {
                    return Ok((Product::Objects(Arc::new(sources), true), String::new()));
                }
                self.load(link(&sources, &options, device)?, &options)
            });
            let ended = self.end(device, outcome).map_err(|_| Error::LINK_PROGRAM_FAILURE);
            result = result.and(ended);
        }
        result
    }

    fn binaries(&self) -> Vec<Vec<u8>> {
        let state = self.state();
        let bytes = |b: &Build| match &b.product {
            Product::Nothing => Vec::new(),
            Product::Given(ptx) => ptx.as_bytes().to_vec(),
            Product::Assembled(verified) => verified.module().source.as_bytes().to_vec(),
            Product::Objects(sources, library) => binary::write_objects(sources, *library),
            Product::Executable(code) => code.ptx.as_bytes().to_vec(),
        };
        state.builds.iter().map(bytes).collect()
    }

    /// Names of the kernels.
    ///
    /// # Errors
    /// When it is not built.
    pub fn kernel_names(&self) -> Result<Vec<String>> {
        let all = self.executables();
        let (_, code) = all.first().ok_or(Error::INVALID_PROGRAM_EXECUTABLE)?;
        Ok(code.entries.iter().map(|e| e.info.name.clone()).collect())
    }

    /// `clGetProgramInfo`
    pub fn info(&self, name: u32, to: ParamValue) -> Result {
        match name {
            cl::PROGRAM_REFERENCE_COUNT => to.put(registry::users(self)),
            cl::PROGRAM_CONTEXT => to.put(self.context.handle.get()),
            cl::PROGRAM_NUM_DEVICES => to.put(self.devices.len() as u32),
            cl::PROGRAM_DEVICES => {
                let all: Vec<usize> = self.devices.iter().map(|d| d.handle.get()).collect();
                to.put(&all[..])
            }
            cl::PROGRAM_SOURCE => to.put(self.source.as_deref().unwrap_or("")),
            cl::PROGRAM_BINARY_SIZES => {
                let sizes: Vec<usize> = self.binaries().iter().map(Vec::len).collect();
                to.put(&sizes[..])
            }
            cl::PROGRAM_BINARIES => to.put_each(&self.binaries()),
            cl::PROGRAM_NUM_KERNELS => to.put(self.kernel_names()?.len()),
            cl::PROGRAM_KERNEL_NAMES => to.put(self.kernel_names()?.join(";").as_str()),
            cl::PROGRAM_IL => to.put(&[0u32; 0][..]),
            cl::PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | cl::PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => {
                to.put(false)
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }

    /// `clGetProgramBuildInfo`
    pub fn build_info(&self, device: &Arc<Device>, name: u32, to: ParamValue) -> Result {
        let build = self.build_of(device)?;
        match name {
            cl::PROGRAM_BUILD_STATUS => to.put(build.status),
            cl::PROGRAM_BUILD_OPTIONS => to.put(build.options.as_str()),
            cl::PROGRAM_BUILD_LOG => to.put(build.log.as_str()),
            cl::PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => to.put(match &build.product {
                Product::Executable(code) => binary::global_variables(&code.ptx),
                _ => 0,
            }),
            cl::PROGRAM_BINARY_TYPE => to.put(match build.product {
                Product::Nothing => cl::PROGRAM_BINARY_TYPE_NONE,
                Product::Objects(_, false) => cl::PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
                Product::Objects(_, true) => cl::PROGRAM_BINARY_TYPE_LIBRARY,
                Product::Given(_) | Product::Assembled(_) | Product::Executable(_) => {
                    cl::PROGRAM_BINARY_TYPE_EXECUTABLE
                }
            }),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}
