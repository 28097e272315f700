use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::catalogue::catalogue;
use crate::change::Change;

/// Fingerprints of the devices that come with the program.
const SHIPPED: &str = "src/fingerprint/shipped.txt";

/// A change of a model on purpose updates the file with SEEKWELL_UPDATE_RUNS=1; the kept runs of the replications on
/// such a device are then older than its model and have to be run again.
#[test]
fn shipped_devices_behave_as_the_kept_fingerprints_say() {
    let mut found = String::new();
    for (name, file) in catalogue().unwrap() {
        writeln!(found, "{name} {:016x}", fingerprint(&file)).unwrap();
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(SHIPPED);
    if std::env::var_os("SEEKWELL_UPDATE_RUNS").is_some() {
        std::fs::write(&kept, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(kept).unwrap());
}

#[test]
fn each_number_that_changes_times_changes_the_fingerprint() {
    let devices = catalogue().unwrap();
    for (name, change) in [
        ("sata-500gb-7200", "rotating.rpm=7100"),
        ("sata-500gb-7200", "rotating.overhead.flush_us=999"),
        ("usb2-stick-512mb", "flash.program_page_us=999"),
        ("ssd-sata-250gb", "ssd.read_page_us=99"),
    ] {
        let change: Change = change.parse().unwrap();
        let changed = devices[name].changed(&change).unwrap();
        assert_ne!(fingerprint(&changed), fingerprint(&devices[name]), "{name} with {change}");
    }
}

#[test]
fn a_device_has_the_same_fingerprint_each_time() {
    let file = &catalogue().unwrap()["sata-2tb-7200"];
    assert_eq!(fingerprint(file), fingerprint(&file.clone()));
}
