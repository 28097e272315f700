//! `seekwell replicate`: the experiments of published studies, our numbers beside theirs.

mod fit;
mod labs;
mod studies;

use crate::args::ReplicateArgs;
use crate::failure::{Exit, Failure};
use crate::terminal;
use labs::Labs;
use seekwell_model::replication::Replication;
use seekwell_replicate::judge;
use std::path::Path;
use studies::Studies;

/// Runs the labs of the studies, unless they were run before, and shows what became of each claim.
/// What differs from the study is a finding and no failure.
///
/// # Errors
/// When a file is wrong, or a run fails for another reason than its measurement.
pub fn run(arguments: &ReplicateArgs) -> Result<Exit, Failure> {
    if arguments.place == "host" && arguments.device.is_none() && !arguments.kept {
        let text = "on the host, --device says which device takes the place of the modelled ones";
        return Err(Failure::Usage(text.to_owned()));
    }
    let studies = Studies::read(arguments.from.as_deref())?;
    let chosen = studies.chosen(arguments.study.as_deref())?;
    let labs = Labs::new(arguments, &studies)?;
    if arguments.fit {
        return fit::run(&studies, &chosen, &labs);
    }
    let mut outcomes = Vec::new();
    for study in chosen {
        let runs = labs.runs(study)?;
        let ends = labs.ends(study)?;
        outcomes.push(judge::judge(studies.claims(), study, &runs, &ends));
    }
    let found = Replication {
        format: seekwell_model::FORMAT.to_string(),
        set: if arguments.quick { "quick" } else { "whole" }.to_owned(),
        place: arguments.place.clone(),
        device: arguments.device.clone(),
        frozen: studies.claims().frozen.clone(),
        studies: outcomes,
    };
    show(arguments, &found)
}

fn show(arguments: &ReplicateArgs, found: &Replication) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.html {
        write(path, &seekwell_report::replication_html(found))?;
    }
    if let Some(path) = &arguments.markdown {
        write(path, &seekwell_report::replication_markdown(found))?;
    }
    if arguments.json {
        let text =
            serde_json::to_string_pretty(found).map_err(|error| Failure::from_error(&error))?;
        terminal::data(&text);
    } else if arguments.html.is_none() && arguments.markdown.is_none() {
        terminal::data(&seekwell_report::replication_text(
            found,
            terminal::width(),
            terminal::colour(),
        ));
    }
    Ok(Exit::Done)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::Error(format!("cannot write {}: {error}", path.display())))?;
    terminal::talk(&format!("wrote {}", path.display()));
    Ok(())
}
