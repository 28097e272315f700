//! `seekwell bench`: one workload now, without a lab.

use crate::bench_flags;
use crate::failure::{Exit, Failure};
use crate::{stop, terminal};
use clap::ArgMatches;
use seekwell_host::guard::{self, Context, Purpose, WriteToken};
use seekwell_model::units::Bytes;
use seekwell_model::warning::Warning;
use seekwell_model::workloads::{WorkloadKind, WorkloadParams, workload_kind};
use seekwell_observe::counters::{DeviceCounters, totals_between};
use seekwell_observe::marks::busy_before;
use seekwell_observe::watched::Watched;
use seekwell_session::Machine;
use seekwell_workload::bench::BenchTarget;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Runs the kind that was named on the target that was named.
///
/// # Errors
/// When the flags do not fit, the target cannot be used, or writing to it is refused.
pub fn run(machine: &Machine, matches: &ArgMatches) -> Result<Exit, Failure> {
    let Some((name, matches)) = matches.subcommand() else {
        return Err(Failure::Usage(
            "name a kind, for example: seekwell bench seek TARGET".to_owned(),
        ));
    };
    let Some(kind) = workload_kind(name) else {
        return Err(Failure::Usage(format!("unknown kind '{name}'")));
    };
    bench(machine, kind, matches)
}

fn bench(
    machine: &Machine,
    kind: &'static WorkloadKind,
    matches: &ArgMatches,
) -> Result<Exit, Failure> {
    let params =
        bench_flags::params(kind, matches).map_err(|error| Failure::Usage(error.to_string()))?;
    let Some(path) = matches.get_one::<PathBuf>("target") else {
        return Err(Failure::Usage("name a file, device or directory".to_owned()));
    };
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or(1);
    // The folder in a directory is removed, and what was overwritten for a test is restored.
    let stop = stop::flag()?;
    let writes = params.steps().iter().any(|step| step.measured && step.writes);
    // In a directory everything is written to a new folder, which no file of anybody is in.
    let opens = writes && !path.is_dir();
    let token = opens.then(|| open_for_writing(machine, path)).transpose()?;
    let writable = token.map(|token: WriteToken| token.open(false)).transpose()?;
    let target = BenchTarget { path, writable: writable.as_ref(), length: used(&params) };
    let busy = busy(path);
    let result = seekwell_workload::bench::bench(&params, target, seed, Some(Arc::clone(&stop)));
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Error("stopped; nothing was kept".to_owned()));
    }
    let mut result = result?;
    result.warnings.splice(0..0, busy);
    if matches.get_flag("json") {
        terminal::json(&result)?;
    } else {
        terminal::data(&seekwell_report::bench_text(&result));
    }
    Ok(Exit::Done)
}

/// Time that a target is observed before it is measured.
const LOOK: Duration = Duration::from_millis(200);

/// Warning about a block device that other processes use. `None` for files: their device cannot always
/// be determined.
fn busy(path: &Path) -> Option<Warning> {
    let root = Path::new("/");
    let is_device = path.metadata().is_ok_and(|facts| facts.file_type().is_block_device());
    let name = is_device.then(|| Watched::find(root, path).ok()).flatten()?.kernel_name;
    let before = DeviceCounters::read(root, &name).ok()?;
    std::thread::sleep(LOOK);
    let after = DeviceCounters::read(root, &name).ok()?;
    let seen = totals_between(&before, &after)?;
    busy_before(&name, &seen, u64::try_from(LOOK.as_millis()).unwrap_or(u64::MAX))
}

/// Length of the used part of a file or device.
fn used(params: &WorkloadParams) -> Option<Bytes> {
    match params {
        WorkloadParams::Io(io) => io.file_size,
        WorkloadParams::Sweep(sweep) => sweep.each.file_size,
        WorkloadParams::SeekRw(seekrw) => seekrw.each.file_size,
        _ => None,
    }
}

/// Opens a target for writing when the guard lets it pass: a claimed device, never a file.
fn open_for_writing(machine: &Machine, target: &Path) -> Result<WriteToken, Failure> {
    let context = Context { claims: machine.claims(), run_file: None };
    Ok(guard::check(&machine.system, target, Purpose::Write, &context)?.permit()?)
}
