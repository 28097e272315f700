//! A device file: the parameters of one model in TOML, each with its source.

use std::collections::BTreeMap;

use seekwell_model::FormatVersion;
use seekwell_model::laws::{Law, LawSet};
use serde::Deserialize;
use toml::{Table, Value};

use crate::bus::{Bus, Link};
use crate::error::{DeviceError, refuse};
use crate::fixed::{FixedParameters, RamParameters};
use crate::flash::FlashParameters;
use crate::presented::Presented;
use crate::probed::Probed;
use crate::published::Published;
use crate::rotating::RotatingParameters;
use crate::rotating::mechanics::Mechanics;
use crate::ssd::SsdParameters;
use crate::withheld::{Measurements, Withheld};

mod provenance;

#[cfg(test)]
mod tests;

/// Version of the format of device files, which probes write. Other files need none.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// A device file, read and checked. Only [`load`] and its own methods make one, so what it says holds together.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFile {
    /// As it is written, without the parameters.
    pub(crate) raw: Raw,
    format: Option<FormatVersion>,
    pub(crate) bus: Option<Bus>,
    pub(crate) parameters: Parameters,
    buses: Vec<String>,
    table: Table,
    /// Laws that are switched off.
    pub(crate) off: LawSet,
}

/// The models.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameters {
    /// A disk that turns.
    Rotating(Box<RotatingParameters>),
    /// A CompactFlash card, a USB stick or an SD card.
    Flash(Box<FlashParameters>),
    /// A solid-state disk.
    Ssd(Box<SsdParameters>),
    /// Memory.
    Ram(RamParameters),
    /// A fixed latency and bandwidth.
    Fixed(FixedParameters),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Raw {
    name: String,
    title: String,
    kind: Kind,
    pub(crate) presented: Presented,
    #[serde(default)]
    bus: Vec<Bus>,
    rotating: Option<Box<RotatingParameters>>,
    flash: Option<Box<FlashParameters>>,
    ssd: Option<Box<SsdParameters>>,
    ram: Option<RamParameters>,
    fixed: Option<FixedParameters>,
    #[serde(default)]
    sources: BTreeMap<String, String>,
    #[serde(default)]
    ranges: BTreeMap<String, [f64; 2]>,
    #[serde(default)]
    published: Vec<Published>,
    #[serde(default)]
    withheld: Vec<Withheld>,
    measurements: Option<Measurements>,
    probed: Option<Probed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Rotating,
    Flash,
    Ssd,
    Ram,
    Fixed,
}

/// Reads and checks a device file given as text.
///
/// # Errors
///
/// [`DeviceError`] names the line, the key and the reason: a text that is not TOML, a missing or unknown key, a value that
/// cannot be, a value without a source.
pub fn load(text: &str) -> Result<DeviceFile, DeviceError> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let reason = first_line(error.message());
        let line = error.span().map(|span| line_of(text, span.start));
        DeviceError::Syntax { key: String::new(), reason }.at(line)
    })?;
    DeviceFile::from_table(table, None).map_err(|error| {
        let line = provenance::line_of_error(text, &error);
        error.at(line)
    })
}

/// The text of a device file with the version of its format and its origin.
///
/// # Errors
///
/// [`DeviceError`] when the text is no device file or has an origin, or the origin holds what no file may.
pub fn with_origin(text: &str, probed: &Probed) -> Result<String, DeviceError> {
    let written = toml::to_string(probed).map_err(|error| DeviceError::Syntax {
        key: "probed".to_owned(),
        reason: error.to_string(),
    })?;
    let more = format!("format = \"{FORMAT}\"\n{}\n\n[probed]\n{written}", text.trim_end());
    load(&more).map(|_| more)
}

/// The version of a file's format; an error for a newer major one.
fn known_format(written: &Value) -> Result<FormatVersion, DeviceError> {
    let refused = |reason: String| refuse("format", written, reason);
    let text = written.to_string();
    let format: FormatVersion = text.trim_matches('"').parse().map_err(refused)?;
    if format.major > FORMAT.major {
        let reason = format!("is newer than {FORMAT}, which this version reads; update Seekwell");
        return Err(refused(reason));
    }
    Ok(format)
}

fn line_of(text: &str, position: usize) -> usize {
    text.bytes().take(position).filter(|byte| *byte == b'\n').count() + 1
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// Returns true if a device may be called so: small letters, digits and '-'.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(fits)
}

impl DeviceFile {
    fn from_table(table: Table, bus: Option<&str>) -> Result<Self, DeviceError> {
        let mut values = table.clone();
        let format = values.remove("format").as_ref().map(known_format).transpose()?;
        // Runs on the device itself, which earlier versions kept in its file.
        values.remove("compared");
        let mut raw: Raw = serde_path_to_error::deserialize(Value::Table(values)).map_err(
            |error: serde_path_to_error::Error<toml::de::Error>| DeviceError::Syntax {
                key: error.path().to_string(),
                reason: first_line(error.inner().message()),
            },
        )?;
        provenance::check(&table, &raw.sources, &raw.ranges)?;
        if !is_name(&raw.name) {
            return Err(refuse("name", &raw.name, "use small letters, digits and '-'"));
        }
        raw.presented.check()?;
        let buses = raw.bus.iter().map(|bus| bus.name.clone()).collect();
        let bus = choose_bus(&raw.bus, bus)?;
        let parameters = parameters(&mut raw)?;
        let file = Self { raw, format, bus, parameters, buses, table, off: LawSet::NONE };
        file.check()?;
        Ok(file)
    }

    /// The name labs use for it, for example `maxtor-6y080l0`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.raw.name
    }

    /// Description of the device for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.raw.title
    }

    /// Version of its format; `None` in a file that names none.
    #[must_use]
    pub const fn format(&self) -> Option<FormatVersion> {
        self.format
    }

    /// Drive, day and method of the probe that made the file; `None` for other files, and those of earlier probes.
    #[must_use]
    pub const fn probed(&self) -> Option<&Probed> {
        self.raw.probed.as_ref()
    }

    /// Capacity and limits that the device presents to the block layer.
    #[must_use]
    pub fn presented(&self) -> &Presented {
        &self.raw.presented
    }

    /// The moving parts of a rotating disk; `None` for other devices.
    #[must_use]
    pub fn mechanics(&self) -> Option<Mechanics> {
        let Parameters::Rotating(parameters) = &self.parameters else { return None };
        parameters.mechanics(self.raw.presented.sectors, 0, Link::new(self.bus())).ok()
    }

    /// The model and its parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// True for memory and for a fixed latency, which stand for no device that could be bought.
    #[must_use]
    pub fn is_abstract(&self) -> bool {
        matches!(self.parameters, Parameters::Ram(_) | Parameters::Fixed(_))
    }

    /// The way to the host that was chosen; `None` when the file names none.
    #[must_use]
    pub fn bus(&self) -> Option<&Bus> {
        self.bus.as_ref()
    }

    /// Names of all ways to the host in the file; the first is chosen unless another is asked for.
    #[must_use]
    pub fn buses(&self) -> &[String] {
        &self.buses
    }

    /// Source of each value, by dotted key; the key of a table covers all values in it.
    #[must_use]
    pub fn sources(&self) -> &BTreeMap<String, String> {
        &self.raw.sources
    }

    /// Range of each value that no source fixes, by dotted key: lowest and highest.
    #[must_use]
    pub fn ranges(&self) -> &BTreeMap<String, [f64; 2]> {
        &self.raw.ranges
    }

    /// Requests that the probe withheld to judge the file it made, by class.
    #[must_use]
    pub fn withheld(&self) -> &[Withheld] {
        &self.raw.withheld
    }

    /// Measurements of the probe that made the file; `None` for other files, and those of earlier probes.
    #[must_use]
    pub const fn measurements(&self) -> Option<Measurements> {
        self.raw.measurements
    }

    /// Figures published for the device, which its model can be compared with.
    #[must_use]
    pub fn published(&self) -> &[Published] {
        &self.raw.published
    }

    /// Every value that decides what the device does, as text by dotted key: the numbers of the file and
    /// the bus that was chosen. Two files with the same values are the same device.
    #[must_use]
    pub fn values(&self) -> BTreeMap<String, String> {
        let mut values = provenance::values(&self.table);
        if let Some(bus) = &self.bus {
            values.insert("chosen bus".to_owned(), bus.name.clone());
        }
        if !self.off.is_empty() {
            let off: Vec<&str> = self.off.iter().map(Law::name).collect();
            values.insert("laws that are off".to_owned(), off.join(", "));
        }
        values
    }

    /// The same device on another of its buses.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoSuchBus`].
    pub fn on_bus(&self, name: &str) -> Result<Self, DeviceError> {
        Ok(Self { off: self.off, ..Self::from_table(self.table.clone(), Some(name))? })
    }

    /// The same device with one number changed, for example to the end of its range. The key is dotted.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoSuchKey`] when the file has no such number, or what the changed file is refused for.
    pub fn with(&self, key: &str, value: f64) -> Result<Self, DeviceError> {
        let mut table = self.table.clone();
        let place = provenance::number_at(&mut table, key)
            .ok_or_else(|| DeviceError::NoSuchKey { place: "the change", key: key.to_owned() })?;
        *place = match place {
            Value::Integer(_) if value.fract() == 0.0 && value.abs() < 9e15 => {
                Value::Integer(value as i64)
            }
            _ => Value::Float(value),
        };
        if let Some(Value::Table(ranges)) = table.get_mut("ranges") {
            ranges.remove(key);
        }
        let bus = self.bus.as_ref().map(|bus| bus.name.as_str());
        Ok(Self { off: self.off, ..Self::from_table(table, bus)? })
    }

    /// Longest read or write in bytes: the device's limit or the bus's.
    #[must_use]
    pub fn max_request_bytes(&self) -> u32 {
        let bus = self.bus.as_ref().and_then(|bus| bus.max_request_kib);
        bus.unwrap_or(u32::MAX).min(self.raw.presented.max_request_kib).saturating_mul(1024)
    }

    /// Requests taken at once: the device's limit or the bus's.
    #[must_use]
    pub fn queue_depth(&self) -> u32 {
        let bus = self.bus.as_ref().and_then(|bus| bus.queue_depth);
        bus.unwrap_or(u32::MAX).min(self.raw.presented.queue_depth)
    }

    fn check(&self) -> Result<(), DeviceError> {
        let mut figures = self.raw.published.iter().enumerate();
        figures.try_for_each(|(index, published)| published.check(index, &self.buses))?;
        let mut withheld = self.raw.withheld.iter().enumerate();
        withheld.try_for_each(|(index, withheld)| withheld.check(index))?;
        self.raw.measurements.map_or(Ok(()), Measurements::check)?;
        self.raw.probed.as_ref().map_or(Ok(()), Probed::check)?;
        let has_bus = matches!(
            self.parameters,
            Parameters::Rotating(_) | Parameters::Flash(_) | Parameters::Ssd(_)
        );
        if let Some(bus) = self.bus.as_ref().filter(|_| !has_bus) {
            let reason = "this kind of device has no bus; its rate includes it";
            return Err(refuse("bus", &bus.name, reason));
        }
        let is_ssd = matches!(self.parameters, Parameters::Ssd(_));
        let of_writes = self.bus.as_ref().and_then(|bus| bus.write_command_us);
        if let Some(us) = of_writes.filter(|_| !is_ssd) {
            let reason =
                "only a solid-state disk has it; others have a cost of writes of their own";
            return Err(refuse("bus.write_command_us", us, reason));
        }
        match &self.parameters {
            Parameters::Rotating(p) => p.check(&self.raw.presented, Link::new(self.bus())),
            Parameters::Flash(p) => p.check(&self.raw.presented),
            Parameters::Ssd(p) => p.check(&self.raw.presented),
            Parameters::Ram(p) => p.check(),
            Parameters::Fixed(p) => p.check(),
        }
    }
}

fn choose_bus(buses: &[Bus], name: Option<&str>) -> Result<Option<Bus>, DeviceError> {
    for (index, bus) in buses.iter().enumerate() {
        bus.check(&format!("bus.{index}"))?;
        if buses.iter().take(index).any(|other| other.name == bus.name) {
            return Err(refuse(&format!("bus.{index}.name"), &bus.name, "is used twice"));
        }
    }
    let Some(name) = name else { return Ok(buses.first().cloned()) };
    let found = buses.iter().find(|bus| bus.name == name).cloned();
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = buses.iter().map(|bus| bus.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        DeviceError::NoSuchBus { name: name.to_owned(), known }
    })
}

/// Takes the parameters out.
fn parameters(raw: &mut Raw) -> Result<Parameters, DeviceError> {
    let kind = raw.kind;
    let tables = [
        (Kind::Rotating, "rotating", raw.rotating.take().map(Parameters::Rotating)),
        (Kind::Flash, "flash", raw.flash.take().map(Parameters::Flash)),
        (Kind::Ssd, "ssd", raw.ssd.take().map(Parameters::Ssd)),
        (Kind::Ram, "ram", raw.ram.take().map(Parameters::Ram)),
        (Kind::Fixed, "fixed", raw.fixed.take().map(Parameters::Fixed)),
    ];
    let (own, others): (Vec<_>, Vec<_>) = tables.into_iter().partition(|(of, ..)| *of == kind);
    let name = own.first().map_or("", |(_, name, _)| *name);
    if let Some((_, extra, _)) = others.iter().find(|(.., table)| table.is_some()) {
        let reason = format!("belongs to another kind of device; this one is '{name}'");
        return Err(refuse(extra, "[…]", reason));
    }
    let missing = || refuse("kind", name, format!("needs a table [{name}] with its parameters"));
    own.into_iter().find_map(|(.., table)| table).ok_or_else(missing)
}
