use super::*;
use crate::layers::{Layer, layer_kind};

const CLAIMED: &str = "/dev/disk/by-id/claimed";

fn ram() -> Backing {
    Backing::Ram { size: Bytes(1 << 25), sector: Bytes(512) }
}

fn stack(filesystem: &str, layers: &[&str]) -> Stack {
    let layer = |kind: &&str| Layer {
        kind: (*kind).to_owned(),
        devices: layer_kind(kind).unwrap().definition().usual_devices,
        fast: (*kind == "cache").then_some(ram()),
        options: BTreeMap::new(),
    };
    Stack {
        label: filesystem.to_owned(),
        device: Device {
            name: "claimed".to_owned(),
            backing: Backing::Disk { path: CLAIMED.into() },
            base: "claimed".to_owned(),
            settings: DeviceSettings::default(),
            price: None,
        },
        layers: Layers { name: "layers".to_owned(), parts: layers.iter().map(layer).collect() },
        journal: Journal::internal(),
        filesystem: Filesystem {
            name: filesystem.to_owned(),
            kind: filesystem.to_owned(),
            mkfs: vec![],
            mount: vec![],
            discard: false,
            overlay: None,
            nfs: None,
            export: None,
        },
        scheduler: Scheduler::plain("none"),
        memory: Memory::quarter(),
    }
}

/// Kinds of devices that a stack writes to: `d` the claimed disk, `f` the device of a cache.
fn written(stack: &Stack) -> String {
    let letter = |backing: &Backing| match backing {
        Backing::Disk { path } if path.as_os_str() == CLAIMED => 'd',
        _ => 'f',
    };
    stack.written().map(letter).collect()
}

#[test]
fn only_stacks_on_the_device_write_to_it() {
    for (filesystem, layers, expected) in [
        ("ext4", &[][..], "d"),
        ("raw", &[], "d"),
        ("ext4", &["crypt"], "d"),
        ("ext4", &["cache"], "df"),
        ("tmpfs", &[], ""),
        ("nfs", &[], ""),
        ("tmpfs", &["cache"], ""),
        ("ext4", &["zram"], ""),
        ("ext4", &["zram", "crypt"], ""),
        ("ext4", &["zram", "cache"], "f"),
    ] {
        assert_eq!(written(&stack(filesystem, layers)), expected, "{filesystem} over {layers:?}");
    }
}
