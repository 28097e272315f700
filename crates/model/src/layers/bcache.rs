//! bcache: a cache on a fast device before a slow one, made by make-bcache.

use super::{Action, Fast, LabKernels, Lasting, Layer, LayerDefinition, LayerKind, Naming, Site};
use crate::field::field;
use crate::units::Bytes;
use crate::workloads::Program;

/// A bcache device.
#[derive(Debug)]
pub(super) struct Bcache;

/// Buckets that a cache has at least, where it is large enough.
const LEAST_BUCKETS: u64 = 2048;

static BCACHE: LayerDefinition = LayerDefinition {
    fast: Fast::Must("is the cache"),
    programs: &[Program { name: "make-bcache", package: "bcache-tools" }],
    ..LayerDefinition::new(
        "bcache",
        "bcache: a small fast device keeps what is read and written at random, in a log of its own; sequential I/O goes past it.",
        (1, 1, 1),
        &[
            field!("mode": Choice(&["writethrough", "writeback", "writearound"]), default "\"writethrough\"",
                "`writethrough`: a write is done when the slow device has it too. `writeback`: when the cache has it. `writearound`: writes go past the cache."),
            field!("sequential_cutoff": size(Bytes(0), Bytes::gib(1)), default "\"4MiB\"",
                "Sequential I/O goes past the cache once it is so long; 0 caches all of it."),
        ],
        ("CONFIG_BCACHE", "bcache", LabKernels::Full),
    )
};

impl Bcache {
    /// Id of the cache, by which the kernel names it in sysfs.
    fn cache_id(site: &Site<'_>) -> String {
        format!("5ee40e11-0000-4000-8000-{:012x}", site.index)
    }

    /// Bytes of a bucket: 512 KiB, as make-bcache takes, or less, because the kernel refuses a cache of
    /// fewer than 1,024 buckets.
    fn bucket(site: &Site<'_>) -> u64 {
        let bytes = (site.second().sectors * 512 / LEAST_BUCKETS).max(1);
        let power = 1 << bytes.ilog2();
        Bytes(power).clamp(Bytes::kib(16), Bytes::kib(512)).0
    }

    fn settings(site: &Site<'_>) -> [Action; 2] {
        let folder = format!("/sys/block/bcache{}/bcache", site.index);
        [
            Action::set(format!("{folder}/cache_mode"), site.layer.text("mode")),
            Action::set(
                format!("{folder}/sequential_cutoff"),
                site.layer.size("sequential_cutoff").0.to_string(),
            ),
        ]
    }
}

impl LayerKind for Bcache {
    fn definition(&self) -> &LayerDefinition {
        &BCACHE
    }

    fn naming(&self) -> Naming {
        Naming::Kernel
    }

    fn node(&self, site: &Site<'_>) -> String {
        format!("/dev/bcache{}", site.index)
    }

    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action> {
        let (slow, fast) = (site.first().node, site.second().node);
        let mut actions = Vec::new();
        if fresh {
            let id = format!("--cset-uuid={}", Self::cache_id(site));
            let bucket = format!("--bucket={}k", Self::bucket(site) >> 10);
            let arguments = ["--wipe-bcache", "--block=4k", &bucket, &id, "-B", &slow, "-C", &fast];
            actions.push(Action::run("make-bcache", arguments));
        }
        actions.extend([fast, slow].map(|node| Action::set("/sys/fs/bcache/register", node)));
        actions.extend(Self::settings(site));
        actions
    }

    fn close(&self, site: &Site<'_>) -> Vec<Action> {
        let cache = format!("/sys/fs/bcache/{}/stop", Self::cache_id(site));
        vec![
            Action::set(format!("/sys/block/bcache{}/bcache/stop", site.index), "1"),
            Action::set(cache, "1"),
        ]
    }

    fn power_cut(&self, layer: &Layer) -> Option<String> {
        (layer.text("mode") == "writeback")
            .then(|| "what only the cache has is lost when the cache's device fails".to_owned())
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let (slow, fast) = (site.first().node, site.second().node);
        let bucket = Self::bucket(site) >> 10;
        let (mode, cutoff) = (site.layer.text("mode"), site.layer.size("sequential_cutoff").0);
        let index = site.index;
        Lasting {
            steps: vec![
                (
                    "make the cached device (destroys what is on both)",
                    vec![format!("make-bcache --block=4k --bucket={bucket}k -B {slow} -C {fast}")],
                ),
                (
                    "udev rule, in /etc/udev/rules.d/61-seekwell-bcache.rules",
                    vec![format!(
                        "ACTION==\"add|change\", KERNEL==\"bcache*\", ATTR{{bcache/cache_mode}}=\"{mode}\", ATTR{{bcache/sequential_cutoff}}=\"{cutoff}\""
                    )],
                ),
            ],
            back: vec![
                format!(
                    "echo 1 > /sys/block/bcache{index}/bcache/detach, wait until bcache/state is `no cache`"
                ),
                "rm /etc/udev/rules.d/61-seekwell-bcache.rules".to_owned(),
            ],
            node: format!("/dev/bcache{index}"),
        }
    }
}
