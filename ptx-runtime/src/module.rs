//! A verified module on a device: its variables in memory, its kernels ready to run.

use std::sync::Arc;

use ptx_interp::{Access, Kernel, Memory, MemoryError, Unified};
use ptx_isa::Space;
use ptx_parse::code::Refusal;
use ptx_parse::lower;
use ptx_parse::module::{Func, Linkage};

use crate::backend::LaunchStats;
use crate::context::Context;
use crate::device_ptr::DevicePtr;
use crate::fidelity::{Counters, Executed, Fidelity, Grade, count};
use crate::globals::fill;
use crate::launch;
use crate::managed::managed;
use crate::resources::Resources;
use crate::verbose;
use crate::verified::{Diagnostics, ReadyKernel, Verified};

/// A module on a device.
pub struct Module {
    verified: Verified,
    memory: Memory,
    /// Address of every symbol; 0 for those that have none of their own (shared, local).
    symbols: Vec<u64>,
    /// Address of the counters of instructions that are not exact, behind those of the symbols; 0: there are none.
    counters: u64,
    /// Memory of managed variables; goes after their addresses were given back.
    managed: Vec<Unified>,
}

/// Why a module cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The text does not parse or verify.
    #[error("{0}")]
    Invalid(Box<Diagnostics>),
    /// No room for its variables.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A variable that another module would define.
    #[error("the variable `{0}` is declared .extern and no module defines it")]
    Unresolved(String),
}

impl Module {
    /// Parses, verifies and loads.
    ///
    /// # Errors
    /// Every finding about the text, or what its variables lack.
    pub fn load(context: &Context, text: &str, name: &str) -> Result<Module, LoadError> {
        let verified = Verified::new(text, name).map_err(|d| LoadError::Invalid(Box::new(d)))?;
        Module::from_verified(context, &verified)
    }

    /// Loads a verified module: places and fills its variables.
    ///
    /// # Errors
    /// When a variable has no room or no definition.
    pub fn from_verified(context: &Context, verified: &Verified) -> Result<Module, LoadError> {
        let memory = context.memory().clone();
        let all = &verified.module().symbols;
        let mut module = Module {
            verified: verified.clone(),
            memory,
            symbols: vec![0; all.len()],
            counters: 0,
            managed: Vec::new(),
        };
        let placed = |space| matches!(space, Space::Global | Space::Const | Space::Tex);
        for (symbol, address) in all.iter().zip(&mut module.symbols) {
            if !placed(symbol.space) {
                continue;
            }
            if symbol.linkage == Linkage::Extern {
                return Err(LoadError::Unresolved(symbol.name.to_string()));
            }
            let access =
                if symbol.space == Space::Const { Access::Constant } else { Access::ReadWrite };
            let align = u64::from(symbol.align.max(1)).next_power_of_two();
            if symbol.managed {
                let made = managed(&module.memory, symbol.size, align, &symbol.name)?;
                *address = made.1;
                module.managed.push(made.0);
            } else {
                *address = module.memory.alloc(symbol.size, align, &symbol.name, access)?;
            }
        }
        for (symbol, address) in all.iter().zip(&module.symbols) {
            if *address != 0 {
                // Allocations are zero: pages that nobody has written cost nothing.
                module.memory.keep(*address, symbol.size)?;
                fill(symbol, &module.symbols, |at, piece| {
                    module.memory.write(*address + at, piece)
                })?;
            }
        }
        // What another launcher does (a simulation of time, a list of launches) is not to see counters.
        if verbose::on() && !launch::handed_over() {
            verified.count_inexact();
        }
        if verified.counts() {
            let memory = &module.memory;
            module.counters =
                memory.alloc(count::BYTES, 8, "counters of ptxrun", Access::ReadWrite)?;
            memory.write(module.counters, &[0; count::BYTES as usize])?;
            module.symbols.push(module.counters);
        }
        Ok(module)
    }

    /// The verified module.
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// The kernels, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &Func> {
        lower::entries(self.verified.module())
    }

    /// The kernel of that name.
    pub fn entry(&self, name: &str) -> Option<&Func> {
        self.entries().find(|f| f.name == name)
    }

    /// Address and size of a `.global`, `.const` or texture variable.
    pub fn global(&self, name: &str) -> Option<(DevicePtr, u64)> {
        let all = &self.verified.module().symbols;
        let index = all.iter().position(|s| s.name == name)?;
        let address = self.symbols[index];
        (address != 0).then(|| (DevicePtr(address), all[index].size))
    }

    pub(crate) fn symbols(&self) -> &[u64] {
        &self.symbols
    }

    /// What a kernel needs of a device.
    ///
    /// # Errors
    /// `None` when there is no such kernel, else the instruction that keeps it from running.
    pub fn resources(&self, name: &str) -> Option<Result<Arc<Resources>, Refusal>> {
        self.verified.resources(name)
    }

    /// A kernel found by its name, for [`Context::launch_ready`].
    ///
    /// # Errors
    /// As [`Module::resources`].
    pub fn ready(&self, name: &str) -> Option<Result<ReadyKernel, Refusal>> {
        self.verified.ready(name)
    }

    /// What is known of a kernel's results beside hardware's, with what a launch executed if the counters stood at
    /// `before`; `None` where there is no such kernel, or it cannot run.
    #[must_use]
    pub fn fidelity(&self, entry: &str, before: Counters, stats: &LaunchStats) -> Option<Fidelity> {
        let kernel = self.kernel(entry)?.ok()?;
        let program = kernel.program();
        let counted = program.counted || !count::has_inexact(program);
        let all = stats.thread_instructions;
        let executed = || Executed::between(before, self.counters(), all);
        Some(Fidelity { executed: counted.then(executed), ..Fidelity::of(program) })
    }

    /// What the launches of its kernels have executed so far of what is not exact. Launches that run at the same time
    /// count together.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut bytes = [[0; 8]; Grade::ALL.len()];
        if self.counters != 0 {
            // It may be that the host has freed all memory.
            let _ = self.memory.read(self.counters, bytes.as_flattened_mut());
        }
        Counters(bytes.map(u64::from_le_bytes))
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<Result<Arc<Kernel>, Refusal>> {
        self.verified.kernel(name)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        for address in self.symbols.iter().filter(|a| **a != 0) {
            // The host may have freed it already; then there is nothing to do.
            let _ = self.memory.free(*address);
        }
    }
}
