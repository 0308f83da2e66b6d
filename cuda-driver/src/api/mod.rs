//! The exported functions, by subject; `symbol` says how one is defined.

mod array;
mod context;
mod copies;
mod device;
mod graph_nodes;
mod graphs;
mod interprocess;
mod launches;
mod legacy_launches;
mod linking;
mod logs;
mod memory;
mod modules;
mod objects;
mod pools;
mod streams;
mod symbol;
mod system;
mod tensor_maps;
mod unsupported;
mod virtual_memory;

pub use symbol::{Address, Entry};

/// Every exported symbol.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    [
        array::TABLE,
        context::TABLE,
        copies::TABLE,
        device::TABLE,
        graph_nodes::TABLE,
        graphs::TABLE,
        interprocess::TABLE,
        launches::TABLE,
        legacy_launches::TABLE,
        linking::TABLE,
        logs::TABLE,
        memory::TABLE,
        modules::TABLE,
        objects::TABLE,
        pools::TABLE,
        streams::TABLE,
        system::TABLE,
        tensor_maps::TABLE,
        unsupported::TABLE,
        virtual_memory::TABLE,
    ]
    .into_iter()
    .flatten()
}

/// What a look-up found.
pub enum Found {
    /// The symbol.
    Symbol(&'static Entry),
    /// The name exists, from a later version on.
    Newer,
    /// No such name.
    Nothing,
}

/// The symbol that carries a name for a program of CUDA `version`: of those first published at or before it and
/// this driver's own version, the last. `per_thread` prefers symbols for the thread's own default stream.
pub fn look_up(name: &str, version: u32, per_thread: bool) -> Found {
    let version = version.min(ptx_runtime::CUDA_VERSION);
    let named = || entries().filter(|e| e.name == name);
    let best = |own: bool| {
        named().filter(|e| e.per_thread == own && e.since <= version).max_by_key(|e| e.since)
    };
    match best(per_thread).or_else(|| best(false)) {
        Some(entry) => Found::Symbol(entry),
        None if named().next().is_some() => Found::Newer,
        None => Found::Nothing,
    }
}
