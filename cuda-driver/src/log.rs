//! The driver's log of errors (`cuLogs…`): the last messages, and the program's functions that get each of them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use c_border::Raw;
use c_border::callback::{LogFn, call_log};

use crate::handles::Handles;

/// Most bytes of messages that are kept, as many as a real driver keeps.
const KEPT: usize = 25_600;
/// `CU_LOG_LEVEL_ERROR`.
const ERROR: u32 = 0;

/// What stands at the head where messages are missing.
const MISSING: &str =
    "The provided buffer is not large enough to hold all messages. Some messages will be missing\n";

/// Functions that get each message.
pub static CALLBACKS: Handles<Callback> = Handles::new(17);

/// A function of the program and its data.
pub struct Callback {
    /// The function.
    pub function: LogFn,
    /// What it is passed.
    pub data: Raw,
}

#[derive(Default)]
struct Log {
    /// With a head and a line end.
    messages: VecDeque<String>,
    bytes: usize,
    /// Messages that are not kept any more.
    gone: u32,
}

static LOG: Mutex<Log> = Mutex::new(Log { messages: VecDeque::new(), bytes: 0, gone: 0 });

fn log() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// A function of the program runs in this thread: what it does wrong is kept and not told.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Notes an error.
pub fn note(text: &str) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (seconds, ms) = (now.as_secs() % 86_400, now.subsec_millis());
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let message = format!("[{hours:02}:{minutes:02}:{seconds:02}.{ms:03}][CUDA][E] {text}\n");
    let mut log = log();
    log.bytes += message.len();
    log.messages.push_back(message);
    while log.bytes > KEPT
        && let Some(oldest) = log.messages.pop_front()
    {
        log.bytes -= oldest.len();
        log.gone += 1;
    }
    drop(log);
    tell(text);
}

fn tell(text: &str) {
    let all: Vec<Arc<Callback>> = CALLBACKS.all().into_iter().map(|(_, c)| c).collect();
    if all.is_empty() || TELLING.replace(true) {
        return;
    }
    if let Ok(text) = CString::new(text.replace('\0', " ")) {
        for callback in all {
            call_log(callback.function, callback.data, ERROR, &text);
        }
    }
    TELLING.set(false);
}

/// The number of the next message.
pub fn end() -> u32 {
    let log = log();
    log.gone.wrapping_add(log.messages.len() as u32)
}

/// The messages from number `from` on, and whether some of them are gone.
pub fn messages(from: u32) -> (Vec<String>, bool) {
    let log = log();
    let skipped = from.checked_sub(log.gone);
    let kept = log.messages.iter().skip(skipped.unwrap_or(0) as usize).cloned().collect();
    (kept, skipped.is_none())
}

/// The last of some messages that fit `room` bytes, with a word where that is not all; nothing if none fits.
pub fn fitting(messages: &[String], missing: bool, room: usize) -> String {
    let bytes = |list: &[String]| list.iter().map(String::len).sum::<usize>();
    if !missing && bytes(messages) <= room {
        return messages.concat();
    }
    let fits = |first: &usize| MISSING.len() + bytes(&messages[*first..]) <= room;
    match (0..messages.len()).find(fits) {
        Some(first) => format!("{MISSING}{}", messages[first..].concat()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_messages_fit() {
        let all = ["a".repeat(50), "b".repeat(50), "c".repeat(50)];
        assert_eq!(fitting(&all, false, 150), all.concat());
        let least = MISSING.len() + 50;
        assert_eq!(fitting(&all, false, least), format!("{MISSING}{}", all[2]));
        assert_eq!(fitting(&all, false, least - 1), "");
        let room = MISSING.len() + 100;
        assert_eq!(fitting(&all, true, room), format!("{MISSING}{}{}", all[1], all[2]));
        assert_eq!(fitting(&[], false, 10), "");
    }
}
