//! What the functions return (`nvmlReturn_t`).

use std::ffi::CStr;

use c_border::PointerError;

/// Defines the statuses with their numbers and what `nvmlErrorString` says of them.
macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// A result of NVML, numbered as in `nvml.h`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Status {
            $($(#[$doc])* $name = $number,)*
        }

        /// What a result means, in NVML's words.
        pub fn text(number: u32) -> &'static CStr {
            match number {
                $($number => $text,)*
                _ => c"Unknown Error",
            }
        }
    };
}

statuses! {
    /// All is well.
    Success = 0, c"Success";
    /// `nvmlInit` was not called.
    Uninitialized = 1, c"Uninitialized";
    /// A null pointer, or no such device.
    InvalidArgument = 2, c"Invalid Argument";
    /// The device cannot answer this.
    NotSupported = 3, c"Not Supported";
    /// No device of that name.
    NotFound = 6, c"Not Found";
    /// The caller's buffer is too short.
    InsufficientSize = 7, c"Insufficient Size";
    /// There is no device to emulate: its name is wrong, which has been said on standard error.
    DriverNotLoaded = 9, c"Driver Not Loaded";
    /// A structure of a version that is not known.
    ArgumentVersionMismatch = 25, c"Argument Version Mismatch";
    /// An error of this library.
    Unknown = 999, c"Unknown Error";
}

impl From<PointerError> for Status {
    fn from(_: PointerError) -> Status {
        Status::InvalidArgument
    }
}
