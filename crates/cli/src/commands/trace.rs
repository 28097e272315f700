//! `seekwell trace`: reads traces.

use crate::args::{
    TraceCommand, TraceExportArgs, TraceExportFormat, TraceFilterArgs, TraceFormat,
    TraceImportArgs, TraceInfoArgs, TraceMergeArgs,
};
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_trace::export::{self, Table as Exporting};
use seekwell_trace::filter::Filter;
use seekwell_trace::import::{self, Table};
use seekwell_trace::info::{Summary, text};
use seekwell_trace::{Trace, merge};

/// Runs an action on a trace.
///
/// # Errors
/// When the trace cannot be read.
pub fn run(command: &TraceCommand) -> Result<Exit, Failure> {
    match command {
        TraceCommand::Info(arguments) => info(arguments),
        TraceCommand::Filter(arguments) => filter(arguments),
        TraceCommand::Import(arguments) => import(arguments),
        TraceCommand::Export(arguments) => export(arguments),
        TraceCommand::Merge(arguments) => merge(arguments),
    }
}

fn info(arguments: &TraceInfoArgs) -> Result<Exit, Failure> {
    let trace = Trace::open(&arguments.trace).map_err(|error| Failure::from_error(&error))?;
    let summary = Summary::of(&trace).map_err(|error| Failure::from_error(&error))?;
    if arguments.json {
        let json = serde_json::to_string_pretty(&summary)
            .map_err(|error| Failure::Error(format!("cannot write JSON: {error}")))?;
        terminal::data(&json);
    } else {
        terminal::data(&terminal::harmless(&text(&summary)));
    }
    Ok(Exit::Done)
}

fn filter(arguments: &TraceFilterArgs) -> Result<Exit, Failure> {
    let trace = Trace::open(&arguments.trace).map_err(|error| Failure::from_error(&error))?;
    let filter = Filter {
        from_ns: arguments.from.map_or(0, |from| from.0),
        to_ns: arguments.to.map(|to| to.0),
        paths: arguments.paths.clone(),
        processes: arguments.processes.clone(),
    };
    let events = seekwell_trace::filter::filter(&trace, &arguments.output, &filter)
        .map_err(|error| Failure::from_error(&error))?;
    let output = arguments.output.display();
    terminal::talk(&terminal::harmless(&format!("wrote {output}: {events} events")));
    Ok(Exit::Done)
}

fn import(arguments: &TraceImportArgs) -> Result<Exit, Failure> {
    let (input, output) = (&arguments.input, &arguments.output);
    let imported = match arguments.format {
        TraceFormat::Strace => import::strace(input, output),
        TraceFormat::Blktrace => import::blktrace(input, output),
        TraceFormat::Blkparse => import::blkparse(input, output),
        TraceFormat::Iolog => import::iolog(input, output),
        TraceFormat::Msr => import::table(Table::Msr, input, output),
        TraceFormat::Alibaba => import::table(Table::Alibaba, input, output),
        TraceFormat::Tencent => import::table(Table::Tencent, input, output),
        TraceFormat::Spc => import::table(Table::Spc, input, output),
        TraceFormat::Mqsim => import::table(Table::Mqsim, input, output),
    };
    let imported = imported.map_err(|error| Failure::from_error(&error))?;
    terminal::talk(&terminal::harmless(&format!(
        "wrote {}: {} events; {} records of other kinds, {} unreadable",
        output.display(),
        imported.events,
        imported.other,
        imported.damaged
    )));
    Ok(Exit::Done)
}

fn export(arguments: &TraceExportArgs) -> Result<Exit, Failure> {
    let trace = Trace::open(&arguments.trace).map_err(|error| Failure::from_error(&error))?;
    let output = &arguments.output;
    let exported = match arguments.format {
        TraceExportFormat::Iolog => export::iolog(&trace, output),
        TraceExportFormat::Csv => export::csv(&trace, Exporting::Calls, output),
        TraceExportFormat::RequestsCsv => export::csv(&trace, Exporting::Requests, output),
    };
    let exported = exported.map_err(|error| Failure::from_error(&error))?;
    terminal::talk(&terminal::harmless(&format!(
        "wrote {}: {} events; {} cannot be said in this form",
        output.display(),
        exported.events,
        exported.left_out
    )));
    Ok(Exit::Done)
}

fn merge(arguments: &TraceMergeArgs) -> Result<Exit, Failure> {
    let opened: Result<Vec<Trace>, _> =
        arguments.traces.iter().map(|trace| Trace::open(trace)).collect();
    let traces = opened.map_err(|error| Failure::from_error(&error))?;
    let events =
        merge::merge(&traces, &arguments.output).map_err(|error| Failure::from_error(&error))?;
    let output = arguments.output.display();
    terminal::talk(&terminal::harmless(&format!("wrote {output}: {events} events")));
    Ok(Exit::Done)
}
