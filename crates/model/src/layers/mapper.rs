//! Volumes and caches of the device-mapper, made by dmsetup in trials and by LVM to last.

use super::{
    Action, Below, Fast, LabKernels, Lasting, Layer, LayerDefinition, LayerKind, Site, Watched,
};
use crate::field::{Field, FieldKind, field};
use crate::units::Bytes;
use crate::workloads::Program;

pub(super) const PROGRAMS: &[Program] = &[Program { name: "dmsetup", package: "dmsetup" }];
pub(super) const WITH_DD: &[Program] = &[
    Program { name: "dmsetup", package: "dmsetup" },
    Program { name: "dd", package: "coreutils" },
];

/// Bytes of a sector, the unit of every table.
const SECTOR: u64 = 512;

/// Name of a volume in lines for the user.
const VOLUME: &str = "data";

const fn chunk(default: &'static str, doc: &'static str) -> Field {
    Field {
        name: "chunk",
        kind: FieldKind::Size { min: Bytes::kib(4), max: Bytes::mib(64) },
        default: Some(default),
        required: false,
        doc,
    }
}

/// A mapped device: its name and table.
pub(super) fn create(name: &str, table: String) -> Action {
    Action::fed("dmsetup", &["create", name, "--noudevsync"], table)
}

pub(super) fn remove(name: &str) -> Action {
    Action::run("dmsetup", ["remove", "--noudevsync", "--retry", name])
}

/// Wipes the first block, by which the kernel tells fresh metadata from old.
pub(super) fn wipe(node: &str) -> Action {
    let to = format!("of={node}");
    Action::run(
        "dd",
        ["if=/dev/zero", &to, "bs=4096", "count=1", "conv=fsync,nocreat", "status=none"],
    )
}

pub(super) fn mapped(name: &str) -> String {
    format!("/dev/mapper/{name}")
}

/// The line of a volume that is one stretch of a device.
fn stretch(sectors: u64, node: &str, from: u64) -> String {
    format!("0 {sectors} linear {node} {from}\n")
}

/// Name of the volume group in lines for the user.
fn group_of(site: &Site<'_>) -> String {
    site.numbered("seekwell")
}

fn lasting(site: &Site<'_>, volumes: Vec<String>) -> Lasting {
    let nodes: Vec<String> = site.nodes().chain(site.fast.map(|one| one.node.clone())).collect();
    let (group, nodes) = (group_of(site), nodes.join(" "));
    let mut lines = vec![format!("pvcreate {nodes}"), format!("vgcreate {group} {nodes}")];
    lines.extend(volumes);
    Lasting {
        steps: vec![("make the volume (destroys what is on its devices)", lines)],
        back: vec![format!("vgremove {group}"), format!("pvremove {nodes}")],
        node: format!("/dev/{group}/{VOLUME}"),
    }
}

/// Devices one after the other.
#[derive(Debug)]
pub(super) struct Linear;

static LINEAR: LayerDefinition = LayerDefinition::new(
    "linear",
    "An LVM volume as `lvcreate` makes it: devices one after the other.",
    (1, 12, 1),
    &[],
    ("CONFIG_BLK_DEV_DM", "dm_mod", LabKernels::Every),
);

impl LayerKind for Linear {
    fn definition(&self) -> &LayerDefinition {
        &LINEAR
    }

    fn usable(&self, layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        Bytes(device.0 * u64::from(layer.devices))
    }

    fn bring_up(&self, site: &Site<'_>, _fresh: bool) -> Vec<Action> {
        let mut start = 0;
        let lines = site.below.iter().map(|below| {
            let line = format!("{start} {} linear {} 0\n", below.sectors, below.node);
            start += below.sectors;
            line
        });
        let table = lines.collect();
        vec![create(&site.name(), table)]
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let group = group_of(site);
        lasting(site, vec![format!("lvcreate -l 100%FREE -n {VOLUME} {group}")])
    }
}

/// Chunks spread over devices.
#[derive(Debug)]
pub(super) struct Striped;

static STRIPED: LayerDefinition = LayerDefinition::new(
    "striped",
    "An LVM volume with stripes (`lvcreate --stripes`): chunks spread over the devices, no redundancy.",
    (2, 12, 2),
    &[chunk("\"64KiB\"", "Bytes on one device before the next device follows: a power of two.")],
    ("CONFIG_BLK_DEV_DM", "dm_mod", LabKernels::Every),
);

impl LayerKind for Striped {
    fn definition(&self) -> &LayerDefinition {
        &STRIPED
    }

    fn usable(&self, layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        Bytes(device.0 * u64::from(layer.devices))
    }

    fn bring_up(&self, site: &Site<'_>, _fresh: bool) -> Vec<Action> {
        let chunk = (site.layer.size("chunk").0 / SECTOR).max(1);
        let least = site.below.iter().map(|below| below.sectors).min().unwrap_or(0);
        let count = site.below.len() as u64;
        let total = least / chunk * chunk * count;
        let devices: String = site.below.iter().map(|below| format!(" {} 0", below.node)).collect();
        vec![create(&site.name(), format!("0 {total} striped {count} {chunk}{devices}\n"))]
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let group = group_of(site);
        let (count, kib) = (site.below.len(), site.layer.size("chunk").0 >> 10);
        let volume = format!("lvcreate -i {count} -I {kib}k -l 100%FREE -n {VOLUME} {group}");
        lasting(site, vec![volume])
    }
}

/// A thin volume as large as its pool.
#[derive(Debug)]
pub(super) struct Thin;

static THIN: LayerDefinition = LayerDefinition {
    programs: WITH_DD,
    ..LayerDefinition::new(
        "thin",
        "A thin LVM volume in a pool of its own: blocks are assigned when they are first written.",
        (1, 1, 1),
        &[chunk("\"64KiB\"", "Bytes that are assigned at once: a multiple of 64 KiB.")],
        ("CONFIG_DM_THIN_PROVISIONING", "dm_thin_pool", LabKernels::Full),
    )
};

/// Sectors for the metadata of a pool or a cache with so many blocks, whole MiB: 64 bytes for each
/// block and as much again for the trees, as LVM reckons.
fn metadata_sectors(blocks: u64) -> u64 {
    let bytes = (blocks * 128 + (4 << 20)).next_multiple_of(1 << 20);
    bytes / SECTOR
}

/// The pieces of a thin pool: metadata, data, pool.
impl Thin {
    fn names(site: &Site<'_>) -> [String; 4] {
        let name = site.name();
        [format!("{name}-meta"), format!("{name}-pool-data"), format!("{name}-pool"), name]
    }
}

impl LayerKind for Thin {
    fn definition(&self) -> &LayerDefinition {
        &THIN
    }

    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action> {
        let [meta, data, pool, name] = Self::names(site);
        let Below { node, sectors } = site.first();
        let chunk = (site.layer.size("chunk").0 / SECTOR).max(128);
        let meta_sectors = metadata_sectors(sectors / chunk).min(sectors / 2);
        let rest = (sectors - meta_sectors) / chunk * chunk;
        let mut actions = vec![create(&meta, stretch(meta_sectors, &node, 0))];
        if fresh {
            actions.push(wipe(&mapped(&meta)));
        }
        actions.push(create(&data, stretch(rest, &node, meta_sectors)));
        let (meta, data) = (mapped(&meta), mapped(&data));
        // LVM's pools are zeroed unless the chunk is large: a new block then shows no old data.
        let table = format!("0 {rest} thin-pool {meta} {data} {chunk} 0\n");
        actions.push(create(&pool, table));
        if fresh {
            actions.push(Action::run("dmsetup", ["message", &pool, "0", "create_thin 0"]));
        }
        actions.push(create(&name, format!("0 {rest} thin {} 0\n", mapped(&pool))));
        actions
    }

    fn close(&self, site: &Site<'_>) -> Vec<Action> {
        let [meta, data, pool, name] = Self::names(site);
        [name, pool, data, meta].iter().map(|name| remove(name)).collect()
    }

    fn watched(&self, site: &Site<'_>) -> Option<Watched> {
        let [_, _, name, _] = Self::names(site);
        let broken = &["Fail", "ro", "out_of_data_space", "needs_check"];
        let meaning = "its pool is full, or lost its metadata; use a larger device";
        Some(Watched { name, broken, meaning })
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let group = group_of(site);
        let kib = site.layer.size("chunk").0 >> 10;
        let pool = format!("lvcreate --type thin-pool -c {kib}k -l 95%FREE -n pool {group}");
        let volume = format!("lvcreate --thin -V SIZE -n {VOLUME} {group}/pool");
        lasting(site, vec![pool, volume])
    }
}

/// A volume of which a snapshot is kept.
#[derive(Debug)]
pub(super) struct Snapshot;

static SNAPSHOT: LayerDefinition = LayerDefinition {
    programs: WITH_DD,
    ..LayerDefinition::new(
        "snapshot",
        "A classic LVM volume with a snapshot on the same device: the first write to each chunk copies the old one. A fifth of the device is for copies.",
        (1, 1, 1),
        &[chunk("\"4KiB\"", "Bytes that are copied at once: a power of two.")],
        ("CONFIG_DM_SNAPSHOT", "dm_snapshot", LabKernels::Full),
    )
};

/// One part in so many of the device is for the copies of a snapshot.
const COPIES_PART: u64 = 5;

impl Snapshot {
    fn names(site: &Site<'_>) -> [String; 4] {
        let name = site.name();
        [format!("{name}-real"), format!("{name}-cow"), format!("{name}-snap"), name]
    }
}

impl LayerKind for Snapshot {
    fn definition(&self) -> &LayerDefinition {
        &SNAPSHOT
    }

    fn usable(&self, _layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        Bytes(device.0 - device.0 / COPIES_PART)
    }

    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action> {
        let [real, copies, snap, name] = Self::names(site);
        let Below { node, sectors } = site.first();
        let chunk = (site.layer.size("chunk").0 / SECTOR).max(8);
        let for_copies = sectors / COPIES_PART / chunk * chunk;
        let rest = (sectors - for_copies) / chunk * chunk;
        let mut actions = vec![
            create(&real, stretch(rest, &node, 0)),
            create(&copies, stretch(for_copies, &node, rest)),
        ];
        let (real, copies) = (mapped(&real), mapped(&copies));
        if fresh {
            actions.push(wipe(&copies));
        }
        let snapshot = format!("0 {rest} snapshot {real} {copies} P {chunk}\n");
        actions.push(create(&snap, snapshot));
        actions.push(create(&name, format!("0 {rest} snapshot-origin {real}\n")));
        actions
    }

    fn close(&self, site: &Site<'_>) -> Vec<Action> {
        let [real, copies, snap, name] = Self::names(site);
        [name, snap, copies, real].iter().map(|name| remove(name)).collect()
    }

    fn watched(&self, site: &Site<'_>) -> Option<Watched> {
        let [_, _, name, _] = Self::names(site);
        let meaning = "its space for copies is full, and later writes copied nothing; use a larger device, or write less";
        Some(Watched { name, broken: &["Invalid", "Overflow"], meaning })
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let group = group_of(site);
        let kib = site.layer.size("chunk").0 >> 10;
        let volume = format!("lvcreate -l 80%VG -n {VOLUME} {group}");
        let snapshot = format!("lvcreate -s -c {kib}k -l 100%FREE -n snap {group}/{VOLUME}");
        lasting(site, vec![volume, snapshot])
    }
}

/// Writes kept on a fast device first.
#[derive(Debug)]
pub(super) struct WriteCache;

static WRITE_CACHE: LayerDefinition = LayerDefinition {
    fast: Fast::Must("keeps writes before they go to the device below"),
    programs: WITH_DD,
    ..LayerDefinition::new(
        "writecache",
        "dm-writecache: writes go to a small fast device first, reads are not cached.",
        (1, 1, 1),
        &[],
        ("CONFIG_DM_WRITECACHE", "dm_writecache", LabKernels::Full),
    )
};

impl LayerKind for WriteCache {
    fn definition(&self) -> &LayerDefinition {
        &WRITE_CACHE
    }

    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action> {
        let (Below { node, sectors }, fast) = (site.first(), site.second().node);
        let table = format!("0 {sectors} writecache s {node} {fast} 4096 0\n");
        let wiped = fresh.then(|| wipe(&fast));
        wiped.into_iter().chain([create(&site.name(), table)]).collect()
    }

    fn power_cut(&self, _layer: &Layer) -> Option<String> {
        Some("what only the cache has is lost when the cache's device fails".to_owned())
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let group = group_of(site);
        let (slow, fast) = (site.first().node, site.second().node);
        lasting(
            site,
            vec![
                format!("lvcreate -l 100%PVS -n {VOLUME} {group} {slow}"),
                format!("lvcreate -l 100%PVS -n fast {group} {fast}"),
                format!("lvchange -an {group}/fast {group}/{VOLUME}"),
                format!("lvconvert --type writecache --cachevol fast {group}/{VOLUME}"),
                format!("lvchange -ay {group}/{VOLUME}"),
            ],
        )
    }
}

/// Hot blocks kept on a fast device.
#[derive(Debug)]
pub(super) struct Cache;

static CACHE: LayerDefinition = LayerDefinition {
    fast: Fast::Must("keeps the blocks that are used most"),
    programs: WITH_DD,
    ..LayerDefinition::new(
        "cache",
        "dm-cache (`lvconvert --type cache`): blocks that are used often move to a small fast device. Policy smq.",
        (1, 1, 1),
        &[
            field!("mode": Choice(&["writethrough", "writeback"]), default "\"writethrough\"",
                "`writethrough`: a write is done when both devices have it. `writeback`: when the cache has it."),
            chunk("\"64KiB\"", "Bytes that move at once: a multiple of 32 KiB."),
        ],
        ("CONFIG_DM_CACHE_SMQ", "dm_cache_smq", LabKernels::Full),
    )
};

impl Cache {
    fn names(site: &Site<'_>) -> [String; 3] {
        let name = site.name();
        [format!("{name}-meta"), format!("{name}-fast"), name]
    }
}

impl LayerKind for Cache {
    fn definition(&self) -> &LayerDefinition {
        &CACHE
    }

    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action> {
        let [meta, blocks, name] = Self::names(site);
        let (slow, fast) = (site.first(), site.second());
        let chunk = (site.layer.size("chunk").0 / SECTOR).max(64);
        let meta_sectors = metadata_sectors(fast.sectors / chunk).min(fast.sectors / 2);
        let rest = (fast.sectors - meta_sectors) / chunk * chunk;
        let mut actions = vec![create(&meta, stretch(meta_sectors, &fast.node, 0))];
        if fresh {
            actions.push(wipe(&mapped(&meta)));
        }
        actions.push(create(&blocks, stretch(rest, &fast.node, meta_sectors)));
        let mode = site.layer.text("mode");
        let table = format!(
            "0 {} cache {} {} {} {chunk} 1 {mode} smq 0\n",
            slow.sectors,
            mapped(&meta),
            mapped(&blocks),
            slow.node
        );
        actions.push(create(&name, table));
        actions
    }

    fn close(&self, site: &Site<'_>) -> Vec<Action> {
        let [meta, blocks, name] = Self::names(site);
        [name, blocks, meta].iter().map(|name| remove(name)).collect()
    }

    fn watched(&self, site: &Site<'_>) -> Option<Watched> {
        let [_, _, name] = Self::names(site);
        let meaning = "its cache lost its metadata, and is no longer used";
        Some(Watched { name, broken: &["Fail", "ro", "needs_check"], meaning })
    }

    fn power_cut(&self, layer: &Layer) -> Option<String> {
        (layer.text("mode") == "writeback")
            .then(|| "what only the cache has is lost when the cache's device fails".to_owned())
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let group = group_of(site);
        let (slow, fast) = (site.first().node, site.second().node);
        let (mode, kib) = (site.layer.text("mode"), site.layer.size("chunk").0 >> 10);
        lasting(
            site,
            vec![
                format!("lvcreate -l 100%PVS -n {VOLUME} {group} {slow}"),
                format!("lvcreate -l 100%PVS -n fast {group} {fast}"),
                format!(
                    "lvconvert --type cache --cachevol fast --cachemode {mode} --chunksize {kib}k {group}/{VOLUME}"
                ),
            ],
        )
    }
}
