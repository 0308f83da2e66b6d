//! The device `host`: this machine's processor, described as a GPU whose multiprocessors are its cores.

/// Name of the device.
pub(super) const NAME: &str = "host";

/// Bytes of memory where the system does not say.
const UNKNOWN_MEMORY: u64 = 4 << 30;

/// The profile as a file's text. Everything but cores and memory is taken over from compute capability 9.0, whose
/// instructions are the ones that were recorded; its clock says nothing about this machine.
pub(super) fn profile() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!(
        "name = \"{NAME}\"\nkind = \"device\"\ninherits = \"cc-9.0\"\n\
         note = \"Runs with the instructions of compute capability 9.0; no model of this machine's speed.\"\n\
         [source]\ndevice = \"this machine: threads that run at once, memory\"\n\
         [device]\nchip = \"CPU\"\nmultiprocessors = {cores}\nmemory_bytes = {}\n",
        memory().unwrap_or(UNKNOWN_MEMORY)
    )
}

/// Bytes of main memory.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
