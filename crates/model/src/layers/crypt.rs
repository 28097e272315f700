//! LUKS2: mapped by dmsetup in trials, made by cryptsetup to last.

use super::{Action, LabKernels, Lasting, Layer, LayerDefinition, LayerKind, Site, mapper};
use crate::field::field;
use crate::units::Bytes;

/// A LUKS2 volume.
#[derive(Debug)]
pub(super) struct Crypt;

/// Digits of the key of every trial: what is enciphered is seeded, and ends with the trial.
const KEY_DIGITS: &str = "5eed";

/// Bytes that LUKS2 keeps for its header.
const HEADER: Bytes = Bytes::mib(16);

/// Bytes of a sector, the unit of every table.
const SECTOR: u64 = 512;

static CRYPT: LayerDefinition = LayerDefinition::new(
    "crypt",
    "LUKS2 (dm-crypt), as an installer's disk encryption opens it, behind the space of its header but without the header, whose key derivation never ends where CPU time is zero.",
    (1, 1, 1),
    &[
        field!("cipher": Choice(&[ "aes-xts-plain64", "aes-cbc-essiv:sha256", "xchacha12,aes-adiantum-plain64", ]), default "\"aes-xts-plain64\"",
            "Cipher and its mode."),
        field!("key_bits": integer(256, 512), default "512",
            "Bits of the key: 256 or 512; xts uses half of them for each of its two keys."),
        field!("sector": size(Bytes(512), Bytes(4096)), default "\"4KiB\"",
            "Bytes that are enciphered as one: 512 or 4096."),
        field!("workqueues": Bool, default "true",
            "`false` enciphers in the process that reads or writes (`--perf-no_read_workqueue --perf-no_write_workqueue`), which suits fast solid-state disks."),
        field!("discard": Bool, default "false", "Passes discards on (`--allow-discards`)."),
    ],
    ("CONFIG_DM_CRYPT", "dm_crypt", LabKernels::Layers),
);

impl Crypt {
    /// Bits of the key: two keys of xts, one of the others.
    fn key_bits(layer: &Layer) -> u64 {
        let wanted = layer.text("key_bits").parse().unwrap_or(512);
        if layer.text("cipher").contains("xts") { wanted } else { 256 }
    }

    fn shape(site: &Site<'_>) -> Vec<String> {
        let layer = site.layer;
        vec![
            format!("--cipher={}", layer.text("cipher")),
            format!("--key-size={}", Self::key_bits(layer)),
            format!("--sector-size={}", layer.size("sector").0),
        ]
    }

    /// The table that `cryptsetup open` loads.
    fn table(site: &Site<'_>) -> String {
        let layer = site.layer;
        let below = site.first();
        let offset = HEADER.0 / SECTOR;
        let sectors = below.sectors.saturating_sub(offset) / 8 * 8;
        let digits = (Self::key_bits(layer) / 4) as usize;
        let key: String = KEY_DIGITS.chars().cycle().take(digits).collect();
        let mut options = Vec::new();
        if layer.is_on("discard") {
            options.push("allow_discards".to_owned());
        }
        if layer.size("sector").0 != SECTOR {
            options.push(format!("sector_size:{}", layer.size("sector").0));
        }
        if !layer.is_on("workqueues") {
            options.push("no_read_workqueue".to_owned());
            options.push("no_write_workqueue".to_owned());
        }
        let count = options.len();
        let options =
            if count == 0 { String::new() } else { format!(" {count} {}", options.join(" ")) };
        let cipher = layer.text("cipher");
        format!("0 {sectors} crypt {cipher} {key} 0 {} {offset}{options}\n", below.node)
    }
}

impl LayerKind for Crypt {
    fn definition(&self) -> &LayerDefinition {
        &CRYPT
    }

    fn usable(&self, _layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        Bytes(device.0.saturating_sub(HEADER.0))
    }

    fn bring_up(&self, site: &Site<'_>, _fresh: bool) -> Vec<Action> {
        vec![mapper::create(&site.name(), Self::table(site))]
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let device = site.first().node;
        let name = site.numbered("data");
        let mut options = vec!["luks".to_owned()];
        if !site.layer.is_on("workqueues") {
            options.extend(["no-read-workqueue".to_owned(), "no-write-workqueue".to_owned()]);
        }
        if site.layer.is_on("discard") {
            options.push("discard".to_owned());
        }
        let shape = Self::shape(site).join(" ");
        Lasting {
            steps: vec![
                (
                    "make the encrypted volume (destroys what is on its device)",
                    vec![
                        format!("cryptsetup luksFormat --type luks2 {shape} {device}"),
                        format!("cryptsetup open {device} {name}"),
                    ],
                ),
                (
                    "line for /etc/crypttab",
                    vec![format!(
                        "{name} UUID=$(cryptsetup luksUUID {device}) none {}",
                        options.join(",")
                    )],
                ),
                ("let the boot know", vec!["update-initramfs -u".to_owned()]),
            ],
            back: vec![
                format!("cryptsetup close {name}, then remove its line from /etc/crypttab"),
                format!("cryptsetup erase {device} (destroys what is on it)"),
            ],
            node: format!("/dev/mapper/{name}"),
        }
    }
}
