//! Why a warp cannot go on, before it is a report.

use ptx_isa::effect::Fault;

use crate::report::FaultKind;

/// Why an effect cannot be done.
pub(crate) enum Trouble {
    /// A meaning or access found it.
    Fault(Fault),
    /// Anything else: lane, kind, sentence.
    Kind(u8, FaultKind, String),
}

impl From<Fault> for Trouble {
    fn from(f: Fault) -> Trouble {
        Trouble::Fault(f)
    }
}
