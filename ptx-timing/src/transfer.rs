//! How long copies take on a device: over its link to the host, and within its memory.

use crate::Profile;

impl Profile {
    /// Nanoseconds that the device takes to move `bytes` bytes over its link to the host.
    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        (self.link.latency_us * 1e3 + bytes as f64 / self.link.pageable_gbps.max(1e-3)) as u64
    }

    /// The same for a copy within device memory, which reads and writes them.
    pub fn copy_ns(&self, bytes: u64) -> u64 {
        self.memory_ns(2.0 * bytes as f64)
    }

    /// The same for a fill, which writes them.
    pub fn fill_ns(&self, bytes: u64) -> u64 {
        self.memory_ns(bytes as f64)
    }

    fn memory_ns(&self, bytes: f64) -> u64 {
        let per_ns = self.dram_bytes_per_cycle() * self.clock.sm_mhz / 1e3;
        let start = f64::from(self.launch.overhead_cycles) * 1e3 / self.clock.sm_mhz;
        (start + bytes / per_ns.max(1e-3)) as u64
    }
}
