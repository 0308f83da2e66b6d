//! What an exported function is, and how one is defined.
//!
//! `functions!` is the one place that defines a function: the name that `cuGetProcAddress` is asked for,
//! the symbols that carry it with the CUDA version each was first published in, those that take stream 0 for
//! the thread's own default stream, arguments and body. Exports and look-up come from it.

use std::ffi::c_void;

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
            $($crate::api::symbol::export! { $symbol false $args $body })+
            $($($crate::api::symbol::export! { $own true $args $body })+)?
        )*
        /// The symbols of this module.
        pub(super) static TABLE: &[$crate::api::symbol::Entry] = &[$(
            $($crate::api::symbol::Entry {
                name: stringify!($name),
                since: $since,
                per_thread: false,
                symbol: stringify!($symbol),
                address: $crate::api::symbol::Address($symbol as *const std::ffi::c_void),
                arguments: $crate::api::symbol::types! { $args },
            },)+
            $($($crate::api::symbol::Entry {
                name: stringify!($name),
                since: $own_since,
                per_thread: true,
                symbol: stringify!($own),
                address: $crate::api::symbol::Address($own as *const std::ffi::c_void),
                arguments: $crate::api::symbol::types! { $args },
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
            $crate::entry::code(stringify!($symbol), $per_thread, move || -> $crate::error::Result { $body })
        }
    };
}

/// The types of arguments as text.
macro_rules! types {
    (($($arg:ident: $ty:ty),* $(,)?)) => { &[$(stringify!($ty)),*] };
}

pub(super) use {export, functions, types};
