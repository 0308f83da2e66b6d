//! The log of errors.

use std::sync::Arc;

use c_border::callback::LogFn;
use c_border::{Out, OutText, Raw, Text};

use super::symbol::functions;
use crate::driver;
use crate::error::{Error, Result};
use crate::log::{self, CALLBACKS, Callback};

/// The messages from where an iterator stands, which is moved to the end; all without one.
fn since(iterator: Out<u32>) -> (Vec<String>, bool) {
    let (messages, missing) = log::messages(iterator.get().unwrap_or(0));
    iterator.put(log::end());
    // Without an iterator nobody has asked for those that are gone.
    (messages, missing && !iterator.is_null())
}

fn no_flags(flags: u32) -> Result {
    if flags == 0 { Ok(()) } else { Err(Error::InvalidValue) }
}

functions! {
    cuLogsRegisterCallback [12090 => cuLogsRegisterCallback] (function: LogFn, data: Raw, handle: Out<usize>) {
        if function.is_none() {
            return Err(Error::InvalidValue);
        }
        handle.put(CALLBACKS.add(Arc::new(Callback { function, data })));
        Ok(())
    }

    cuLogsUnregisterCallback [12090 => cuLogsUnregisterCallback] (handle: usize) {
        CALLBACKS.remove(handle).map(|_| ()).ok_or(Error::InvalidValue)
    }

    cuLogsCurrent [12090 => cuLogsCurrent] (iterator: Out<u32>, flags: u32) {
        no_flags(flags)?;
        Ok(iterator.set(log::end())?)
    }

    cuLogsDumpToFile [12090 => cuLogsDumpToFile] (iterator: Out<u32>, path: Text, flags: u32) {
        no_flags(flags)?;
        let path = path.get()?;
        driver::get()?;
        let (messages, _) = since(iterator);
        std::fs::write(path, messages.concat()).map_err(|_| Error::InvalidValue)
    }

    cuLogsDumpToMemory [12090 => cuLogsDumpToMemory] (iterator: Out<u32>, buffer: Raw, size: Out<usize>, flags: u32) {
        no_flags(flags)?;
        let room = size.get()?;
        if buffer.is_null() {
            return Err(Error::InvalidValue);
        }
        let (messages, missing) = since(iterator);
        // The zero at the end takes a byte.
        let text = log::fitting(&messages, missing, room.saturating_sub(1));
        size.put(text.len());
        OutText { buffer, size: room }.put(&text);
        if text.is_empty() && !messages.is_empty() { Err(Error::InvalidValue) } else { Ok(()) }
    }
}
