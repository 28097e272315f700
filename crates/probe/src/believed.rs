//! Classes of requests that no experiment used, as the device and the found file's model serve them.

use std::fmt::Write as _;

use super::tape::{CUT, Compared, Tape};
use seekwell_device::accuracy::demerit;
use seekwell_device::withheld::{BELIEVED, Measurements, depths};

/// Prediction of what no fit saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    /// Measurements of the experiments.
    pub measured: u64,
    /// Those of them that were sealed.
    pub withheld: u64,
    /// By class of request.
    pub classes: Vec<ClassAccuracy>,
    /// The time was over before all requests were made that no experiment saw.
    pub is_cut: bool,
}

/// Prediction of one class of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassAccuracy {
    /// Name for people.
    pub name: &'static str,
    /// Requests at a time.
    pub depth: u32,
    /// Requests.
    pub count: u64,
    /// Mean response of the device in nanoseconds.
    pub device_ns: f64,
    /// Mean response of the file's model in nanoseconds.
    pub model_ns: f64,
    /// Requests a second of the device.
    pub per_second: f64,
    /// Root mean square distance of the two distributions as a part of the device's mean.
    pub demerit: f64,
}

impl Accuracy {
    pub(super) fn new(tape: &Tape, compared: Vec<Compared>) -> Self {
        let classes = compared.into_iter().filter_map(of_class).collect();
        Self { measured: tape.measured(), withheld: tape.withheld(), classes, is_cut: false }
    }

    /// Share of the measurements that was withheld, in words.
    pub(super) fn share(&self) -> String {
        Measurements { made: self.measured, withheld: self.withheld }.sentence()
    }

    /// This share and the classes as comments of a device file.
    pub(super) fn comments(&self) -> String {
        let mut text = format!("# Withheld {}:\n", self.share());
        for class in &self.classes {
            let doubt = if class.is_believed() { "" } else { "; do not believe this class" };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# {} {} at {}: device {:.3} ms, this file {:.3} ms, demerit {:.1} %{doubt}",
                class.count,
                class.name,
                depths(class.name, class.depth),
                class.device_ns / 1e6,
                class.model_ns / 1e6,
                class.demerit * 100.0
            );
        }
        if self.is_cut {
            let _ = writeln!(text, "# {CUT}.");
        }
        text
    }

    /// Tables for a device file, which `device show` and reports read.
    pub(super) fn tables(&self) -> String {
        let mut text =
            format!("[measurements]\nmade = {}\nwithheld = {}\n\n", self.measured, self.withheld);
        for class in &self.classes {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "[[withheld]]\nclass = \"{}\"\ndepth = {}\ncount = {}\ndevice_ms = {:.4}\nmodel_ms = {:.4}\ndemerit = {:.4}\n",
                class.name,
                class.depth,
                class.count,
                class.device_ns / 1e6,
                class.model_ns / 1e6,
                class.demerit
            );
        }
        text
    }
}

impl ClassAccuracy {
    /// True when the file predicts the class well enough to use it.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.demerit <= BELIEVED
    }
}

/// The comparison of one class; `None` when nothing was measured.
fn of_class(compared: Compared) -> Option<ClassAccuracy> {
    let Compared { name, depth, device_ns, model_ns, elapsed_ns } = compared;
    let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len().max(1) as f64;
    let found = demerit(&device_ns, &model_ns)?;
    let count = device_ns.len() as u64;
    Some(ClassAccuracy {
        name,
        depth,
        count,
        device_ns: mean(&device_ns),
        model_ns: mean(&model_ns),
        per_second: count as f64 / elapsed_ns.max(1) as f64 * 1e9,
        demerit: found.relative(),
    })
}
