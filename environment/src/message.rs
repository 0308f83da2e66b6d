//! Messages on standard error. That it is closed, full, or a pipe that nobody reads is no reason to stop: the macros of
//! the standard library panic then.

use std::fmt::Arguments;
use std::io::Write;
use std::sync::OnceLock;

/// Writes to standard error, if that is possible; [`crate::say!`] and [`crate::sayln!`] call it.
pub fn say(text: Arguments) {
    // One write: lines of threads do not mix.
    let _ = std::io::stderr().lock().write_all(text.to_string().as_bytes());
}

/// Writes a text to standard error, as `eprint!`, and goes on where that fails.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::message::say(::std::format_args!($($text)*)) };
}

/// Writes a line to standard error, as `eprintln!`, and goes on where that fails.
#[macro_export]
macro_rules! sayln {
    ($($text:tt)*) => {
        $crate::message::say(::std::format_args!("{}\n", ::std::format_args!($($text)*)))
    };
}

static TOLD: OnceLock<fn(&str)> = OnceLock::new();

/// Gives warnings of the engine (compiled code that is not used) to a function, from now on; the first one counts. A
/// program that only uses our crates hears nothing unless it asks here; our libraries and the command print them.
pub fn on_warning(tell: fn(&str)) {
    TOLD.get_or_init(|| tell);
}

/// Says something that was asked for, where somebody asked for warnings.
pub fn note(text: &str) {
    if TOLD.get().is_some() {
        sayln!("{text}");
    }
}

/// Warns, where somebody asked for warnings.
pub fn warn(text: &str) {
    if let Some(tell) = TOLD.get() {
        tell(text);
    }
}
