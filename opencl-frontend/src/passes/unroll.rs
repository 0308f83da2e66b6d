//! x
use crate::ir::Func;
/// x
pub fn run(_f: &mut Func) -> bool {
    false
}
