//! Software RAID of the kernel (md), made by mdadm.

use super::{Action, Fast, LabKernels, Lasting, Layer, LayerDefinition, LayerKind, Naming, Site};
use crate::field::{Field, field};
use crate::units::Bytes;
use crate::workloads::Program;

/// A level of md.
#[derive(Debug)]
pub(super) struct Md {
    definition: LayerDefinition,
    level: &'static str,
}

const PROGRAMS: &[Program] = &[Program { name: "mdadm", package: "mdadm" }];

const CHUNK: Field = field!("chunk": size(Bytes::kib(4), Bytes::mib(64)), default "\"512KiB\"",
    "Bytes on one device before the next device follows: a power of two. mdadm's own default is 512 KiB.");

const BITMAP: Field = field!("bitmap": Choice(&["internal", "none"]), default "\"internal\"",
    "Write-intent bitmap. `internal`: after a power cut only regions with writes under way are compared; mdadm's default above 100 GB. `none`: the whole array is.");

const STRIPE_CACHE: Field = field!("stripe_cache": integer(17, 32_768), default "256",
    "Stripes kept in memory, a page per device each (`stripe_cache_size`).");

const LAYOUT: Field = field!("layout": Choice(&["near", "far", "offset"]), default "\"near\"",
    "Places of the two copies: `near` side by side, `far` in the other half of the device, `offset` one chunk further.");

const STATE: Field = field!("state": Choice(&["whole", "degraded", "rebuilding", "fails-in-cut"]), default "\"whole\"",
    "`degraded`: the last device has failed. `rebuilding`: the array fills its empty replacement from mkfs on, at the kernel's pace. `fails-in-cut`: the last device does not survive a power cut (`[trial] power_cut`).");

const PARITY: &[Field] = &[CHUNK, BITMAP, STRIPE_CACHE, STATE];

const fn definition(
    name: &'static str,
    doc: &'static str,
    (least_devices, usual_devices): (u32, u32),
    fields: &'static [Field],
    fast: Fast,
    (kernel_config, module): (&'static str, &'static str),
) -> LayerDefinition {
    LayerDefinition {
        fast,
        programs: PROGRAMS,
        ..LayerDefinition::new(
            name,
            doc,
            (least_devices, 12, usual_devices),
            fields,
            (kernel_config, module, LabKernels::Every),
        )
    }
}

pub(super) static RAID0: Md = Md {
    level: "0",
    definition: definition(
        "raid0",
        "md RAID 0: chunks spread over the devices, no redundancy.",
        (2, 2),
        &[CHUNK],
        Fast::No,
        ("CONFIG_MD_RAID0", "raid0"),
    ),
};

pub(super) static RAID1: Md = Md {
    level: "1",
    definition: definition(
        "raid1",
        "md RAID 1: every device has everything.",
        (2, 2),
        &[BITMAP, STATE],
        Fast::No,
        ("CONFIG_MD_RAID1", "raid1"),
    ),
};

const JOURNAL: Fast = Fast::May("write journal, which closes the write hole");

pub(super) static RAID5: Md = Md {
    level: "5",
    definition: definition(
        "raid5",
        "md RAID 5: chunks spread over the devices with one parity, so that one device may fail.",
        (3, 4),
        PARITY,
        JOURNAL,
        ("CONFIG_MD_RAID456", "raid456"),
    ),
};

pub(super) static RAID6: Md = Md {
    level: "6",
    definition: definition(
        "raid6",
        "md RAID 6: as RAID 5 with two parities, so that two devices may fail.",
        (4, 4),
        PARITY,
        JOURNAL,
        ("CONFIG_MD_RAID456", "raid456"),
    ),
};

pub(super) static RAID10: Md = Md {
    level: "10",
    definition: definition(
        "raid10",
        "md RAID 10: chunks spread over the devices, two copies of each.",
        (2, 4),
        &[CHUNK, BITMAP, LAYOUT, STATE],
        Fast::No,
        ("CONFIG_MD_RAID10", "raid10"),
    ),
};

impl Md {
    fn has_parity(&self) -> bool {
        matches!(self.level, "5" | "6")
    }

    /// The last device, if the array is to be without it at first.
    fn late(site: &Site<'_>) -> Option<String> {
        ["degraded", "rebuilding"]
            .contains(&site.layer.text("state"))
            .then(|| site.nodes().last())
            .flatten()
    }

    /// Arguments that describe the array, the same for a trial and for the user, with its devices.
    fn shape(&self, site: &Site<'_>, devices: impl Iterator<Item = String>) -> Vec<String> {
        let layer = site.layer;
        let mut arguments = vec![
            format!("--level={}", self.level),
            format!("--raid-devices={}", site.below.len()),
            "--metadata=1.2".to_owned(),
        ];
        if !layer.text("chunk").is_empty() {
            arguments.push(format!("--chunk={}K", layer.size("chunk").0 >> 10));
        }
        match layer.text("layout") {
            "" => {}
            layout => arguments.push(format!("--layout={}2", &layout[..1])),
        }
        match site.fast {
            // A write journal takes the place of the bitmap.
            Some(journal) => arguments.push(format!("--write-journal={}", journal.node)),
            None if !layer.text("bitmap").is_empty() => {
                arguments.push(format!("--bitmap={}", layer.text("bitmap")));
            }
            None => {}
        }
        arguments.extend(devices);
        arguments
    }

    /// Starts the array from these devices.
    fn assemble(
        &self,
        site: &Site<'_>,
        force: Option<&str>,
        nodes: impl Iterator<Item = String>,
    ) -> Vec<Action> {
        let words = ["--assemble", &self.node(site), "--run", "--quiet"].map(str::to_owned);
        let journal = site.fast.map(|journal| journal.node.clone());
        let arguments = words.into_iter().chain(force.map(str::to_owned)).chain(nodes);
        let mut actions = vec![Action::run("mdadm", arguments.chain(journal))];
        actions.extend(self.settings(site));
        actions
    }

    fn settings(&self, site: &Site<'_>) -> Option<Action> {
        let stripes = site.layer.text("stripe_cache");
        let path = format!("/sys/block/md{}/md/stripe_cache_size", site.index);
        self.has_parity().then(|| Action::set(path, stripes))
    }
}

impl LayerKind for Md {
    fn definition(&self) -> &LayerDefinition {
        &self.definition
    }

    fn naming(&self) -> Naming {
        Naming::Array
    }

    fn usable(&self, layer: &Layer, device: Bytes, _fast: Option<Bytes>) -> Bytes {
        let devices = u64::from(layer.devices);
        Bytes(match self.level {
            "0" => device.0 * devices,
            "1" => device.0,
            "5" => device.0 * devices.saturating_sub(1),
            "6" => device.0 * devices.saturating_sub(2),
            _ => device.0 * devices / 2,
        })
    }

    fn node(&self, site: &Site<'_>) -> String {
        format!("/dev/md{}", site.index)
    }

    /// `--assume-clean`: the devices of a trial are empty or equal, so that a resync would change
    /// nothing, and a resync under way would be measured with the workload.
    fn bring_up(&self, site: &Site<'_>, fresh: bool) -> Vec<Action> {
        let late = Self::late(site);
        if !fresh {
            let failed = late.filter(|_| site.layer.text("state") == "degraded");
            let nodes = site.nodes().filter(|node| failed.as_ref() != Some(node));
            return self.assemble(site, None, nodes);
        }
        let mut arguments = vec![
            "--create".to_owned(),
            self.node(site),
            "--run".to_owned(),
            "--quiet".to_owned(),
            "--homehost=any".to_owned(),
            format!("--name={}", site.name()),
        ];
        if self.level != "0" {
            arguments.push("--assume-clean".to_owned());
        }
        let missing = |node| if late.as_ref() == Some(&node) { "missing".to_owned() } else { node };
        arguments.extend(self.shape(site, site.nodes().map(missing)));
        let mut actions = vec![Action::run("mdadm", arguments)];
        actions.extend(self.settings(site));
        if let Some(device) = late.filter(|_| site.layer.text("state") == "rebuilding") {
            let words = ["--manage", "--quiet", &self.node(site), "--add", &device];
            actions.push(Action::run("mdadm", words));
        }
        actions
    }

    /// The kernel refuses an array that lacks a device and was not stopped, unless it is forced.
    fn recover(&self, site: &Site<'_>) -> Vec<Action> {
        let failed = match site.layer.text("state") {
            "degraded" | "fails-in-cut" => site.nodes().last(),
            "rebuilding" => None,
            _ => return self.open(site),
        };
        let nodes = site.nodes().filter(|node| failed.as_ref() != Some(node));
        self.assemble(site, Some("--force"), nodes)
    }

    fn close(&self, site: &Site<'_>) -> Vec<Action> {
        vec![Action::run("mdadm", ["--stop".to_owned(), "--quiet".to_owned(), self.node(site)])]
    }

    fn power_cut(&self, layer: &Layer) -> Option<String> {
        (self.has_parity() && layer.fast.is_none()).then(|| {
            "a power cut during a write with a device missing can damage other data of the stripe (write hole)"
                .to_owned()
        })
    }

    fn lasting(&self, site: &Site<'_>) -> Lasting {
        let node = self.node(site);
        let create = format!("mdadm --create {node} {}", self.shape(site, site.nodes()).join(" "));
        let mut steps = vec![
            ("make the array (destroys what is on its devices)", vec![create]),
            (
                "assemble it at boot",
                vec![
                    "mdadm --detail --scan >> /etc/mdadm/mdadm.conf".to_owned(),
                    "update-initramfs -u".to_owned(),
                ],
            ),
        ];
        if self.has_parity() {
            let stripes = site.layer.text("stripe_cache");
            let rule = format!(
                "ACTION==\"add|change\", KERNEL==\"md*\", ATTR{{md/stripe_cache_size}}=\"{stripes}\""
            );
            steps.push(("udev rule, in /etc/udev/rules.d/61-seekwell-md.rules", vec![rule]));
        }
        let mut back = vec![format!("mdadm --stop {node}")];
        let nodes: Vec<String> =
            site.nodes().chain(site.fast.map(|one| one.node.clone())).collect();
        back.push(format!("mdadm --zero-superblock {}", nodes.join(" ")));
        back.push("remove its line from /etc/mdadm/mdadm.conf".to_owned());
        Lasting { steps, back, node }
    }
}
