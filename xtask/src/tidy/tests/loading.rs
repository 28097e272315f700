//! Loadings of the device catalogue.

use super::found;

const CLI: &str = "crates/cli/src/run.rs";

fn in_cli(text: &str) -> Vec<String> {
    found(&[(CLI, text)])
}

fn second(line: usize) -> String {
    format!("{CLI}:{line}: a second loading of the device catalogue [device-catalogue]")
}

#[test]
fn one_loading_is_allowed() {
    let text = "//! Doc.\nfn run() {\n    let devices = seekwell_device::catalogue();\n    use_them(devices);\n}\n";
    assert_eq!(in_cli(text), [""; 0]);
}

#[test]
fn a_second_loading_is_found_through_functions_that_return_devices() {
    let text = "//! Doc.\nfn devices() -> Vec<DeviceFile> {\n    seekwell_device::catalogue()\n}\n\
                fn changed() -> Option<DeviceFile> { Some(devices()) }\n\
                fn run() {\n    let devices = devices();\n    devices.len();\n}\n\
                fn plan() {\n    place::changed();\n}\n";
    assert_eq!(in_cli(text), [second(11)]);
}

#[test]
fn another_crate_counts_too() {
    let session = "//! Doc.\nfn devices() -> Vec<DeviceFile> { seekwell_device::catalogue() }\n\
                   fn resolve() { devices(); }\n";
    let text = "//! Doc.\nfn run() { seekwell_stats::devices(); }\n";
    assert_eq!(
        found(&[("crates/stats/src/lib.rs", session), (CLI, text)]),
        ["crates/stats/src/lib.rs:3: a second loading of the device catalogue [device-catalogue]"]
    );
}

#[test]
fn the_command_that_shows_devices_the_owner_and_tests_load_for_themselves() {
    let text = "//! Doc.\nfn a() { seekwell_device::catalogue(); }\nfn b() { seekwell_device::catalogue(); }\n";
    for path in
        ["crates/cli/src/commands/device.rs", "crates/cli/tests/a.rs", "crates/cli/examples/b.rs"]
    {
        assert_eq!(found(&[(path, text)]), [""; 0]);
    }
    assert_eq!(in_cli(text), [second(3)]);
}
