//! `seekwell trace`: reads traces.

use crate::args::{
    TraceCommand, TraceFilterArgs, TraceFormat, TraceImportArgs, TraceInfoArgs, TraceRequestsArgs,
};
use crate::failure::{Exit, Failure};
use crate::{foreign, terminal};
use seekwell_host::confine::Reach;
use seekwell_recordings::caused::{self, Wanted};
use seekwell_recordings::filter::Filter;
use seekwell_recordings::import::{self, Imported};
use seekwell_recordings::info::{Summary, text};
use seekwell_trace::calls::{CALLS, CallId};
use seekwell_trace::{Trace, TraceError};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Runs an action on a trace.
///
/// # Errors
/// When the trace cannot be read.
pub fn run(command: &TraceCommand) -> Result<Exit, Failure> {
    match command {
        TraceCommand::Info(arguments) => info(arguments),
        TraceCommand::Requests(arguments) => requests(arguments),
        TraceCommand::Filter(arguments) => filter(arguments),
        TraceCommand::Import(arguments) => import(arguments),
    }
}

fn info(arguments: &TraceInfoArgs) -> Result<Exit, Failure> {
    foreign::confine(&Reach::default().reading(&arguments.trace));
    let summary = Summary::of(&Trace::open(&arguments.trace)?)?;
    if arguments.json {
        terminal::json(&summary)?;
    } else {
        let text = terminal::harmless(&text(&summary));
        terminal::data(&terminal::fitted(&text, 0, terminal::columns()));
    }
    Ok(Exit::Done)
}

fn requests(arguments: &TraceRequestsArgs) -> Result<Exit, Failure> {
    let named = |name: &String| CallId::named(name).ok_or_else(|| unknown_call(name));
    let wanted = Wanted {
        calls: arguments.calls.iter().map(named).collect::<Result<_, _>>()?,
        paths: arguments.paths.clone(),
        processes: arguments.processes.clone(),
        longest: usize::try_from(arguments.longest).unwrap_or(usize::MAX),
    };
    foreign::confine(&Reach::default().reading(&arguments.trace));
    let found = caused::caused(&Trace::open(&arguments.trace)?, &wanted)?;
    if arguments.json {
        terminal::json(&found)?;
    } else {
        let text = terminal::harmless(&caused::text(&found));
        terminal::data(&terminal::fitted(&text, 0, terminal::columns()));
    }
    Ok(Exit::Done)
}

fn unknown_call(name: &str) -> Failure {
    let like = |call: &&str| call.contains(name) || name.contains(*call);
    let known = || CALLS.iter().map(|call| call.name);
    let similar: Vec<&str> = known().filter(like).take(8).collect();
    let fix = if similar.is_empty() { known().collect() } else { similar }.join(", ");
    Failure::Usage(format!("no call is named {name}; write one of {fix}"))
}

fn filter(arguments: &TraceFilterArgs) -> Result<Exit, Failure> {
    let filter = Filter {
        from_ns: arguments.from.map_or(0, |from| from.0),
        to_ns: arguments.to.map(|to| to.0),
        paths: arguments.paths.clone(),
        processes: arguments.processes.clone(),
    };
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from >= to
    {
        return Err(Failure::Usage(format!(
            "the part ends ({to}) before it begins ({from}): write a --to that is later than --from"
        )));
    }
    let reach = Reach::default().reading(&arguments.trace);
    let (trace, events) = filling(reach, &arguments.output, || {
        let trace = Trace::open(&arguments.trace)?;
        let events = seekwell_recordings::filter::filter(&trace, &arguments.output, &filter)?;
        Ok((trace, events))
    })?;
    let output = arguments.output.display();
    terminal::talk(&terminal::harmless(&format!("wrote {output}: {events} events")));
    tell_losses(&trace);
    Ok(Exit::Done)
}

/// Names what the recording of a trace lost, when it is used.
fn tell_losses(trace: &Trace) {
    if let Some(missing) = trace.missing() {
        terminal::talk(&terminal::harmless(&format!("{missing}: what they held is lost")));
    }
    if !trace.has_ended() {
        terminal::talk("the recording still runs or was killed: its last events are lost");
    }
    if let Some(losses) = trace.meta().losses() {
        terminal::talk(&terminal::harmless(&format!("lost by the recording: {losses}")));
    }
}

fn import(arguments: &TraceImportArgs) -> Result<Exit, Failure> {
    let (input, output) = (&arguments.input, &arguments.output);
    let mut reach = Reach::default().reading(input);
    if let (TraceFormat::Blktrace, Some(folder)) = (&arguments.format, input.parent()) {
        // One file for each CPU.
        let here = folder.as_os_str().is_empty();
        reach = reach.reading(if here { Path::new(".") } else { folder });
    }
    let read = || match arguments.format {
        TraceFormat::Strace => import::strace(input, output),
        TraceFormat::Blktrace => import::blktrace(input, output),
        TraceFormat::Blkparse => import::blkparse(input, output),
    };
    let imported = filling(reach, output, || match read()? {
        Imported { events: 0, other, damaged } => {
            Err(TraceError::Nothing { path: input.clone(), other, damaged })
        }
        imported => Ok(imported),
    })?;
    terminal::talk(&terminal::harmless(&format!(
        "wrote {}: {} events; {} records of other kinds, {} unreadable",
        output.display(),
        imported.events,
        imported.other,
        imported.damaged
    )));
    Ok(Exit::Done)
}

/// Does work that reads some files or folders and fills another, with no power over any other. A folder that is made
/// for it goes when the work fails.
fn filling<T>(
    reach: Reach,
    folder: &Path,
    work: impl FnOnce() -> Result<T, TraceError>,
) -> Result<T, Failure> {
    // A folder that exists or cannot be made is for the writer to judge.
    let made = !folder.exists()
        && std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).is_ok();
    foreign::confine(&reach.filling(folder));
    work().map_err(|error| {
        if made {
            // What half an import left; all of it was made here.
            let _ = std::fs::remove_dir_all(folder);
        }
        error.into()
    })
}
