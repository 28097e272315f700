//! `seekwell tune`: options of mkfs, mount, queue and RAID, searched in virtual time; a run of the best few answers.

use crate::args::TuneArgs;
use crate::commands::tried::{free_name, write_lab};
use crate::commands::{ask, run};
use crate::failure::{Exit, Failure};
use crate::{machine, terminal};
use seekwell_session::atlas::{Form, lab, load};
use seekwell_session::{LabText, Options, Session, Tuned, Tuning};
use std::path::Path;

/// Searches, says what single options do, and runs the best few.
///
/// # Errors
/// When load or device are not known, or a guest fails.
pub fn run(session: &Session, arguments: &TuneArgs) -> Result<Exit, Failure> {
    let (device, _) = ask::found(session, &arguments.device)?;
    let known = load(&arguments.load).and_then(|load| lab(load, device));
    let text = match &known {
        Some(text) => LabText::new(arguments.load.as_str(), text),
        None if load(&arguments.load).is_some() => return Err(ask::no_room(&arguments.load)),
        None if device.form == Form::Old => {
            return Err(Failure::Usage(format!(
                "{} is for loads of the atlas; in a lab of yours write kind = \"age\" and name the disk, such as --device hdd",
                device.word
            )));
        }
        None if Path::new(&arguments.load).exists() => LabText::read(Path::new(&arguments.load))?,
        None => {
            return Err(Failure::Usage(format!(
                "{} is neither a load of the atlas, which seekwell ask lists, nor the path of a lab",
                arguments.load
            )));
        }
    };
    let path = arguments.output.clone().unwrap_or_else(|| free_name("tune"));
    let lab_path = path.with_extension("toml");
    for one in [&path, &lab_path] {
        if one.symlink_metadata().is_ok() || path == lab_path {
            return Err(Failure::Error(format!(
                "{} is not overwritten; name another run file with -o, such as best.seekwell",
                one.display()
            )));
        }
    }
    let tuning = Tuning::new(session, &text, device, arguments.jobs)?;
    let options = Options { jobs: arguments.jobs, ..Options::of("virtual") };
    let names: Vec<&str> = tuning.filesystems().collect();
    terminal::talk(&format!(
        "{} configurations of {} on {}; at most {} trials in virtual time",
        tuning.configurations(),
        names.join(", "),
        device.made_of(device.model),
        arguments.trials
    ));
    let stop = machine::stop_on_interrupt()?;
    let tuned = tuning.search(usize::from(arguments.trials), &stop, &mut |done, best| {
        terminal::talk(&format!("{done} trials; best so far {best}"));
    })?;
    let said = terminal::harmless(&effects(&tuned));
    match arguments.json {
        true => terminal::talk(&said),
        false => terminal::data(said.trim_end()),
    }
    let text = LabText {
        bytes: tuned.lab.as_bytes().into(),
        name: lab_path.display().to_string(),
        directory: text.directory,
    };
    let planned = session.resolve(&text, &options)?.plan()?;
    write_lab(&lab_path, &tuned.lab, &options)?;
    run::carry_out(planned, &path, false, false)?;
    run::conclude(&path, arguments.json)
}

/// The effects of single options: those that matter a line each, the others in one.
fn effects(tuned: &Tuned) -> String {
    let [measured, failed] = tuned.measured;
    let each = match tuned.rounds {
        1 => "a trial each".to_owned(),
        rounds => format!("{rounds} trials each"),
    };
    let best = match tuned.best == tuned.default {
        true => "the default of its filesystem".to_owned(),
        false => format!("{} as {}", times(tuned.gain), tuned.default),
    };
    let mut lines =
        vec![format!("Searched {measured} configurations, {each}. Best: {}, {best}.", tuned.best)];
    if failed > 0 {
        let first = tuned.failed.as_deref().and_then(|reason| reason.lines().next());
        let first = first.map_or_else(String::new, |first| format!(", such as {first}"));
        lines.push(format!("Without a value: {failed}{first}"));
    }
    let matters = |factor: &f64| factor.ln().abs() >= tuned.least;
    let (some, none): (Vec<_>, Vec<_>) =
        tuned.effects.iter().partition(|(_, factor)| matters(factor));
    lines.push(format!("Each option alone, against {}:", tuned.default));
    lines.extend(some.iter().map(|(option, factor)| format!("  {option:<28} {}", times(*factor))));
    if !none.is_empty() {
        let names: Vec<&str> = none.iter().map(|(option, _)| option.as_str()).collect();
        lines.push(format!("  less than {:.2} %: {}", tuned.least * 100.0, names.join(", ")));
    }
    lines.push("Now the best few, with other work:".to_owned());
    terminal::fitted(&lines.join("\n"), 2, Some(terminal::width()))
}

fn times(factor: f64) -> String {
    match factor {
        factor if factor >= 1.0 => format!("{factor:.2} times as fast"),
        factor => format!("{:.2} times as slow", 1.0 / factor),
    }
}
