//! dm-integrity: mapped by dmsetup in trials, made by integritysetup to last.

use super::{Action, LabKernels, Lasting, Layer, LayerDefinition, LayerKind, Site, mapper};
use crate::field::field;
use crate::units::Bytes;

/// A checksum for every block.
#[derive(Debug)]
pub(super) struct Integrity;

/// Bytes of a sector, the unit of every table.
const SECTOR: u64 = 512;
/// Sectors of data between two stretches of checksums, the kernel's own choice.
const RUN: u64 = 32_768;
/// Sectors of the largest journal, the kernel's own choice; of a small device it takes a 128th.
const LARGEST_JOURNAL: u64 = 131_072;
/// Sectors of the superblock, and those that rounding up the journal may take.
const HEAD: u64 = 4_096;
/// Stretches of checksums are whole blocks of so many sectors.
const STRETCH: u64 = 8;

static INTEGRITY: LayerDefinition = LayerDefinition {
    programs: mapper::WITH_DD,
    ..LayerDefinition::new(
        "integrity",
        "dm-integrity as integritysetup makes it, a checksum for every block: one that comes back changed is an error. The whole device is written once before the trial. In guests checksums take only the CPU time that is charged (`--cpu hash=`, in ns per KiB).",
        (1, 1, 1),
        &[
            field!("hash": Choice(&["crc32c", "sha256"]), default "\"crc32c\"",
                "Checksum: 4 bytes a block, or 32."),
            field!("sector": size(Bytes(512), Bytes(4096)), default "\"4KiB\"",
                "Bytes with a checksum of their own: 512 or 4096."),
            field!("mode": Choice(&["journal", "bitmap", "direct"]), default "\"journal\"",
                "`journal` writes data twice, so that data and checksum agree after a power cut; `bitmap` computes checksums of regions in use anew after one; `direct` protects neither."),
        ],
        ("CONFIG_DM_INTEGRITY", "dm_integrity", LabKernels::Layers),
    )
};

impl Integrity {
    /// Bytes of a checksum.
    fn tag(layer: &Layer) -> u64 {
        if layer.text("hash") == "sha256" { 32 } else { 4 }
    }

    /// Sectors that a device of so many offers: whole runs of data with their checksums.
    fn provided(layer: &Layer, sectors: u64) -> u64 {
        let blocks = RUN * SECTOR / layer.size("sector").0.max(SECTOR);
        let stretch = (blocks * Self::tag(layer)).div_ceil(SECTOR).next_multiple_of(STRETCH);
        let journal = (sectors / 128).min(LARGEST_JOURNAL);
        sectors.saturating_sub(HEAD + journal) / (RUN + stretch) * RUN
    }

    fn table(site: &Site<'_>) -> String {
        let layer = site.layer;
        let below = site.first();
        let mode = match layer.text("mode") {
            "bitmap" => "B",
            "direct" => "D",
            _ => "J",
        };
        let (hash, block) = (layer.text("hash"), layer.size("sector").0);
        format!(
            "0 {} integrity {} 0 - {mode} 3 internal_hash:{hash} block_size:{block} interleave_sectors:{RUN}\n",
            Self::provided(layer, below.sectors),
            below.node
        )
    }
}

impl LayerKind for Integrity {
    fn definition(&self) -> &LayerDefinition {
        &INTEGRITY
    }

    fn usable(&self, layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        Bytes(Self::provided(layer, device.0 / SECTOR) * SECTOR)
    }

    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action> {
        let open = mapper::create(&site.name(), Self::table(site));
        if !fresh {
            return vec![open];
        }
        let below = site.first();
        // A block without a checksum could not be read.
        let count = (Self::provided(site.layer, below.sectors) * SECTOR) >> 20;
        let (to, count) = (format!("of={}", self.node(site)), format!("count={count}"));
        let words = [
            "if=/dev/zero", &to, "bs=1M", &count, "oflag=direct", "conv=fsync,nocreat",
            "status=none",
        ];
        vec![mapper::wipe(&below.node), open, Action::run("dd", words)]
    }

    fn power_cut(&self, layer: &Layer) -> Option<String> {
        (layer.text("mode") == "direct")
            .then(|| "blocks whose checksum was not written yet cannot be read".to_owned())
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let (device, name) = (site.first().node, site.numbered("data"));
        let layer = site.layer;
        let (hash, block) = (layer.text("hash"), layer.size("sector").0);
        let of_boot = "line for /etc/integritytab";
        let from_254 = "line for /etc/integritytab, from systemd 254 on";
        let (flag, option, boot) = match layer.text("mode") {
            "bitmap" => (" --integrity-bitmap-mode", ",mode=bitmap", from_254),
            "direct" => (" --integrity-no-journal", ",mode=direct", from_254),
            _ => ("", "", of_boot),
        };
        Lasting {
            steps: vec![
                (
                    "make the volume with checksums (destroys what is on its device)",
                    vec![
                        format!(
                            "integritysetup format --integrity {hash} --sector-size {block} {device}"
                        ),
                        format!("integritysetup open --integrity {hash}{flag} {device} {name}"),
                    ],
                ),
                (boot, vec![format!("{name} {device} - integrity-algorithm={hash}{option}")]),
            ],
            back: vec![
                format!("integritysetup close {name}, then remove its line from /etc/integritytab"),
                format!("wipefs --all {device}"),
            ],
            node: format!("/dev/mapper/{name}"),
        }
    }
}
