//! What is fitted, and the device file that it makes together with a drive's layout and seek curve.

use crate::trace::Drive;

/// What the buffer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub reads_ahead: bool,
    pub only_sequential: bool,
    pub keeps_delivered: bool,
    pub serves_written: bool,
    pub write_clears: bool,
}

/// Numbers by the name of their parameter.
#[derive(Clone, Debug)]
pub struct Electronics {
    pub values: Vec<(&'static str, f64)>,
}

/// All that is fitted.
#[derive(Clone, Debug)]
pub struct Fit {
    pub electronics: Electronics,
    pub buffer: Buffer,
}

/// A device file for a drive: layout and seek curve as extracted, the rest as fitted.
pub fn device_text(name: &str, drive: &Drive, fit: &Fit) -> String {
    let Electronics { values, .. } = &fit.electronics;
    let value = |key: &str| values.iter().find(|entry| entry.0 == key).map_or(0.0, |entry| entry.1);
    let scale = value("seek_scale");
    let seek: Vec<String> =
        drive.seek.iter().map(|[d, us]| format!("[{d}, {:.1}]", us * scale)).collect();
    let zones: Vec<String> = drive.zones.iter().map(|[c, s]| format!("[{c}, {s}]")).collect();
    format!(
        r#"
name = "{}"
title = "DiskSim validation drive"
kind = "rotating"
[presented]
sectors = {}
queue_depth = 1
max_request_kib = 256
[[bus]]
name = "scsi"
command_us = 0
mb_per_s = {:.4}
[rotating]
rpm = {}
heads = {}
head_switch_us = {:.1}
write_settle_us = 0
[rotating.layout]
zones = [{}]
track_skew_us = {:.1}
cylinder_skew_us = {:.1}
[rotating.seek]
table = [{}]
[rotating.overhead]
read_hit_us = {:.1}
read_sequential_us = {:.1}
read_miss_us = {:.1}
write_us = {:.1}
write_sequential_us = {:.1}
flush_us = 0
[rotating.buffer]
read_segments = 3
segment_kib = 256
read_ahead_kib = {}
read_ahead_after = {}
resumes_read_ahead = false
keeps_delivered = {}
serves_written = {}
write_clears = {}
write_back = true
write_kib = 256
destage_run_kib = 128
[sources]
presented = "DiskSim"
bus = "fitted"
rotating = "DiskSim and fitted"
"#,
        name.to_lowercase().replace('_', "-"),
        drive.sectors,
        value("mb_per_s"),
        drive.rpm,
        drive.heads,
        drive.head_switch_us,
        zones.join(", "),
        drive.track_skew_us,
        drive.cylinder_skew_us,
        seek.join(", "),
        value("read_hit_us"),
        value("read_sequential_us"),
        value("read_miss_us"),
        value("write_us"),
        value("write_sequential_us"),
        if fit.buffer.reads_ahead { 128 } else { 0 },
        u32::from(fit.buffer.only_sequential),
        fit.buffer.keeps_delivered,
        fit.buffer.serves_written,
        fit.buffer.write_clears,
    )
}
