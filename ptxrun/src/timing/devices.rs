//! `ptxrun devices`.

use ptx_report::device;
use ptx_runtime::timing::Profile;
use serde_json::json;

use crate::cli::{DeviceArgs, DevicesArgs};
use crate::terminal::{Outcome, print, print_json};
use crate::timing::{bad_profile, find};

/// Lists the known GPUs or shows one.
pub(crate) fn devices(args: &DevicesArgs) -> Outcome {
    let common = &args.common;
    let fail = |error| bad_profile(common, &error);
    let which = DeviceArgs {
        device: args.name.clone().or_else(|| args.device.device.clone()),
        profile_file: args.device.profile_file.clone(),
    };
    let (catalog, named) = find(&which).map_err(fail)?;
    if let Some(profile) = named {
        match common.json {
            true => print_json(&device::show_json(&profile)),
            false => print(device::show(&profile, common.paint()).as_bytes()),
        }
        return Ok(());
    }
    let names = catalog.device_names();
    let mut profiles: Vec<Profile> =
        names.iter().map(|name| catalog.get(name)).collect::<Result<_, _>>().map_err(fail)?;
    // Oldest generation first; names are in alphabetical order already.
    profiles.sort_by_key(|p| p.device.compute_capability);
    if common.json {
        print_json(&json!({"ok": true, "devices": device::list_json(&profiles)}));
    } else {
        print(device::list(&profiles, common.paint()).as_bytes());
    }
    Ok(())
}
