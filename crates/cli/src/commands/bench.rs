//! `seekwell bench`: one workload now, without a lab.

use crate::bench_flags;
use crate::failure::{Exit, Failure};
use crate::{output, stop, terminal};
use clap::ArgMatches;
use seekwell_host::guard::{self, Context, Purpose, WriteToken};
use seekwell_host::output::Kind;
use seekwell_host::refusal::Refusal;
use seekwell_model::bench::BenchResult;
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::warning::Warning;
use seekwell_model::workloads::{SweepParams, WorkloadKind, WorkloadParams, workload_kind};
use seekwell_observe::counters::{DeviceCounters, totals_between};
use seekwell_observe::marks::busy_before;
use seekwell_observe::watched::Watched;
use seekwell_session::Machine;
use seekwell_workload::bench::{BenchTarget, Comparing};
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
    let paths: Vec<&PathBuf> = matches.get_many("target").unwrap_or_default().collect();
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or(1);
    // The folder in a directory is removed, and what was overwritten for a test is restored.
    let stop = stop::flag()?;
    let writes = params.steps().iter().any(|step| step.measured && step.writes);
    let mut writable = Vec::with_capacity(paths.len());
    for path in &paths {
        // In a directory everything is written to a new folder, which no file of anybody is in.
        let opens = writes && !path.is_dir();
        let token = opens.then(|| open_for_writing(machine, path)).transpose()?;
        let open = |token: WriteToken| token.open(false);
        let file = token.map(open).transpose();
        writable.push(file.map_err(|error| Failure::from_host(&error))?);
    }
    let target = |index: usize| BenchTarget {
        path: paths[index],
        writable: writable[index].as_ref(),
        length: used(&params),
    };
    let busy: Vec<Warning> = paths.iter().filter_map(|path| busy(path)).collect();
    let result = match (paths.len(), &params) {
        (0, _) => return Err(Failure::Usage("name a file, device or directory".to_owned())),
        (2, WorkloadParams::Sweep(sweep)) => {
            let targets = [target(0), target(1)];
            seekwell_workload::bench::compare(
                &compared(sweep, matches),
                targets,
                how(matches),
                seed,
                Some(Arc::clone(&stop)),
            )
        }
        _ => seekwell_workload::bench::bench(&params, target(0), seed, Some(Arc::clone(&stop))),
    };
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Error("stopped; nothing was kept".to_owned()));
    }
    let mut result = result.map_err(|error| Failure::from_error(&error))?;
    result.warnings.splice(0..0, busy);
    if let WorkloadParams::Bonnie(bonnie) = &params
        && matches.get_flag("csv")
    {
        let machine = rustix::system::uname();
        let machine = machine.nodename().to_string_lossy();
        terminal::data(&seekwell_workload::bonnie::csv::line(bonnie, &result, &machine, seed));
        return Ok(Exit::Done);
    }
    show(&result, matches)
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

/// Confidence of a comparison, and how far apart targets may be and count as alike.
const CONFIDENCE: f64 = 0.95;
const TIE_WIDTH: f64 = 0.05;

fn how(matches: &ArgMatches) -> Comparing {
    let rounds = matches.get_one::<u16>("rounds").copied().unwrap_or(6);
    Comparing { rounds: rounds.into(), confidence: CONFIDENCE, tie_width: TIE_WIDTH }
}

/// A comparison takes every size several times: without a bound of the user each takes less.
fn compared(sweep: &SweepParams, matches: &ArgMatches) -> SweepParams {
    let mut sweep = sweep.clone();
    let given = ["time", "count"].iter().any(|flag| matches.contains_id(flag));
    if !given {
        sweep.each.time = Some(Nanos(250_000_000));
    }
    sweep
}

fn show(result: &BenchResult, matches: &ArgMatches) -> Result<Exit, Failure> {
    let force = matches.get_flag("force");
    let write = |flag: &str, kind, text: &dyn Fn() -> Option<String>| -> Result<(), Failure> {
        let Some(path) = matches.get_one::<PathBuf>(flag) else { return Ok(()) };
        let Some(text) = text() else {
            return Err(Failure::Usage(format!("--{flag}: this kind has no chart")));
        };
        output::silently(path, kind, text.as_bytes(), force)
    };
    write("html", Kind::Page, &|| Some(seekwell_report::bench_html(result)))?;
    write("svg", Kind::Drawing, &|| seekwell_report::bench_svg(result))?;
    if matches.get_flag("json") {
        let text =
            serde_json::to_string_pretty(result).map_err(|error| Failure::from_error(&error))?;
        terminal::data(&text);
    } else {
        terminal::data(&seekwell_report::bench_text(result));
    }
    Ok(Exit::Done)
}

/// Opens a target for writing when the guard lets it pass: a claimed device, or a file that
/// Seekwell made.
fn open_for_writing(machine: &Machine, target: &Path) -> Result<WriteToken, Failure> {
    let refused = |refusal: Refusal| Failure::from_refusal(&refusal);
    if target.is_file() {
        return guard::own_file(target).map_err(refused);
    }
    let context = Context { claims: machine.claims(), run_file: None };
    let verified =
        guard::check(&machine.system, target, Purpose::Write, &context).map_err(refused)?;
    verified.permit().map_err(refused)
}
