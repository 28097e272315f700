//! Devices small enough that random scripts meet themselves: one of each kind, and the variants that matter.

use std::sync::OnceLock;

use seekwell_device::{DeviceFile, load};

/// Name and file of each, read once.
pub fn files() -> &'static [(&'static str, DeviceFile)] {
    static FILES: OnceLock<Vec<(&str, DeviceFile)>> = OnceLock::new();
    FILES.get_or_init(|| {
        all().into_iter().map(|(name, text)| (name, load(&text).unwrap())).collect()
    })
}

/// Name and device file.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("fixed", fixed()),
        ("ram", ram()),
        ("disk, write back", disk(true, 8, 512)),
        ("disk, write through", disk(false, 8, 512)),
        ("disk, 512e", disk(true, 8, 4096)),
        ("disk, depth 1", disk(true, 1, 512)),
        ("disk, shingled", shingled()),
        ("card", card(false)),
        ("card, linear", card(true)),
        ("ssd, volatile", ssd(false, true)),
        ("ssd, protected", ssd(true, true)),
        ("ssd, no suspend", ssd(false, false)),
    ]
}

fn fixed() -> String {
    r#"
name = "fixed"
title = "fixed"
kind = "fixed"
[presented]
sectors = 4096
queue_depth = 8
max_request_kib = 32
max_discard_kib = 64
max_write_zeroes_kib = 64
[fixed]
read_latency_us = 100
write_latency_us = 70
flush_latency_us = 20
mb_per_s = 100
parallel = 3
[sources]
presented = "test"
fixed = "test"
"#
    .to_owned()
}

fn ram() -> String {
    r#"
name = "ram"
title = "ram"
kind = "ram"
[presented]
sectors = 4096
queue_depth = 4
max_request_kib = 32
[ram]
mb_per_s = 1000
[sources]
presented = "test"
ram = "test"
"#
    .to_owned()
}

/// A disk of 4096 sectors.
pub fn disk(write_back: bool, depth: u32, physical_block: u32) -> String {
    format!(
        r#"
name = "disk"
title = "disk"
kind = "rotating"
[presented]
sectors = 4096
physical_block = {physical_block}
queue_depth = {depth}
max_request_kib = 32
[[bus]]
name = "bus"
command_us = 10
mb_per_s = 50
[rotating]
rpm = 7200
heads = 2
head_switch_us = 300
write_settle_us = 200
passed_over_ms = 40
[rotating.layout]
zones = [[20, 48], [30, 36], [20, 24]]
track_skew_us = 550
[rotating.seek]
a_us = 800
b_us = 4000
c_us = 3000
[rotating.overhead]
read_hit_us = 50
read_miss_us = 150
write_us = 60
flush_us = 20
[rotating.buffer]
read_segments = 3
segment_kib = 32
read_ahead_kib = 16
write_back = {write_back}
write_kib = 64
destage_delay_us = 3000
destage_run_kib = 16
destage_window = 4
age_limit_ms = 60
[sources]
presented = "test"
bus = "test"
rotating = "test"
"#
    )
}

/// The same disk with bands of 1 MiB and a log of as much.
fn shingled() -> String {
    let text = disk(true, 8, 512).replace("[[20, 48]", "[[40, 48]");
    let table = "[rotating.shingled]\nband_mib = 1\ncache_mib = 1\nidle_ms = 5\n[sources]";
    text.replace("[sources]", table)
}

fn card(linear: bool) -> String {
    let linear = if linear { "linear_from_unit = 1" } else { "" };
    format!(
        r#"
name = "card"
title = "card"
kind = "flash"
[presented]
sectors = 4096
queue_depth = 2
max_request_kib = 32
max_discard_kib = 64
[[bus]]
name = "bus"
command_us = 20
sector_us = 3
mb_per_s = 20
[flash]
page_bytes = 2048
unit_kib = 64
planes = 2
open_units = 2
{linear}
spare_blocks = 2
wear_leveling = "dynamic"
prefilled = true
read_page_us = 25
program_page_us = 200
copy_page_us = 300
erase_us = 1500
read_command_us = 100
write_command_us = 150
unit_change_us = 40
rated_erases = 10000
tears_units = true
[sources]
presented = "test"
bus = "test"
flash = "test"
"#
    )
}

fn ssd(protected: bool, suspends: bool) -> String {
    let suspend = if suspends { "suspend_us = 30" } else { "" };
    format!(
        r#"
name = "ssd"
title = "ssd"
kind = "ssd"
[presented]
sectors = 4096
physical_block = 4096
queue_depth = 8
max_request_kib = 32
max_discard_kib = 64
max_write_zeroes_kib = 64
[[bus]]
name = "bus"
command_us = 2
mb_per_s = 500
[ssd]
channels = 2
dies_per_channel = 2
planes = 2
page_kib = 8
pages_per_block = 4
unit_kib = 4
over_provisioning = 0.9
reserve_blocks = 2
read_page_us = 50
program_us = 400
erase_us = 3000
channel_mb_per_s = 200
{suspend}
read_command_us = 10
write_command_us = 8
flush_us = 100
buffer_kib = 64
power_loss_protection = {protected}
drain_delay_us = 2000
rated_erases = 1000
prefilled = true
preconditioned = 1.0
[ssd.slc]
mib = 1
program_us = 150
idle_ms = 1
fold_mb_per_s = 20
[sources]
presented = "test"
bus = "test"
ssd = "test"
"#
    )
}
