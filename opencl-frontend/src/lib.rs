//! OpenCL C 3.0 to PTX text.
//!
//! ```
//! use opencl_frontend::{Options, compile};
//!
//! let source = "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }";
//! let made = compile("twice.cl", source, &Options::default()).unwrap();
//! assert!(made.ptx.contains(".entry twice("));
//! assert_eq!(made.kernels[0].args[0].name, "x");
//! let failed = compile("twice.cl", &source.replace("x[", "y["), &Options::default()).unwrap_err();
//! assert!(failed.rendered.contains("twice.cl:1:"));
//! ```
//!
//! [`compile`] takes a program and [`Options`] and returns PTX and warnings, or diagnostics.
//! The way through: `preprocess` (text to tokens), `parse` (tokens to syntax trees), `sema` (types, overloads,
//! constant expressions: a typed tree), `lower` (typed tree to SSA), `passes` (SSA to better SSA), `ptx` (SSA to text).
//! The built-in library is OpenCL C in `library/`, compiled on demand with the program that uses it.

mod absent;
pub mod diag;
pub mod info;
pub mod intrinsic;
pub mod ir;
mod library;
pub mod lower;
pub mod options;
pub mod parse;
pub mod passes;
pub mod preprocess;
pub mod ptx;
pub mod sema;
pub mod session;
pub mod source;
pub mod symbol;
pub mod types;

use std::sync::Arc;

use diag::{Code, Diag};
pub use options::Options;
use sema::Source;
pub use session::Session;
use source::SourceMap;

/// What a successful compilation gives.
#[derive(Clone, Debug)]
pub struct Output {
    /// PTX text.
    pub ptx: String,
    /// Its kernels, for hosts.
    pub kernels: Vec<info::KernelInfo>,
    /// Warnings.
    pub warnings: Vec<Diag>,
    /// Warnings as text with source excerpts.
    pub rendered: String,
    /// The sources that the warnings point into.
    pub sources: Arc<SourceMap>,
}

/// Why a compilation failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Errors and warnings in order.
    pub diags: Vec<Diag>,
    /// The same as text with source excerpts.
    pub rendered: String,
    /// The sources that they point into.
    pub sources: Arc<SourceMap>,
}

/// Names of the functions that the built-in library defines. Functions that exist for every type (`convert_…`,
/// `as_…`, `vload…`, `vstore…`, `atomic_…`, `select`, relational functions, `shuffle`, `printf`) are not in it.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    library::names()
}

/// Stack of the compiling thread: syntax trees are processed by recursion, and their height is bounded.
pub(crate) const STACK: usize = 256 << 20;

/// A checked source that is not linked yet, as `clCompileProgram` makes it.
///
/// It holds the source: linking translates all sources together, so that calls between them inline.
#[derive(Clone, Debug)]
pub struct Object {
    source: Source,
}

/// Compiles a program named `name` in diagnostics.
///
/// # Errors
/// When the program breaks a rule of the language, or needs what the target lacks.
pub fn compile(name: &str, source: &str, options: &Options) -> Result<Output, Failure> {
    let source =
        Source { name: name.to_string(), text: source.to_string(), options: options.clone() };
    on_large_stack(|| translate_all(std::slice::from_ref(&source), options))
}

/// Checks a source that may use functions and constants of others. The text is its warnings, rendered.
///
/// # Errors
/// When the source breaks a rule of the language.
pub fn compile_object(
    name: &str,
    source: &str,
    options: &Options,
) -> Result<(Object, String), Failure> {
    let source =
        Source { name: name.to_string(), text: source.to_string(), options: options.clone() };
    on_large_stack(|| {
        let mut session = Session::new(options.clone());
        sema::analyze(&mut session, std::slice::from_ref(&source), true);
        let failed = session.has_errors();
        let rendered = diag::render(&session.diags, &session.map, false);
        let Session { diags, map, .. } = session;
        if failed {
            return Err(Failure { diags, rendered, sources: Arc::new(map) });
        }
        Ok((Object { source: source.clone() }, rendered))
    })
}

/// Links objects to one program. Each keeps the options that it was compiled with for its language and macros;
/// those given here are for code generation.
///
/// # Errors
/// When something is defined twice or not at all, or needs what the target lacks.
pub fn link(objects: &[Object], options: &Options) -> Result<Output, Failure> {
    // Functions of one source work for kernels of another: all have groups of one size, or none.
    let uniform_groups = !objects.iter().all(|o| o.source.options.has_rest_groups());
    let cl_std = objects.iter().map(|o| o.source.options.cl_std).min().unwrap_or(options.cl_std);
    // Warnings were reported when the objects were made.
    let mended = |own: &Options, cl_std: u32| Options {
        no_warnings: true,
        uniform_groups,
        cl_std,
        ..own.clone()
    };
    let options = mended(options, cl_std);
    let sources: Vec<Source> = objects
        .iter()
        .map(|o| &o.source)
        .map(|s| Source { options: mended(&s.options, s.options.cl_std), ..s.clone() })
        .collect();
    on_large_stack(|| translate_all(&sources, &options))
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let failed = match worker.map(|w| w.join()) {
            Ok(Ok(result)) => return result,
            Ok(Err(_)) => {
                (Code::Internal, "the compiler failed on this program; please report it".into())
            }
            // Most often the process has too little address space left (`ulimit -v`).
            Err(error) => {
                let stack = format!("the compiler needs a thread with {} MB of stack", STACK >> 20);
                (Code::Limit, format!("{stack}: {error}"))
            }
        };
        let diag = Diag::error(failed.0, failed.1);
        let sources = Arc::new(SourceMap::default());
        let rendered = diag::render(std::slice::from_ref(&diag), &sources, false);
        Err(Failure { diags: vec![diag], rendered, sources })
    })
}

fn translate_all(sources: &[Source], options: &Options) -> Result<Output, Failure> {
    let mut session = Session::new(options.clone());
    let translated = translate(&mut session, sources);
    let rendered = diag::render(&session.diags, &session.map, false);
    let failed = session.has_errors();
    let Session { diags, map, .. } = session;
    let sources = Arc::new(map);
    match translated {
        Some((ptx, kernels)) if !failed => {
            Ok(Output { ptx, kernels, warnings: diags, rendered, sources })
        }
        _ => Err(Failure { diags, rendered, sources }),
    }
}

/// Most bytes of `__local` variables of a kernel: what `.shared` variables may take (CUDA C++ Programming Guide,
/// technical specifications).
const LOCAL_MEMORY: u64 = 48 << 10;

/// What is wrong with a kernel that declares more local memory than there is.
fn local_memory(program: &sema::hir::Program, f: &ir::Func) -> Option<Diag> {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut bytes = 0;
    for v in f.blocks.iter().flat_map(|b| &b.insts).filter(|_| f.is_kernel) {
        if let ir::Op::GlobalAddr(g) = f.op(*v)
            && program.globals[*g as usize].bytes.is_none()
            && seen.insert(*g)
        {
            bytes += program.types.size(program.globals[*g as usize].ty.id).unwrap_or(1).max(1);
        }
    }
    (bytes > LOCAL_MEMORY).then(|| {
        let message = format!(
            "kernel `{}` declares {bytes} bytes of local memory, {LOCAL_MEMORY} are possible",
            f.name
        );
        Diag::error(Code::Limit, message)
            .help("take it as a `__local` argument, whose size the program gives")
    })
}

fn translate(session: &mut Session, sources: &[Source]) -> Option<(String, Vec<info::KernelInfo>)> {
    let (program, units) = sema::analyze(session, sources, false);
    if session.has_errors() {
        return None;
    }
    // Addresses are known to the loader only.
    let known = |g: &sema::hir::Global| g.bytes.clone().filter(|_| g.addresses.is_empty());
    let constant_data: Arc<[Option<Vec<u8>>]> = program.globals.iter().map(known).collect();
    let (mut kernels, mut refused) = (Vec::new(), Vec::new());
    let mut lowered = lower::Functions::new(&program, &session.names, &session.options);
    let here = |f: &(usize, &sema::hir::Function)| f.1.is_kernel && f.1.body.is_some();
    let mut wanted = program.functions.iter().enumerate().filter(here);
    let functions = std::iter::from_fn(|| {
        let (id, function) = match wanted.next() {
            Some((i, _)) => {
                let id = sema::hir::FunctionId(i as u32);
                (id, lowered.kernel(id))
            }
            None => lowered.next_called()?,
        };
        let known = |mut f: ir::Func| {
            f.constant_data = Arc::clone(&constant_data);
            f
        };
        Some((id, function.map(known)))
    });
    for (id, function) in passes::optimize_each(functions, &session.options, STACK) {
        match function {
            Ok(f) => {
                refused.extend(local_memory(&program, &f).map(|diag| (diag, id)));
                kernels.push(f);
            }
            Err(diag) => refused.push((diag, id)),
        }
    }
    for (diag, id) in refused {
        let function = &program.functions[id.0 as usize];
        session.report_at(diag, &units[function.unit as usize], function.span);
    }
    if session.has_errors() {
        return None;
    }
    // Lines of the locations that the kernels name.
    let mut files: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for f in &kernels {
        let mut table = Vec::new();
        for &(u, token) in &f.locations {
            let place = preprocess::token_place(&units[u as usize], token)
                .filter(|_| session.options.has_lines());
            table.push(place.map(|(span, expansion)| {
                let placed = Diag::error(Code::Internal, "").at_expanded(
                    span,
                    expansion,
                    &session.map,
                    &session.names,
                );
                let at = session.map.location(placed.span.unwrap_or(span).lo);
                let file = files.iter().position(|n| *n == at.file).unwrap_or_else(|| {
                    files.push(at.file.clone());
                    files.len() - 1
                });
                (file as u32 + 1, at.line, at.column)
            }));
        }
        lines.push(table);
    }
    let sources = |file: u32, line: u32| -> Option<String> {
        let name = files.get(file as usize - 1)?;
        session.map.files().iter().find(|f| f.name == *name)?.line(line).map(str::to_string)
    };
    match ptx::write(&program, &session.names, &session.options, &kernels, &files, &lines, &sources)
    {
        Ok(text) => {
            let is_local = |g: u32| program.globals[g as usize].bytes.is_none();
            let mut infos = info::kernels(&program, &session.names);
            for info in &mut infos {
                let own = kernels.iter().find(|f| f.is_kernel && f.name == info.name);
                info.rest_groups = session.options.has_rest_groups();
                info.any_group = own.is_some_and(|f| ir::groups::any_size(f, is_local));
            }
            Some((text, infos))
        }
        Err(diag) => {
            session.report(diag);
            None
        }
    }
}
