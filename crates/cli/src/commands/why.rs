//! `seekwell why`: the cause of a difference, found by experiments.

use crate::args::{self, WhyArgs};
use crate::commands::report;
use crate::failure::{Exit, Failure};
use crate::{machine, terminal};
use clap::FromArgMatches;
use seekwell_model::why::Why;
use seekwell_session::{Asked, AskedTwin, Options, Session, Step};
use seekwell_store::RunFile;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Explains the difference between two stacks of a run, and keeps and shows the causes.
///
/// # Errors
/// When its causes cannot be tested here, it has no verdict or no such stacks, or a trial fails.
pub fn run(session: &Session, arguments: &WhyArgs) -> Result<Exit, Failure> {
    let path = &arguments.run;
    if let [one, two] = arguments.stacks.as_slice()
        && one == two
    {
        return Err(Failure::Usage(format!(
            "{one} is on both sides; name two stacks of {}",
            path.display()
        )));
    }
    let options = {
        let file = RunFile::open(path)?;
        let environment = file.environment()?;
        if environment.get("place").and_then(Value::as_str) == Some("watch") {
            let text = format!("{} is a recording: nothing was compared in it", path.display());
            return Err(Failure::Usage(text));
        }
        options(&environment, arguments)?
    };
    let stop = machine::stop_on_interrupt()?;
    let planned = session.reopen(path, &options)?;
    let pair = match arguments.stacks.as_slice() {
        [one, two] => Some([one.as_str(), two.as_str()]),
        _ => None,
    };
    let twin = arguments.twin.as_deref().map(|model| AskedTwin {
        session,
        model: (!model.is_empty()).then_some(model),
        jobs: arguments.jobs,
    });
    let asked = Asked {
        path,
        pair,
        single: arguments.single.into(),
        what_if: arguments.what_if,
        rounds: arguments.rounds,
        twin,
        stop: Arc::clone(&stop),
    };
    let found = planned.why(&asked, &mut |step| match step {
        Step::Pair(pair) => {
            terminal::talk(&terminal::harmless(&format!(
                "why is {} worse than {}?",
                pair.worse, pair.better
            )));
        }
        Step::Twin(model) => terminal::talk(&format!("the same stacks in guests on {model}")),
        Step::Trials(count) => terminal::talk(&format!("running {count} trials")),
    })?;
    show(&found, arguments)
}

/// The options of the run, as its file has them: kernel, programs, changed devices and CPU time.
fn options(environment: &Value, arguments: &WhyArgs) -> Result<Options, Failure> {
    let kept = environment.get("options").and_then(Value::as_array).into_iter().flatten();
    // Experiments run here, whatever machine ran the trials.
    let words = kept.filter_map(Value::as_str).take_while(|word| *word != "--on");
    let line = ["seekwell", "run", "--resume", "-o", "run.seekwell"].into_iter().chain(words);
    let parsed = args::command().try_get_matches_from(line);
    let parsed = parsed.and_then(|all| args::Cli::from_arg_matches(&all));
    let not_understood = |error: clap::Error| {
        Failure::Error(format!("cannot understand the options that the run file has kept: {error}"))
    };
    let args::Command::Run(run) = parsed.map_err(not_understood)?.command else {
        return Err(Failure::Error(
            "the run file has kept the options of another command".to_owned(),
        ));
    };
    let place = environment.get("place").and_then(Value::as_str).unwrap_or("host").to_owned();
    let never: Arc<AtomicBool> = Arc::default();
    // With a twin they are of its guests.
    let jobs = arguments.jobs.filter(|_| arguments.twin.is_none());
    Ok(Options { backend: place, jobs, check: false, ..run.options(&never) })
}

fn show(found: &Why, arguments: &WhyArgs) -> Result<Exit, Failure> {
    if arguments.json {
        terminal::json(found)?;
        return Ok(Exit::Done);
    }
    let view = report::view_as_text(&RunFile::open(&arguments.run)?)?;
    terminal::data(&seekwell_report::why_text(&view, terminal::width()));
    Ok(Exit::Done)
}
