//! The clock that events read: the host's, or with `PTXRUN_TIMING=1` that of the modelled device.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// A clock.
pub struct Clock {
    start: Instant,
    /// Nanoseconds for which the modelled device has worked. It does one thing at a time, and waits for nobody.
    worked: Option<Mutex<u64>>,
}

impl Clock {
    /// The clock of the modelled device, or the host's.
    pub fn new(modelled: bool) -> Clock {
        Clock { start: Instant::now(), worked: modelled.then(Mutex::default) }
    }

    /// Whether it is the modelled device's.
    pub fn is_modelled(&self) -> bool {
        self.worked.is_some()
    }

    /// What it shows.
    pub fn now(&self) -> Instant {
        match &self.worked {
            Some(worked) => {
                let worked = *worked.lock().unwrap_or_else(PoisonError::into_inner);
                self.start.checked_add(Duration::from_nanos(worked)).unwrap_or(self.start)
            }
            None => Instant::now(),
        }
    }

    /// The modelled device has worked for so many nanoseconds, which are only asked for where there is one.
    pub fn spend(&self, nanoseconds: impl FnOnce() -> u64) {
        if let Some(worked) = &self.worked {
            let spent = nanoseconds();
            let mut worked = worked.lock().unwrap_or_else(PoisonError::into_inner);
            *worked = worked.saturating_add(spent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modelled_clock_shows_work_alone() {
        let clock = Clock::new(true);
        let before = clock.now();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(clock.now(), before);
        clock.spend(|| 1500);
        assert_eq!(clock.now() - before, Duration::from_nanos(1500));
        let host = Clock::new(false);
        host.spend(|| unreachable!("the host's clock goes by itself"));
        assert!(!host.is_modelled() && host.now() >= before);
    }
}
