//! Which device is emulated.

use ptx_timing::{Catalog, Profile, ProfileError};

/// Environment variable that names the device: a profile's name, or the path of a profile file.
pub const DEVICE_VARIABLE: &str = environment::DEVICE.name;

/// The device where none is named: compute capability 9.0.
pub const DEFAULT_DEVICE: &str = "H200";

/// The name of this machine where OpenCL programs look for a device. CUDA has no such device; there it stands for
/// [`DEFAULT_DEVICE`].
pub const HOST: &str = "host";

/// Memory of a device whose profile does not say.
const MEMORY: u64 = 4 << 30;

/// The profile of a device, by name or file.
///
/// # Errors
/// When there is no such profile, or the file is wrong.
pub fn profile(name: &str) -> Result<Profile, ProfileError> {
    let mut catalog = Catalog::embedded()?;
    if name.ends_with(".toml") {
        let name = catalog.add_file(std::path::Path::new(name))?;
        return catalog.get(&name);
    }
    catalog.get(name)
}

/// The profile that [`DEVICE_VARIABLE`] names (of several, separated by commas, the first), else [`DEFAULT_DEVICE`]'s.
///
/// # Errors
/// As [`profile`].
pub fn from_environment() -> Result<Profile, ProfileError> {
    let named = environment::DEVICE.text().unwrap_or_default();
    let first = named.split(',').next().unwrap_or_default().trim();
    profile(if first.is_empty() || first == HOST { DEFAULT_DEVICE } else { first })
}

/// Bytes of memory that the device has.
pub fn memory(profile: &Profile) -> u64 {
    profile.device.memory_bytes.unwrap_or(MEMORY)
}

/// Bytes of memory that a context on this host may have: the device's, or less where the host has less.
///
/// # Errors
/// When `PTXRUN_MEMORY` holds no amount.
pub fn budget(profile: &Profile) -> Result<u64, environment::Wrong> {
    Ok(memory(profile).min(environment::memory()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_by_name() {
        let h200 = profile(DEFAULT_DEVICE).unwrap();
        assert_eq!(h200.device.multiprocessors, 132);
        assert_eq!(memory(&h200), 150_109_880_320);
        assert!(profile("no such device").is_err());
    }
}
