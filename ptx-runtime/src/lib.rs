//! Device, memory, modules and launches over the PTX engines.
//!
//! ```
//! use ptx_runtime::{Context, DeviceOptions, LaunchConfig, Module};
//!
//! let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n\
//!     .visible .entry twice(.param .u64 data)\n{\n\
//!     .reg .b32 %r<3>; .reg .b64 %rd<4>;\n\
//!     ld.param.u64 %rd1, [data];\n\
//!     mov.u32 %r1, %tid.x;\n\
//!     mul.wide.u32 %rd2, %r1, 4;\n\
//!     add.s64 %rd3, %rd1, %rd2;\n\
//!     ld.global.u32 %r2, [%rd3];\n\
//!     shl.b32 %r2, %r2, 1;\n\
//!     st.global.u32 [%rd3], %r2;\n\
//!     ret;\n}\n";
//! let context = Context::new(&DeviceOptions::default())?;
//! let module = Module::load(&context, ptx, "twice.ptx")?;
//! let data = context.alloc(8)?;
//! context.copy_to_device(data, &[21, 0, 0, 0, 5, 0, 0, 0])?;
//! let config = LaunchConfig { block: [2, 1, 1], args: vec![data.into()], ..Default::default() };
//! context.launch(&module, "twice", config)?;
//! let mut bytes = [0; 8];
//! context.copy_from_device(data, &mut bytes)?;
//! assert_eq!(bytes, [42, 0, 0, 0, 10, 0, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// The version of CUDA whose interfaces the libraries and the assembler have, as `cuDriverGetVersion` gives it:
/// 1000 times the major number and 10 times the minor one.
pub const CUDA_VERSION: u32 = 13050;

mod args;
mod backend;
mod compiled;
mod context;
pub mod cubin;
pub mod device;
mod device_ptr;
pub mod device_runtime;
mod dump;
pub mod fatbin;
mod fidelity;
mod globals;
mod joined;
mod launch;
mod managed;
mod module;
mod quiet;
mod rehearsal;
mod resources;
mod screened;
mod takeover;
mod tally;
mod verbose;
mod verified;
mod watcher;

pub use args::{ArgumentError, KernelArg, declaration};
pub use backend::{
    BACKEND_VARIABLE, Backend, Cache, Compiled, Engine, LaunchStats, UnknownBackend,
};
pub use context::{Context, DeviceOptions};
pub use device_ptr::DevicePtr;
pub use dump::Dump;
pub use fidelity::{Counters, Decided, Executed, Fidelity};
pub use launch::{LaunchConfig, LaunchError, Launcher, Print, TimingError, launch_by};
pub use module::{LoadError, Module};
pub use opencl_frontend as opencl;
pub use ptx_check as check;
pub use ptx_interp as interp;
pub use ptx_interp::{
    Access, FaultKind, LaunchError as EngineError, Memory, MemoryError, MemoryEvent, Report,
    Unified,
};
pub use ptx_isa as isa;
pub use ptx_isa::fixed::FixedWord;
pub use ptx_jit::vector_bits;
pub use ptx_parse as parse;
pub use ptx_timing as timing;
pub use resources::Resources;
pub use tally::launches;
pub use verified::{Diagnostics, ReadyKernel, Verified, VerifyOptions, format};
