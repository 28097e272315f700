//! `fio`: the installed fio runs the jobs of a checked job file inside the target.
//!
//! fio never sees the user's text: what passed the check in the catalogue is written again.
//! It works in the mounted directory, or on a descriptor of the raw device, opened by its checker.

mod result;

use crate::command::child::{Ended, Finished, Limits, not_run, run_program};
use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use crate::target::{self, Access};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::thread::CapabilitySet;
use seekwell_host::caches;
use seekwell_host::confine::Confinement;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::StepOutline;
use seekwell_model::workloads::fio::{FioJob, FioParams};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The steps of a `fio` workload.
#[must_use]
pub fn steps(params: &FioParams, place: Place) -> Vec<Box<dyn Step>> {
    let groups = params.groups();
    let step = |(outline, jobs): (StepOutline, Vec<&FioJob>)| -> Box<dyn Step> {
        let jobs = jobs.into_iter().cloned().collect();
        Box::new(Group { outline, jobs, params: params.clone(), place })
    };
    params.steps().into_iter().zip(groups).map(step).collect()
}

/// Jobs that run at the same time.
#[derive(Debug)]
struct Group {
    outline: StepOutline,
    jobs: Vec<FioJob>,
    params: FioParams,
    place: Place,
}

/// Target of fio.
struct Site {
    folder: PathBuf,
    /// The raw device, open for as long as fio runs.
    device: Option<OwnedFd>,
}

impl Group {
    fn failed(&self, problem: String, output: &str) -> WorkloadError {
        WorkloadError::command(&self.outline.name, problem, output)
    }

    fn site(&self, context: &StepContext<'_>) -> Result<Site, WorkloadError> {
        if context.raw {
            let write = self.jobs.iter().any(FioJob::writes);
            let access = Access { write, direct: false, durable: false };
            let device = target::open_device(context, access, &self.outline.name)?;
            let folder = context.scratch.unwrap_or(Path::new("/")).to_owned();
            return Ok(Site { folder, device: Some(inheritable(&OwnedFd::from(device))?) });
        }
        let Some(mounted) = context.directory else {
            let problem = "has neither a directory nor a raw device";
            let remedy = "mount one, or use raw";
            return Err(WorkloadError::unfit(&self.outline.name, problem, remedy));
        };
        // Files of earlier steps stay, so that a job can read what one before it wrote.
        let folder = mounted.join(self.place.name("fio"));
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(WorkloadError::file("make the directory", &folder)(error))
            }
            _ => Ok(Site { folder, device: None }),
        }
    }

    /// The job file that fio gets.
    fn text(&self, site: &Site) -> String {
        let mut text = String::new();
        for job in &self.jobs {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[{}]", job.name);
            for (key, value) in &job.options {
                let line = match value {
                    _ if key == "filename" && site.device.is_some() => continue,
                    _ if ["stonewall", "wait_for_previous"].contains(&key.as_str()) => continue,
                    // Without the rights of root fio cannot drop a device's cache; it is done before.
                    _ if key == "invalidate" && site.device.is_some() => continue,
                    Some(value) => format!("{key}={value}"),
                    None => key.clone(),
                };
                let _ = writeln!(text, "{line}");
            }
            if let Some(device) = &site.device {
                let _ = writeln!(text, "filename={}\ninvalidate=0", descriptor(device));
            }
        }
        text
    }

    /// Drops the device's cache for the jobs that ask for it (`invalidate`, fio's default). Returns a doubt
    /// where it stays, or comes back before a later loop.
    fn drop_cache(&self, device: &OwnedFd) -> Option<Warning> {
        let asking: Vec<&FioJob> = self.jobs.iter().filter(|job| invalidates(job)).collect();
        if asking.is_empty() {
            return None;
        }
        if let Err(error) = caches::drop_device_buffers(device) {
            let text = format!("the device's cache was not dropped before fio's jobs: {error}");
            return Some(Warning::new(WarningCode::PartlyCached, text));
        }
        let again =
            asking.iter().find(|job| job.option(&["loops"]).is_some_and(|loops| loops != "1"))?;
        let text = format!(
            "the device's cache was dropped before the first loop of job {} alone, not before each",
            again.name
        );
        Some(Warning::new(WarningCode::PartlyCached, text).with_remedy("make each loop a job"))
    }

    fn run_fio(
        &self,
        site: &Site,
        context: &StepContext<'_>,
    ) -> Result<(Finished, String), WorkloadError> {
        let path = &site.folder;
        let mut job = memory("job").map_err(WorkloadError::file("make a job file for", path))?;
        job.write_all(self.text(site).as_bytes())
            .map_err(WorkloadError::file("write a job file for", path))?;
        let mut output = memory("output").map_err(WorkloadError::file("make a file for", path))?;
        let mut command = Command::new("fio");
        if site.device.is_some() && !self.jobs.iter().any(FioJob::writes) {
            // The descriptor alone would not keep root from opening the device once more.
            command.arg("--readonly");
        }
        command
            .arg("--output-format=json+")
            .arg(format!("--output={}", descriptor(&output)))
            .arg(descriptor(&job));
        let limits = Limits {
            timeout: self.params.timeout.map(|time| Duration::from_nanos(time.0)),
            stop: context.stop.as_deref(),
        };
        let finished = run_program(command, path, limits, Some(self.confinement(context)?))
            .map_err(|source| self.failed(not_run("fio", "fio", &source), ""))?;
        let mut text = String::new();
        output
            .rewind()
            .and_then(|()| output.read_to_string(&mut text))
            .map_err(WorkloadError::file("read the output of fio in", path))?;
        Ok((finished, text))
    }

    /// Limits of fio: with the real-time class of I/O it needs the right to it.
    fn confinement(&self, context: &StepContext<'_>) -> Result<Confinement, WorkloadError> {
        let devices = if context.raw { &[context.device][..] } else { &[] };
        let real_time = self
            .jobs
            .iter()
            .flat_map(|job| &job.options)
            .any(|(key, value)| key == "prioclass" && value.as_deref() == Some("1"));
        let confinement = Confinement::new(devices)
            .map_err(|source| self.failed(format!("could not be confined: {source}"), ""))?;
        Ok(match real_time {
            true => confinement.keeping(CapabilitySet::SYS_NICE),
            false => confinement,
        })
    }

    fn check_end(&self, finished: &Finished, text: &str) -> Result<(), WorkloadError> {
        let limit = self.params.timeout.map(|time| time.to_string()).unwrap_or_default();
        let Some(problem) = finished.ended.failure(&format!("was not done after {limit}")) else {
            return Ok(());
        };
        let said = before_json(text, finished);
        let lines: Vec<&str> = said.lines().filter(|line| *line != "{").collect();
        Err(self.failed(format!("(fio) {problem}"), &lines.join("\n")))
    }
}

impl Step for Group {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let site = self.site(context)?;
        let kept = site.device.as_ref().and_then(|device| self.drop_cache(device));
        let (finished, text) = self.run_fio(&site, context)?;
        self.check_end(&finished, &text)?;
        if finished.ended == Ended::Stopped {
            return Ok(StepOutcome {
                elapsed_ns: finished.elapsed_ns,
                cpu_ns: finished.cpu_ns,
                stopped: true,
                ..StepOutcome::default()
            });
        }
        let mut outcome = result::outcome(&text, &self.outline)
            .map_err(|problem| self.failed(format!("(fio) {problem}"), ""))?;
        outcome.warnings.extend(kept);
        outcome.warnings.extend(result::notes(&before_json(&text, &finished)));
        Ok(outcome)
    }
}

/// Everything that fio says besides its JSON: before it, and on standard error.
fn before_json(text: &str, finished: &Finished) -> String {
    let before = text.split("\n{").next().unwrap_or_default();
    format!("{before}\n{}", finished.output.text())
}

/// True for a job whose device's cache is dropped before it, which is fio's default.
fn invalidates(job: &FioJob) -> bool {
    job.option(&["invalidate"]).is_none_or(|value| value.trim() != "0")
}

/// A file without a name that a program which is started inherits.
fn memory(name: &str) -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create(name, MemfdFlags::empty())?))
}

/// The same open file once more, inherited by a program that is started.
fn inheritable(file: &OwnedFd) -> Result<OwnedFd, WorkloadError> {
    let copy =
        rustix::io::dup(file).map_err(WorkloadError::file("keep open", Path::new("the device")))?;
    rustix::io::fcntl_setfd(&copy, rustix::io::FdFlags::empty())
        .map_err(WorkloadError::file("keep open", Path::new("the device")))?;
    Ok(copy)
}

/// The name of an inherited file in the program that inherits it.
fn descriptor(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests;
