//! The platform.

use std::sync::{Arc, OnceLock};

use ptx_runtime::{Backend, device as profiles};

use crate::cl::{self, Error, Result};
use crate::device::{Device, VENDOR, version_text};
use crate::features::{name_versions, version};
use crate::object;
use crate::registry::{self, Handle};
use c_border::ParamValue;

/// The platform: its devices.
pub struct Platform {
    pub(crate) handle: Handle<Platform>,
    /// What `PTXRUN_DEVICE` names.
    pub devices: Vec<Arc<Device>>,
}
object!(Platform, INVALID_PLATFORM);

/// `CL_PLATFORM_EXTENSIONS`
pub const EXTENSIONS: [&str; 2] = ["cl_khr_icd", "cl_khr_extended_versioning"];

/// The platform; the same in the whole process.
///
/// # Errors
/// When `PTXRUN_DEVICE` or `PTXRUN_BACKEND` name something unknown.
pub fn get() -> Result<Arc<Platform>> {
    static PLATFORM: OnceLock<Result<Arc<Platform>>> = OnceLock::new();
    PLATFORM
        .get_or_init(|| {
            let platform = Arc::new(Platform { handle: Handle::default(), devices: devices()? });
            registry::publish(Arc::clone(&platform));
            Ok(platform)
        })
        .clone()
}

/// `clGetDeviceInfo`
pub fn device_info(device: &Device, name: u32, to: ParamValue) -> Result {
    if name == cl::DEVICE_PLATFORM {
        return to.put(get()?.handle.get());
    }
    device.info(name, to)
}

/// What messages begin with.
const LIBRARY: &str = "OpenCL driver of ptxrun";

fn refuse(why: &dyn std::fmt::Display) -> Error {
    environment::sayln!("{LIBRARY}: {why}");
    Error::DEVICE_NOT_FOUND
}

fn devices() -> Result<Vec<Arc<Device>>> {
    environment::check(LIBRARY).map_err(|error| refuse(&error))?;
    let backend = Backend::from_environment().map_err(|error| refuse(&error))?;
    let named = environment::DEVICE.text().unwrap_or_default();
    let mut names: Vec<&str> = named.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    if names.is_empty() {
        names.push(profiles::HOST);
    }
    names
        .into_iter()
        .map(|name| {
            let host = name == profiles::HOST;
            let profile = profiles::profile(if host { profiles::DEFAULT_DEVICE } else { name })
                .map_err(|error| refuse(&format!("{}: {error}", profiles::DEVICE_VARIABLE)))?;
            let make = if host { Device::of_host } else { Device::new };
            let device = Arc::new(make(profile, backend).map_err(|error| refuse(&error))?);
            registry::publish(Arc::clone(&device));
            Ok(device)
        })
        .collect()
}

impl Platform {
    /// `clGetPlatformInfo`
    pub fn info(&self, name: u32, to: ParamValue) -> Result {
        let text = match name {
            // Nanoseconds.
            cl::PLATFORM_HOST_TIMER_RESOLUTION => return to.put(1u64),
            cl::PLATFORM_NUMERIC_VERSION => return to.put(version(3, 0)),
            cl::PLATFORM_EXTENSIONS_WITH_VERSION => {
                return to.put(name_versions(EXTENSIONS.map(|name| (name, version(1, 0)))));
            }
            cl::PLATFORM_PROFILE => "FULL_PROFILE",
            cl::PLATFORM_VERSION => &version_text((3, 0)),
            cl::PLATFORM_NAME => VENDOR,
            cl::PLATFORM_VENDOR => VENDOR,
            cl::PLATFORM_EXTENSIONS => &EXTENSIONS.join(" "),
            // CL_PLATFORM_ICD_SUFFIX_KHR
            0x0920 => "PTXRUN",
            _ => return Err(Error::INVALID_VALUE),
        };
        to.put(text)
    }

    /// Devices of a type.
    ///
    /// # Errors
    /// When the type is none, or there are none.
    pub fn devices_of(&self, kind: u64) -> Result<Vec<Arc<Device>>> {
        let known = cl::DEVICE_TYPE_DEFAULT
            | cl::DEVICE_TYPE_CPU
            | cl::DEVICE_TYPE_GPU
            | cl::DEVICE_TYPE_ACCELERATOR
            | cl::DEVICE_TYPE_CUSTOM;
        if kind != cl::DEVICE_TYPE_ALL && (kind == 0 || kind & !known != 0) {
            return Err(Error::INVALID_DEVICE_TYPE);
        }
        let all = self.devices.iter().enumerate();
        let wanted = all.filter(|(i, device)| {
            kind & device.kind() != 0 || kind & cl::DEVICE_TYPE_DEFAULT != 0 && *i == 0
        });
        let wanted: Vec<_> = wanted.map(|(_, device)| Arc::clone(device)).collect();
        if wanted.is_empty() { Err(Error::DEVICE_NOT_FOUND) } else { Ok(wanted) }
    }
}
