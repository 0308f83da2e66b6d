//! Compiles PTX kernels, one function per thread block: with Cranelift, or with a back end of our own for 512-bit
//! vectors.
//!
//! [`compile`] takes a lowered [`Program`](ptx_parse::code::Program) and the launch's block shape; [`run_blocks`]
//! runs blocks of a [`Launch`] against the memory of a [`Device`]. What cannot be compiled is [`Unsupported`], with the
//! line, and runs in the interpreter instead. Results are the interpreter's, bit for bit.
//!
//! | module | what it does |
//! | --- | --- |
//! | `device`, `options`, `kernel`, `unsupported` | what callers see |
//! | `compile`, `middle`, `backend` | from a program to a kernel, to the middle form, to machine code |
//! | `calls`, `recursion` | who calls whom; recursive functions as loops over a stack |
//! | `ir`, `build` | the middle form: calls inlined, micro-ops in SSA form |
//! | `opt`, `exits`, `nans` | folding, value numbering, loop-invariant code, dead code; branches; where NaNs are seen |
//! | `records`, `interleaved` | words of records together; vectors that stay as they lie in memory |
//! | `alike`, `beside` | local memory that holds the same for all lanes of a group, or has theirs side by side |
//! | `tiles` | one check of several loads from shared memory |
//! | `variance`, `divergence`, `align`, `live` | uniform, linear and varying values; divergent control flow; liveness |
//! | `range` | bounds of values, and what of a launch they take for granted |
//! | `limits`, `pressure` | what is refused, how many lanes run together, how many registers they need |
//! | `waiting` | loops that may wait for other threads |
//! | `meet` | threads that run one by one, and what they do together |
//! | `emit`, `control`, `branches`, `spill`, `saved` | a block's groups; control flow and masks; barriers |
//! | `values`, `pure`, `ops`, `ops_bits`, `ops_words`, `approx`, `access` | scalars and slices; pure micro-ops; memory |
//! | `form` | slices of four lanes in 128-bit vectors, or of sixteen in 512-bit ones |
//! | `x86` | code with 512-bit vectors, which Cranelift cannot make |
//! | `watcher`, `watch`, `unraced` | who is told of accesses and may end a launch; how it is told; of what it need not be |
//! | `reductions` | barriers at which a block agrees on a value |
//! | `resident`, `worker`, `warp`, `system`, `lanes`, `thunk`, `ctx` | running compiled blocks and what they call |
//! | `blob`, `entry` | machine code in memory; what is kept of a compiled kernel |
//! | `cache`, `bundle` | where: on disk, and beside a module |
//! | `perf`, `dump` | compiled code for `perf`, and for readers |

mod access;
mod align;
mod alike;
mod approx;
mod backend;
mod beside;
mod blob;
mod bounded;
mod branches;
mod build;
mod bundle;
mod cache;
mod calls;
mod clif;
mod compile;
mod control;
mod counted;
mod ctx;
mod decided;
mod device;
mod divergence;
mod dump;
mod early;
mod effects;
mod emit;
mod emits;
mod entry;
mod exits;
mod form;
mod generator;
mod geometry;
mod host;
mod interleaved;
mod ir;
mod kernel;
mod lanes;
mod layout;
mod limits;
mod live;
mod meet;
mod middle;
mod nans;
mod native;
mod ops;
mod ops_bits;
mod ops_halves;
mod ops_words;
mod opt;
mod options;
mod owner;
mod perf;
mod pressure;
mod processor;
mod pure;
mod quotient;
mod range;
mod records;
mod recursion;
mod reductions;
mod resident;
mod saved;
mod scratch;
mod slices;
mod special;
mod spill;
mod system;
mod thunk;
mod tiles;
mod together;
mod unchecked;
mod uniform_loads;
mod unraced;
mod unsupported;
mod values;
mod variance;
mod waiting;
mod warp;
mod watch;
mod watcher;
mod worker;
mod x86;

pub use backend::vector_bits;
pub use bundle::{Bundle, Collection, Holder};
pub use cache::{Cache, Usage};
pub use compile::{collect, compile, compile_cached, find};
pub use device::{Device, Launch, Span, Stop, SystemCall};
pub use dump::{dump, dump_asm, dump_clif};
pub use kernel::{Kernel, Stats};
pub use options::{Options, Seen, Tracked, Watched};
pub use owner::may_run;
pub use resident::{Blocks, run_blocks};
pub use unsupported::Unsupported;
pub use watcher::Watcher;
