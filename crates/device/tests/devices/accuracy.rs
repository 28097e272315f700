//! How near the models come to measured drives and to theory.

use std::path::{Path, PathBuf};

use seekwell_device::accuracy::demerit;
use seekwell_device::load;

use crate::closed_form::{closed_form, measured};
use crate::fitted::{Buffer, Electronics, Fit, device_text};
use crate::trace::{DRIVES, read_drive, read_trace, replay};

/// Where the traces are, if anywhere: they may not be given on with the project.
const DATA: &str = "SEEKWELL_DISKSIM_DATA";

const KEPT: &str = "../../benches/runs/device/disksim/fitted.toml";

/// What the example `disksim` fitted to the first half of a drive's trace.
fn kept(drive: &str) -> Fit {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
    let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let number = |key: &'static str| (key, table[drive][key].as_float().unwrap());
    let flag = |key: &str| table[drive][key].as_bool().unwrap();
    let keys = [
        "mb_per_s", "read_hit_us", "read_sequential_us", "read_miss_us", "write_us",
        "write_sequential_us", "seek_scale",
    ];
    Fit {
        electronics: Electronics { values: keys.into_iter().map(number).collect() },
        buffer: Buffer {
            reads_ahead: flag("reads_ahead"),
            only_sequential: flag("only_sequential"),
            keeps_delivered: flag("keeps_delivered"),
            serves_written: flag("serves_written"),
            write_clears: flag("write_clears"),
        },
    }
}

#[test]
fn rotating_model_is_within_five_percent_of_four_measured_drives() {
    let test = "rotating_model_is_within_five_percent_of_four_measured_drives";
    let Some(folder) = std::env::var_os(DATA).map(PathBuf::from) else {
        let reason = format!("set {DATA} to the folder of DiskSim's validation traces");
        return seekwell_testing::skip(test, &reason);
    };
    for (name, _) in DRIVES {
        let trace = read_trace(&folder, name).unwrap();
        let drive = read_drive(&folder, name).unwrap();
        let file = load(&device_text(name, &drive, &kept(name))).unwrap();
        let modelled = replay(&file, &trace).unwrap();
        let real: Vec<u64> = trace.iter().map(|traced| traced.response_ns).collect();
        let half = trace.len() / 2;
        let found = demerit(&real[half..], &modelled[half..]).unwrap();
        assert!(found.relative() <= 0.05, "{name}: {:.2} %", found.relative() * 100.0);
    }
}

#[test]
fn write_amplification_is_within_three_percent_of_the_closed_form() {
    let spares = [0.15, 0.28, 0.5];
    let wanted = seekwell_testing::cases(1, spares.len());
    for at in seekwell_testing::sample(spares.len(), wanted, seekwell_testing::seed()) {
        let spare = spares[at];
        let found = measured(spare, [1024, 512], 2.0, 1).unwrap();
        let expected = closed_form(spare);
        assert!((found / expected - 1.0).abs() < 0.03, "{spare}: {found:.3}, not {expected:.3}");
    }
}

#[test]
fn closed_form_has_the_values_of_its_paper() {
    for (spare, expected) in
        [(0.05, 10.7), (0.1, 5.7), (0.15, 4.0), (0.28, 2.5), (0.3, 2.36), (0.5, 1.7)]
    {
        let found = closed_form(spare);
        assert!((found - expected).abs() < 0.05, "{spare}: {found:.3}, not {expected}");
    }
}
