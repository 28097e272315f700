//! Fitted numbers, and the device file that they make together with a drive's layout and seek curve.

use crate::trace::{Drive, Zone};

/// Settings of the buffer.
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
    let name = name.to_lowercase().replace('_', "-");
    let Drive { sectors, heads, rpm, head_switch_us, .. } = drive;
    let Electronics { values } = &fit.electronics;
    let value = |key: &str| values.iter().find(|entry| entry.0 == key).map_or(0.0, |entry| entry.1);
    let (scale, mb_per_s) = (value("seek_scale"), value("mb_per_s"));
    let point = |[cylinders, us]: &[f64; 2]| format!("[{cylinders}, {:.1}]", us * scale);
    let seek: Vec<String> = drive.seek.iter().map(point).collect();
    let zones: String = drive.zones.iter().map(zone_text).collect();
    let seek = seek.join(", ");
    let (overhead, buffer) = (overhead_text(value), buffer_text(&fit.buffer));
    format!(
        r#"
name = "{name}"
title = "DiskSim validation drive"
kind = "rotating"
[presented]
sectors = {sectors}
queue_depth = 1
max_request_kib = 256
[[bus]]
name = "scsi"
command_us = 0
mb_per_s = {mb_per_s:.4}
[rotating]
rpm = {rpm}
heads = {heads}
head_switch_us = {head_switch_us:.1}
write_settle_us = 0
[rotating.layout]
loses_turns = true
{zones}
[rotating.seek]
table = [{seek}]
{overhead}
{buffer}
[sources]
presented = "DiskSim"
bus = "fitted"
rotating = "DiskSim and fitted"
"#
    )
}

fn zone_text(zone: &Zone) -> String {
    let Zone { first_cylinder, cylinders, sectors_per_track, track_skew, cylinder_skew } = zone;
    format!(
        "[[rotating.layout.zone]]\nfirst_cylinder = {first_cylinder}\ncylinders = {cylinders}\n\
         sectors_per_track = {sectors_per_track}\ntrack_skew_sectors = {track_skew}\n\
         cylinder_skew_sectors = {cylinder_skew}\n"
    )
}

fn overhead_text(value: impl Fn(&str) -> f64) -> String {
    let keys =
        ["read_hit_us", "read_sequential_us", "read_miss_us", "write_us", "write_sequential_us"];
    let lines = keys.map(|key| format!("{key} = {:.1}", value(key)));
    format!("[rotating.overhead]\n{}\nflush_us = 0", lines.join("\n"))
}

fn buffer_text(buffer: &Buffer) -> String {
    let Buffer { reads_ahead, only_sequential, keeps_delivered, serves_written, write_clears } =
        buffer;
    let (read_ahead_kib, after) = (if *reads_ahead { 128 } else { 0 }, u32::from(*only_sequential));
    format!(
        r#"[rotating.buffer]
read_segments = 3
segment_kib = 256
read_ahead_kib = {read_ahead_kib}
read_ahead_after = {after}
resumes_read_ahead = false
keeps_delivered = {keeps_delivered}
serves_written = {serves_written}
write_clears = {write_clears}
write_back = true
write_kib = 256
destage_run_kib = 128"#
    )
}
