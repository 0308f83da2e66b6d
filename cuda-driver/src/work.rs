//! What streams do: launches, copies, fills, calls of the host.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::allocation::Allocation;
use crate::context::Context;
use crate::copy::Copy3d;
use crate::ctrl_c;
use crate::error::Result;
use crate::event::Event;
use crate::graph_memory::GraphMemory;
use crate::interprocess::events::Record;
use crate::launch::KernelLaunch;
use crate::memory;
use crate::pages;
use crate::schedule;
use crate::user_object::Held;
use c_border::Raw;
use c_border::callback::{self, HostFn, StreamFn};
use ptx_runtime::check::order;

/// A fill of memory.
#[derive(Clone)]
pub struct Fill {
    /// First address.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// The element, little-endian.
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub element: u32,
    /// Elements of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// One piece of work.
#[derive(Clone)]
pub enum Work {
    /// Nothing; only the order counts.
    Nothing,
    /// A kernel.
    Kernel(KernelLaunch),
    /// A copy.
    Copy(Box<Copy3d>),
    /// A fill.
    Fill(Fill),
    /// A function of the host.
    Host(HostFn, Raw),
    /// A callback: function, stream handle, user data.
    Callback(StreamFn, usize, Raw),
    /// Notes the time.
    Stamp(Arc<OnceLock<Instant>>),
    /// Records an event, as a node.
    Record(Arc<Event>),
    /// Waits for an event, as a node.
    Await(Arc<Event>),
    /// A record of an event of several processes is reached.
    Reach(Record),
    /// Waits for such a record.
    AwaitRecord(Record),
    /// Allocates memory, as a node.
    Allocate(Arc<GraphMemory>),
    /// Frees such memory, as a node or not.
    Deallocate(Arc<GraphMemory>),
    /// Frees memory.
    Free(u64, Box<Allocation>),
    /// Writes a value of 4 or 8 bytes.
    Write(u64, u64, u32),
    /// Waits until a value of 4 or 8 bytes compares as wanted (`CUstreamWaitValue_flags`).
    Wait(u64, u64, u32, u32),
    /// The nodes of a graph in order.
    Graph(Arc<Vec<Work>>),
    /// Keeps user objects until here.
    Hold(Arc<Vec<Held>>),
}

impl Work {
    /// `CUgraphNodeType`.
    pub fn node_type(&self) -> u32 {
        match self {
            Work::Kernel(_) => 0,
            Work::Copy(_) => 1,
            Work::Fill(_) => 2,
            Work::Host(..) | Work::Callback(..) => 3,
            Work::Graph(_) => 4,
            Work::Nothing | Work::Stamp(_) | Work::Hold(_) | Work::Reach(_) => 5,
            Work::Await(_) | Work::AwaitRecord(_) => 6,
            Work::Record(_) => 7,
            Work::Allocate(_) => 10,
            Work::Free(..) | Work::Deallocate(_) => 11,
            Work::Write(..) | Work::Wait(..) => 12,
        }
    }

    /// Whether it is a node that allocates or frees memory.
    pub fn is_memory(&self) -> bool {
        matches!(self, Work::Allocate(_) | Work::Deallocate(_))
    }

    /// Work that must not be left out when an earlier kernel has faulted.
    pub fn runs_after_faults(&self) -> bool {
        matches!(
            self,
            Work::Stamp(_)
                | Work::Reach(_)
                | Work::Free(..)
                | Work::Deallocate(_)
                | Work::Callback(..)
        )
    }

    /// Whether it is the program's own, or waits: signals are the program's then.
    fn hands_over(&self) -> bool {
        matches!(
            self,
            Work::Host(..)
                | Work::Callback(..)
                | Work::Await(_)
                | Work::AwaitRecord(_)
                | Work::Wait(..)
        )
    }

    /// Does it.
    pub fn run(&self, context: &Arc<Context>) -> Result {
        let device = context.device.memory();
        if self.hands_over() {
            ctrl_c::rest();
        }
        match self {
            Work::Nothing | Work::Hold(_) => Ok(()),
            Work::Kernel(launch) => {
                let _touches = pages::touch();
                launch.run(context)
            }
            Work::Copy(copy) => {
                let _touches = pages::touch();
                context.driver.clock.spend(|| copy.nanoseconds(&context.driver.profile));
                copy.run(device)
            }
            Work::Fill(fill) => {
                let _touches = pages::touch();
                let bytes = fill.width.saturating_mul(u64::from(fill.element));
                let bytes = bytes.saturating_mul(fill.height);
                context.driver.clock.spend(|| context.driver.profile.fill_ns(bytes));
                fill.run(context)
            }
            Work::Host(f, data) => {
                schedule::host_runs();
                callback::call_host(*f, *data);
                Ok(())
            }
            Work::Callback(f, stream, data) => {
                schedule::host_runs();
                let status = context.check().map_or_else(|e| e.0, |()| 0);
                callback::call_stream(*f, *stream, status, *data);
                Ok(())
            }
            Work::Stamp(time) => {
                let _ = time.set(context.driver.clock.now());
                Ok(())
            }
            Work::Record(event) => {
                event.stamp(context.driver.clock.now());
                Ok(())
            }
            Work::Await(event) => {
                order::give_up();
                event.wait(|| context.check())
            }
            Work::Reach(record) => {
                record.reach();
                Ok(())
            }
            Work::AwaitRecord(record) => {
                order::give_up();
                record.wait(|| context.check())
            }
            Work::Allocate(memory) => memory.appear(context),
            Work::Deallocate(memory) => {
                memory.vanish(context);
                Ok(())
            }
            Work::Free(address, allocation) => {
                memory::release(context, *address, allocation);
                Ok(())
            }
            Work::Write(address, value, bytes) => {
                let _touches = pages::touch();
                Ok(device.write(*address, &value.to_le_bytes()[..*bytes as usize])?)
            }
            Work::Wait(address, value, bytes, flags) => {
                order::give_up();
                wait_value(context, *address, *value, *bytes, *flags)
            }
            Work::Graph(works) => works.iter().try_for_each(|w| w.run(context)),
        }
    }
}

/// Polls until the value compares as wanted, or the context ends.
fn wait_value(context: &Context, address: u64, wanted: u64, bytes: u32, flags: u32) -> Result {
    loop {
        let mut now = [0; 8];
        context.device.memory().read(address, &mut now[..bytes as usize])?;
        let now = u64::from_le_bytes(now);
        let difference = if bytes == 4 {
            i64::from((now as u32).wrapping_sub(wanted as u32) as i32)
        } else {
            now.wrapping_sub(wanted) as i64
        };
        let mask = if bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let met = match flags & 3 {
            0 => difference >= 0,
            1 => now == wanted & mask,
            2 => now & wanted != 0,
            _ => !(now | wanted) & mask != 0,
        };
        if met {
            return Ok(());
        }
        context.check()?;
        std::thread::sleep(Duration::from_micros(20));
    }
}

impl Fill {
    fn run(&self, context: &Context) -> Result {
        let memory = context.device.memory();
        let element = self.value.to_le_bytes();
        let element = &element[..self.element as usize];
        for row in 0..self.height {
            let at = self.address + row * self.pitch;
            if element.iter().all(|b| *b == element[0]) {
                memory.fill(at, element[0], self.width * u64::from(self.element))?;
            } else {
                memory.fill_pattern(at, element, self.width)?;
            }
        }
        Ok(())
    }
}
