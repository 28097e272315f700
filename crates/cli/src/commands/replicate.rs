//! `seekwell device replicate`: runs the experiments of published studies and compares the results with the
//! published ones.

mod fit;
mod labs;
mod studies;

use crate::args::ReplicateArgs;
use crate::failure::{Exit, Failure};
use crate::{output, terminal};
use labs::Labs;
use seekwell_host::output::Kind;
use seekwell_model::replication::Replication;
use seekwell_replicate::judge;
use seekwell_report::replication_file;
use seekwell_session::{Session, backends};
use std::path::Path;
use studies::Studies;

/// Runs the labs of the studies, unless they were run before, and shows the result of each claim.
/// A difference from the study is a finding, not a failure.
///
/// # Errors
/// When a file is wrong, or a run fails for another reason than its measurement.
pub fn run(session: &Session, arguments: &ReplicateArgs) -> Result<Exit, Failure> {
    let real = backends::takes(&arguments.place, "device");
    if real && arguments.device.is_none() && !arguments.kept {
        let text = "--place host needs --device, the device to use instead of the modelled ones";
        return Err(Failure::Usage(text.to_owned()));
    }
    let studies = Studies::read(arguments.from.as_deref())?;
    let chosen = studies.chosen(arguments.study.as_deref())?;
    let labs = Labs::new(session, arguments, &studies)?;
    if arguments.fit {
        return fit::run(&studies, &chosen, &labs);
    }
    labs.check_start(&chosen)?;
    let (mut outcomes, mut labs_run) = (Vec::new(), Vec::new());
    for study in chosen {
        let runs = labs.runs(study)?;
        let ends = labs.ends(study)?;
        let mut outcome = judge::judge(studies.claims(), study, &runs, &ends);
        if arguments.kept && !arguments.quick {
            let quick = judge::judge(studies.claims(), study, &labs.kept_quick(study)?, &[]);
            outcome.quick_alone = Some(quick.score());
            outcome.quick_agreements = Some(quick.agreements());
        }
        outcomes.push(outcome);
        labs_run.extend(runs.into_iter().map(|run| run.plan.lab));
    }
    let models = session.model_checks(&labs_run)?;
    let found = Replication {
        format: seekwell_model::FORMAT.to_string(),
        set: set(arguments).to_owned(),
        place: arguments.place.clone(),
        device: arguments.device.clone(),
        frozen: studies.claims().frozen.clone(),
        studies: outcomes,
        models: (models.models > 0).then_some(models),
    };
    show(arguments, &found)
}

fn set(arguments: &ReplicateArgs) -> &'static str {
    match (arguments.quick, arguments.kept) {
        (true, _) => "quick",
        (false, false) => "whole",
        (false, true) => "whole where it was kept, otherwise quick",
    }
}

fn show(arguments: &ReplicateArgs, found: &Replication) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.markdown {
        markdown(path, arguments, found)?;
    }
    if arguments.json {
        terminal::json(found)?;
    } else if arguments.markdown.is_none() {
        terminal::data(&seekwell_report::replication_text(
            found,
            terminal::width(),
            terminal::colour(),
        ));
    }
    Ok(Exit::Done)
}

/// Writes the comparison as Markdown, with its pictures and tables next to it.
fn markdown(path: &Path, arguments: &ReplicateArgs, found: &Replication) -> Result<(), Failure> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let write_next_to = |part: &str, extension: &str, kind, text: &str| {
        let path = path.with_file_name(replication_file(&stem, part, extension));
        output::write(&path, kind, text.as_bytes(), arguments.force)
    };
    for study in &found.studies {
        if let Some(drawing) = seekwell_report::replication_chart(study) {
            write_next_to(&study.key, "svg", Kind::Drawing, &drawing)?;
        }
    }
    for table in seekwell_report::replication_tables(found) {
        write_next_to(table.name, "csv", Kind::Csv, &table.text)?;
    }
    let text = seekwell_report::replication_markdown(found, &stem);
    output::write(path, Kind::Markdown, text.as_bytes(), arguments.force)
}
