//! From a program to a kernel: code that is kept is taken, other code is made and kept.

use std::hash::Hash;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};

use cranelift_codegen::isa::TargetIsa;
use ptx_parse::code::Program;

use crate::backend::{self, Compiled, compiled, widest};
use crate::blob::Blob;
use crate::bundle::{Bundle, Collection, Store};
use crate::cache::Cache;
use crate::ctx::Ctx;
use crate::entry::{self, Key, Needs};
use crate::geometry::Geometry;
use crate::host::target;
use crate::kernel::{Kernel, Stats};
use crate::options::{Options, Seen, Watched};
use crate::range::Assumptions;
use crate::recursion::flattened;
use crate::unsupported::Unsupported;
use crate::{perf, processor};

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
    let program = &*flattened(program, options.stack)?;
    let assumed = assumed(program, seen);
    let key = key(program, block, &assumed, options, target()?);
    let found = bundle.load(key, program).filter(|(_, needs)| wanted(needs, options));
    Ok(found
        .map(|(blob, needs)| finish(program, block, (assumed, options.watched), blob, needs, true)))
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

/// Whether code that was kept is of the kind that is asked for.
fn wanted(needs: &Needs, options: Options) -> bool {
    options.meets || needs.layout.meets.is_empty()
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
    let program = &*flattened(program, options.stack)?;
    let assumed = assumed(program, seen);
    let isa = target()?;
    let store = store.map(|store| (store, key(program, block, &assumed, options, isa)));
    if let Some((store, key)) = &store
        && let Some((blob, needs)) = store.load(*key, program)
    {
        if !wanted(&needs, options) {
            return Err(Unsupported::new("threads that meet one by one"));
        }
        return Ok(finish(program, block, (assumed, options.watched), blob, needs, true));
    }
    let Compiled { middle, code: machine, layout } =
        compiled(program, block, &assumed, options, isa)?;
    let (thunks, starts) = backend::thunks(middle.form)?;
    let mut code = machine.bytes;
    let own = code.len();
    code.resize(own.next_multiple_of(64), 0);
    let starts = starts.behind(code.len());
    code.extend(thunks);
    let blob = Blob::new(&code).map_err(|e| Unsupported::new(e.to_string()))?;
    let words = entry::needs(&middle.func, middle.geometry, middle.form, &layout, own, starts);
    // Code that was just made runs with what a later process will read.
    let needs = Needs::read(&words, program)
        .ok_or_else(|| Unsupported::new("its effects are not those of the program"))?;
    if let Some((store, key)) = store {
        store.store(key, &words, &code);
    }
    let lines = perf::lines(program, &machine.places);
    let name = &program.functions[0].name;
    perf::record(name, &program.module, blob.at(0) as u64, &code[..own], &lines);
    Ok(finish(program, block, (assumed, options.watched), blob, needs, false))
}

/// A kernel of its machine code and of what is needed to run that.
fn finish(
    program: &Program,
    block: [u32; 3],
    (assumed, watched): (Assumptions, Watched),
    blob: Blob,
    needs: Needs,
    cached: bool,
) -> Kernel {
    // SAFETY: the function was compiled with this signature and calling convention.
    let entry =
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut Ctx) -> u64>(blob.at(0)) };
    let Needs { width, vector_bits, values, code_bytes, .. } = needs;
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
        watched,
        _blob: blob,
        scratch: Mutex::default(),
        pace: AtomicU64::new(0),
        stats: Stats { lanes: width, vector_bits, values, code_bytes, cached },
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
        key.add(&[u8::from(processor::has_fma()), widest().lanes]);
        key
    });
    key.add(program.functions[0].name.as_bytes());
    key.add(program.source.as_bytes());
    let lowered = (&program.tuning, program.contraction, program.counted, program.joined);
    // Code for vectors is the same whether threads might meet or not: `wanted` looks at what was found.
    let options = Options { meets: true, ..options };
    key.add(format!("{block:?} {assumed:?} {options:?} {lowered:?}").as_bytes());
    key
}
