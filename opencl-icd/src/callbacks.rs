//! Calls of the host program's functions, on a thread of their own.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};

use crate::cl::{Error, Result};

type Call = Box<dyn FnOnce() + Send>;

/// Where calls are sent to, and the process whose thread makes them: one that was forked off has its own.
static CALLS: Mutex<Option<(u32, Sender<Call>)>> = Mutex::new(None);

/// Runs `work` with the way to the thread that makes calls; nothing where there is no such thread and none can be made.
fn with_thread<R>(work: impl FnOnce(&Sender<Call>) -> R) -> Option<R> {
    let own = std::process::id();
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    if calls.as_ref().is_none_or(|(process, _)| *process != own) {
        // Its receiver does not exist here.
        std::mem::forget(calls.take());
        let (sender, receiver) = mpsc::channel::<Call>();
        let run = move || receiver.into_iter().for_each(|call| call());
        let made = std::thread::Builder::new().name("opencl-callbacks".into()).spawn(run).is_ok();
        *calls = made.then_some((own, sender));
    }
    calls.as_ref().map(|(_, sender)| work(sender))
}

/// Whoever registers a function asks first: without the thread nobody could call it.
///
/// # Errors
/// When no thread is to be had.
pub fn ready() -> Result {
    with_thread(|_| ()).ok_or(Error::OUT_OF_HOST_MEMORY)
}

/// Runs a call of the host program on a thread of its own: it may take locks that the caller holds.
pub fn later(call: Call) {
    // The thread lives as long as the process.
    with_thread(|sender| drop(sender.send(call)));
}
