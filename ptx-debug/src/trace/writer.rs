//! Carries what a trace is made of away while the launch goes on: one thread writes the bytes. Where making text of
//! events takes longer than the launch, another thread does it.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, ScopedJoinHandle};

/// Words that are collected before they are handed over: they stay in a cache, and so do the bytes that are made of
/// them.
const WORDS: usize = 1 << 15;
/// Bytes that are collected before they are handed over.
const BYTES: usize = 1 << 18;
/// Chunks that may wait.
const WAITING: usize = 16;

/// Collects words or bytes in chunks for another thread.
pub(super) struct Chunks<T> {
    buffer: Vec<T>,
    /// How many are collected.
    most: usize,
    full: SyncSender<Vec<T>>,
    empty: Receiver<Vec<T>>,
    failed: bool,
}

/// The other thread's side of it.
pub(super) struct Taken<T> {
    full: Receiver<Vec<T>>,
    empty: std::sync::mpsc::Sender<Vec<T>>,
}

/// Both sides, for chunks of so many.
fn chunks<T>(most: usize) -> (Chunks<T>, Taken<T>) {
    let (send_full, full) = sync_channel(WAITING);
    let (empty, take_empty) = channel();
    let (buffer, failed) = (Vec::new(), false);
    let chunks = Chunks { buffer, most, full: send_full, empty: take_empty, failed };
    (chunks, Taken { full, empty })
}

impl<T> Chunks<T> {
    /// Where the next ones go.
    #[inline(always)]
    pub(super) fn buffer(&mut self) -> &mut Vec<T> {
        &mut self.buffer
    }

    /// Hands the chunk over if it is full.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        if self.buffer.len() >= self.most {
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
        let room = self.most + (self.most >> 4);
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(room));
        let chunk = std::mem::replace(&mut self.buffer, next);
        // The other thread ends early only when it cannot go on.
        self.failed |= self.full.send(chunk).is_err();
    }
}

impl<T> Taken<T> {
    /// Does something with each chunk in turn, until there are no more or `each` says that it cannot go on.
    fn each<E>(self, mut each: impl FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
        for mut chunk in self.full {
            each(&chunk)?;
            chunk.clear();
            // Nobody takes it when the launch has ended.
            let _ = self.empty.send(chunk);
        }
        Ok(())
    }
}

/// The other side has given up; it says why.
struct GivenUp;

/// What a thread that writes has come to. Where the host had none, its side of the channel is gone, and the other side
/// has seen that it failed.
fn joined(
    thread: std::io::Result<ScopedJoinHandle<'_, std::io::Result<()>>>,
) -> std::io::Result<()> {
    let lost = || Err(std::io::Error::other("a thread that writes has panicked"));
    thread?.join().unwrap_or_else(|_| lost())
}

/// Does something while another thread writes the bytes that it makes, behind those of `begin`.
pub(super) fn written<T>(
    out: &mut (dyn Write + Send),
    begin: Vec<u8>,
    body: impl FnOnce(Chunks<u8>) -> T,
) -> (T, std::io::Result<()>) {
    std::thread::scope(|scope| {
        let (mut bytes, taken) = chunks::<u8>(BYTES);
        *bytes.buffer() = begin;
        let writer = Builder::new().spawn_scoped(scope, move || {
            taken.each(|chunk| out.write_all(chunk))?;
            out.flush()
        });
        let done = body(bytes);
        (done, joined(writer))
    })
}

/// Does something while one thread makes bytes of the words that it collects, and another one writes them. `format`
/// appends the bytes of some words, `end` what stands behind the last ones.
pub(super) fn formatted<T, F: Send>(
    out: &mut (dyn Write + Send),
    first: (F, Vec<u8>),
    format: impl Fn(&mut F, &[u32], &mut Vec<u8>) + Send,
    end: impl FnOnce(&mut F, &mut Vec<u8>) + Send,
    body: impl FnOnce(Chunks<u32>) -> T,
) -> (T, std::io::Result<()>) {
    let (mut form, begin) = first;
    let ((done, ended), written) = written(out, begin, |mut bytes| {
        std::thread::scope(|scope| {
            let (words, events) = chunks::<u32>(WORDS);
            let formatter = Builder::new().spawn_scoped(scope, move || {
                let all = events.each(|chunk| {
                    format(&mut form, chunk, bytes.buffer());
                    bytes.pass();
                    if bytes.failed() { Err(GivenUp) } else { Ok(()) }
                });
                if all.is_ok() {
                    end(&mut form, bytes.buffer());
                    bytes.finish();
                }
                Ok(())
            });
            (body(words), joined(formatter))
        })
    });
    (done, ended.and(written))
}
