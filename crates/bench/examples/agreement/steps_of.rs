//! Steps of a workload one by one, where a bench would count too much.

use crate::place::Place;
use seekwell_model::workloads::WorkloadParams;
use seekwell_workload::{Step, StepContext, StepOutcome};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs the step with this name.
pub fn run(steps: &mut [Box<dyn Step>], name: &str, place: &Place, round: u64) -> StepOutcome {
    let step = steps.iter_mut().find(|step| step.outline().name == name).unwrap();
    let context = StepContext {
        directory: Some(&place.directory),
        device: &place.directory_device,
        device_file: None,
        raw: false,
        seed: round,
        stop: None,
        device_bytes: 1 << 30,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    };
    step.run(&context).unwrap()
}

/// The steps of a workload.
pub fn of(params: &WorkloadParams) -> Vec<Box<dyn Step>> {
    seekwell_workload::steps(params)
}

/// Brings everything onto the device: the next run begins with nothing to write back.
pub fn sync(directory: &Path) {
    rustix::fs::syncfs(std::fs::File::open(directory).unwrap()).unwrap();
}

/// Runs a command of the shell; gives its time in ns and what it printed.
pub fn timed(command: &str) -> (f64, String) {
    let begin = Instant::now();
    let output = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let ns = begin.elapsed().as_nanos() as f64;
    assert!(output.status.success(), "{command}");
    (ns, String::from_utf8(output.stdout).unwrap())
}

/// Bytes that a block device was asked to write so far.
pub fn written_bytes(device: &Path) -> u64 {
    let name = device.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    text.split_whitespace().nth(6).unwrap().parse::<u64>().unwrap() * 512
}
