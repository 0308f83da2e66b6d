//! Sequences of calls of the CUDA driver API.

use std::sync::LazyLock;

use cuda_driver::{api, context};

use crate::calls::{Call, Caller, find, table};

/// What waits for somebody else's value, names files, or ends what other inputs use, is not here.
const TABLE: &str = include_str!("../data/cuda.calls");
const KERNELS: &str = concat!(include_str!("../data/cuda.ptx"), "\0");

static CALLS: LazyLock<Vec<Call>> = LazyLock::new(|| {
    table(TABLE, |name| {
        let entry = api::entries().find(|e| e.symbol == name).unwrap_or_else(|| panic!("{name}"));
        entry.address.0.expose_provenance()
    })
});

extern "C" fn nothing(_: u64) {}

fn run(
    caller: &mut Caller<'_>,
    name: &str,
    arguments: &[u64],
    made: &[(&'static str, u64)],
) -> u64 {
    caller.exactly(find(&CALLS, name), arguments, made) & 0xffff_ffff
}

/// Calls in a context of their own, which is destroyed at the end: what it held is free again then.
pub fn cuda(data: &[u8]) {
    let mut caller = Caller::new(data);
    assert_eq!(run(&mut caller, "cuInit", &[0], &[]), 0);
    let place = caller.place(&[0; 2]);
    assert_eq!(run(&mut caller, "cuCtxCreate_v2", &[place, 0, 0], &[("context", place)]), 0);
    let own = caller.all("context")[0];
    let place = caller.place(&[0; 2]);
    let text = KERNELS.as_ptr().expose_provenance() as u64;
    assert_eq!(run(&mut caller, "cuModuleLoadData", &[place, text], &[("module", place)]), 0);
    caller.made("image", text);
    caller.made("callback", nothing as *const () as u64);
    for name in ["add\0", "fill\0", "pass\0", "far\0"] {
        let (place, module) = (caller.place(&[0; 2]), caller.all("module")[0]);
        let name_at = name.as_ptr().expose_provenance() as u64;
        caller.made("name", name_at);
        assert_eq!(
            run(
                &mut caller,
                "cuModuleGetFunction",
                &[place, module, name_at],
                &[("function", place)]
            ),
            0
        );
    }
    caller.calls(&CALLS, |_, _| ());
    // A capture under way forbids much; other contexts may have been made.
    let place = caller.place(&[0; 2]);
    for stream in caller.all("stream") {
        run(&mut caller, "cuStreamEndCapture", &[stream, place], &[("graph", place)]);
    }
    for context in caller.all("context") {
        run(&mut caller, "cuCtxDestroy_v2", &[context], &[]);
    }
    for (kind, end) in [
        ("graph", "cuGraphDestroy"),
        ("exec", "cuGraphExecDestroy"),
        ("link", "cuLinkDestroy"),
        ("pool", "cuMemPoolDestroy"),
        ("library", "cuLibraryUnload"),
        ("physical", "cuMemRelease"),
    ] {
        for handle in caller.all(kind) {
            run(&mut caller, end, &[handle], &[]);
        }
    }
    assert_ne!(run(&mut caller, "cuCtxSetCurrent", &[own], &[]), 0, "the context is still there");
    // A thread of the driver may be about to let go of the last one.
    let start = std::time::Instant::now();
    while context::ranges() > context::CONTEXTS.all().len() {
        assert!(start.elapsed().as_secs() < 5, "an ended context keeps its addresses");
        std::thread::yield_now();
    }
}
