//! The device that `PTXRUN_DEVICE` names is the device that a program finds.

mod common;

use std::process::Command;

use common::*;

/// Asked by a process of its own, as the device is fixed once per process.
#[test]
#[ignore = "a part of the tests below, run by them"]
fn print_the_device() {
    let code = call("cuInit", &[0]);
    let (mut major, mut minor, mut bytes) = (0i32, 0i32, 0u64);
    if code == 0 {
        ok("cuDeviceGetAttribute", &[at(&mut major), 75, 0]);
        ok("cuDeviceGetAttribute", &[at(&mut minor), 76, 0]);
        ok("cuDeviceTotalMem_v2", &[at(&mut bytes), 0]);
    }
    println!("code {code} capability {major}.{minor} memory {bytes}");
}

/// What the process prints, on standard output and standard error.
fn with_device(name: &str) -> String {
    let output = Command::new(std::env::current_exe().expect("this test's own file"))
        .args(["--exact", "print_the_device", "--ignored", "--nocapture"])
        .env("PTXRUN_DEVICE", name)
        .output()
        .expect("this test runs again");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn targets_classes_and_products_are_found() {
    for (name, capability) in [
        ("sm_13", "1.3"),
        ("sm_52", "5.2"),
        ("sm_61", "6.1"),
        ("sm_75", "7.5"),
        ("sm_80", "8.0"),
        ("sm_86", "8.6"),
        ("sm_90", "9.0"),
        ("sm_90a", "9.0"),
        ("sm_100", "10.0"),
        ("sm_120", "12.0"),
        ("cc-8.9", "8.9"),
        ("4090", "8.9"),
        ("h100", "9.0"),
        ("host", "9.0"),
        ("sm_80,sm_90", "8.0"),
        ("", "9.0"),
    ] {
        let told = with_device(name);
        assert!(told.contains(&format!("code 0 capability {capability} ")), "{name}: {told}");
    }
}

#[test]
fn an_unknown_device_is_no_device_and_said() {
    let told = with_device("sm_99");
    assert!(told.contains("code 100 "), "{told}");
    assert!(told.contains("unknown device 'sm_99'; did you mean 'sm_"), "{told}");
}
