//! `seekwell advise`: from a trace to an answer.

use crate::args::{ADVISED_SCHEDULERS, AdviseArgs};
use crate::commands::deadline::Deadline;
use crate::commands::{report, run, tried};
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_model::units::Nanos;
use seekwell_report::shell_word;
use seekwell_session::{Options, Session, Tried};
use seekwell_store::RunFile;
use std::path::Path;
use std::time::Instant;

/// Says which changes of the stack can help a recorded load and drafts the lab that compares them;
/// with a time, runs it and names the verdict.
///
/// # Errors
/// When the trace cannot be replayed, or the run fails.
pub fn run(session: &Session, arguments: &AdviseArgs) -> Result<Exit, Failure> {
    let mut deadline = Deadline::new(Instant::now(), arguments.time.unwrap_or_default());
    let advised = arguments.advised().map_err(|source| {
        let trace = arguments.trace.display();
        Failure::Error(format!("cannot find {trace}: {source}; give the folder of a trace"))
    })?;
    let options = arguments.run.options(&arguments.at, &run::stop_while(arguments.run.wait)?);
    let advice = advised.advise()?;
    terminal::talk(&terminal::harmless(&advice.sentences.join("\n")));
    let Some(text) = &advice.lab else { return Ok(Exit::Done) };
    let Some(time) = arguments.time else {
        terminal::data(text);
        let again = again(arguments, &options, advice.time);
        terminal::talk(&format!("run this lab now: {again}"));
        return Ok(Exit::Done);
    };
    terminal::talk(&format!("\n{text}"));
    let path = arguments.output.clone().unwrap_or_else(|| tried::free_name("advise"));
    let lab = path.with_extension("toml");
    // Pauses of virtual time take no time.
    if let Some(warning) = advice.too_short(time).filter(|_| options.backend == "host") {
        terminal::talk(&warning);
    }
    let planned = Tried::resolve(session, lab.display().to_string(), text, &options)?.plan()?;
    tried::execute(planned, &path, !arguments.run.no_screen, &mut deadline)?;
    let exit = run::conclude(&path, arguments.run.json)?;
    terminal::talk(&faithful(&path)?);
    tried::write_lab(&lab, text, &options)?;
    Ok(exit)
}

/// The command that runs the lab just shown.
fn again(arguments: &AdviseArgs, options: &Options, time: Nanos) -> String {
    let mut words = vec![arguments.trace.to_string_lossy().into_owned()];
    let mut add = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
    if let Some(only) = &arguments.only {
        add("--only", only);
    }
    if let Some(filesystems) = &arguments.filesystems {
        add("--fs", &filesystems.join(","));
    }
    let schedulers = arguments.schedulers.join(",");
    if schedulers != ADVISED_SCHEDULERS {
        add("--sched", &schedulers);
    }
    add("--for", &format!("{}min", time.0.div_ceil(60_000_000_000)));
    let words = words.into_iter().chain(options.for_lab());
    let words: Vec<String> = words.map(|word| shell_word(&word)).collect();
    format!("seekwell advise {}", words.join(" "))
}

/// The fidelity of the least faithful replay.
fn faithful(path: &Path) -> Result<String, Failure> {
    // Whole records: those of a text keep the judged metrics alone.
    let view = report::view(&RunFile::open(path)?)?;
    let metric = "replay.fidelity";
    let shares: Vec<f64> =
        view.records.iter().filter_map(|(_, record)| record.metric(metric)).collect();
    let Some(least) = shares.iter().copied().min_by(f64::total_cmp) else {
        return Ok("fidelity unknown: no replay ended".to_owned());
    };
    Ok(format!(
        "fidelity: at least {:.2} % of the recorded calls had their recorded result, in each of {} replays",
        // Not rounded up to a perfect replay.
        (least * 1e4).floor() / 100.0,
        shares.len()
    ))
}
