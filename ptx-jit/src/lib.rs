//! Compiles PTX kernels, one function per thread block: with Cranelift, or with a back end of our own for 512-bit vectors.
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
//! | `waiting` | loops that may wait for other threads |
//! | `emit`, `control`, `spill` | a block's groups; control flow and masks; barriers |
//! | `values`, `pure`, `ops`, `ops_wide`, `access` | scalars and slices; pure micro-ops; memory |
//! | `form` | slices of four lanes in 128-bit vectors, or of sixteen in 512-bit ones |
//! | `wide` | code with 512-bit vectors, which Cranelift cannot make |
//! | `worker`, `lanes`, `thunk`, `ctx` | running compiled blocks and what they call |
//! | `blob`, `entry` | machine code in memory; what is kept of a compiled kernel |
//! | `cache`, `bundle` | where: on disk, and beside a module |
//! | `perf`, `dump` | compiled code for `perf`, and for readers |

mod access;
mod align;
mod blob;
mod build;
mod bundle;
mod cache;
mod control;
mod counted;
mod ctx;
mod dump;
mod emit;
mod entry;
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
mod waiting;
mod wide;
mod worker;

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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
pub use dump::{dump, dump_asm, dump_clif};
pub use worker::Worker;

use crate::blob::Blob;
use crate::bundle::Store;
use crate::entry::{Key, Needs};
use crate::ir::{Func, Place};
use crate::range::Assumptions;
use crate::shape::Geometry;
use crate::wide::Machine;

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
    /// A number that stays while every [`Span`] that was given holds, and that no other device has; `None`: spans hold for
    /// one launch.
    fn spans_hold_while(&self) -> Option<u64> {
        None
    }
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
    pub(crate) needs: Needs,
    pub(crate) geometry: Geometry,
    pub(crate) entry: unsafe extern "C" fn(*mut ctx::Ctx) -> u64,
    /// Bytes of parameters that the code may read.
    pub(crate) param_bytes: u32,
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

    /// Whether a launch may use this code: addresses are computed under assumptions about the grid, the parameters and
    /// the global offset.
    pub fn fits(&self, launch: Seen<'_>) -> bool {
        let b = self.geometry.block;
        (0..3).all(|d| launch.grid[d] as u64 * b[d] as u64 <= i32::MAX as u64)
            && self.assumed.hold(launch)
    }
}

/// A launch that code is compiled for; others of about its size can use the code too.
#[derive(Copy, Clone, Debug)]
pub struct Seen<'a> {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// The parameter block.
    pub params: &'a [u8],
    /// Global offset of an OpenCL launch, in work-items: `%envreg3` to `%envreg5`, as [`Device::special`] gives them.
    pub offset: [u32; 3],
}

/// In what compiled code may differ from the interpreter; by default in nothing.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// A result that is no number may have any sign and payload, those of the processor's NaN, where the interpreter has
    /// the GPU's one.
    pub fast_nan: bool,
}

/// Bits of the vectors in code that this process compiles: 512 where the processor has what that takes and
/// `PTXRUN_JIT_BITS` is not 128, else 128.
pub fn vector_bits() -> u32 {
    if wide::here() { 512 } else { 128 }
}

/// Compiles `program` for blocks of `block` threads, for launches like the one that was seen.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn compile(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
) -> Result<Kernel, Unsupported> {
    build(program, block, seen, options, None)
}

/// As [`compile`], with the code from `cache` if it is there, and left there otherwise.
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn compile_cached(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
    cache: &Cache,
) -> Result<Kernel, Unsupported> {
    build(program, block, seen, options, Some(&mut &*cache))
}

/// The code of a bundle for launches like the one that was seen, or for all; `None` where it has none.
///
/// # Errors
/// When there is no compiler for this processor.
pub fn find(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
    bundle: &Bundle,
) -> Result<Option<Kernel>, Unsupported> {
    let assumed = assumed(program, seen);
    let key = key(program, block, &assumed, options, target()?);
    let found = bundle.load(key, program);
    Ok(found.map(|(blob, needs)| finish(program, block, assumed, blob, needs, true)))
}

/// Compiles into a collection, for a [`Bundle`].
///
/// # Errors
/// What keeps the kernel from being compiled.
pub fn collect(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
    into: &mut Collection,
) -> Result<(), Unsupported> {
    build(program, block, seen, options, Some(into)).map(|_| ())
}

/// What code for a launch takes for granted.
pub(crate) fn assumed(program: &Program, seen: Option<Seen<'_>>) -> Assumptions {
    match seen {
        Some(seen) => Assumptions::like(program, seen),
        None => Assumptions::none(),
    }
}

fn build(
    program: &Program,
    block: [u32; 3],
    seen: Option<Seen<'_>>,
    options: Options,
    store: Option<&mut dyn Store>,
) -> Result<Kernel, Unsupported> {
    let assumed = assumed(program, seen);
    let isa = target()?;
    let store = store.map(|store| (store, key(program, block, &assumed, options, isa)));
    if let Some((store, key)) = &store
        && let Some((blob, needs)) = store.load(*key, program)
    {
        return Ok(finish(program, block, assumed, blob, needs, true));
    }
    let ((func, geometry, _, wide), machine, layout) =
        compiled(program, block, &assumed, options, isa)?;
    let (thunks, starts) = if wide { wide::thunks()? } else { thunk::thunks()? };
    let mut code = machine.bytes;
    let own = code.len();
    code.resize(own.next_multiple_of(64), 0);
    let starts = starts.behind(code.len());
    code.extend(thunks);
    let blob = Blob::new(&code).map_err(|e| refuse(e.to_string()))?;
    let words = entry::needs(&func, geometry, &layout, own, starts);
    // Code that was just made runs with what a later process will read.
    let needs = Needs::read(&words, program)
        .ok_or_else(|| refuse("its effects are not those of the program".into()))?;
    if let Some((store, key)) = store {
        store.store(key, &words, &code);
    }
    let lines = perf::lines(program, &machine.places);
    let name = &program.functions[0].name;
    perf::record(name, &program.module, blob.at(0) as u64, &code[..own], &lines);
    Ok(finish(program, block, assumed, blob, needs, false))
}

/// A kernel of its machine code and of what is needed to run that.
fn finish(
    program: &Program,
    block: [u32; 3],
    assumed: Assumptions,
    blob: Blob,
    needs: Needs,
    cached: bool,
) -> Kernel {
    // SAFETY: the function was compiled with this signature and calling convention.
    let entry = unsafe {
        std::mem::transmute::<usize, unsafe extern "C" fn(*mut ctx::Ctx) -> u64>(blob.at(0))
    };
    let Needs { width, values, code_bytes, .. } = needs;
    if cached {
        // The lines are not kept.
        let own = blob.bytes().get(..code_bytes).unwrap_or_default();
        perf::record(&program.functions[0].name, &program.module, blob.at(0) as u64, own, &[]);
    }
    Kernel {
        thunks: needs.thunks.behind(blob.at(0)),
        needs,
        param_bytes: program.param_bytes,
        assumed,
        geometry: Geometry { block, width },
        entry,
        _blob: blob,
        scratch: Mutex::default(),
        stats: Stats { lanes: width, values, code_bytes, cached },
    }
}

/// What the code of a kernel depends on.
fn key(
    program: &Program,
    block: [u32; 3],
    assumed: &Assumptions,
    options: Options,
    isa: &dyn TargetIsa,
) -> Key {
    static BUILD: OnceLock<Key> = OnceLock::new();
    // The same for all kernels: this program and this processor.
    let mut key = *BUILD.get_or_init(|| {
        let mut key = Key::new();
        key.add(env!("PTX_JIT_SOURCES").as_bytes());
        key.add(&ptx_parse::container::BUILD.to_le_bytes());
        key.add(env!("CARGO_PKG_VERSION").as_bytes());
        key.add(cranelift_codegen::VERSION.as_bytes());
        isa.triple().hash(&mut key);
        isa.flags().hash(&mut key);
        isa.isa_flags_hash_key().hash(&mut key);
        key.add(&[u8::from(lanes::has_fma()), u8::from(wide::here())]);
        key
    });
    key.add(program.functions[0].name.as_bytes());
    key.add(program.source.as_bytes());
    key.add(format!("{block:?} {assumed:?} {options:?} {:?}", program.tuning).as_bytes());
    key
}

fn refuse(why: String) -> Unsupported {
    Unsupported { why, line: 0 }
}

/// Cranelift for this processor.
fn target() -> Result<&'static dyn TargetIsa, Unsupported> {
    static TARGET: OnceLock<Result<OwnedTargetIsa, Unsupported>> = OnceLock::new();
    TARGET.get_or_init(make_target).as_deref().map_err(Clone::clone)
}

fn make_target() -> Result<OwnedTargetIsa, Unsupported> {
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

/// The kernel's machine code, with 512-bit vectors if that can be.
fn compiled(
    program: &Program,
    block: [u32; 3],
    assumed: &Assumptions,
    options: Options,
    isa: &dyn TargetIsa,
) -> Result<(Middle, Machine, emit::Layout), Unsupported> {
    let made = middle(program, block, assumed, options, wide::here())?;
    let (func, geometry, shapes, wide) = &made;
    let (mut cx, layout) = code(func, *geometry, shapes, isa.frontend_config(), *wide)?;
    if *wide && let Ok(machine) = wide::compile(&mut cx, isa) {
        return Ok((made, machine, layout));
    }
    let (made, mut cx, layout) = if *wide {
        // What has no form there has one here.
        let made = middle(program, block, assumed, options, false)?;
        let (func, geometry, shapes, _) = &made;
        let (cx, layout) = code(func, *geometry, shapes, isa.frontend_config(), false)?;
        (made, cx, layout)
    } else {
        (made, cx, layout)
    };
    let compiled = cx
        .compile(isa, &mut ControlPlane::default())
        .map_err(|e| refuse(format!("{:?}", e.inner)))?;
    if !compiled.buffer.relocs().is_empty() {
        return Err(refuse("an instruction that this processor does not have".into()));
    }
    let places = compiled.buffer.get_srclocs_sorted().iter();
    let places = places.map(|p| (p.start, p.loc.bits())).collect();
    let bytes = compiled.code_buffer().to_vec();
    Ok((made, Machine { bytes, places }, layout))
}

/// What is known of a kernel before there is machine code; the last one: whether slices have sixteen lanes.
type Middle = (Func, Geometry, shape::Shapes, bool);

fn middle(
    program: &Program,
    block: [u32; 3],
    assumed: &Assumptions,
    options: Options,
    wide: bool,
) -> Result<Middle, Unsupported> {
    let mut func = build::build(program)?;
    func.fast_nan = options.fast_nan;
    // The block's shape is a constant of this code, and what launches of this version agree in.
    for i in &mut func.insts {
        let ir::Op::Special(register) = i.op else { continue };
        let constant = match register {
            Sreg::NtidX => Some(u64::from(block[0])),
            Sreg::NtidY => Some(u64::from(block[1])),
            Sreg::NtidZ => Some(u64::from(block[2])),
            other => assumed.constant(other),
        };
        if let Some(constant) = constant {
            i.op = ir::Op::Const(constant);
        }
    }
    opt::run(&mut func);
    if !opt::arrange(&mut func) {
        return Err(Unsupported { why: "irregular control flow".into(), line: 0 });
    }
    limits::check(program, &func)?;
    func.waits = limits::waiting(program, &func)?;
    let wide = wide.then(|| limits::wide_geometry(&func, block, assumed)).flatten();
    let geometry = wide.unwrap_or_else(|| limits::geometry(&func, block, assumed));
    let mut shapes = shape::analyse(&func, geometry, assumed);
    if opt::sink(&mut func, &shapes) {
        shapes = shape::analyse(&func, geometry, assumed);
    }
    limits::check_shapes(program, &func, &shapes)?;
    Ok((func, geometry, shapes, wide.is_some()))
}
