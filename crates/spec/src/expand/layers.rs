//! Layers that a backend cannot make, and the bytes that they leave to a filesystem.

use super::Axes;
use super::journals::size_of;
use super::reasons::{Why, has_program, not_installed};
use seekwell_model::layers::{LabKernels, Layer, Layers};
use seekwell_model::plan::BackendFacts;
use seekwell_model::stack::{Backing, Device};
use seekwell_model::units::Bytes;

/// Returns why the backend cannot make one of these layers.
pub(super) fn not_here(layers: &Layers, facts: &BackendFacts) -> Why {
    layers.parts.iter().find_map(|layer| lack(layer, facts))
}

fn lack(layer: &Layer, facts: &BackendFacts) -> Why {
    let definition = layer.find()?.definition();
    // Unknown facts refuse nothing.
    if facts.kernel_filesystems.is_empty() {
        return None;
    }
    if !facts.layers.iter().any(|known| known == definition.name) {
        let name = definition.name;
        let needed = definition.lab_kernels;
        if let Some(kernel) = &facts.lab_kernel {
            let why = format!("the lab kernel of the set {} has no layer {name}", kernel.set);
            let of_layers = needed == LabKernels::Layers;
            let build = if of_layers { &kernel.build_layers } else { &kernel.build_full };
            return Some((why, build.clone()));
        }
        let why = format!("the layer {name} is not available here");
        let remedy = match needed {
            LabKernels::Every => "run the lab with --place virtual".to_owned(),
            LabKernels::Full | LabKernels::Layers => {
                "run the lab with --place virtual, on the lab kernel of seekwell kernel build --set layers"
                    .to_owned()
            }
        };
        return Some((why, remedy));
    }
    let missing = definition.programs.iter().find(|one| !has_program(facts, one.name))?;
    not_installed(missing.name, missing.package)
}

/// Returns why layers cannot be on a device: only images and models can be had several times.
pub(super) fn not_on(layers: &Layers, device: &Device) -> Why {
    let is_disk =
        |backing: &Backing| matches!(backing, Backing::Disk { .. } | Backing::Partition { .. });
    let why = if is_disk(&device.backing) && layers.devices() > 1 {
        format!("it joins {} devices, and this is one disk", layers.devices())
    } else if layers.fast().into_iter().any(is_disk) {
        "its cache is a disk, which only the stack's own device can be".to_owned()
    } else {
        return None;
    };
    Some((why, "use loop, ram or model, of which every device of the layers is made".to_owned()))
}

/// Bytes that each device offers below each value of the layer axis; `None` where they are unknown.
pub(super) fn usable(axes: &Axes<'_>, facts: &BackendFacts) -> Vec<Vec<Option<Bytes>>> {
    let size = |backing: &_| size_of(backing, facts);
    let of_device = |device: &Device| {
        let whole = size(&device.backing);
        axes.lab.layers.iter().map(|layers| layers.usable(whole?, &size)).collect()
    };
    axes.lab.devices.iter().map(of_device).collect()
}
