//! The API functions, by the objects that they are about.

pub mod commands;
pub mod contexts;
pub mod events;
pub mod images;
pub mod kernels;
pub mod memory;
pub mod programs;
pub mod refused;
pub mod svm;

/// Declares functions that return a code.
macro_rules! calls {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        ///
        /// # Safety
        /// Pointers must be null or lead to as much memory as the specification says.
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            $crate::entry::code(stringify!($name), move || $body)
        }
    )*};
}

/// Declares functions that return a handle or pointer, and a code through their last parameter.
macro_rules! creates {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        ///
        /// # Safety
        /// Pointers must be null or lead to as much memory as the specification says.
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* code: c_border::Out<i32>) -> usize {
            $crate::entry::made(stringify!($name), code, move || $body)
        }
    )*};
}

/// Declares the functions that count references.
macro_rules! counted {
    ($($object:ty: $retain:ident $release:ident;)*) => {
        calls! {$(
            $retain(handle: usize) { $crate::registry::retain::<$object>(handle) }
            $release(handle: usize) { $crate::registry::release::<$object>(handle) }
        )*}
    };
}

pub(crate) use {calls, counted, creates};
