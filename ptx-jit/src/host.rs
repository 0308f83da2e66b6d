//! Cranelift, as this processor needs it.

use std::sync::OnceLock;

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};

use crate::unsupported::Unsupported;

/// Cranelift for this processor.
pub(crate) fn target() -> Result<&'static dyn TargetIsa, Unsupported> {
    static TARGET: OnceLock<Result<OwnedTargetIsa, Unsupported>> = OnceLock::new();
    TARGET.get_or_init(make_target).as_deref().map_err(Clone::clone)
}

fn make_target() -> Result<OwnedTargetIsa, Unsupported> {
    if !cfg!(any(target_arch = "x86_64", all(target_arch = "aarch64", target_os = "linux"))) {
        return Err(Unsupported::new("compiled code is for x86-64, and for aarch64 under Linux"));
    }
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    // Without its own optimiser the order of loads and uses stays as emitted, which keeps values
    // in registers; folding and value numbering happened in the middle form.
    for (name, value) in [("opt_level", "none"), ("enable_verifier", verify), ("is_pic", "false")] {
        flags.set(name, value).map_err(|e| Unsupported::new(e.to_string()))?;
    }
    cranelift_native::builder()
        .map_err(|e| Unsupported::new(e.to_string()))?
        .finish(settings::Flags::new(flags))
        .map_err(|e| Unsupported::new(e.to_string()))
}
