//! Compiles PTX kernels with Cranelift, one function per thread block.
//!
//! [`compile`] takes a lowered [`Program`] and the launch's block shape; a [`Worker`] runs blocks
//! of a [`Launch`] against the memory of a [`Device`]. What cannot be compiled is
//! [`Unsupported`], with the line, and runs in the interpreter instead. Results are the
//! interpreter's, bit for bit.
//!
//! | module | what it does |
//! | --- | --- |
//! | `ir`, `build` | the middle form: calls inlined, micro-ops in SSA form |
//! | `opt` | folding, value numbering, loop-invariant code, dead code, where NaNs are seen |
//! | `shape`, `align`, `live` | uniform, linear and varying values; divergent control flow; liveness |
//! | `range` | bounds of values, and what of a launch they take for granted |
//! | `limits` | what is refused, and how many lanes run together |
//! | `emit`, `control`, `spill` | a block's groups; control flow and masks; barriers |
//! | `form` | slices of four lanes, and of sixteen |
//! | `values`, `pure`, `ops`, `ops_wide`, `access` | scalars and slices; pure micro-ops; memory |
//! | `worker`, `lanes`, `thunk`, `ctx` | running compiled blocks and what they call |
//! | `blob`, `cache`, `bundle` | machine code in memory, on disk, and beside a module |
//! | `perf` | compiled code for `perf` |

mod access;
mod align;
mod blob;
mod build;
mod bundle;
mod cache;
mod control;
mod counted;
mod ctx;
mod emit;
mod form;
mod ir;
mod lanes;
mod limits;
mod live;
mod ops;
mod ops_wide;
mod opt;
mod perf;
mod pure;
mod range;
mod shape;
mod spill;
mod thunk;
mod together;
mod values;
mod wide;
mod worker;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetFrontendConfig, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use ptx_isa::effect::Fault;
use ptx_isa::special::Sreg;
use ptx_isa::texture::Texture;
use ptx_parse::code::Program;

pub use bundle::{Bundle, Collection, Holder};
pub use cache::{Cache, Usage, may_run};
pub use worker::Worker;

use crate::blob::Blob;
use crate::bundle::Store;
use crate::wide::Machine;

use crate::ir::{Func, Place};
use crate::range::Assumptions;
use crate::shape::Geometry;

/// Why a kernel is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", if *line == 0 { String::new() } else { format!("line {line}: ") })]
pub struct Unsupported {
    /// The reason.
    pub why: String,
    /// Line of the module text; 0: no line is to blame.
    pub line: u32,
}

impl Unsupported {
    pub(crate) fn at(program: &Program, place: &Place, why: &str) -> Unsupported {
        let line = line(program, place.span.start);
        Unsupported { why: why.into(), line }
    }
}

/// Line of a place in the module text.
fn line(program: &Program, at: u32) -> u32 {
    let end = (at as usize).min(program.source.len());
    program.source.as_bytes()[..end].iter().filter(|b| **b == b'\n').count() as u32 + 1
}

/// Addresses of one allocation and where they lie on the host.
#[derive(Copy, Clone, Debug)]
pub struct Span {
    /// First device address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Whether kernels may write.
    pub writable: bool,
    /// Host memory of `start`.
    pub host: *mut u8,
}

/// The device that a launch runs on.
///
/// # Safety
/// Memory of a [`Span`] stays valid for reads (and writes, where it is writable) of all its bytes
/// while any [`Worker`] of the launch exists, and the host holds no references to it.
pub unsafe trait Device: Sync {
    /// The allocation of global or constant memory that holds `address`.
    fn span(&self, address: u64) -> Option<Span>;
    /// A special register that is neither the thread's place in its block nor the block's in the
    /// grid.
    fn special(&self, block: [u32; 3], reg: Sreg) -> u64;
    /// The texture, sampler or surface object behind a handle.
    fn texture(&self, handle: u64) -> Option<Arc<Texture>>;
    /// Asked now and then in loops: whether the launch goes on (not cancelled, not too long).
    fn go_on(&self) -> bool;
}

/// One launch of a kernel.
pub struct Launch<'a> {
    /// Memory and limits.
    pub device: &'a dyn Device,
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// The parameter block.
    pub params: &'a [u8],
    /// Addresses of the module's symbols, each in its own space.
    pub symbols: &'a [u64],
    /// Shared memory of a block, static and dynamic.
    pub shared_bytes: u32,
}

/// Why a block did not run to its end. Memory may have changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A thread faulted.
    #[error("{fault}")]
    Fault {
        /// What happened.
        fault: Fault,
        /// Function of the program.
        function: u32,
        /// Text of the instruction.
        span: std::ops::Range<u32>,
        /// Block.
        block: [u32; 3],
        /// Thread.
        thread: [u32; 3],
    },
    /// An index of `brx.idx` is beyond its table.
    #[error("an index of `brx.idx` is beyond its table")]
    BranchIndex,
    /// [`Device::go_on`] said no.
    #[error("the launch was stopped")]
    Device,
}

/// A compiled kernel.
pub struct Kernel {
    pub(crate) func: Func,
    pub(crate) geometry: Geometry,
    pub(crate) layout: emit::Layout,
    pub(crate) entry: unsafe extern "C" fn(*mut ctx::Ctx) -> u64,
    /// Special registers that the code reads from its context.
    pub(crate) specials: Vec<Sreg>,
    /// Bytes of parameters and number of symbols that the code may read.
    pub(crate) param_bytes: u32,
    pub(crate) symbols: u32,
    pub(crate) thunks: thunk::Thunks,
    assumed: Assumptions,
    _blob: Blob,
    scratch: Mutex<Vec<worker::Scratch>>,
    /// Sizes for reports.
    pub stats: Stats,
}

/// What compiling a kernel came to.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Threads that run in lock step.
    pub lanes: u32,
    /// Values of the middle form that are left.
    pub values: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Whether the code comes from a [`Cache`].
    pub cached: bool,
}

impl Kernel {
    /// Memory that workers have left.
    pub(crate) fn scratch(&self) -> MutexGuard<'_, Vec<worker::Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Threads of a block that this code is for.
    pub fn block(&self) -> [u32; 3] {
        self.geometry.block
    }

    /// Whether a launch may use this code: addresses are computed under assumptions about the grid
    /// and the parameters.
    pub fn fits(&self, grid: [u32; 3], params: &[u8]) -> bool {
        let b = self.geometry.block;
        (0..3).all(|d| grid[d] as u64 * b[d] as u64 <= i32::MAX as u64)
            && self.assumed.hold(grid, params)
    }
}

/// A launch that code is compiled for; others of about its size can use the code too.
#[derive(Copy, Clone, Debug)]
pub struct Seen<'a> {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// The parameter block.
    pub params: &'a [u8],
}

/// Compiles `program` for blocks of `block` threads, for launches like the one that was seen.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn compile(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
) -> Result<Kernel, Unsupported> {
    build(program, block, seen, None)
}

/// As [`compile`], with the code from `cache` if it is there, and left there otherwise.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn compile_cached(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    cache: &Cache,
) -> Result<Kernel, Unsupported> {
    build(program, block, seen, Some(&mut &*cache))
}

/// The code of a bundle for launches like the one that was seen, or for all; `None` where it has none.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn find(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    bundle: &Bundle,
) -> Result<Option<Kernel>, Unsupported> {
    let middle = middle(program, block, seen, wide::here())?;
    let key = key(program, &middle, &*target()?);
    let found = bundle.load(key);
    found.map(|(blob, layout)| finish(program, middle, blob, layout, true)).transpose()
}

/// Compiles into a collection, for a [`Bundle`].
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn collect(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    into: &mut Collection,
) -> Result<(), Unsupported> {
    build(program, block, seen, Some(into)).map(|_| ())
}

fn build(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    mut store: Option<&mut dyn Store>,
) -> Result<Kernel, Unsupported> {
    let isa = target()?;
    let first = middle(program, block, seen, wide::here())?;
    match attempt(program, first, &*isa, reborrow(&mut store)) {
        Err(Attempt::Wide(why)) => {
            let _ = why;
            let middle = middle(program, block, seen, false)?;
            attempt(program, middle, &*isa, reborrow(&mut store)).map_err(Attempt::reason)
        }
        other => other.map_err(Attempt::reason),
    }
}

fn reborrow<'a>(store: &'a mut Option<&mut dyn Store>) -> Option<&'a mut dyn Store> {
    match store {
        Some(store) => Some(&mut **store),
        None => None,
    }
}

/// Why a form of a kernel was not compiled.
enum Attempt {
    /// It has no code with 512-bit vectors.
    Wide(String),
    Any(Unsupported),
}

impl Attempt {
    fn reason(self) -> Unsupported {
        match self {
            Attempt::Wide(why) => refuse(why),
            Attempt::Any(why) => why,
        }
    }
}

fn attempt(
    program: &Program,
    middle: Middle,
    isa: &dyn TargetIsa,
    store: Option<&mut dyn Store>,
) -> Result<Kernel, Attempt> {
    let store = store.map(|store| (store, key(program, &middle, isa)));
    let found = store.as_ref().and_then(|(store, key)| store.load(*key));
    let cached = found.is_some();
    let (blob, layout) = match found {
        Some(found) => found,
        None => {
            let (machine, layout) = machine(&middle, isa)?;
            let blob =
                Blob::new(&machine.bytes).map_err(|e| Attempt::Any(refuse(e.to_string())))?;
            if let Some((store, key)) = store {
                store.store(key, &machine.bytes, &layout);
            }
            let lines = perf::lines(program, &machine.places);
            let name = &program.functions[0].name;
            perf::record(name, &program.module, blob.at(0) as u64, &machine.bytes, &lines);
            (blob, layout)
        }
    };
    finish(program, middle, blob, layout, cached).map_err(Attempt::Any)
}

/// The machine code of a kernel.
fn machine(middle: &Middle, isa: &dyn TargetIsa) -> Result<(Machine, emit::Layout), Attempt> {
    let any = |why: String| Attempt::Any(refuse(why));
    let (func, geometry, shapes, _, wide) = middle;
    let (mut cx, layout) =
        code(func, *geometry, shapes, isa.frontend_config(), *wide).map_err(Attempt::Any)?;
    if *wide {
        return Ok((wide::compile(&mut cx, isa).map_err(Attempt::Wide)?, layout));
    }
    let compiled = cx
        .compile(isa, &mut ControlPlane::default())
        .map_err(|e| any(format!("{:?}", e.inner)))?;
    if !compiled.buffer.relocs().is_empty() {
        return Err(any("an instruction that this processor does not have".into()));
    }
    let places = compiled.buffer.get_srclocs_sorted().iter();
    let places = places.map(|p| (p.start, p.loc.bits())).collect();
    let bytes = compiled.code_buffer().to_vec();
    let code = bytes.len();
    Ok((Machine { bytes, places, code }, layout))
}

/// A kernel of its machine code and of what is needed to run that.
fn finish(
    program: &Program,
    (func, geometry, _, assumed, wide): Middle,
    blob: Blob,
    layout: emit::Layout,
    cached: bool,
) -> Result<Kernel, Unsupported> {
    let code_bytes = blob.bytes().len();
    // SAFETY: the function was compiled with this signature and calling convention.
    let entry = unsafe {
        std::mem::transmute::<usize, unsafe extern "C" fn(*mut ctx::Ctx) -> u64>(blob.at(0))
    };
    let values = func.blocks.iter().map(|b| b.insts.len()).sum();
    let stats = Stats { lanes: geometry.width, values, code_bytes, cached };
    let mut specials: Vec<Sreg> = func
        .insts
        .iter()
        .filter_map(|i| if let ir::Op::Special(s) = i.op { Some(s) } else { None })
        .collect();
    specials.sort_unstable();
    specials.dedup();
    let symbol = |i: &ir::Inst| if let ir::Op::Symbol(n, ..) = i.op { n + 1 } else { 0 };
    let symbols = func.insts.iter().map(symbol).max().unwrap_or(0);
    let param_bytes = program.param_bytes;
    Ok(Kernel {
        func,
        specials,
        param_bytes,
        symbols,
        thunks: if wide { wide::thunks()? } else { thunk::thunks()? },
        assumed,
        geometry,
        layout,
        entry,
        _blob: blob,
        scratch: Mutex::default(),
        stats,
    })
}

/// What the code of a kernel depends on.
fn key(program: &Program, middle: &Middle, isa: &dyn TargetIsa) -> cache::Key {
    let (_, geometry, _, assumed, wide) = middle;
    let mut key = cache::Key::new();
    key.add(env!("PTX_JIT_SOURCES").as_bytes());
    key.add(&ptx_parse::container::BUILD.to_le_bytes());
    key.add(env!("CARGO_PKG_VERSION").as_bytes());
    key.add(cranelift_codegen::VERSION.as_bytes());
    key.add(isa.triple().to_string().as_bytes());
    key.add(isa.flags().to_string().as_bytes());
    for flag in isa.isa_flags() {
        key.add(flag.to_string().as_bytes());
    }
    key.add(&[u8::from(lanes::has_fma()), u8::from(*wide)]);
    key.add(program.functions[0].name.as_bytes());
    key.add(program.source.as_bytes());
    key.add(format!("{geometry:?} {assumed:?} {:?}", program.tuning).as_bytes());
    key
}

fn refuse(why: String) -> Unsupported {
    Unsupported { why, line: 0 }
}

/// Cranelift for this processor.
fn target() -> Result<OwnedTargetIsa, Unsupported> {
    if !cfg!(target_arch = "x86_64") {
        return Err(refuse("compiled code is for x86-64".into()));
    }
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    // Without its own optimiser the order of loads and uses stays as emitted, which keeps values
    // in registers; folding and value numbering happened in the middle form.
    for (name, value) in [("opt_level", "none"), ("enable_verifier", verify), ("is_pic", "false")] {
        flags.set(name, value).map_err(|e| refuse(e.to_string()))?;
    }
    cranelift_native::builder()
        .map_err(|e| refuse(e.to_string()))?
        .finish(settings::Flags::new(flags))
        .map_err(|e| refuse(e.to_string()))
}

/// Values of Cranelift's form beyond which its allocation of registers takes minutes: masks and homes of a thousand blocks
/// that are all live across each other.
const MOST_VALUES: usize = 2_000_000;

/// Cranelift's form of the kernel.
fn code(
    func: &Func,
    geometry: Geometry,
    shapes: &shape::Shapes,
    config: TargetFrontendConfig,
    wide: bool,
) -> Result<(Context, emit::Layout), Unsupported> {
    let mut cx = Context::new();
    cx.func.signature.call_conv = config.default_call_conv;
    cx.func.signature.params.push(AbiParam::new(types::I64));
    cx.func.signature.returns.push(AbiParam::new(types::I64));
    let mut fcx = FunctionBuilderContext::new();
    let b = FunctionBuilder::new(&mut cx.func, &mut fcx);
    let form = form::Form { wide };
    let layout = emit::emit(func, geometry, shapes, b, lanes::has_fma(), config, form);
    // Only Cranelift's own way from here on checks what it is given.
    if wide && cfg!(debug_assertions) {
        let flags = settings::Flags::new(settings::builder());
        cranelift_codegen::verifier::verify_function(&cx.func, &flags)
            .map_err(|e| refuse(format!("{e}")))?;
    }
    if cx.func.dfg.num_values() > MOST_VALUES {
        return Err(refuse("more code than is compiled in a reasonable time".into()));
    }
    Ok((cx, layout))
}

/// The machine code, as text: for `--dump asm`.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn dump_asm(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
) -> Result<String, Unsupported> {
    let (func, geometry, shapes, _, wide) = middle(program, block, seen, wide::here())?;
    let isa = target()?;
    let (mut cx, _) = code(&func, geometry, &shapes, isa.frontend_config(), wide)?;
    if wide {
        return wide::compile(&mut cx, &*isa).map(|m| wide::text(&m)).map_err(refuse);
    }
    cx.set_disasm(true);
    let compiled = cx
        .compile(&*isa, &mut ControlPlane::default())
        .map_err(|e| refuse(format!("{:?}", e.inner)))?;
    Ok(compiled.vcode.clone().unwrap_or_default())
}

/// Cranelift's form of the kernel, as text: for `--dump clif`.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn dump_clif(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
) -> Result<String, Unsupported> {
    let (func, geometry, shapes, _, wide) = middle(program, block, seen, wide::here())?;
    let (cx, _) = code(&func, geometry, &shapes, target()?.frontend_config(), wide)?;
    Ok(cx.func.display().to_string())
}

/// The middle form after all passes, as text: for `--dump ir`.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn dump(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
) -> Result<String, Unsupported> {
    use std::fmt::Write;
    let (f, g, shapes, ..) = middle(program, block, seen, wide::here())?;
    let mut out = String::new();
    let _ = writeln!(out, "{} lanes a group, {} groups", g.width, g.groups());
    for (n, b) in f.blocks.iter().enumerate() {
        let masked = if shapes.masked[n] { " masked" } else { "" };
        let _ = writeln!(out, "block {n}{masked}: from {:?}", b.preds);
        for v in &b.insts {
            let i = &f.insts[*v as usize];
            let shape = match &shapes.of[*v as usize] {
                s if s.uniform() => "uniform",
                shape::Shape::Linear(_) => "linear",
                _ => "vector",
            };
            let _ = match i.op {
                ir::Op::Effect(e) => {
                    let e = &f.effects[e as usize];
                    writeln!(out, "    {:?} = {:?} {:?} if {:?}", e.dst, e.effect, e.src, e.guard)
                }
                op => writeln!(out, "    %{v} = {op:?} {:?}  ; {shape}", i.args),
            };
        }
        let _ = writeln!(out, "    {:?}", b.term);
    }
    Ok(out)
}

/// What is known of a kernel before there is machine code; the last one: whether slices have sixteen lanes.
type Middle = (Func, Geometry, shape::Shapes, Assumptions, bool);

fn middle(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    wide: bool,
) -> Result<Middle, Unsupported> {
    let mut func = build::build(program)?;
    // The block's shape is a constant of this code.
    for i in &mut func.insts {
        let dim = match i.op {
            ir::Op::Special(Sreg::NtidX) => 0,
            ir::Op::Special(Sreg::NtidY) => 1,
            ir::Op::Special(Sreg::NtidZ) => 2,
            _ => continue,
        };
        i.op = ir::Op::Const(u64::from(block[dim]));
    }
    opt::run(&mut func);
    if !opt::arrange(&mut func) {
        return Err(Unsupported { why: "irregular control flow".into(), line: 0 });
    }
    limits::check(program, &func)?;
    let assumed = match seen {
        Some(seen) => Assumptions::like(&func, seen.grid, seen.params),
        None => Assumptions::none(),
    };
    let wide = wide.then(|| limits::wide_geometry(&func, block, &assumed)).flatten();
    let geometry = wide.unwrap_or_else(|| limits::geometry(&func, block, &assumed));
    let mut shapes = shape::analyse(&func, geometry, &assumed);
    if opt::sink(&mut func, &shapes) {
        shapes = shape::analyse(&func, geometry, &assumed);
    }
    limits::check_shapes(program, &func, &shapes)?;
    Ok((func, geometry, shapes, assumed, wide.is_some()))
}
