//! The atlas: the loads and modelled devices of its labs, and the trials behind a kept cell again.

use crate::error::SessionError;
use crate::run::Planned;
use seekwell_device::DeviceFile;
use seekwell_device::withheld::mixed;
use seekwell_host::facts::{device_size, disk_model};
use seekwell_host::queue;
use seekwell_host::sysfs::{System, names, read_optional};
use seekwell_model::laws::LawSet;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use seekwell_recordings::info::Shape;
use seekwell_virtual::Experiment;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(test)]
mod tests;

macro_rules! loads {
    ($(($name:literal, $meaning:literal)),* $(,)?) => {
        /// The loads by name, each with its meaning.
        pub const LOADS: &[(&str, &str)] = &[$(($name, $meaning)),*];
        const LABS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../atlas/labs/", $name, ".toml")))),*];
    };
}

loads![
    ("mail", "a mail server: mails delivered with fsync, moved, read and removed"),
    ("database", "a database such as PostgreSQL: small reads and synced writes of a large file"),
    ("log", "a log writer such as etcd: small appends, each synced"),
    ("sqlite", "SQLite with its default rollback journal"),
    ("sqlite-wal", "SQLite with a write-ahead log"),
    ("monitoring", "rrd files: small updates all over"),
    ("photos", "photos, films, backups: large files, written once and read again"),
    ("build", "a build server or package manager: trees of small files made and removed"),
    ("desktop", "a desktop: small reads while something large is copied"),
    ("vm", "images of virtual machines: several small requests at a time"),
];

/// Other names of each load.
const ALIASES: &[(&str, &str)] = &[
    ("database", "postgresql postgres mysql mariadb mongodb oracle db database-server"),
    ("log", "etcd"),
    ("mail", "dovecot maildir postfix mail-server mailserver"),
    ("monitoring", "cacti rrd rrdtool"),
    ("photos", "backup media nas samba jellyfin plex immich"),
    ("build", "docker git build-server"),
    ("vm", "kvm libvirt proxmox qemu vms vm-images"),
];

/// Other words for each device.
const DEVICE_ALIASES: &[(&str, &str)] =
    &[("sd", "microsd sdcard pi raspberry"), ("hdd", "hd disk harddisk"), ("gp3", "ebs")];

/// A modelled device of the atlas.
#[derive(Debug)]
pub struct AtlasDevice {
    /// Name of the model; of an array that of each disk.
    pub model: &'static str,
    /// Form in which the trials use the model.
    pub form: Form,
    /// Size of the partition that the trials use; of an array that on each disk.
    pub size: &'static str,
    /// Its offset: behind a boot partition on cards, whose first units often take writes in any order, for a FAT.
    pub start: Option<&'static str>,
    /// The word that people use for such a device; several models may share it, the usual one first.
    pub word: &'static str,
    /// Meaning of the word.
    pub meaning: &'static str,
    /// Kind of the device in a table: `SATA SSD`.
    pub kind: &'static str,
}

/// Form in which a modelled device is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// New and nearly empty.
    New,
    /// Filled and rewritten by [`AGE`] before the load.
    Old,
    /// Several, joined by a layer of this kind.
    Array(&'static str, usize),
}

/// Past of an old filesystem: files of 64 KiB in the median until 85 % are in use; then files are deleted and
/// written again until they have two extents on average, or as many bytes as there are were written again.
const AGE: &str = "[[workload]]\nkind = \"age\"\nfullness = 85\nchurn = 1.0\nextents = 2.0\nmedian_size = \"64KiB\"\n\n\
                   [[workload.then]]\n";

/// Loads that the rest of a small and old filesystem has room for.
const SMALL: [&str; 6] = ["mail", "log", "sqlite", "sqlite-wal", "monitoring", "build"];

impl AtlasDevice {
    /// Its name in the atlas: that of the model where it is used as it is, or the word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.form == Form::New { self.model } else { self.word }
    }

    /// Kind and number of disks of an array.
    #[must_use]
    pub fn array(&self) -> Option<(&'static str, usize)> {
        match self.form {
            Form::Array(kind, disks) => Some((kind, disks)),
            Form::New | Form::Old => None,
        }
    }

    /// Its disks in words, with the name or the title of their model.
    #[must_use]
    pub fn made_of(&self, model: &str) -> String {
        match self.form {
            Form::New => model.to_owned(),
            Form::Old => format!("a filesystem of {}, old and 85 % full, on {model}", self.size),
            Form::Array(_, disks) => format!("{} of {disks} × {model}", self.kind),
        }
    }

    /// Part of the device that the trials use, in words.
    #[must_use]
    pub fn room(&self) -> String {
        let size = self.size;
        let place = self.start.map_or("at its start".to_owned(), |start| format!("behind {start}"));
        match self.form {
            Form::New => format!("a new and nearly empty partition of {size} {place}"),
            Form::Old => format!(
                "{place}; files were deleted and written again until they lay in two pieces on average"
            ),
            Form::Array(..) => {
                format!("a new and nearly empty partition of {size} on each disk, {place}")
            }
        }
    }

    /// Its tables in a lab.
    #[must_use]
    pub fn table(&self) -> String {
        let Self { model, size, start, .. } = self;
        let name = self.name();
        let start = start.map_or_else(String::new, |start| format!(", start = \"{start}\""));
        let layer = match self.form {
            Form::New | Form::Old => String::new(),
            Form::Array(kind, disks) => {
                format!("\n[[layer]]\nname = \"{name}\"\nkind = \"{kind}\"\ndevices = {disks}\n")
            }
        };
        format!(
            "[[device]]\nname = \"{name}\"\nmodel = {{ name = \"{model}\", size = \"{size}\"{start} }}\n{layer}"
        )
    }
}

macro_rules! devices {
    ($(($word:literal, $meaning:literal, $kind:literal, $model:literal, $size:literal, $start:expr, $form:expr)),* $(,)?) => {
        /// The devices, the usual one of each word first.
        pub const DEVICES: &[AtlasDevice] = &[$(AtlasDevice {
            model: $model, form: $form, size: $size, start: $start, word: $word, meaning: $meaning, kind: $kind,
        }),*];
    };
}

devices! {
    ("nvme", "an NVMe SSD", "NVMe", "ssd-nvme-512gb", "32GiB", None, Form::New),
    ("nvme-plp", "an NVMe SSD of a server, with capacitors", "server NVMe", "ssd-nvme-1920gb-plp", "32GiB", None, Form::New),
    ("ssd", "a SATA SSD", "SATA SSD", "ssd-sata-250gb", "32GiB", None, Form::New),
    ("qlc", "a large SATA SSD with four bits a cell", "QLC SSD", "ssd-sata-4tb-qlc", "32GiB", None, Form::New),
    ("hdd", "a hard disk", "hard disk", "sata-2tb-7200", "32GiB", None, Form::New),
    ("smr", "a hard disk with shingled tracks (SMR)", "SMR disk", "hdd-8tb-5900-smr", "32GiB", None, Form::New),
    ("sd", "an SD card", "SD card", "sd-card-4mib", "3GiB", Some("512MiB"), Form::New),
    ("cf", "a CompactFlash card", "CompactFlash", "cf-transcend-133x", "4GiB", None, Form::New),
    ("gp2", "a gp2 volume of AWS", "gp2", "cloud-gp2-100gb", "32GiB", None, Form::New),
    ("gp3", "a gp3 volume of AWS", "gp3", "cloud-gp3-100gb", "32GiB", None, Form::New),
    ("nas", "a slow hard disk, such as one of a NAS", "slow hard disk", "sata-2tb-5400", "32GiB", None, Form::New),
    ("ssd-plp", "a SATA SSD of a server, with capacitors", "server SATA SSD", "ssd-sata-960gb-plp", "32GiB", None, Form::New),
    ("raid1", "two slow hard disks as a mirror (RAID 1), such as in a NAS", "RAID 1", "sata-2tb-5400", "32GiB", None, Form::Array("raid1", 2)),
    ("raid5", "four slow hard disks as RAID 5, such as in a NAS", "RAID 5", "sata-2tb-5400", "32GiB", None, Form::Array("raid5", 4)),
    ("raid10", "four slow hard disks as RAID 10, such as in a NAS", "RAID 10", "sata-2tb-5400", "32GiB", None, Form::Array("raid10", 4)),
    ("ssd-raid1", "two SATA SSDs as a mirror (RAID 1)", "SSD RAID 1", "ssd-sata-250gb", "32GiB", None, Form::Array("raid1", 2)),
    ("hdd-full", "a hard disk whose filesystem is old and 85 % full", "full hard disk", "sata-2tb-7200", "1GiB", None, Form::Old),
}

/// Every name of a load.
pub fn loads() -> impl Iterator<Item = &'static str> {
    let names = LOADS.iter().map(|(name, _)| *name);
    names.chain(ALIASES.iter().flat_map(|(_, words)| words.split(' ')))
}

/// The load of this name, or of another name for it; `None` where the atlas has none.
#[must_use]
pub fn load(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase().replace(' ', "-");
    let name = named(ALIASES, &lower);
    LOADS.iter().find(|(known, _)| *known == name).map(|(known, _)| *known)
}

/// The name that a word means; the word itself if it means none.
fn named<'a>(aliases: &[(&'a str, &str)], word: &'a str) -> &'a str {
    let is_its = |words: &str| words.split(' ').any(|one| one == word);
    aliases.iter().find(|(_, words)| is_its(words)).map_or(word, |(name, _)| name)
}

/// Shapes of the loads: a line of JSON each, made by `scripts/atlas-shapes`.
const SHAPES: &str = include_str!("../../../atlas/shapes.jsonl");

/// Largest distance at which a recording counts as near to a load.
pub const NEAR: f64 = 0.1;

/// Costs of picks for recordings on the recordings themselves, made by `benches/runs/atlas/kept-out.py`.
const KEPT_OUT: &str = include_str!("../../../atlas/kept-out.csv");

/// A cost in per cent up to which a pick held.
pub const HELD_PERCENT: f64 = 2.0;

/// Smallest share of picks that held, and number of recorded programs, with which a load answers for a recording.
const RELIABLE: f64 = 0.9;
const PROGRAMS: usize = 3;

/// Outcome of the picks for recordings that are near to a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptOut {
    /// Number of recorded programs.
    pub programs: usize,
    /// Number of devices.
    pub devices: usize,
    /// Number of picks.
    pub picks: usize,
    /// Picks that cost at most [`HELD_PERCENT`] more than the pick of the recording's own lab.
    pub held: usize,
    /// The largest cost.
    pub worst: f64,
}

impl KeptOut {
    /// Returns true if the load's answer may be given for a recording.
    #[must_use]
    pub fn is_reliable(&self) -> bool {
        self.programs >= PROGRAMS && self.held as f64 >= RELIABLE * self.picks as f64
    }

    /// The largest cost in words; `None` if every pick held.
    #[must_use]
    pub fn at_worst(&self) -> Option<String> {
        let worst = format!("took {:.0} % longer at worst", self.worst * 100.0);
        (self.held < self.picks).then_some(worst)
    }
}

/// Outcome of a load's picks for recorded programs that are near to it; `None` if none was tried.
#[must_use]
pub fn kept_out(load: &str) -> Option<KeptOut> {
    let rows = KEPT_OUT.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let cost = |row: &Vec<&str>| row.get(6)?.parse::<f64>().ok();
    let is_near = |row: &Vec<&str>| row[3].parse().is_ok_and(|distance: f64| distance <= NEAR);
    let rows = rows.filter(|row| row[2] == load && cost(row).is_some() && is_near(row));
    let rows: Vec<Vec<&str>> = rows.collect();
    let costs: Vec<f64> = rows.iter().filter_map(cost).collect();
    let different =
        |column: usize| rows.iter().map(|row| row[column]).collect::<BTreeSet<_>>().len();
    (!costs.is_empty()).then(|| KeptOut {
        programs: different(0),
        devices: different(1),
        picks: costs.len(),
        held: costs.iter().filter(|cost| **cost * 100.0 <= HELD_PERCENT).count(),
        worst: costs.iter().copied().fold(0.0, f64::max),
    })
}

/// A line of [`SHAPES`].
#[derive(Deserialize)]
struct Shaped {
    load: String,
    shape: Shape,
}

/// The loads with their distance to a recording, the nearest first.
#[must_use]
pub fn nearest(shape: &Shape) -> Vec<(&'static str, f64)> {
    let lines = SHAPES.lines().filter_map(|line| serde_json::from_str::<Shaped>(line).ok());
    let distances = lines.filter_map(|one| Some((load(&one.load)?, shape.distance(&one.shape))));
    let mut near: Vec<_> = distances.collect();
    near.sort_by(|one, other| one.1.total_cmp(&other.1));
    near
}

/// The lab of a load on a device; `None` for a load without one, or that has no room there.
#[must_use]
pub fn lab(load: &str, device: &AtlasDevice) -> Option<String> {
    Some(format!("{}\n{}", text(load, device.form)?, device.table()))
}

/// The lab of a load on a scratch image, which `--device` and `--on` replace; with the age of a device of the atlas.
#[must_use]
pub fn own_lab(load: &str, device: Option<&AtlasDevice>) -> Option<String> {
    let form = device.map_or(Form::New, |device| device.form);
    let size = device.filter(|_| form == Form::Old).map_or("3GiB", |device| device.size);
    let scratch = format!("[[device]]\nname = \"scratch\"\nloop = \"{size}\"\n");
    Some(format!("{}\n{scratch}", text(load, form)?))
}

/// The lab of a load without its device; `None` for one that an old filesystem has no room for.
fn text(load: &str, form: Form) -> Option<String> {
    if form == Form::Old && !SMALL.contains(&load) {
        return None;
    }
    let (_, text) = LABS.iter().find(|(name, _)| *name == load)?;
    Some(match form {
        Form::Old => text.replacen("[[workload]]\n", AGE, 1),
        Form::New | Form::Array(..) => (*text).to_owned(),
    })
}

/// The device of the atlas with this model or word, or another word for it.
#[must_use]
pub fn device(word: &str) -> Option<&'static AtlasDevice> {
    let plain = |name: &str| name.to_ascii_lowercase().replace([' ', '-'], "");
    let asked = plain(word);
    let word = named(DEVICE_ALIASES, &asked);
    let is = |name: &str| plain(name) == plain(word);
    DEVICES.iter().find(|one| is(one.name()) || is(one.word) || is(one.kind))
}

/// The device of the atlas that is most like a disk of this machine, which is not opened, and the reason.
///
/// # Errors
/// When the path is that of no block device.
pub fn like(system: &System, path: &Path) -> Result<(&'static AtlasDevice, String), String> {
    let not_one = || format!("{} is not a block device of this machine", path.display());
    let size = device_size(system, path).ok_or_else(not_one)?;
    let name = std::fs::canonicalize(path).map_err(|error| format!("{error}"))?;
    let name = name.file_name().and_then(|name| name.to_str()).ok_or_else(not_one)?.to_owned();
    let turns = queue::read(system, &name).ok().and_then(|found| found.rotational);
    let level = read_optional(&system.block(&name).join("md/level"));
    let members = names(&system.block(&name).join("slaves"));
    let is_sata = !members.iter().any(|member| member.starts_with("nvme"));
    let found = level.as_deref().filter(|_| is_sata).and_then(|level| array(level, turns));
    if let Some(found) = found {
        let level = level.unwrap_or_default();
        return Ok((
            found,
            format!("{} is md {level}, {size}, {}", path.display(), turning(turns)),
        ));
    }
    if is_no_disk(&name) {
        return Err(format!(
            "{} is made of other devices or belongs to a virtual machine, and what is below it is not visible here; \
             name that by a word, such as --device ssd, or gp3 for a volume of AWS",
            path.display()
        ));
    }
    let model = disk_model(system, path).unwrap_or_default();
    let word = word_of(&name, &model, turns);
    let model = if model.is_empty() { "model unknown".to_owned() } else { model };
    let reason = format!("{} is {model}, {size}, {}", path.display(), turning(turns));
    let found = device(word).ok_or_else(not_one)?;
    Ok((found, reason))
}

fn turning(turns: Option<bool>) -> &'static str {
    match turns {
        Some(true) => "rotating",
        Some(false) => "not rotating",
        None => "rotation unknown",
    }
}

/// The array of the atlas with this level, of disks that turn or do not.
fn array(level: &str, turns: Option<bool>) -> Option<&'static AtlasDevice> {
    let is_its = |one: &&AtlasDevice| {
        one.array().is_some_and(|(kind, _)| kind == level)
            && turns == Some(!one.model.starts_with("ssd-"))
    };
    DEVICES.iter().find(is_its)
}

/// Returns true for the kernel name of a device that is made of others, or is one of a virtual machine.
fn is_no_disk(name: &str) -> bool {
    ["loop", "dm-", "md", "zram", "ram", "vd", "nbd", "xvd"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// The device that was probed on a drive of this model, and its accuracy, in words.
#[must_use]
pub fn probed_on(devices: &BTreeMap<String, DeviceFile>, model: &str) -> Option<String> {
    let is_its = |file: &&DeviceFile| {
        file.probed().and_then(|probed| probed.drive.as_deref()) == Some(model)
    };
    let file = devices.values().find(is_its)?;
    let accuracy = mixed(file.withheld())
        .map_or_else(|| "accuracy unknown".to_owned(), |class| class.sentence());
    Some(format!(" (probed as {}, {accuracy}; run a lab on it with --on {0})", file.name()))
}

/// The word for a device of this kernel name, model and rotation.
fn word_of(name: &str, model: &str, turns: Option<bool>) -> &'static str {
    let upper = model.to_ascii_uppercase();
    let has = |parts: &[&str]| parts.iter().any(|part| upper.contains(part));
    match () {
        () if has(&["ELASTIC BLOCK STORE"]) => "gp3",
        () if name.starts_with("mmcblk") => "sd",
        // Drive-managed models that do not say so themselves.
        () if has(&["ST8000AS", "ST5000AS", "ST6000DM", "WD60EFAX", "WD40EFAX"]) => "smr",
        () if has(&["QVO", "BX500", "660P", "P2 "]) => "qlc",
        () if name.starts_with("nvme") && has(&["PM9A", "PM98", "7300", "7450", "P5510"]) => {
            "nvme-plp"
        }
        () if name.starts_with("nvme") => "nvme",
        // Slow ones of the makers' series for NAS.
        () if turns == Some(true) && has(&["EFRX", "VN008", "VN000"]) => "nas",
        () if turns == Some(true) => "hdd",
        // Samsung PM8 and SM8, Intel S4, Micron 5.
        () if has(&["MZ7L", "MZ7K", "SSDSC2K", "MTFDDAK"]) => "ssd-plp",
        () => "ssd",
    }
}

impl Planned {
    /// Runs trials of the plan again, in parallel; their records in the same order. Nothing is kept.
    ///
    /// # Errors
    /// [`SessionError::Option`] on the host, and when a guest fails.
    pub fn again(
        &self,
        trials: &[PlannedTrial],
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<Record>, SessionError> {
        let experiments = self.backend().experiments(self.plan(), stop)?;
        let on_host = || SessionError::Option {
            option: "cell",
            of: "virtual".into(),
            backend: "host".into(),
        };
        let experiments = experiments.ok_or_else(on_host)?;
        let whole = |trial: &PlannedTrial| Experiment { trial: *trial, off: LawSet::default() };
        let all: Vec<Experiment> = trials.iter().map(whole).collect();
        Ok(experiments.run(self.plan(), &all)?)
    }

    /// The facts of the environment that decide what a virtual trial does.
    ///
    /// # Errors
    /// When the lab kernel is missing.
    pub fn decisive(&self) -> Result<serde_json::Value, SessionError> {
        self.backend().environment(&self.plan().lab)
    }
}
