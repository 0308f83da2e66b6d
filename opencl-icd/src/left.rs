//! What the program has not released when the process ends.

use ptx_runtime::check::{self, Left};

use crate::context::Context;
use crate::event::Event;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::queue::Queue;
use crate::registry::{self, Object};
use crate::sampler::Sampler;

fn of<T: Object>(kind: &'static str, ender: &'static str) -> impl Iterator<Item = Left> {
    registry::makers::<T>().into_iter().map(move |maker| Left { kind, maker, ender })
}

/// Reports it. Memory is reported by the context that it is in, with its bytes.
pub fn report() {
    let objects: Vec<Left> = of::<Context>("context", "clReleaseContext")
        .chain(of::<Queue>("command queue", "clReleaseCommandQueue"))
        .chain(of::<Program>("program", "clReleaseProgram"))
        .chain(of::<Kernel>("kernel", "clReleaseKernel"))
        .chain(of::<Event>("event", "clReleaseEvent"))
        .chain(of::<Sampler>("sampler", "clReleaseSampler"))
        .collect();
    for context in registry::all::<Context>() {
        context.machine.check_leaks();
    }
    check::report_left(&objects);
}
