//! `seekwell bench`: one workload now, without a lab.

use crate::bench_flags;
use crate::failure::{Exit, Failure};
use crate::{place, terminal};
use clap::ArgMatches;
use seekwell_host::guard::{self, Context, Purpose, Refusal, WriteToken};
use seekwell_model::workloads::{CacheState, WorkloadKind, WorkloadParams, workload_kind};
use seekwell_workload::bench::BenchTarget;
use std::path::{Path, PathBuf};

/// Runs the kind that was named on the target that was named.
///
/// # Errors
/// When the flags do not fit, the target cannot be used, or writing to it is refused.
pub fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    let Some((name, matches)) = matches.subcommand() else {
        return Err(Failure::Usage(
            "name a kind, for example: seekwell bench seek TARGET".to_owned(),
        ));
    };
    let Some(kind) = workload_kind(name) else {
        return Err(Failure::Usage(format!("there is no kind '{name}'")));
    };
    bench(kind, matches)
}

fn bench(kind: &'static WorkloadKind, matches: &ArgMatches) -> Result<Exit, Failure> {
    let params =
        bench_flags::params(kind, matches).map_err(|error| Failure::Usage(error.to_string()))?;
    let Some(target) = matches.get_one::<PathBuf>("target") else {
        return Err(Failure::Usage("name a file or device".to_owned()));
    };
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or(1);
    let length = match &params {
        WorkloadParams::Io(io) => io.file_size,
        WorkloadParams::Mail(_) | WorkloadParams::Command(_) => None,
    };
    let writes = matches!(&params, WorkloadParams::Io(io) if io.read_percent < 100);
    let writable = if writes {
        let token = open_for_writing(target)?;
        let direct = matches!(&params, WorkloadParams::Io(io) if io.cache == CacheState::Direct);
        Some(token.open(direct).map_err(|error| place::refused_or_failed(&error))?)
    } else {
        None
    };
    let target = BenchTarget { path: target, writable: writable.as_ref(), length };
    let result = seekwell_workload::bench::bench(&params, target, seed, None)
        .map_err(|error| Failure::from_error(&error))?;
    if matches.get_flag("json") {
        let text =
            serde_json::to_string_pretty(&result).map_err(|error| Failure::from_error(&error))?;
        terminal::data(&text);
    } else {
        terminal::data(&seekwell_report::bench_text(&result));
    }
    Ok(Exit::Done)
}

/// Opens a target for writing when the guard lets it pass: a claimed device, or a file that
/// Seekwell made.
fn open_for_writing(target: &Path) -> Result<WriteToken, Failure> {
    let system = place::system();
    let refused = |refusal: Refusal| Failure::from_refusal(&refusal);
    if target.is_file() {
        return guard::own_file(target).map_err(refused);
    }
    let context = Context { claims: place::claims_directory(), run_file: None };
    let verified = guard::check(&system, target, Purpose::Write, &context).map_err(refused)?;
    verified.permit().map_err(refused)
}
