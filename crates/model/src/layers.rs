//! The catalogue of layers between device and filesystem: RAID, ciphers, caches, volumes.
//!
//! A layer is data ([`Layer`]) and one implementation of [`LayerKind`], which says in commands how it
//! is made, opened again, taken down, and made to last. Nothing here runs a command. Adding a layer
//! is adding an entry to [`LAYER_KINDS`].

mod bcache;
mod crypt;
mod integrity;
mod mapper;
mod md;
mod zram;

use crate::backing::Backing;
use crate::field::{Field, Value, Values};
use crate::units::Bytes;
use crate::workloads::Program;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most devices that the layers of one stack may join, caches included.
pub const MOST_LAYER_DEVICES: u32 = 16;

/// Start of the names that layers have in the kernel's lists.
pub const LAYER_PREFIX: &str = "seekwell-";

/// Name of the value of the layer axis without any layer.
pub const NO_LAYER: &str = "none";

/// One layer of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Name of its kind in [`LAYER_KINDS`].
    pub kind: String,
    /// Devices that it joins, each like the stack's device with the layers below.
    pub devices: u32,
    /// Second device of a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast: Option<Backing>,
    /// Values of the kind's fields as text, defaults filled in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

impl Layer {
    /// A layer of checked values, over so many devices; `None` means as many as the kind takes by
    /// default.
    #[must_use]
    pub fn new(
        kind: &'static dyn LayerKind,
        devices: Option<u32>,
        fast: Option<Backing>,
        values: &Values,
    ) -> Self {
        let definition = kind.definition();
        let values = values.clone().with_defaults(definition.fields);
        let options = definition.fields.iter().filter_map(|field| {
            let text = match values.get(field.name)? {
                Value::Bool(truth) => truth.to_string(),
                Value::Integer(number) => number.to_string(),
                Value::Size(bytes) => bytes.to_string(),
                Value::Text(text) => text.clone(),
                _ => return None,
            };
            Some((field.name.to_owned(), text))
        });
        Self {
            kind: definition.name.to_owned(),
            devices: devices.unwrap_or(definition.usual_devices),
            fast,
            options: options.collect(),
        }
    }

    /// Its kind; `None` for one that is not in the catalogue.
    #[must_use]
    pub fn find(&self) -> Option<&'static dyn LayerKind> {
        layer_kind(&self.kind)
    }

    /// The text of an option; empty where the layer has none.
    #[must_use]
    pub fn text(&self, option: &str) -> &str {
        self.options.get(option).map_or("", String::as_str)
    }

    /// An option that is a size; 0 where the layer has none.
    #[must_use]
    pub fn size(&self, option: &str) -> Bytes {
        self.text(option).parse().unwrap_or_default()
    }

    /// An option that is true or false.
    #[must_use]
    pub fn is_on(&self, option: &str) -> bool {
        self.text(option) == "true"
    }
}

/// One value of the layer axis: layers in order, the one above the devices first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// Name, unique in the lab.
    pub name: String,
    /// The layers; none means that the filesystem is on the device itself.
    pub parts: Vec<Layer>,
}

impl Default for Layers {
    fn default() -> Self {
        Self { name: NO_LAYER.to_owned(), parts: Vec::new() }
    }
}

impl Layers {
    /// Returns true if nothing is between device and filesystem.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns true if the lowest layer is a disk in memory, which takes the place of the stack's
    /// device.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        let lowest = self.parts.first().and_then(Layer::find);
        lowest.is_some_and(|kind| kind.definition().is_volatile)
    }

    /// Returns true for the value of a lab that names no layer.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.is_empty() && self.name == NO_LAYER
    }

    /// Devices like the stack's own that the layers join; 1 without layers.
    #[must_use]
    pub fn devices(&self) -> u32 {
        self.parts.iter().fold(1, |product, layer| product.saturating_mul(layer.devices.max(1)))
    }

    /// The second devices of all caches, in the order in which [`crate::layers`] are built: below
    /// first, each as often as its layer is built.
    #[must_use]
    pub fn fast(&self) -> Vec<&Backing> {
        fn collect<'a>(parts: &'a [Layer], found: &mut Vec<&'a Backing>) {
            let Some((top, below)) = parts.split_last() else { return };
            for _ in 0..top.devices.max(1) {
                collect(below, found);
            }
            found.extend(&top.fast);
        }
        let mut found = Vec::new();
        collect(&self.parts, &mut found);
        found
    }

    /// Bytes that a filesystem gets of devices of this size; `size_of` gives the size of a cache's
    /// device. `None` when a size is unknown.
    #[must_use]
    pub fn usable(
        &self,
        device: Bytes,
        size_of: &dyn Fn(&Backing) -> Option<Bytes>,
    ) -> Option<Bytes> {
        self.parts.iter().try_fold(device, |below, layer| {
            let fast = match &layer.fast {
                Some(backing) => Some(size_of(backing)?),
                None => None,
            };
            Some(layer.find()?.usable(layer, below, fast))
        })
    }

    /// The losses of a power cut that the layers add, in words.
    #[must_use]
    pub fn power_cut(&self) -> Vec<String> {
        let kinds = self.parts.iter().filter_map(|layer| Some((layer, layer.find()?)));
        kinds.filter_map(|(layer, kind)| kind.power_cut(layer)).collect()
    }
}

/// Devices besides the joined ones that a kind of layer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fast {
    /// None.
    No,
    /// One may be given; the text says its use.
    May(&'static str),
    /// One must be given; the text says its use.
    Must(&'static str),
}

/// Lab kernels that have a kind of layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabKernels {
    /// All sets.
    Every,
    /// The full set and the set with layers.
    Full,
    /// The set with layers alone.
    Layers,
}

/// Definition of a kind of layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerDefinition {
    /// As labs call it.
    pub name: &'static str,
    /// A description in a sentence or two.
    pub doc: &'static str,
    /// Fewest devices that it joins.
    pub least_devices: u32,
    /// Most devices that it joins.
    pub most_devices: u32,
    /// Devices that it joins when the lab gives no number.
    pub usual_devices: u32,
    /// Its second device.
    pub fast: Fast,
    /// Its parameters.
    pub fields: &'static [Field],
    /// Programs that make it and take it down.
    pub programs: &'static [Program],
    /// Kernel configuration that brings it.
    pub kernel_config: &'static str,
    /// Module of the kernel that this is, if it is not built in.
    pub module: &'static str,
    /// Lab kernels that have it.
    pub lab_kernels: LabKernels,
    /// True if its content ends with it: then no copy of a prepared stack can be made.
    pub is_volatile: bool,
}

impl LayerDefinition {
    /// A kind that dmsetup makes, without a second device; devices: fewest, most and usual.
    const fn new(
        name: &'static str,
        doc: &'static str,
        (least_devices, most_devices, usual_devices): (u32, u32, u32),
        fields: &'static [Field],
        (kernel_config, module, lab_kernels): (&'static str, &'static str, LabKernels),
    ) -> Self {
        Self {
            name,
            doc,
            least_devices,
            most_devices,
            usual_devices,
            fast: Fast::No,
            fields,
            programs: mapper::PROGRAMS,
            kernel_config,
            module,
            lab_kernels,
            is_volatile: false,
        }
    }
}

/// The kernel's own way to add and remove disks of one kind, below `/sys/class`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The class with the files `hot_add` and `hot_remove`.
    pub class: &'static str,
    /// Names of its disks without their number.
    pub prefix: &'static str,
}

/// The names of the devices of a kind of layer. A run on a machine with other work takes names that
/// nothing else has, and takes down what a killed run left of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// A disk that the kernel adds: the [`Site`]'s number is that of the disk.
    Added(Control),
    /// An array of md: the number is that of `/dev/md7`.
    Array,
    /// Mapped devices, all with names that start with [`Site::name`].
    Mapped,
    /// Devices that the kernel numbers itself, in the order in which they appear.
    Kernel,
}

/// A block device below a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    /// Its node, or its placeholder in lines for the user.
    pub node: String,
    /// Its size in sectors of 512 bytes.
    pub sectors: u64,
}

/// One layer to be built: its values, its place and the devices below it.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The layer.
    pub layer: &'a Layer,
    /// Number of the layer among all that the stack builds, from 0; on a machine with other work a
    /// free one, see [`Naming`].
    pub index: usize,
    /// The devices that it joins.
    pub below: &'a [Below],
    /// Its second device.
    pub fast: Option<&'a Below>,
}

impl Site<'_> {
    /// Name of the layer in the kernel's lists, for example `seekwell-0`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{LAYER_PREFIX}{}", self.index)
    }

    /// A name that lasts: `base` alone for the first layer of that name, and with its number for others.
    fn numbered(&self, base: &str) -> String {
        if self.index == 0 { base.to_owned() } else { format!("{base}{}", self.index) }
    }

    /// Nodes of the devices below.
    pub fn nodes(&self) -> impl Iterator<Item = String> + '_ {
        self.below.iter().map(|below| below.node.clone())
    }

    /// The only device below, or the first.
    fn first(&self) -> Below {
        self.below.first().cloned().unwrap_or(Below { node: String::new(), sectors: 0 })
    }

    /// The second device; one of no size if there is none.
    fn second(&self) -> Below {
        self.fast.cloned().unwrap_or(Below { node: String::new(), sectors: 0 })
    }
}

/// One thing to do for a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Runs a program to its end.
    Run {
        /// Its name.
        program: &'static str,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its standard input.
        input: String,
    },
    /// Writes a value to a file of sysfs.
    Set {
        /// The file.
        path: String,
        /// The value.
        value: String,
    },
}

impl Action {
    fn run<T: Into<String>>(program: &'static str, arguments: impl IntoIterator<Item = T>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self::Run { program, arguments, input: String::new() }
    }

    fn fed(program: &'static str, arguments: &[&str], input: String) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Self::Run { program, arguments, input }
    }

    fn set(path: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Set { path: path.into(), value: value.into() }
    }
}

/// A mapped device whose status tells that a layer no longer does its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its name.
    pub name: String,
    /// Words of its status, each of which tells it.
    pub broken: &'static [&'static str],
    /// Meaning of these words, and the fix.
    pub meaning: &'static str,
}

/// Lines that make a layer last on the user's own devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// Steps in order: what it is for, and the lines.
    pub steps: Vec<(&'static str, Vec<String>)>,
    /// Commands that undo it.
    pub back: Vec<String>,
    /// Node of the layer afterwards.
    pub node: String,
}

/// A kind of layer: everything that differs from kind to kind.
pub trait LayerKind: Sync + std::fmt::Debug {
    /// Its data.
    fn definition(&self) -> &LayerDefinition;

    /// The names of its devices.
    fn naming(&self) -> Naming {
        Naming::Mapped
    }

    /// Bytes that it offers over devices of this size, about: what it keeps for itself is small.
    fn usable(&self, _layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        device
    }

    /// The node of the layer once it is up.
    fn node(&self, site: &Site<'_>) -> String {
        mapper::mapped(&site.name())
    }

    /// Brings it up: if `fresh`, made anew, otherwise one that was made before.
    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action>;

    /// Makes it anew and brings it up.
    fn make(&self, site: &Site<'_>) -> Vec<Action> {
        self.bring_up(site, true)
    }

    /// Brings up one that was made before.
    fn open(&self, site: &Site<'_>) -> Vec<Action> {
        self.bring_up(site, false)
    }

    /// Brings up one after a power cut, as an administrator would.
    fn recover(&self, site: &Site<'_>) -> Vec<Action> {
        self.open(site)
    }

    /// Takes it down and keeps its content, if it has any.
    fn close(&self, site: &Site<'_>) -> Vec<Action> {
        vec![mapper::remove(&site.name())]
    }

    /// The device to ask at the end of a trial whether the layer still works. A kernel continues without
    /// a layer's work where a filesystem would see no error.
    fn watched(&self, _site: &Site<'_>) -> Option<Watched> {
        None
    }

    /// The data that a power cut takes although the device kept what it flushed; `None` if the layer
    /// loses nothing.
    fn power_cut(&self, _layer: &Layer) -> Option<String> {
        None
    }

    /// Lines that make it last.
    fn lasting(&self, site: &Site<'_>) -> Lasting;
}

/// Lines that make layers last over these devices, below first; with the node of the uppermost.
/// `None` when there are too few devices or a kind is unknown.
#[must_use]
pub fn lasting(
    layers: &Layers,
    devices: &[Below],
    fast: &[Below],
) -> Option<(Vec<Lasting>, String)> {
    struct Supply<'a> {
        devices: std::slice::Iter<'a, Below>,
        fast: std::slice::Iter<'a, Below>,
        found: Vec<Lasting>,
    }
    fn build(parts: &[Layer], supply: &mut Supply<'_>) -> Option<Below> {
        let Some((top, lower)) = parts.split_last() else { return supply.devices.next().cloned() };
        let below: Option<Vec<Below>> =
            (0..top.devices.max(1)).map(|_| build(lower, supply)).collect();
        let below = below?;
        let fast = match &top.fast {
            Some(_) => Some(supply.fast.next()?),
            None => None,
        };
        let kind = top.find()?;
        // Layers share names, as volumes do; each takes the first number that leaves its node free.
        let lasting = (0..=supply.found.len())
            .map(|index| kind.lasting(&Site { layer: top, index, below: &below, fast }))
            .find(|one| supply.found.iter().all(|other| other.node != one.node))?;
        let node = lasting.node.clone();
        supply.found.push(lasting);
        Some(Below { node, sectors: below.first()?.sectors })
    }
    let mut supply = Supply { devices: devices.iter(), fast: fast.iter(), found: Vec::new() };
    let top = build(&layers.parts, &mut supply)?;
    Some((supply.found, top.node))
}

/// Every kind of layer.
pub static LAYER_KINDS: &[&dyn LayerKind] = &[
    &md::RAID0,
    &md::RAID1,
    &md::RAID5,
    &md::RAID6,
    &md::RAID10,
    &mapper::Linear,
    &mapper::Striped,
    &mapper::Thin,
    &mapper::Snapshot,
    &crypt::Crypt,
    &integrity::Integrity,
    &mapper::WriteCache,
    &mapper::Cache,
    &bcache::Bcache,
    &zram::Zram,
];

/// Names that a lab may give as `kind`: no layer, then those of [`LAYER_KINDS`].
pub const LAYER_NAMES: &[&str] = &[
    NO_LAYER, "raid0", "raid1", "raid5", "raid6", "raid10", "linear", "striped", "thin",
    "snapshot", "crypt", "integrity", "writecache", "cache", "bcache", "zram",
];

/// The kernel's ways to add disks, of all kinds that need one.
pub fn controls() -> impl Iterator<Item = Control> {
    LAYER_KINDS.iter().filter_map(|kind| match kind.naming() {
        Naming::Added(control) => Some(control),
        Naming::Array | Naming::Mapped | Naming::Kernel => None,
    })
}

/// The Debian package of a program that some layer needs; the program's own name for any other.
#[must_use]
pub fn package_of(program: &str) -> &str {
    let programs = LAYER_KINDS.iter().flat_map(|kind| kind.definition().programs);
    let found = programs.into_iter().find(|known| known.name == program);
    found.map_or(program, |known| known.package)
}

/// The kind of layer with this name.
#[must_use]
pub fn layer_kind(name: &str) -> Option<&'static dyn LayerKind> {
    LAYER_KINDS.iter().copied().find(|kind| kind.definition().name == name)
}

#[cfg(test)]
mod tests;
