//! `seekwell trace`: reads traces.

use crate::args::{
    TraceCommand, TraceFilterArgs, TraceFormat, TraceImportArgs, TraceInfoArgs, TraceMergeArgs,
    TracePackArgs, TraceRequestsArgs,
};
use crate::failure::{Exit, Failure};
use crate::{foreign, output, terminal};
use seekwell_host::confine::Reach;
use seekwell_host::output::Kind;
use seekwell_model::metrics::Unit;
use seekwell_report::{LoadPage, LoadPicture};
use seekwell_trace::calls::{CALLS, CallId};
use seekwell_trace::caused::{self, Wanted};
use seekwell_trace::filter::Filter;
use seekwell_trace::import::{self, Imported, Table};
use seekwell_trace::info::{Heat, Seeks, Summary, Timeline, text};
use seekwell_trace::{Trace, TraceError, merge};
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
        TraceCommand::Merge(arguments) => merge(arguments),
        TraceCommand::Pack(arguments) => pack(arguments),
    }
}

fn info(arguments: &TraceInfoArgs) -> Result<Exit, Failure> {
    let mut reach = Reach::default().reading(&arguments.trace);
    if let Some(page) = &arguments.html {
        reach = reach.writing(page);
    }
    foreign::confine(&reach);
    let trace = Trace::open(&arguments.trace).map_err(|error| Failure::from_error(&error))?;
    let summary = Summary::of(&trace).map_err(|error| Failure::from_error(&error))?;
    if let Some(path) = &arguments.html {
        let page = seekwell_report::load_html(&page(&arguments.trace, &summary));
        output::write(path, Kind::LoadPage, page.as_bytes(), false)?;
    }
    if arguments.json {
        let json = serde_json::to_string_pretty(&summary)
            .map_err(|error| Failure::Error(format!("cannot write JSON: {error}")))?;
        terminal::data(&json);
    } else {
        let text = terminal::harmless(&text(&summary));
        terminal::data(&terminal::fitted(&text, 0, terminal::columns()));
    }
    Ok(Exit::Done)
}

/// The summary as a page with pictures.
fn page(trace: &Path, summary: &Summary) -> LoadPage {
    let mut pictures = over_time("files", "Calls on files", &summary.over_time);
    pictures.push(heat("Reads and writes of files by size and duration", &summary.sizes_and_times));
    for file in &summary.file_places {
        pictures.push(places(format!("Places in {}", file.name), &file.seeks));
    }
    if let Some(device) = summary.device.as_ref().filter(|device| !device.operations.is_empty()) {
        pictures.extend(over_time("the devices", "Block requests", &device.over_time));
        let title = "Reads and writes of the devices by size and duration";
        pictures.push(heat(title, &device.sizes_and_times));
        for (number, seeks) in &device.seeks {
            let title = format!("Places on device {}:{}", number >> 20, number & 0xf_ffff);
            pictures.push(places(title, seeks));
        }
    }
    if let Some(reuse) = &summary.reuse {
        pictures.push(LoadPicture::Misses {
            title: "Share of accesses that miss, by the size of a cache".to_owned(),
            points: reuse.misses.iter().map(|miss| (miss.cache_bytes, miss.share)).collect(),
        });
    }
    LoadPage {
        title: format!("Load of {}", trace.display()),
        sentences: summary.sentences().to_vec(),
        text: text(summary),
        pictures,
    }
}

/// Throughput, rate, mean duration and concurrency.
fn over_time(of: &str, events: &str, timeline: &Timeline) -> Vec<LoadPicture> {
    let durations = timeline.time_ns.iter().zip(&timeline.count);
    let durations = durations.map(|(time_ns, count)| ratio(*time_ns, *count)).collect();
    let at_once = timeline.in_progress_ns.iter().map(|ns| ratio(*ns, timeline.step_ns)).collect();
    let picture = |title: String, values: Vec<f64>, unit| LoadPicture::Time {
        title,
        step_ns: timeline.step_ns,
        lines: vec![(events.to_owned(), values)],
        unit,
    };
    vec![
        throughput(&format!("Reads and writes of {of}"), timeline),
        picture(
            format!("{events} a second"),
            per_second(&timeline.count, timeline, 1.0),
            Unit::PerSecond,
        ),
        picture(format!("{events}: mean duration"), durations, Unit::Nanoseconds),
        picture(format!("{events} in progress at a time"), at_once, Unit::Count),
    ]
}

#[allow(clippy::cast_precision_loss, reason = "ratios are drawn")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn places(title: String, seeks: &Seeks) -> LoadPicture {
    LoadPicture::Places {
        title,
        step_ns: seeks.step_ns,
        step_bytes: seeks.step_bytes,
        accesses: seeks.accesses.clone(),
    }
}

fn heat(title: &str, heat: &Heat) -> LoadPicture {
    let (size, duration, accesses) = heat.trimmed();
    LoadPicture::Heat { title: title.to_owned(), size, duration, accesses }
}

#[allow(clippy::cast_precision_loss, reason = "rates are drawn")]
fn per_second(values: &[u64], timeline: &Timeline, unit: f64) -> Vec<f64> {
    let seconds = timeline.step_ns as f64 / 1e9;
    values.iter().map(|value| *value as f64 / unit / seconds).collect()
}

fn throughput(title: &str, timeline: &Timeline) -> LoadPicture {
    let line = |values: &[u64]| per_second(values, timeline, 1e6);
    LoadPicture::Time {
        title: title.to_owned(),
        step_ns: timeline.step_ns,
        lines: vec![
            ("read".to_owned(), line(&timeline.read_bytes)),
            ("written".to_owned(), line(&timeline.written_bytes)),
        ],
        unit: Unit::MegabytesPerSecond,
    }
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
    let found = Trace::open(&arguments.trace)
        .and_then(|trace| caused::caused(&trace, &wanted))
        .map_err(|error| Failure::from_error(&error))?;
    if arguments.json {
        let json = serde_json::to_string_pretty(&found)
            .map_err(|error| Failure::Error(format!("cannot write JSON: {error}")))?;
        terminal::data(&json);
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
        let events = seekwell_trace::filter::filter(&trace, &arguments.output, &filter)?;
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
        TraceFormat::Msr => import::table(Table::Msr, input, output),
        TraceFormat::Alibaba => import::table(Table::Alibaba, input, output),
        TraceFormat::Tencent => import::table(Table::Tencent, input, output),
        TraceFormat::Spc => import::table(Table::Spc, input, output),
        TraceFormat::Mqsim => import::table(Table::Mqsim, input, output),
        TraceFormat::Systor => import::table(Table::Systor, input, output),
        TraceFormat::Fiu => import::table(Table::Fiu, input, output),
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

fn merge(arguments: &TraceMergeArgs) -> Result<Exit, Failure> {
    let reach = arguments.traces.iter().fold(Reach::default(), |reach, trace| reach.reading(trace));
    let (traces, events) = filling(reach, &arguments.output, || {
        let opened = arguments.traces.iter().map(|trace| Trace::open(trace));
        let traces = opened.collect::<Result<Vec<Trace>, _>>()?;
        let events = merge::merge(&traces, &arguments.output)?;
        Ok((traces, events))
    })?;
    let output = arguments.output.display();
    terminal::talk(&terminal::harmless(&format!("wrote {output}: {events} events")));
    traces.iter().for_each(tell_losses);
    Ok(Exit::Done)
}

fn pack(arguments: &TracePackArgs) -> Result<Exit, Failure> {
    let output = &arguments.output;
    foreign::confine(&Reach::default().reading(&arguments.trace).writing(output));
    let trace = Trace::open(&arguments.trace).map_err(|error| Failure::from_error(&error))?;
    let bytes =
        seekwell_trace::pack::pack(&trace, output).map_err(|error| Failure::from_error(&error))?;
    terminal::talk(&terminal::harmless(&format!("wrote {}: {bytes} bytes", output.display())));
    tell_losses(&trace);
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
        Failure::from_error(&error)
    })
}
