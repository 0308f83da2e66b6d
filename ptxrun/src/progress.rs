//! A progress bar for launches that take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::plan::PlannedLaunch;

/// Launches shorter than this show no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// Counts finished blocks; draws them on standard error while the launch runs.
pub struct Bar {
    counter: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Starts counting; draws only where `visible`.
    pub fn start(visible: bool, launch: &PlannedLaunch) -> Bar {
        let counter = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let total: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
        let entry = launch.entry.clone();
        let (done, ended) = (Arc::clone(&counter), Arc::clone(&stop));
        let draws = move || draw(&entry, total, &done, &ended);
        // Without a thread for it there is no bar.
        let thread = visible.then(|| std::thread::Builder::new().spawn(draws).ok()).flatten();
        Bar { counter, stop, thread }
    }

    /// Where the engine counts the blocks that have finished.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.counter)
    }

    /// Removes the bar.
    pub fn finish(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A bar that failed to draw is no reason to fail the run.
            let _ = thread.join();
        }
    }
}

fn draw(entry: &str, total: u64, done: &AtomicU64, ended: &AtomicBool) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        std::thread::park_timeout(PATIENCE.saturating_sub(start.elapsed()));
    }
    let style = |template: &str| {
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
    };
    // Before the first block has ended, nobody knows how long the rest takes.
    let unknown = style("{msg} {wide_bar} {pos}/{len} blocks");
    let known = style("{msg} {wide_bar} {pos}/{len} blocks, {eta} left");
    let bar = ProgressBar::new(total).with_style(unknown).with_message(entry.to_owned());
    while !ended.load(Ordering::Relaxed) {
        let blocks = done.load(Ordering::Relaxed);
        if blocks > 0 && bar.position() == 0 {
            bar.set_style(known.clone());
        }
        bar.set_position(blocks);
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}
