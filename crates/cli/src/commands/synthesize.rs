//! `seekwell trace synthesize`: a load without names, and a trace made from it.

use crate::args::TraceSynthesizeArgs;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::confine::Reach;
use seekwell_model::filesystems::USUAL_FILESYSTEMS;
use seekwell_trace::info::Summary;
use seekwell_trace::synthesize::{self, Description, Figure};
use seekwell_trace::{Trace, TraceError};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

/// Describes a load, makes a trace from the description, and compares both.
///
/// # Errors
/// When the input cannot be read or the output cannot be written.
pub fn run(arguments: &TraceSynthesizeArgs) -> Result<Exit, Failure> {
    let (input, output) = (&arguments.input, &arguments.output);
    let made = super::trace::filling(Reach::default().reading(input), output, || {
        make(input, output, arguments.seed)
    })?;
    let (events, figures) = (made.events, made.distance);
    let shown = output.display();
    let told = format!(
        "wrote {shown}/load.json: the description, without names\n\
         wrote {shown}/trace: {events} calls made from it\n\
         wrote {shown}/lab.toml: its replay on some stacks; seekwell run {shown}/lab.toml"
    );
    terminal::talk(&terminal::harmless(&told));
    made.recorded.iter().for_each(super::trace::tell_losses);
    if let Some(figures) = figures {
        terminal::data(&table(&figures));
    }
    Ok(Exit::Done)
}

/// A made load.
struct Made {
    /// Its calls.
    events: u64,
    /// Its distance to the recorded load, if that was described.
    distance: Option<Vec<Figure>>,
    /// That one.
    recorded: Option<Trace>,
}

/// Fills the folder.
fn make(input: &Path, output: &Path, seed: u64) -> Result<Made, TraceError> {
    let (described, recorded) = if is_description(input) {
        (Description::read(input)?, None)
    } else {
        let trace = Trace::open(input)?;
        (synthesize::describe(&trace)?, Some(trace))
    };
    let write = |name: &str, text: String| {
        let path = output.join(name);
        std::fs::write(&path, text).map_err(|source| TraceError::Io { what: "write", path, source })
    };
    let made = output.join("trace");
    let events = synthesize::generate(&described, &made, seed)?;
    write("load.json", json(&described)?)?;
    write("lab.toml", lab(&std::path::absolute(&made).unwrap_or(made.clone())))?;
    let mut distance = None;
    if let Some(recorded) = &recorded {
        let (recorded, made) = (Summary::of(recorded)?, Summary::of(&Trace::open(&made)?)?);
        let figures = synthesize::distance(&recorded, &made);
        write("distance.json", json(&figures)?)?;
        distance = Some(figures);
    }
    Ok(Made { events, distance, recorded })
}

/// True for the text of a description; traces are folders and archives.
fn is_description(input: &Path) -> bool {
    let mut first = [0];
    let read =
        seekwell_trust::open(input, u64::MAX).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == [b'{']
}

fn json(of: &impl serde::Serialize) -> Result<String, TraceError> {
    serde_json::to_string(of)
        .map(|text| text + "\n")
        .map_err(|source| TraceError::Description { path: "load.json".into(), source })
}

/// A lab that replays the trace.
fn lab(trace: &Path) -> String {
    // Its escapes are those of TOML.
    let trace = serde_json::Value::String(trace.display().to_string());
    let tables = USUAL_FILESYSTEMS.map(|name| format!("[[filesystem]]\ntype = \"{name}\"\n\n"));
    let filesystems = tables.concat();
    format!(
        "# A load made from a description: docs/how-to/replay.md.\n\n\
         [lab]\nname = \"synthesized\"\n\
         question = \"which filesystem runs the described load fastest?\"\n\n\
         [[device]]\nname = \"scratch\"\nloop = \"2GiB\"\n\n\
         {filesystems}\
         [[workload]]\nname = \"load\"\nkind = \"replay\"\ntrace = {trace}\n\n\
         [judge]\nmetric = \"replay.elapsed_durable\"\ntie = \"3%\"\nrounds = 10\n"
    )
}

/// The figures of both loads, and their distance in per cent.
fn table(figures: &[Figure]) -> String {
    let mut text = format!("{:<46}{:>16}{:>16}{:>10}\n", "", "recorded", "made", "distance");
    let value = |value: Option<f64>| match value {
        None => "-".to_owned(),
        Some(value) if value.abs() < 10.0 && value.fract() != 0.0 => format!("{value:.3}"),
        Some(value) => format!("{value:.0}"),
    };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    for figure in figures {
        let distance = figure.distance.map_or_else(|| "-".to_owned(), percent);
        let (recorded, made) = (value(figure.recorded), value(figure.made));
        let _ = writeln!(text, "{:<46}{recorded:>16}{made:>16}{distance:>10}", figure.name);
    }
    let mut distances: Vec<f64> = figures.iter().filter_map(|figure| figure.distance).collect();
    distances.sort_by(f64::total_cmp);
    if let (Some(middle), Some(last)) = (distances.get(distances.len() / 2), distances.last()) {
        let _ = write!(text, "median distance {}, largest {}", percent(*middle), percent(*last));
    }
    text
}
