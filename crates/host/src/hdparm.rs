//! Settings of a disk that only hdparm reaches, restricted to those that can be read back and
//! restored.

use crate::error::{Error, Result};
use crate::program;
use crate::sysfs::System;

#[cfg(test)]
mod tests;

/// Flags that hdparm both shows and sets without touching data. Everything else is refused: some
/// of hdparm's flags erase the disk or rewrite its firmware.
const FLAGS: [(&str, &str); 5] = [
    ("-A", "look-ahead"),
    ("-B", "APM_level"),
    ("-M", "acoustic"),
    ("-Q", "queue_depth"),
    ("-W", "write-caching"),
];

/// hdparm shows the APM level 255 as "off".
const APM_OFF: (&str, &str) = ("off", "255");

/// Splits `-M128` into `-M` and `128`.
pub(crate) fn split<'a>(device: &str, argument: &'a str) -> Result<(&'static str, &'a str)> {
    let parts = FLAGS.iter().find_map(|(flag, _)| {
        let value = argument.strip_prefix(flag)?;
        Some((*flag, value.trim_start_matches('=').trim()))
    });
    let is_number = |value: &str| !value.is_empty() && value.bytes().all(|c| c.is_ascii_digit());
    parts.filter(|(_, value)| is_number(value)).ok_or_else(|| {
        let what = "is not set, because it cannot be read back and restored";
        let remedy = "use -A, -B, -M, -Q or -W with a number, for example \"-M128\"";
        Error::setting(device, format!("hdparm '{argument}' {what}"), remedy)
    })
}

/// True for the flags that are ever set.
pub(crate) fn is_known(flag: &str) -> bool {
    FLAGS.iter().any(|(known, _)| *known == flag)
}

fn run(system: &System, device: &str, argument: &str) -> Result<String> {
    let node = system.dev.join(device);
    let node = node.to_string_lossy();
    program::run(system, "hdparm", "hdparm", &[argument, &node])
}

/// The value in force.
pub(crate) fn get(system: &System, device: &str, flag: &str) -> Result<String> {
    let output = run(system, device, flag)?;
    let label = FLAGS.iter().find(|(known, _)| *known == flag).map_or("", |(_, label)| *label);
    parse(&output, label).ok_or_else(|| {
        let what = format!("hdparm {flag} shows no {label}: the disk does not have this setting");
        Error::setting(device, what, "remove it from [device.settings]")
    })
}

/// A line such as ` APM_level = 128` or ` acoustic      = 254 (128=quiet ... 254=fast)`.
fn parse(output: &str, label: &str) -> Option<String> {
    let (_, value) =
        output.lines().find_map(|line| line.trim().strip_prefix(label)?.split_once('='))?;
    let word = value.split_whitespace().next()?;
    if word == APM_OFF.0 {
        return Some(APM_OFF.1.to_owned());
    }
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.to_owned())
}

/// Sets a value and reads it back.
pub(crate) fn set(system: &System, device: &str, flag: &str, value: &str) -> Result<()> {
    run(system, device, &format!("{flag}{value}"))?;
    let now = get(system, device, flag)?;
    if now == value {
        return Ok(());
    }
    let what = format!("hdparm {flag}{value} left the setting at {now}");
    Err(Error::setting(device, what, "write a value that the disk accepts"))
}
