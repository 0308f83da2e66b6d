//! What the SMs of a device share while a kernel runs.

use std::cell::RefCell;
use std::rc::Rc;

use super::distributor::Distributor;
use super::memory::Memory;
use super::operands::OperandPorts;
use super::pipes::Wanting;
use super::plan::{Further, Pipes, Plan, Registers};
use super::record::Recording;
use super::report::PcCounts;
use super::shape::Shapes;
use crate::event::Code;
use crate::profile::Profile;

/// Everything that the SMs share.
pub(super) struct Chip<'a> {
    pub profile: &'a Profile,
    pub code: &'a Code,
    pub plans: &'a [Plan],
    pub pipes: &'a Pipes,
    pub wanting: Wanting,
    pub registers: Registers,
    pub further: Further,
    pub operand_ports: OperandPorts,
    pub memory: Memory<'a>,
    /// Of the block that started last.
    pub shapes: Rc<RefCell<Shapes>>,
    pub distributor: Distributor,
    /// By stratum and instruction.
    pub per_pc: Vec<PcCounts>,
    pub last_end: u64,
    /// When the device has noticed that all blocks ended, of which none took the place: one after the other, as it
    /// replaces them.
    pub noticed: u64,
    /// Issue slots of all SMs so far.
    pub slots: u64,
    pub recording: Option<Recording>,
}
