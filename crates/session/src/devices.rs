//! The modelled devices of a run: those that come with the program, and files of the user's own.

use crate::atlas;
use crate::error::SessionError;
use crate::options::Change;
use seekwell_device::{DeviceFile, catalogue};
use seekwell_model::lab::Lab;
use seekwell_model::stack::Backing;
use seekwell_model::units::Bytes;
use seekwell_model::why::{MODEL, WRITE_CACHE};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

#[cfg(test)]
mod tests;

/// End of the name of a device file.
const SUFFIX: &str = ".toml";

/// Longest device file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Keys of the write caches of device files.
const CACHE_KEYS: [&str; 2] = ["rotating.buffer.write_kib", "ssd.buffer_kib"];

/// Key of the device files in the environment of a run.
const TEXTS: &str = "device_files";

/// Modelled devices by the names that labs use.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    files: BTreeMap<String, DeviceFile>,
    /// Texts of the user's own files, by the name of their device.
    texts: BTreeMap<String, String>,
}

impl Devices {
    /// The devices that come with the program.
    pub(crate) fn new(shipped: &BTreeMap<String, DeviceFile>) -> Self {
        Self { files: shipped.clone(), texts: BTreeMap::new() }
    }

    /// Every device by name.
    pub(crate) fn files(&self) -> &BTreeMap<String, DeviceFile> {
        &self.files
    }

    /// The device of a word such as `NAME`, `NAME@BUS,KEY=NUMBER` or `FILE.toml@BUS`; `None` if no device has the
    /// name.
    pub(crate) fn find(&self, word: &str) -> Result<Option<DeviceFile>, SessionError> {
        catalogue::find(&self.files, word)
            .map_err(|error| SessionError::Unusable(format!("{word}: {error}")))
    }

    /// The device of a word, which may begin with the path of a device file.
    pub(crate) fn one(mut self, word: &str) -> Result<DeviceFile, SessionError> {
        let name = self.named(word, Path::new(""))?;
        self.find(&name)?.ok_or_else(|| self.none_named(word))
    }

    /// The error about a word that names no device, with the one that was probably meant.
    pub(crate) fn none_named(&self, word: &str) -> SessionError {
        let name = word.split(['@', ',']).next().unwrap_or(word);
        let known = || self.files.keys().map(String::as_str);
        let of_atlas = atlas::device(name).filter(|device| device.form == atlas::Form::New);
        let of_atlas = of_atlas.map(|device| device.model);
        let begun = || known().find(|known| name.len() > 2 && known.starts_with(name));
        let near = of_atlas.or_else(begun).or_else(|| seekwell_spec::nearest(name, known()));
        let near = near.map_or_else(String::new, |near| format!("did you mean {near}? Otherwise "));
        SessionError::Unusable(format!(
            "modelled device '{word}' not found; {near}list the devices with seekwell device list, or give the path of \
             a .toml file"
        ))
    }

    /// Loads the device file that a word names, if it names one, and returns the word with the device's name instead
    /// of the path. Paths start at this directory.
    pub(crate) fn named(&mut self, word: &str, directory: &Path) -> Result<String, SessionError> {
        let Some((path, rest)) = own_file(word) else { return Ok(word.to_owned()) };
        let path = directory.join(path);
        let text = device_text(&path)?;
        let name = self.add(&text, &path)?;
        Ok(format!("{name}{rest}"))
    }

    /// Loads every device file that a lab names, and names the devices instead.
    pub(crate) fn of_lab(&mut self, lab: &mut Lab, directory: &Path) -> Result<(), SessionError> {
        let devices = lab.devices.iter_mut().map(|device| &mut device.backing);
        let outside = lab.journals.iter_mut().filter_map(|journal| journal.external.as_mut());
        for backing in devices.chain(outside) {
            if let Backing::Model { model, .. } = backing {
                *model = self.named(model, directory)?;
            }
        }
        Ok(())
    }

    /// Loads the device files that the environment of a run has kept.
    pub(crate) fn of_run(&mut self, environment: &Value, run: &Path) -> Result<(), SessionError> {
        let Some(kept) = environment.get(TEXTS).and_then(Value::as_object) else { return Ok(()) };
        for text in kept.values().filter_map(Value::as_str) {
            self.add(text, run)?;
        }
        Ok(())
    }

    /// Adds the texts of the user's own files to the environment of a run, so that the run is complete without them.
    pub(crate) fn keep(&self, environment: &mut Value) {
        if !self.texts.is_empty() {
            environment[TEXTS] = serde_json::json!(self.texts);
        }
    }

    /// Changes numbers of devices. A change names a device as a lab does, or by the path of its file.
    pub(crate) fn change(&mut self, changes: &[Change]) -> Result<(), SessionError> {
        for change in changes {
            let name = self.named(&change.device, Path::new(""))?;
            let Some(file) = self.files.get_mut(&name) else {
                return Err(SessionError::Unusable(format!(
                    "--set {change}: modelled device '{}' not found; list the devices with seekwell device list",
                    change.device
                )));
            };
            let wrong = |error| SessionError::Unusable(format!("--set {change}: {error}"));
            *file = file.changed(&change.number).map_err(wrong)?;
        }
        Ok(())
    }

    /// Models that could take the place of this one: with twice the write cache, and every other real device that is
    /// as large. Part, new value and model word of each.
    pub(crate) fn improved(
        &self,
        model: &str,
        size: Option<Bytes>,
    ) -> Result<Vec<(&'static str, String, String)>, SessionError> {
        let Some(own) = self.find(model)? else { return Err(self.none_named(model)) };
        let values = own.values();
        let larger = CACHE_KEYS.iter().filter_map(|key| {
            let kib = 2 * values.get(*key)?.parse::<u64>().ok()?;
            let word = format!("{model},{key}={kib}");
            (kib > 0).then(|| (WRITE_CACHE, Bytes(kib << 10).to_string(), word))
        });
        let sectors = |file: &DeviceFile| seekwell_device::build(file, 1).geometry().sectors_512;
        let needed = size.map_or_else(|| sectors(&own), |size| size.0 / 512);
        let others = self.files.values().filter(|file| {
            !file.is_abstract() && file.name() != own.name() && sectors(file) >= needed
        });
        let others = others.map(|file| (MODEL, file.name().to_owned(), file.name().to_owned()));
        Ok(larger.chain(others).collect())
    }

    /// Adds the device of a text that comes from this path, and returns its name.
    fn add(&mut self, text: &str, path: &Path) -> Result<String, SessionError> {
        let shown = path.display();
        let wrong = |error| SessionError::Unusable(format!("{shown}, {error}"));
        let file = seekwell_device::load(text).map_err(wrong)?;
        let name = file.name().to_owned();
        let known = self.texts.get(&name);
        if known.is_some_and(|known| known != text)
            || (known.is_none() && self.files.get(&name).is_some_and(|shipped| *shipped != file))
        {
            return Err(SessionError::Unusable(format!(
                "{shown}: name = \"{name}\" is the name of another modelled device; give it another name"
            )));
        }
        if known.is_none() {
            self.texts.insert(name.clone(), text.to_owned());
            self.files.insert(name.clone(), file);
        }
        Ok(name)
    }
}

/// The devices of a lab's disks and external journals.
pub(crate) fn backings(lab: &Lab) -> impl Iterator<Item = &Backing> {
    let journals = lab.journals.iter().filter_map(|journal| journal.external.as_ref());
    lab.devices.iter().map(|device| &device.backing).chain(journals)
}

/// Path of a device file at the start of a word, and the rest of the word: a bus and changes.
fn own_file(word: &str) -> Option<(&str, &str)> {
    let ends = word.match_indices(SUFFIX).map(|(at, _)| at + SUFFIX.len());
    ends.map(|end| word.split_at(end))
        .find(|(_, rest)| rest.is_empty() || rest.starts_with(['@', ',']))
}

/// The text of a device file.
///
/// # Errors
/// When it cannot be read, or is too long for one.
pub fn device_text(path: &Path) -> Result<String, SessionError> {
    text_of(path).map_err(|error| {
        let path = path.display();
        SessionError::Unusable(format!(
            "cannot read the device file {path}: {error}; give the path of a file that device probe wrote"
        ))
    })
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    seekwell_trust::open(path, u64::MAX)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("longer than 1 MiB"));
    }
    Ok(text)
}
