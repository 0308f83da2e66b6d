//! What the host has: memory that this process may use, and its processor.

use std::fs::read_to_string;
use std::path::Path;

/// Where the host does not say.
const UNKNOWN: u64 = 4 << 30;

/// Bytes of memory: the host's, or less if the process's control group has less.
pub fn memory() -> u64 {
    let host =
        read_to_string("/proc/meminfo").ok().and_then(|text| total(&text)).unwrap_or(UNKNOWN);
    host.min(group().unwrap_or(u64::MAX))
}

/// Bytes of address space that the process may still take (`ulimit -v`).
pub fn address_space() -> u64 {
    let most = own_limit("Max address space");
    let used = read_to_string("/proc/self/statm").ok();
    let pages: u64 = used.and_then(|s| s.split(' ').next()?.parse().ok()).unwrap_or(0);
    most.unwrap_or(u64::MAX).saturating_sub(pages * 4096)
}

/// Bytes that a file may have (`ulimit -f`): who writes more gets a signal that ends the process.
pub fn file_size() -> u64 {
    own_limit("Max file size").unwrap_or(u64::MAX)
}

fn own_limit(name: &str) -> Option<u64> {
    read_to_string("/proc/self/limits").ok().and_then(|text| limit(&text, name))
}

/// The host's processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its model, as it names itself.
    pub name: String,
    /// Threads that may run at once.
    pub threads: u32,
    /// Clock in MHz; 0 where nobody says.
    pub mhz: u32,
    /// Bytes of its largest cache; 0 where nobody says.
    pub cache: u64,
    /// Bytes of a line of that cache.
    pub line: u32,
}

/// The processor that this runs on.
pub fn processor() -> Processor {
    let info = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let name = field(&info, "model name").unwrap_or("CPU").to_owned();
    let khz = read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    let most = khz.ok().and_then(|text| text.trim().parse::<u32>().ok()).map(|khz| khz / 1000);
    let now =
        field(&info, "cpu MHz").and_then(|text| text.parse::<f64>().ok()).map(|mhz| mhz as u32);
    let (cache, line) = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
    Processor { name, threads, mhz: most.or(now).unwrap_or(0), cache, line }
}

/// A field of `/proc/cpuinfo`, of the first processor.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let line = text.lines().find(|l| l.split(':').next().is_some_and(|n| n.trim() == name))?;
    Some(line.split_once(':')?.1.trim()).filter(|value| !value.is_empty())
}

/// Bytes of the largest cache and of its lines.
fn caches(folder: &Path) -> (u64, u32) {
    let of = |index: u32| {
        let read = |file: &str| read_to_string(folder.join(format!("index{index}/{file}"))).ok();
        let size: u64 = read("size")?.trim().strip_suffix('K')?.parse().ok()?;
        let line = read("coherency_line_size")?.trim().parse().ok()?;
        Some((size << 10, line))
    };
    (0..8).filter_map(of).max().unwrap_or((0, 64))
}

/// `MemTotal` of `/proc/meminfo`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// The soft limit of that name in `/proc/self/limits`; nothing where there is none.
fn limit(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The least limit of the process's control groups and those above them.
fn group() -> Option<u64> {
    let of = read_to_string("/proc/self/cgroup").ok()?;
    let read = |path: &Path| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let mut least = None;
    for line in of.lines() {
        // Number, controllers, path; version 2 has one line without controllers.
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next(), fields.next()?, fields.next()?);
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let root = Path::new(root);
        // In a container the path may be the host's: then the root is the container's own group.
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            let found = read(&root.join(folder).join(file));
            least = [least, found].into_iter().flatten().min();
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_linux() {
        assert_eq!(total("MemTotal:       24689312 kB\nMemFree: 1 kB\n"), Some(24_689_312 << 10));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space  2048000000  unlimited  bytes\n";
        let space = |text: &str| limit(text, "Max address space");
        assert_eq!(space(limits), Some(2_048_000_000));
        assert_eq!(space(&limits.replace("2048000000", "unlimited")), None);
        let info = "processor\t: 0\nmodel name\t: EPYC 9\ncpu MHz\t\t: 2400.5\n\nprocessor\t: 1\nmodel name : B\n";
        assert_eq!(
            (field(info, "model name"), field(info, "cpu MHz")),
            (Some("EPYC 9"), Some("2400.5"))
        );
        assert_eq!(field(info, "cache size"), None);
        assert!(processor().threads > 0 && !processor().name.is_empty());
    }
}
