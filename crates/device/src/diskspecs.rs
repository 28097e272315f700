//! Device files from the disk specifications of DiskSim 4 (`*.diskspecs` with the `*.model` and `*.seek` they name).
//!
//! Bucy, Schindler, Schlosser, Ganger: The DiskSim Simulation Environment Version 4.0 Reference Manual, 2008, chapters on
//! disk parameters and the disk model. Taken over are layout, mechanics, overheads and buffer; what this room's disk has
//! no counterpart for (pre-seeking, disconnects, water marks) is left out.

use std::fmt::Write as _;

mod drive;
mod parse;

#[cfg(test)]
mod tests;

use drive::Drive;
use parse::{Block, Value, parse};

/// Bytes that a specification and each file it names may have.
pub const MOST_BYTES: usize = 4 << 20;

/// Errors of a specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not in DiskSim's format.
    #[error("{file} line {line}: {reason}")]
    Syntax {
        /// Name of the file.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// The error.
        reason: String,
    },
    /// A parameter is missing or has a value that cannot be.
    #[error("{file}: '{key}' {reason}")]
    Parameter {
        /// Name of the file.
        file: String,
        /// The parameter.
        key: String,
        /// The error.
        reason: String,
    },
    /// A file is too large to be a specification.
    #[error(
        "{file} has {bytes} bytes; a disk specification has at most {most}; is it the right file?"
    )]
    TooLarge {
        /// Name of the file.
        file: String,
        /// Its bytes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A file that the specification names is not there.
    #[error(
        "cannot read {file}, which the specification names: {reason}; put it into the folder of the specification"
    )]
    Unreadable {
        /// Name of the file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The specification describes no possible device.
    #[error("the specification does not describe a valid device")]
    Device(#[from] crate::error::DeviceError),
}

/// Turns a specification into the text of a device file.
///
/// `name` is the specification's file name, for messages and for `name =`. `read` returns the text of a file that the
/// specification names, by the name written there.
///
/// # Errors
///
/// [`ImportError`] with the file and line or parameter.
pub fn import(
    name: &str,
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, ImportError> {
    let specification = parse(name, checked(name, text)?)?;
    let mut named = |file: &str| {
        let text = read(file)
            .map_err(|reason| ImportError::Unreadable { file: file.to_owned(), reason })?;
        checked(file, &text)?;
        Ok::<String, ImportError>(text)
    };
    let drive = Drive::describe(&specification, &mut named)?;
    let text = device_file(name, &drive);
    match crate::file::load(&text) {
        Ok(_) => Ok(text),
        // Skews that do not cover the track change are a fact about this drive, not a slip.
        Err(error) if error.key().is_some_and(|key| key.contains("skew")) => {
            let lossy =
                text.replace("[rotating.layout]\n", "[rotating.layout]\nloses_turns = true\n");
            crate::file::load(&lossy)?;
            Ok(lossy)
        }
        Err(error) => Err(error.into()),
    }
}

fn checked<'t>(file: &str, text: &'t str) -> Result<&'t str, ImportError> {
    if text.len() <= MOST_BYTES {
        return Ok(text);
    }
    Err(ImportError::TooLarge { file: file.to_owned(), bytes: text.len(), most: MOST_BYTES })
}

/// The name of a device from that of a file: small letters, digits and '-'.
fn device_name(file: &str) -> String {
    let stem = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = stem.split('.').next().unwrap_or(stem).to_ascii_lowercase();
    let name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "imported".to_owned() } else { name.to_owned() }
}

fn device_file(file: &str, drive: &Drive) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    line(format!("# Imported from DiskSim's specification {}.", quoted(file)));
    line(format!("name = \"{}\"", device_name(file)));
    line(format!("title = {}", quoted(&format!("{}, {} rpm", drive.model, drive.rpm))));
    line("kind = \"rotating\"\n\n[presented]".to_owned());
    line(format!("sectors = {}", drive.sectors));
    line(format!("queue_depth = {}\nmax_request_kib = 256\n", drive.queue_depth));
    line(format!("[[bus]]\nname = \"scsi\"\ncommand_us = 0\nmb_per_s = {:.4}\n", drive.mb_per_s));
    line(format!("[rotating]\nrpm = {}\nheads = {}", drive.rpm, drive.heads));
    line(format!("head_switch_us = {:.1}", drive.head_switch_us));
    line(format!("write_settle_us = {:.1}\n", drive.write_settle_us));
    line(format!("[rotating.layout]\nhead_order = \"{}\"\n", drive.head_order));
    for zone in &drive.zones {
        line("[[rotating.layout.zone]]".to_owned());
        line(format!("first_cylinder = {}\ncylinders = {}", zone.first_cylinder, zone.cylinders));
        line(format!("sectors_per_track = {}", zone.sectors_per_track));
        line(format!("track_skew_sectors = {}", zone.track_skew));
        line(format!("cylinder_skew_sectors = {}", zone.cylinder_skew));
        line(format!("unused_front_sectors = {}", zone.front));
        line(format!("spare_sectors = {}", zone.spares));
        if let Some(cylinders) = zone.spare_every_cylinders {
            line(format!("spare_every_cylinders = {cylinders}"));
        }
        line(format!("slips = {:?}\n", zone.slips));
    }
    let points: Vec<String> =
        drive.seek.iter().map(|[cylinders, us]| format!("[{cylinders}, {us:.1}]")).collect();
    line(format!("[rotating.seek]\ntable = [{}]\n", points.join(", ")));
    line("[rotating.overhead]".to_owned());
    for (key, us) in &drive.overheads {
        line(format!("{key} = {us:.2}"));
    }
    line("\n[rotating.buffer]".to_owned());
    for (key, value) in &drive.buffer {
        line(format!("{key} = {value}"));
    }
    let source = quoted(&format!("DiskSim 4, {file} and the files it names"));
    line(format!("\n[sources]\npresented = {source}\nbus = {source}\nrotating = {source}"));
    text
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A block's number under `key`.
fn number(file: &str, block: &Block, key: &str) -> Result<f64, ImportError> {
    let reason = match block.get(key) {
        Some(Value::Number(number)) => return Ok(*number),
        Some(Value::Word(word)) => format!("is '{word}', which is not a number"),
        Some(_) => "is not a number".to_owned(),
        None => "is missing".to_owned(),
    };
    Err(ImportError::Parameter { file: file.to_owned(), key: key.to_owned(), reason })
}
