//! What is known of the device: the driver's own facts, in NVML's terms.

use cuda_driver::attributes::attribute;
use cuda_driver::driver::{BUS_ID, Driver};

/// Number of the driver's attribute for the memory clock in kHz.
const MEMORY_CLOCK: u32 = 36;

/// `nvmlClockType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Cores.
    Graphics,
    /// Pipelines of the multiprocessors.
    Multiprocessor,
    /// Device memory.
    Memory,
}

impl Clock {
    /// By number; there is no video engine.
    pub fn of(number: u32) -> Option<Clock> {
        [Clock::Graphics, Clock::Multiprocessor, Clock::Memory].get(number as usize).copied()
    }
}

/// `NVML_DEVICE_ARCH_…`.
pub fn architecture(driver: &Driver) -> u32 {
    let cc = driver.profile.device.compute_capability;
    match (cc.major, cc.minor) {
        (3, _) => 2,
        (5, _) => 3,
        (6, _) => 4,
        (7, 5..) => 6,
        (7, _) => 5,
        (8, 9) => 8,
        (8, _) => 7,
        (9, _) => 9,
        (10..=12, _) => 10,
        _ => u32::MAX,
    }
}

/// `NVML_BRAND_…`, by the words of the name.
pub fn brand(driver: &Driver) -> u32 {
    let name = &driver.profile.name;
    let has = |word: &str| name.split([' ', '-']).any(|w| w.eq_ignore_ascii_case(word));
    let numbered_rtx = name
        .split_once("RTX ")
        .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
    match () {
        () if has("Quadro") => 1,
        () if has("Tesla") => 2,
        () if has("TITAN") => 6,
        () if ["GeForce", "GTX", "GTS", "GT"].iter().any(|word| has(word)) || numbered_rtx => 5,
        () => 14,
    }
}

/// A clock in MHz.
pub fn clock(driver: &Driver, which: Clock) -> u32 {
    let clock = &driver.profile.clock;
    match which {
        Clock::Graphics => clock.core_mhz as u32,
        Clock::Multiprocessor => clock.sm_mhz as u32,
        Clock::Memory => {
            attribute(&driver.profile, MEMORY_CLOCK).unwrap_or(0).unsigned_abs() / 1000
        }
    }
}

/// Scalar cores of the device.
pub fn cores(driver: &Driver) -> u32 {
    driver.profile.device.multiprocessors * driver.profile.device.cores_per_multiprocessor
}

/// `GPU-` and the 16 bytes of the identity, as the driver's users see it.
pub fn uuid(driver: &Driver) -> String {
    let hex: String = driver.uuid().iter().map(|b| format!("{b:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The place on the bus with a domain of eight digits, and with one of four.
pub fn bus_ids() -> [String; 2] {
    [format!("0000{BUS_ID}"), BUS_ID.to_owned()]
}
