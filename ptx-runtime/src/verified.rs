//! PTX that parsed and verified, as text or from a container, and what is to be said about text that did not.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ptx_interp::Kernel;
use ptx_jit::{Bundle, Collection, Options};
use ptx_parse::code::Refusal;
use ptx_parse::container::{self, About, Container, Section};
use ptx_parse::diag::{Diag, Reporter};
use ptx_parse::lower;
use ptx_parse::module::Module;

use crate::backend::{Codes, bundled_sizes};
use crate::fidelity::count;
use crate::joined::Joined;
use crate::quiet;
use crate::resources::Resources;

/// A verified module, independent of any device.
#[derive(Clone)]
pub struct Verified {
    module: Arc<Module>,
    about: About,
    /// Findings that do not refuse the module; of a container they are found again when they are asked for.
    warnings: Arc<OnceLock<Diagnostics>>,
    /// The container that it comes from.
    container: Option<Arc<Container>>,
    /// Kernels whose variables stand apart, for checks.
    spaced: Arc<Mutex<HashMap<u32, Arc<Kernel>>>>,
    /// Kernels whose blocks are put together, by function and bytes of shared memory; `None` where they cannot be.
    joined: Arc<Mutex<JoinedBy>>,
    /// Whether kernels count what is not exact, when they are executed.
    counting: Arc<AtomicBool>,
    /// Kernels that were asked for, by function; every device that loads the module shares them.
    kernels: Arc<Mutex<HashMap<u32, Prepared>>>,
    /// Compiled code of kernels, shared in the same way.
    pub(crate) codes: Arc<Codes>,
}

/// Kernels of joined blocks by function and bytes of shared memory.
type JoinedBy = HashMap<(u32, u32), Option<Arc<Joined>>>;

/// How a text is verified and lowered.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct VerifyOptions {
    /// Take forms that are no PTX but that some generators write ([`ptx_isa::rows::lenient`]).
    pub lenient: bool,
    /// Leave a multiplication and an addition without a rounding apart, which the assembler fuses unless it is told
    /// `--fmad=false`.
    pub no_contraction: bool,
}

impl From<About> for VerifyOptions {
    fn from(about: About) -> VerifyOptions {
        VerifyOptions { lenient: about.lenient, no_contraction: about.no_contraction }
    }
}

/// A kernel that was asked for.
struct Prepared {
    kernel: Arc<Kernel>,
    /// What it needs of a device, once somebody asks.
    resources: Option<Arc<Resources>>,
}

/// A kernel of a verified module, found by its name once: for who launches it many times.
#[derive(Clone)]
pub struct ReadyKernel {
    pub(crate) kernel: Arc<Kernel>,
    resources: Arc<Resources>,
}

impl ReadyKernel {
    /// What it needs of a device.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }
}

/// Findings about one text, with what it takes to show them.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    name: Arc<str>,
    source: Arc<str>,
    diags: Vec<Diag>,
}

/// A kernel and a block shape to compile code for.
pub type KernelBlock<'a> = (&'a str, [u32; 3]);

/// Why code for a container is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kernel} is not compiled: {why}")]
pub struct NotCompiled {
    /// The kernel.
    pub kernel: String,
    /// The reason.
    pub why: String,
}

/// What holds a container's bytes for its code.
struct Held(Arc<Container>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.section(Section::Code)
    }
}

impl Verified {
    /// Parses and verifies.
    ///
    /// # Errors
    /// Every finding, if one of them is an error.
    pub fn new(text: &str, name: &str) -> Result<Verified, Diagnostics> {
        Verified::with(text, name, VerifyOptions::default())
    }

    /// As [`Verified::new`], and takes forms that are no PTX but that some generators write
    /// ([`ptx_isa::rows::lenient`]).
    ///
    /// # Errors
    /// Every finding, if one of them is an error.
    pub fn lenient(text: &str, name: &str) -> Result<Verified, Diagnostics> {
        Verified::with(text, name, VerifyOptions { lenient: true, ..VerifyOptions::default() })
    }

    /// As [`Verified::new`], with options.
    ///
    /// # Errors
    /// Every finding, if one of them is an error.
    pub fn with(
        text: &str,
        name: &str,
        VerifyOptions { lenient, no_contraction }: VerifyOptions,
    ) -> Result<Verified, Diagnostics> {
        let (module, diags) = ptx_parse::parse_and_verify_with(text, name, lenient);
        match module {
            Some(mut module) if !diags.iter().any(Diag::is_error) => {
                let (name, source) = (module.name.clone(), module.source.clone());
                let about = About { lenient, findings: !diags.is_empty(), no_contraction };
                module.contraction = !no_contraction;
                Ok(Verified {
                    module: Arc::new(module),
                    about,
                    warnings: Arc::new(OnceLock::from(Diagnostics { name, source, diags })),
                    container: None,
                    kernels: Arc::default(),
                    spaced: Arc::default(),
                    joined: Arc::default(),
                    counting: Arc::default(),
                    codes: Arc::default(),
                })
            }
            _ => Err(Diagnostics { name: name.into(), source: text.into(), diags }),
        }
    }

    /// Maps an assembled container ([`mod@ptx_parse::container`]). Its compiled code is used if the file is this user's
    /// or the administrator's and nobody else may write to it.
    ///
    /// # Errors
    /// When it cannot be mapped, was altered, or was assembled by another build.
    pub fn open(path: &Path) -> Result<Verified, container::Error> {
        Container::open(path).and_then(|c| Verified::from_container(&c))
    }

    /// Takes a container in memory, called `name` in messages. Its compiled code is not used: who gave the bytes is
    /// not known.
    ///
    /// # Errors
    /// When it was altered or assembled by another build.
    pub fn from_bytes(bytes: Vec<u8>, name: &str) -> Result<Verified, container::Error> {
        Container::from_bytes(bytes, name).and_then(|c| Verified::from_container(&c))
    }

    /// Takes the module of a container.
    ///
    /// # Errors
    /// When it was assembled by another build.
    pub fn from_container(container: &Arc<Container>) -> Result<Verified, container::Error> {
        let module = Arc::new(container.module()?);
        let about = container.about();
        let warnings = OnceLock::new();
        if !about.findings {
            let (name, source) = (module.name.clone(), module.source.clone());
            let _ = warnings.set(Diagnostics { name, source, diags: Vec::new() });
        }
        let code = container.section(Section::Code).len();
        let trusted = container.owner().is_some_and(|o| ptx_jit::may_run(o.user, o.shared).is_ok());
        let bundle = if code > 0 && trusted {
            Bundle::new(Arc::new(Held(Arc::clone(container))), 0..code)
        } else {
            Bundle::default()
        };
        Ok(Verified {
            module,
            about,
            warnings: Arc::new(warnings),
            container: Some(Arc::clone(container)),
            kernels: Arc::default(),
            spaced: Arc::default(),
            joined: Arc::default(),
            counting: Arc::default(),
            codes: Arc::new(Codes::with(bundle)),
        })
    }

    /// The module as a container, with compiled code for launches of these kernels in blocks of these shapes.
    ///
    /// # Errors
    /// The first kernel that is not compiled, and why.
    pub fn assemble(&self, code: &[KernelBlock<'_>]) -> Result<Vec<u8>, NotCompiled> {
        let mut collection = Collection::default();
        for (name, block) in code {
            let not = |why: String| NotCompiled { kernel: (*name).to_owned(), why };
            let kernel = self.kernel(name).ok_or_else(|| not("there is no such kernel".into()))?;
            let kernel = kernel.map_err(|refusal| not(refusal.to_string()))?;
            let program = kernel.program();
            let none = Options::default();
            bundled_sizes(program, |sizes| {
                sizes.into_iter().try_for_each(|size| {
                    ptx_jit::collect(program, *block, Some(size), none, &mut collection)
                })
            })
            .map_err(|why| not(why.to_string()))?;
        }
        Ok(container::write(&self.module, self.about, &collection.into_bytes()))
    }

    /// The module as a container without compiled code.
    pub fn container_bytes(&self) -> Vec<u8> {
        container::write(&self.module, self.about, &[])
    }

    /// The options that it was verified with.
    pub fn options(&self) -> VerifyOptions {
        self.about.into()
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// A function that the module calls, that it does not define, and that no system function is.
    pub fn undefined(&self) -> Option<&str> {
        use ptx_parse::module::{Func, Linkage, Operand};
        const SYSTEM: &[&str] = &["vprintf", "malloc", "free", "__assertfail"];
        let module = &*self.module;
        let open = |f: &Func| f.body.is_none() && f.alias.is_none() && f.linkage == Linkage::Extern;
        let unknown = |f: &&Func| open(f) && !SYSTEM.contains(&f.name.as_str());
        // Bodies of a container are read when they are looked at.
        module.functions.iter().find(unknown)?;
        let bodies = module.functions.iter().filter_map(|f| f.body.as_ref());
        let called = bodies.flat_map(|b| &b.operands).filter_map(|op| match op {
            Operand::Call(call) => match call.callee {
                Operand::Func(f) => module.functions.get(f as usize),
                _ => None,
            },
            _ => None,
        });
        called.into_iter().find(unknown).map(|f| f.name.as_str())
    }

    /// From now on, modules loaded and kernels asked for count the instructions that are not exact
    /// ([`crate::Fidelity`]): such kernels run slower.
    pub fn count_inexact(&self) {
        self.counting.store(true, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> bool {
        self.counting.load(Ordering::Relaxed)
    }

    /// The container that it comes from, if it does.
    pub fn container(&self) -> Option<&Container> {
        self.container.as_deref()
    }

    /// Kernels whose compiled code came with the container and may be used.
    pub fn bundled(&self) -> usize {
        self.codes.bundled()
    }

    /// The kernel ready to run; lowered and decoded on first use.
    pub(crate) fn kernel(&self, name: &str) -> Option<Result<Arc<Kernel>, Refusal>> {
        let index = lower::entry_index(&self.module, name)?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kernels.get(&index) {
            return Some(Ok(Arc::clone(&known.kernel)));
        }
        Some(self.lower(index).inspect(|kernel| {
            kernels.insert(index, Prepared { kernel: Arc::clone(kernel), resources: None });
        }))
    }

    /// What a kernel needs of a device, found out once.
    pub fn resources(&self, name: &str) -> Option<Result<Arc<Resources>, Refusal>> {
        Some(self.ready(name)?.map(|ready| ready.resources))
    }

    /// The kernel ready to run, with what it needs of a device.
    pub fn ready(&self, name: &str) -> Option<Result<ReadyKernel, Refusal>> {
        let kernel = match self.kernel(name)? {
            Ok(kernel) => kernel,
            Err(refusal) => return Some(Err(refusal)),
        };
        let index = lower::entry_index(&self.module, name)?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kernels.get_mut(&index)?;
        let find = || Arc::new(Resources::of(kernel.program()));
        let resources = Arc::clone(known.resources.get_or_insert_with(find));
        Some(Ok(ReadyKernel { kernel, resources }))
    }

    /// The kernel with room between its variables, for checks; `None` when it cannot run.
    pub(crate) fn spaced(&self, name: &str) -> Option<Arc<Kernel>> {
        let index = lower::entry_index(&self.module, name)?;
        let mut spaced = self.spaced.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = spaced.get(&index) {
            return Some(Arc::clone(known));
        }
        let kernel = self.lower_with(index, ptx_check::GAP).ok()?;
        spaced.insert(index, Arc::clone(&kernel));
        Some(kernel)
    }

    /// The kernel for blocks of one thread with so many bytes of shared memory that are put together; `None` where it
    /// can tell, or has been asked for with too many sizes.
    pub(crate) fn joined(&self, kernel: &Kernel, shared: u32) -> Option<Arc<Joined>> {
        const SIZES: usize = 256;
        let index = kernel.program().functions[0].id;
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = joined.get(&(index, shared)) {
            return known.clone();
        }
        if joined.len() >= SIZES {
            return None;
        }
        let new = Joined::new(kernel, shared).map(Arc::new);
        joined.insert((index, shared), new.clone());
        new
    }

    fn lower(&self, index: u32) -> Result<Arc<Kernel>, Refusal> {
        self.lower_with(index, 0)
    }

    fn lower_with(&self, index: u32, gap: u32) -> Result<Arc<Kernel>, Refusal> {
        let make = || {
            let mut program = lower::lower_spaced(&self.module, index, gap)?;
            if self.counts() && count::has_inexact(&program) {
                program = count::counted(&program, self.module.symbols.len() as u32);
            }
            Ok(Arc::new(Kernel::decode(Arc::new(program))))
        };
        let Some(container) = &self.container else { return make() };
        // A forged container may hold what no verifier lets pass; lowering is made for what it does.
        quiet::attempt(make).unwrap_or_else(|| {
            let func = &self.module.functions[index as usize];
            Err(Refusal {
                opcode: func.name.to_string(),
                why: format!("{} does not hold what the verifier lets pass", container.file()),
                function: func.name.to_string(),
                span: func.span.clone(),
            })
        })
    }

    /// Findings that do not refuse the module.
    pub fn warnings(&self) -> &Diagnostics {
        self.warnings.get_or_init(|| {
            let (name, source) = (self.module.name.clone(), self.module.source.clone());
            let lenient = self.about.lenient;
            let (_, diags) = ptx_parse::parse_and_verify_with(&source, &name, lenient);
            Diagnostics { name, source, diags }
        })
    }
}

/// The text in canonical form.
///
/// # Errors
/// The findings, if the text does not parse.
pub fn format(text: &str, name: &str) -> Result<String, Diagnostics> {
    let (ast, diags) = ptx_parse::parse(text);
    if diags.iter().any(Diag::is_error) {
        return Err(Diagnostics { name: name.into(), source: text.into(), diags });
    }
    Ok(ptx_parse::print::print(&ast))
}

/// Findings that are shown to people.
const MOST_SHOWN: usize = 1000;

impl Diagnostics {
    /// The findings in the order of the text.
    pub fn diags(&self) -> &[Diag] {
        &self.diags
    }

    /// How many of them are errors.
    pub fn errors(&self) -> usize {
        self.diags.iter().filter(|d| d.is_error()).count()
    }

    /// The findings as text for people, up to a thousand.
    pub fn render(&self, color: bool) -> String {
        let reporter = Reporter::new(&self.name, &self.source);
        let shown = self.diags.iter().take(MOST_SHOWN);
        let mut text: String =
            shown.map(|d| if color { reporter.coloured(d) } else { reporter.plain(d) }).collect();
        let rest = self.diags.len().saturating_sub(MOST_SHOWN);
        if rest > 0 {
            text.push_str(&format!("{rest} more findings are not shown\n"));
        }
        text
    }

    /// All findings as data: an array with file, place, code, severity, message, notes and help of each.
    pub fn to_json(&self) -> serde_json::Value {
        let reporter = Reporter::new(&self.name, &self.source);
        let located = self.diags.iter().map(|d| serde_json::to_value(reporter.locate(d)));
        located.map(|v| v.unwrap_or_default()).collect()
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
