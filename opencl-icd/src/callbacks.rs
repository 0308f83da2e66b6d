//! Calls of the host program's functions, on a thread of their own.

use std::sync::{Mutex, mpsc};

/// Runs a call of the host program on a thread of its own: it may take locks that the caller holds.
pub fn later(call: Box<dyn FnOnce() + Send>) {
    type Calls = Mutex<Option<mpsc::Sender<Box<dyn FnOnce() + Send>>>>;
    static CALLS: Calls = Mutex::new(None);
    let mut calls = CALLS.lock().unwrap_or_else(|e| e.into_inner());
    let sender = calls.get_or_insert_with(|| {
        let (sender, receiver) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        let run = move || {
            for call in receiver {
                call();
            }
        };
        // Without the thread the channel is closed, and calls are made where they arise.
        let _ = std::thread::Builder::new().name("opencl-callbacks".into()).spawn(run);
        sender
    });
    if let Err(mpsc::SendError(call)) = sender.send(call) {
        drop(calls);
        call();
    }
}
