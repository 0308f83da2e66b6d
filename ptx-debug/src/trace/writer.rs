//! Carries the bytes of a trace away while the launch goes on.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

/// Bytes that are collected before they are written.
const CHUNK: usize = 1 << 20;
/// Chunks that may wait for the disk.
const WAITING: usize = 4;

/// Collects bytes in chunks for another thread.
pub(super) struct Chunks {
    buffer: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    failed: bool,
}

impl Chunks {
    /// Where the next bytes go.
    #[inline(always)]
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Hands the chunk over if it is full.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        if self.buffer.len() >= CHUNK {
            self.finish();
        }
    }

    /// Whether the other thread has given up.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// Hands over what there is.
    #[inline(never)]
    pub(super) fn finish(&mut self) {
        let next =
            self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK + (CHUNK >> 4)));
        let chunk = std::mem::replace(&mut self.buffer, next);
        // The other thread ends early only when it cannot write.
        self.failed |= self.full.send(chunk).is_err();
    }
}

/// Does something while another thread writes the chunks that it makes.
pub(super) fn beside<T>(
    out: &mut (dyn Write + Send),
    body: impl FnOnce(Chunks) -> T,
) -> (T, std::io::Result<()>) {
    std::thread::scope(|scope| {
        let (full, chunks) = sync_channel::<Vec<u8>>(WAITING);
        let (back, empty) = channel();
        let writer = scope.spawn(move || {
            for mut chunk in chunks {
                out.write_all(&chunk)?;
                chunk.clear();
                // Nobody takes it when the launch has ended.
                let _ = back.send(chunk);
            }
            out.flush()
        });
        let done = body(Chunks { buffer: Vec::new(), full, empty, failed: false });
        let written = writer.join();
        let lost = || Err(std::io::Error::other("the thread that writes has panicked"));
        (done, written.unwrap_or_else(|_| lost()))
    })
}
