//! Arguments of mkfs and mount: joining those that may be given once, and refusing those that reach
//! something else than the stack's devices.

use crate::error::{Error, Result};
use crate::nodes::NodeKind;
use crate::sysfs::System;
use std::path::Path;

/// Suboptions whose value names a device or a file, and that are never the user's to set: a device
/// given as a number, a label or a UUID would escape the look at its path.
const DEVICE_KEYS: [&str; 8] =
    ["device", "journal_dev", "journal_path", "logdev", "rtdev", "jdev", "name", "source"];

/// Joins the values of options that may be given once. A suboption given again replaces the earlier
/// one in its place, so that the user's word counts.
pub(super) fn merged(arguments: Vec<String>, options: &[&str]) -> Vec<String> {
    let mut result: Vec<String> = Vec::new();
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        let option = options.iter().find(|option| argument.starts_with(*option));
        let value = match option {
            None => None,
            Some(option) if argument == *option => rest.next(),
            Some(option) => Some(argument[option.len()..].to_owned()),
        };
        let (Some(option), Some(value)) = (option, value) else {
            result.push(argument);
            continue;
        };
        match result.iter().position(|earlier| earlier == option) {
            Some(position) => {
                let joined = join(&result[position + 1], &value);
                result[position + 1] = joined;
            }
            None => result.extend([(*option).to_owned(), value]),
        }
    }
    result
}

fn join(earlier: &str, later: &str) -> String {
    let key = |suboption: &str| suboption.split('=').next().unwrap_or_default().to_owned();
    let mut suboptions: Vec<&str> = earlier.split(',').collect();
    for suboption in later.split(',') {
        match suboptions.iter().position(|known| key(known) == key(suboption)) {
            Some(position) => suboptions[position] = suboption,
            None => suboptions.push(suboption),
        }
    }
    suboptions.join(",")
}

/// Refuses an argument with a piece that leads to a block device or a regular file, other than the
/// stack's devices.
pub(super) fn check(system: &System, argument: &str, ours: &[&Path]) -> Result<()> {
    for suboption in argument.split(',') {
        let (key, value) = suboption.split_once('=').unwrap_or(("", suboption));
        let key = key.trim_start_matches('-');
        let reaches_ours = ours.iter().any(|path| *path == Path::new(value));
        if DEVICE_KEYS.contains(&key) && !reaches_ours {
            return Err(refused(
                argument,
                "names a device",
                "leave devices to [[device]] and [[journal]]",
            ));
        }
        for piece in pieces(value) {
            if ours.iter().any(|path| *path == Path::new(piece)) {
                continue;
            }
            // Programs run in the root folder, so that is where a bare name leads.
            let path = Path::new("/").join(piece);
            match system.nodes.kind(&path) {
                Ok(NodeKind::Block(_)) => {
                    let remedy = "leave devices to [[device]] and [[journal]]";
                    return Err(refused(argument, "leads to a block device", remedy));
                }
                Ok(NodeKind::Regular(_)) => {
                    let remedy = "give mkfs and mount options only, no files";
                    return Err(refused(argument, "leads to an existing file", remedy));
                }
                _ if piece.starts_with('/') => {
                    let remedy = "give mkfs and mount options only, no files or folders";
                    return Err(refused(argument, "names a path of the host", remedy));
                }
                _ => {}
            }
        }
        if FILE_OPTIONS.contains(&key) || FILE_OPTIONS.contains(&value.trim_start_matches('-')) {
            let remedy = "leave it out: it reads or writes files of the host";
            return Err(refused(argument, "names a file or folder", remedy));
        }
    }
    Ok(())
}

/// Options of some mkfs whose value is a file or folder.
const FILE_OPTIONS: [&str; 4] = ["rootdir", "root-directory", "source", "protofile"];

/// Letters whose value is a file or folder for some mkfs and a word or a number for another.
const FILE_LETTERS: [&str; 4] = ["-d", "-p", "-r", "-z"];

/// Refuses an option's letter with the name of a file: one that exists, or, for `-z`, one that would
/// be made.
pub(super) fn check_pair(system: &System, option: &str, value: &str) -> Result<()> {
    // Programs run in the root folder, so that is where a bare name leads.
    let exists = || system.nodes.kind(&Path::new("/").join(value)).is_ok();
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let writes = option == "-z" && !is_number;
    if FILE_LETTERS.contains(&option) && (writes || exists()) {
        let remedy = "leave it out: it reads or writes files of the host";
        return Err(refused(&format!("{option} {value}"), "names a file or folder", remedy));
    }
    Ok(())
}

/// The value, what follows an option's letter (`-j/dev/sdb`), and what follows a colon.
fn pieces(value: &str) -> impl Iterator<Item = &str> {
    let attached = value.strip_prefix('-').and_then(|rest| {
        let mut letters = rest.chars();
        letters.next()?;
        Some(letters.as_str())
    });
    let after_colon = value.split_once(':').map(|(_, rest)| rest);
    [Some(value), attached, after_colon].into_iter().flatten().filter(|piece| !piece.is_empty())
}

fn refused(argument: &str, what: &str, remedy: &str) -> Error {
    Error::Argument(format!(
        "the argument '{argument}' {what} that is not the stack's own; {remedy}"
    ))
}
