//! A lab as objects of Kubernetes, for a cluster that this machine need not reach.

use crate::devices::own_file;
use crate::error::SessionError;
use crate::resolved::LabText;
use seekwell_cluster::Manifest;
use seekwell_model::lab::Lab;
use seekwell_model::stack::{Backing, Device};
use seekwell_model::workloads::WorkloadParams;

#[cfg(test)]
mod tests;

/// Pods of a lab.
#[derive(Clone, Debug)]
pub struct InCluster {
    /// Image of the containers.
    pub image: String,
    /// Number of workers.
    pub workers: u32,
    /// Claim of the shared volume; `None` makes one.
    pub claim: Option<String>,
    /// Storage class of a claim that is made.
    pub storage_class: Option<String>,
    /// Further options of `seekwell run`.
    pub options: Vec<String>,
}

/// The objects that run a lab, as YAML.
///
/// # Errors
/// When the lab cannot be read, or names files: the objects hold its text alone.
pub fn manifest(lab: &LabText<'_>, pods: InCluster) -> Result<String, SessionError> {
    let file = seekwell_spec::read_lab_bytes(&lab.bytes, &lab.name)?;
    if let Some(named) = named_file(&file.lab) {
        return Err(SessionError::ManifestFile { named });
    }
    let is_on_host = pods.options.iter().any(|word| word == "host" || word == "--place=host");
    let replaced = is_on_host
        || pods.options.iter().any(|word| word.starts_with("--model") || word.starts_with("--on"));
    let of_host = |device: &&Device| !matches!(device.backing, Backing::Model { .. });
    if let Some(device) = file.lab.devices.iter().find(of_host).filter(|_| !replaced) {
        return Err(SessionError::ManifestDevice { device: device.name.clone() });
    }
    let InCluster { image, workers, claim, storage_class, options } = pods;
    let text = String::from_utf8_lossy(&lab.bytes).into_owned();
    let lab = file.lab.name;
    Ok(Manifest { lab, text, options, image, workers, claim, storage_class }.yaml())
}

/// The first file that a lab names: a device file of the user's own, or a trace.
fn named_file(lab: &Lab) -> Option<String> {
    let devices = lab.devices.iter().map(|device| &device.backing);
    let outside = lab.journals.iter().filter_map(|journal| journal.external.as_ref());
    let device = devices.chain(outside).find_map(|backing| match backing {
        Backing::Model { model, .. } => own_file(model).map(|(path, _)| path.to_owned()),
        _ => None,
    });
    let parts = lab.workloads.iter().flat_map(|one| one.parts.iter().chain(&one.beside));
    let trace = || {
        parts.into_iter().find_map(|part| match part {
            WorkloadParams::Replay(replay) => Some(replay.trace.display().to_string()),
            _ => None,
        })
    };
    device.or_else(trace)
}
