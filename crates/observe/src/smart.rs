//! SMART data as `smartctl -j -a` gives it.

use crate::error::ObserveError;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A device that does not answer within this time is not waited for any longer. Drives that sleep
/// take up to 15 s to start.
pub const SMART_TIMEOUT: Duration = Duration::from_secs(30);

/// Bits of smartctl's exit status that mean "no answer from the device" (smartctl(8), RETURN
/// VALUES): the command line did not parse, the device could not be opened.
const NO_ANSWER: i64 = 0b11;

/// Sections of smartctl's output of which at least one must be there.
const SECTIONS: [&str; 5] = [
    "smart_status",
    "ata_smart_attributes",
    "nvme_smart_health_information_log",
    "scsi_grown_defect_list",
    "scsi_error_counter_log",
];

/// Reads the SMART data of a device. `None` is "unknown": no such program, a device without SMART
/// (loop devices, RAM, most USB sticks), or no answer.
///
/// `program` is a path, or a name that is searched in the path of the process.
///
/// # Errors
/// When the program runs and its output is not JSON, or it does not end in time. Both are worth a
/// warning, never a failed trial.
pub fn read_smart(
    program: &Path,
    device: &Path,
    timeout: Duration,
) -> Result<Option<Value>, ObserveError> {
    let spawned = Command::new(program)
        .args(["-j", "-a"])
        .arg(device)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ObserveError::io("start", program)(error)),
    };
    let output = output_in_time(child, program, timeout)?;
    let value: Value = serde_json::from_slice(&output).map_err(|error| ObserveError::Program {
        program: program.display().to_string(),
        problem: format!(
            "answered for {} with something other than JSON ({error}); install smartmontools 7.0 \
             or newer",
            device.display()
        ),
    })?;
    Ok(answered(&value).then_some(value))
}

/// Returns true if the device itself answered.
fn answered(value: &Value) -> bool {
    let status = value.pointer("/smartctl/exit_status").and_then(Value::as_i64).unwrap_or(0);
    status & NO_ANSWER == 0 && SECTIONS.iter().any(|section| value.get(section).is_some())
}

fn output_in_time(
    mut child: Child,
    program: &Path,
    timeout: Duration,
) -> Result<Vec<u8>, ObserveError> {
    let mut pipe = child.stdout.take();
    // Read in a second thread: a full pipe would keep the program from ending.
    let reader = std::thread::spawn(move || {
        let mut output = Vec::new();
        pipe.as_mut().map_or(Ok(0), |pipe| pipe.read_to_end(&mut output)).map(|_| output)
    });
    let begun = Instant::now();
    while child.try_wait().map_err(ObserveError::io("wait for", program))?.is_none() {
        if begun.elapsed() > timeout {
            end(&mut child);
            return Err(ObserveError::Program {
                program: program.display().to_string(),
                problem: format!("gave no answer within {} s", timeout.as_secs_f64()),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    match reader.join() {
        Ok(output) => output.map_err(ObserveError::io("read", program)),
        Err(_) => Ok(Vec::new()),
    }
}

/// Kills the program and collects it. A program that is stuck in the kernel cannot be killed: it is
/// left, and the reader ends with the pipe.
fn end(child: &mut Child) {
    let _ = child.kill();
    for _ in 0..100 {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests;
