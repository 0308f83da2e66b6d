//! The subcommands over the timing model.

pub(crate) mod compare;
pub(crate) mod devices;
pub(crate) mod limits;
pub(crate) mod occupancy;
pub(crate) mod profile;

use std::path::{Path, PathBuf};

use ptx_runtime::timing::{Catalog, Profile, ProfileError};

use crate::cli::{Common, DeviceArgs};
use crate::terminal::{Failed, INVALID, USAGE};

/// The GPU that is modelled where none is named.
const DEFAULT_DEVICE: &str = "H200";

/// Known profiles, and the one that the arguments name.
fn find(args: &DeviceArgs) -> Result<(Catalog, Option<Profile>), ProfileError> {
    let mut catalog = Catalog::embedded()?;
    let mut named = args.device.clone();
    if let Some(file) = &args.profile_file {
        let name = catalog.add_file(file)?;
        named.get_or_insert(name);
    }
    if let Some(file) = named.as_deref().filter(|n| is_file(n)).map(PathBuf::from) {
        named = Some(catalog.add_file(&file)?);
    }
    let profile = named.map(|name| catalog.get(&name)).transpose()?;
    Ok((catalog, profile))
}

fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "toml")
}

/// The GPU that the arguments name, if they do.
pub(crate) fn device(args: &DeviceArgs, common: &Common) -> Result<Option<Profile>, Failed> {
    find(args).map(|found| found.1).map_err(|error| bad_profile(common, &error))
}

/// The GPU that the arguments name, or the default.
fn device_or_default(args: &DeviceArgs, common: &Common) -> Result<Profile, Failed> {
    let args = match (&args.device, &args.profile_file) {
        (None, None) => &DeviceArgs { device: Some(DEFAULT_DEVICE.to_owned()), profile_file: None },
        _ => args,
    };
    match device(args, common)? {
        Some(profile) => Ok(profile),
        // One of the two was given, so there is a name.
        None => Err(common.fail(USAGE, "usage", "name a GPU with --device")),
    }
}

/// The GPUs that the arguments name, separated by commas, or the default.
fn devices_or_default(args: &DeviceArgs, common: &Common) -> Result<Vec<Profile>, Failed> {
    let Some(names) = args.device.as_ref().filter(|d| d.contains(',')) else {
        return device_or_default(args, common).map(|profile| vec![profile]);
    };
    names
        .split(',')
        .map(|name| {
            let one = DeviceArgs {
                device: Some(name.trim().to_owned()),
                profile_file: args.profile_file.clone(),
            };
            device_or_default(&one, common)
        })
        .collect()
}

/// A name that nobody knows is wrong usage; a profile that makes no sense is an invalid file.
fn bad_profile(common: &Common, error: &ProfileError) -> Failed {
    let (status, kind) = match error {
        ProfileError::UnknownDevice { .. } => (USAGE, "device"),
        ProfileError::Io { .. } => (USAGE, "file"),
        _ => (INVALID, "profile"),
    };
    if !common.json && matches!(error, ProfileError::UnknownDevice { .. }) {
        environment::sayln!(
            "error: {error}\n  `ptxrun devices` lists the known ones; a file of your own must end in .toml"
        );
        return Failed(status);
    }
    common.fail(status, kind, error)
}
