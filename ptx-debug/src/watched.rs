//! What watchpoints look at.

use ptx_interp::Moment;
use ptx_isa::Space;
use ptx_isa::effect::window;

use crate::session::{LaneId, Session, Watched};

/// Whether an access reaches what is watched.
pub(crate) fn overlaps(
    what: &Watched,
    owner: LaneId,
    by: LaneId,
    moment: &Moment<'_>,
    space: Space,
    address: u64,
    length: u32,
) -> bool {
    let Watched::Memory { space: wanted, address: start, bytes } = what else { return false };
    let (space, mut at) = window::locate(space, address);
    let matches = match (wanted, space) {
        (Space::Shared, Space::Shared | Space::SharedCluster) => {
            let block = moment.cluster_blocks().get((at / window::SHARED_CTA) as usize).copied();
            at %= window::SHARED_CTA;
            block == Some(owner.block)
        }
        (Space::Local, Space::Local | Space::ParamFunc) => by == owner,
        (Space::Global, Space::Global | Space::Const) => true,
        _ => false,
    };
    matches && at < start + u64::from(*bytes) && *start < at.saturating_add(u64::from(length))
}

/// The watched value now.
pub(crate) fn value_of(session: &Session, watch: usize, moment: &Moment<'_>) -> Option<u64> {
    let w = &session.watchpoints[watch];
    let lane = moment.lane(w.lane.block, w.lane.warp, w.lane.lane).or_else(|| {
        // The lane has ended; any other of its block sees the same shared and global memory.
        let global = matches!(w.what, Watched::Memory { space: Space::Global, .. });
        let shared = matches!(w.what, Watched::Memory { space: Space::Shared, .. });
        let here = LaneId::executing(moment);
        let may = global || shared && here.block == w.lane.block;
        may.then(|| moment.lane(here.block, here.warp, here.lane)).flatten()
    })?;
    session.watched(w, &lane)
}

/// The value of watched memory when its block starts.
pub(crate) fn first_value(memory: &ptx_interp::Memory, what: &Watched) -> Option<u64> {
    match what {
        Watched::Register { .. } => None,
        Watched::Memory { space: Space::Global, address, bytes } => {
            let mut out = [0; 8];
            memory.read(*address, &mut out[..*bytes as usize]).ok()?;
            Some(u64::from_le_bytes(out))
        }
        Watched::Memory { .. } => Some(0),
    }
}
