//! The exported functions.
//!
//! `functions!` is the one place that defines a function: the name that `cuGetProcAddress` is asked for,
//! the symbols that carry it with the CUDA version each was first published in, those that take stream 0 for
//! the thread's own default stream, arguments and body. Exports and look-up come from it.

use std::ffi::c_void;

mod array;
mod context;
mod copies;
mod device;
mod graph_nodes;
mod graphs;
mod launches;
mod linking;
mod memory;
mod modules;
mod objects;
mod pools;
mod streams;
mod system;
mod unsupported;

/// One exported symbol.
pub struct Entry {
    /// The name it is looked up by.
    pub name: &'static str,
    /// The first CUDA version that has it.
    pub since: u32,
    /// Whether stream 0 is the thread's own default stream.
    pub per_thread: bool,
    /// The symbol.
    pub symbol: &'static str,
    /// Its address.
    pub address: Address,
    /// Types of its arguments as they are written here.
    pub arguments: &'static [&'static str],
}

/// The address of an exported function.
#[derive(Copy, Clone)]
pub struct Address(pub *const c_void);

// SAFETY: the address of a function, which is never written.
unsafe impl Sync for Address {}
// SAFETY: as above.
unsafe impl Send for Address {}

/// Defines exported functions:
/// `name [version => symbol, …; version => symbol that takes stream 0 for the thread's own, …] (arguments) { body }`.
macro_rules! functions {
    ($(
        $name:ident
        [$($since:literal => $symbol:ident),+ $(; $($own_since:literal => $own:ident),+)?]
        $args:tt $body:block
    )*) => {
        $(
            $($crate::api::export! { $symbol false $args $body })+
            $($($crate::api::export! { $own true $args $body })+)?
        )*
        /// The symbols of this module.
        pub(super) static TABLE: &[$crate::api::Entry] = &[$(
            $($crate::api::Entry {
                name: stringify!($name),
                since: $since,
                per_thread: false,
                symbol: stringify!($symbol),
                address: $crate::api::Address($symbol as *const std::ffi::c_void),
                arguments: $crate::api::types! { $args },
            },)+
            $($($crate::api::Entry {
                name: stringify!($name),
                since: $own_since,
                per_thread: true,
                symbol: stringify!($own),
                address: $crate::api::Address($own as *const std::ffi::c_void),
                arguments: $crate::api::types! { $args },
            },)+)?
        )*];
    };
}

/// One exported symbol of [`functions`].
macro_rules! export {
    ($symbol:ident $per_thread:literal ($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        /// As the CUDA driver API documents it.
        ///
        /// # Safety
        /// Pointers are null or point to what the documentation says.
        #[allow(non_snake_case, clippy::too_many_arguments, unused_variables)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol($($arg: $ty),*) -> u32 {
            $crate::entry::code($per_thread, move || -> $crate::error::Result { $body })
        }
    };
}

/// The types of arguments as text.
macro_rules! types {
    (($($arg:ident: $ty:ty),* $(,)?)) => { &[$(stringify!($ty)),*] };
}

use {export, functions, types};

/// Every exported symbol.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    [
        array::TABLE,
        context::TABLE,
        copies::TABLE,
        device::TABLE,
        graph_nodes::TABLE,
        graphs::TABLE,
        launches::TABLE,
        linking::TABLE,
        memory::TABLE,
        modules::TABLE,
        objects::TABLE,
        pools::TABLE,
        streams::TABLE,
        system::TABLE,
        unsupported::TABLE,
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
    let version = version.min(crate::driver::VERSION);
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
