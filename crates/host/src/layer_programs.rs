//! Programs that make layers and take them down, and the nodes that they wait for.

use crate::error::{Error, Result};
use crate::program;
use crate::sysfs::System;
use seekwell_model::layers::package_of;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// A node or a file of sysfs that a layer brings is there by then.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// Waits until a node or a file of sysfs is there.
///
/// # Errors
/// After ten seconds without it.
pub(crate) fn wait_for(path: &Path) -> Result<()> {
    let begun = Instant::now();
    while !path.exists() {
        if begun.elapsed() > PATIENCE {
            return Err(Error::Timeout {
                what: format!("{} did not appear", path.display()),
                waited: begun.elapsed(),
                remedy: "look at the kernel's log".to_owned(),
            });
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Runs a program with this input, after the nodes that it is to use are there.
///
/// # Errors
/// When the program or a node is missing, or the program fails, with what it printed.
pub(crate) fn run(system: &System, name: &str, arguments: &[String], input: &str) -> Result<()> {
    let path = program::find(system, name, package_of(name))?;
    let mut command: Command = program::command(system, &path);
    for node in mapped_nodes(arguments, input) {
        // udev makes it after the program that asked for the device has ended.
        wait_for(Path::new(node))?;
    }
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if !udev_answers(system) {
        // A program that waits for udev would never end.
        command.env("DM_DISABLE_UDEV", "1").env("MDADM_NO_UDEV", "1");
    }
    let mut child = command.spawn().map_err(Error::io("run", &path))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends without reading says why by its status.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(Error::io("run", &path))?;
    if output.status.success() {
        return Ok(());
    }
    let words = std::iter::once(name).chain(arguments.iter().map(String::as_str));
    Err(program::failed(program::line(words), &output))
}

/// Nodes of mapped devices that a program is to use.
fn mapped_nodes<'a>(arguments: &'a [String], input: &'a str) -> impl Iterator<Item = &'a str> {
    let words = arguments.iter().map(String::as_str).chain(std::iter::once(input));
    let words = words.flat_map(|text| text.split(|end: char| end.is_whitespace() || end == '='));
    words.filter(|word| word.starts_with("/dev/mapper/"))
}

/// Returns true if udev runs, which makes nodes and answers programs that wait for it.
pub(crate) fn udev_answers(system: &System) -> bool {
    system.run.join("udev/control").exists()
}

/// Removes a mapped device.
///
/// # Errors
/// When it is in use, or dmsetup is missing.
pub(crate) fn remove_mapped(system: &System, name: &str) -> Result<()> {
    let arguments = ["remove", "--noudevsync", name].map(str::to_owned);
    run(system, "dmsetup", &arguments, "")
}
