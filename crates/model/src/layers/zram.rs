//! zram: a device in compressed memory.

use super::{
    Action, Control, LabKernels, Lasting, Layer, LayerDefinition, LayerKind, Naming, Site,
};
use crate::field::field;
use crate::units::Bytes;

/// A device in compressed memory.
#[derive(Debug)]
pub(super) struct Zram;

static ZRAM: LayerDefinition = LayerDefinition {
    programs: &[],
    is_volatile: true,
    ..LayerDefinition::new(
        "zram",
        "A device in compressed memory, in the place of the stack's device, which stays unused. Its content ends with the trial. Also on the host, at most half of the memory.",
        (1, 1, 1),
        &[
            field!("algorithm": Choice(&["lzo-rle", "lz4", "zstd"]), default "\"lzo-rle\"",
                "Compression."),
            field!("size": size(Bytes::mib(1), Bytes(1 << 44)),
                "Size of the device, before compression. Without it that of the stack's device."),
        ],
        ("CONFIG_ZRAM", "zram", LabKernels::Layers),
    )
};

impl Zram {
    fn size(site: &Site<'_>) -> u64 {
        match site.layer.size("size") {
            Bytes(0) => site.first().sectors * 512,
            size => size.0,
        }
    }
}

impl LayerKind for Zram {
    fn definition(&self) -> &LayerDefinition {
        &ZRAM
    }

    fn naming(&self) -> Naming {
        Naming::Added(Control { class: "zram-control", prefix: "zram" })
    }

    fn usable(&self, layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        match layer.size("size") {
            Bytes(0) => device,
            size => size,
        }
    }

    fn node(&self, site: &Site<'_>) -> String {
        format!("/dev/zram{}", site.index)
    }

    fn bring_up(&self, site: &Site<'_>, _fresh: bool) -> Vec<Action> {
        let folder = format!("/sys/block/zram{}", site.index);
        vec![
            Action::set(format!("{folder}/comp_algorithm"), site.layer.text("algorithm")),
            Action::set(format!("{folder}/disksize"), Self::size(site).to_string()),
        ]
    }

    fn close(&self, site: &Site<'_>) -> Vec<Action> {
        vec![Action::set(format!("/sys/block/zram{}/reset", site.index), "1")]
    }

    fn power_cut(&self, _layer: &Layer) -> Option<String> {
        Some("everything: it is in memory".to_owned())
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let (algorithm, size) = (site.layer.text("algorithm"), Self::size(site));
        let node = format!("/dev/zram{}", site.index);
        Lasting {
            steps: vec![(
                "after every boot, before it is formatted and mounted",
                vec![format!("zramctl --algorithm {algorithm} --size {size} {node}")],
            )],
            back: vec![format!("umount it, then zramctl --reset {node}")],
            node,
        }
    }
}
