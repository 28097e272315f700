//! `seekwell report`: a run again, on the terminal, as HTML, Markdown, CSV, JSON or Parquet.

mod light;

use crate::args::{ApplyForm, ReportArgs};
use crate::failure::{Exit, Failure};
use crate::{foreign, output, terminal};
use light::Light;
use seekwell_host::confine::Reach;
use seekwell_host::output::{Content, Kind, is_same_file};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::verdict::{METHOD, Ratio, Verdict};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_report::{HtmlPage, Inside, PageTrials, RunView, Screen, TableParts};
use seekwell_runner::judge::{self, prolong};
use seekwell_runner::records::{Extractor, Outcomes};
use seekwell_store::{Integrity, RunFile, StoreError, Timeline, Wanted};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::path::Path;

/// Shows or exports a run.
///
/// # Errors
/// When the run file cannot be read or was changed, or an output cannot be written.
pub fn run(arguments: &ReportArgs) -> Result<Exit, Failure> {
    let outputs = [&arguments.html, &arguments.csv, &arguments.markdown];
    let mut reach = Reach::default().reading_database(&arguments.run);
    for file in outputs.into_iter().flatten() {
        reach = reach.writing(file);
    }
    if let Some(folder) = &arguments.parquet {
        // Tables that are there are looked at before they are replaced.
        reach = reach.reading(folder).writing(&folder.join("table"));
    }
    foreign::confine(&reach);
    let file = RunFile::open(&arguments.run)?;
    // A page has latencies and events in the run file that is inside.
    let with_metrics: Lightener<'_> = &|plan, _| Light::with_metrics(plan);
    let light: Lightener<'_> = if arguments.csv.is_some() { with_metrics } else { &Light::of };
    let (view, trials) = match &arguments.html {
        Some(_) => view_as_page(&file, light)?,
        None => (view_of(&file, Some(light), None)?, PageTrials::default()),
    };
    let changed = refuse_changed(&file, &view);
    // A person may look at an edited file; what is made of it would no longer say so.
    if changed.is_ok() {
        files(&file, &view, &trials, arguments)?;
    }
    if let Some(form) = arguments.apply {
        changed?;
        return apply(&view, form, &arguments.run);
    }
    if arguments.json || !has_files(arguments) {
        let how = Print { json: arguments.json, all: arguments.all };
        print(&file, &view, &arguments.run, how)?;
    }
    changed.map(|()| Exit::Done)
}

/// Refuses a run file that was changed, as its view says.
///
/// # Errors
/// [`Failure::Changed`].
pub fn refuse_changed(file: &RunFile, view: &RunView) -> Result<(), Failure> {
    let is_one = |warning: &&Warning| warning.is(WarningCode::FileChanged);
    let parts: Vec<String> =
        view.warnings.iter().filter(is_one).map(|warning| warning.text.clone()).collect();
    if parts.is_empty() {
        return Ok(());
    }
    Err(StoreError::Changed { path: file.path().to_owned(), parts }.into())
}

fn apply(view: &RunView, form: ApplyForm, run: &Path) -> Result<Exit, Failure> {
    let Some(text) = seekwell_report::applied(view, form.into()) else {
        terminal::talk(&format!(
            "{}: no pick to put in force: seekwell report says why",
            run.display()
        ));
        return Ok(Exit::NotResolved);
    };
    terminal::data(&text);
    Ok(Exit::Done)
}

fn has_files(arguments: &ReportArgs) -> bool {
    let files = [&arguments.html, &arguments.csv, &arguments.markdown, &arguments.parquet];
    files.iter().any(|file| file.is_some())
}

/// Writes the files that were asked for.
fn files(
    file: &RunFile,
    view: &RunView,
    trials: &PageTrials,
    arguments: &ReportArgs,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.html {
        page(file, view, trials, path, arguments)?;
    }
    if let Some(path) = &arguments.csv {
        write(path, Kind::Csv, &seekwell_report::csv(view), arguments)?;
    }
    if let Some(path) = &arguments.markdown {
        write(path, Kind::Markdown, &seekwell_report::markdown(view, arguments.all), arguments)?;
    }
    if let Some(directory) = &arguments.parquet {
        tables(file, directory, view, arguments.force)?;
    }
    Ok(())
}

/// Sees a trial and its record.
type See<'a> = &'a mut dyn FnMut(&PlannedTrial, &Record);

/// Shows every trial of a file with the wanted parts of its record, one at a time.
fn each_trial(file: &RunFile, wanted: &Wanted, see: See<'_>) -> std::io::Result<()> {
    let read = file.each_record(wanted, &mut |trial, record| see(&trial, &record));
    read.map_err(std::io::Error::other)
}

/// First bytes of a table.
const PARQUET_HEAD: &[u8] = b"PAR1";

/// Writes the Parquet tables of a run, in place of earlier ones. The file is read for each: all of a run of 100,000
/// trials does not fit into memory.
fn tables(file: &RunFile, directory: &Path, view: &RunView, force: bool) -> Result<(), Failure> {
    let wrong = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::Error(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(directory).map_err(|error| wrong(directory, &error))?;
    for table in &seekwell_report::PARQUET_TABLES {
        let TableParts { histograms, series, timeline } = table.parts;
        let timeline = if timeline { Timeline::Whole } else { Timeline::No };
        let wanted = Wanted { histograms, series, timeline, metrics: None };
        let each = |see: See<'_>| each_trial(file, &wanted, see);
        let content = Content { head: PARQUET_HEAD, write: &|out| table.write(view, &each, out) };
        output::piecewise(&directory.join(table.name), Kind::Parquet, &content, force)?;
    }
    terminal::talk(&format!("wrote the tables in {}", directory.display()));
    Ok(())
}

/// Writes the HTML, with the run file inside or, when it is to be lean, a copy without timelines.
fn page(
    file: &RunFile,
    view: &RunView,
    trials: &PageTrials,
    path: &Path,
    arguments: &ReportArgs,
) -> Result<(), Failure> {
    refuse_run(path, arguments)?;
    let name = arguments.run.file_name().unwrap_or_default().to_string_lossy();
    if !seekwell_report::has_program() {
        terminal::talk(
            "this is the plain page; run `make web` before `cargo build` for a page with zoomable \
             charts, filters and two stacks side by side",
        );
    }
    let write = |inside, run: RefCell<&mut dyn Read>| -> Result<(), Failure> {
        let page = HtmlPage::of(view, trials, &name, inside);
        let content = Content {
            head: page.head().as_bytes(),
            write: &|out| page.write(&mut **run.borrow_mut(), out),
        };
        output::piecewise(path, Kind::Page, &content, arguments.force)?;
        terminal::talk(&format!("wrote {}", path.display()));
        Ok(())
    };
    if arguments.lean {
        let bytes = file.bytes_without_series()?;
        return write(Inside::WithoutTimelines(bytes.len() as u64), RefCell::new(&mut &*bytes));
    }
    file.with_bytes(|run, bytes| write(Inside::Whole(bytes), RefCell::new(run)))?
}

/// Everything a report shows of a run; of a run without a verdict what may be said before its end.
///
/// # Errors
/// When the run file cannot be read.
pub fn view(file: &RunFile) -> Result<RunView, Failure> {
    view_of(file, None, None)
}

/// As [`view`], without the parts of records that no text shows: a fraction of the memory.
///
/// # Errors
/// When the run file cannot be read.
pub fn view_as_text(file: &RunFile) -> Result<RunView, Failure> {
    view_of(file, Some(&Light::of), None)
}

/// A view for a page, and the numbers of trials that the page shows.
fn view_as_page(file: &RunFile, light: Lightener<'_>) -> Result<(RunView, PageTrials), Failure> {
    let mut trials = PageTrials::default();
    let timeline = if trials.are_drawn() { Timeline::Whole } else { Timeline::Told };
    let see = &mut |trial: &PlannedTrial, record: &Record| trials.see(trial, record);
    let view = view_of(file, Some(light), Some(Eye { see, timeline }))?;
    Ok((view, trials))
}

/// Makes the lightener of records for a plan and its stored verdict.
type Lightener<'a> = &'a dyn Fn(&Plan, Option<&Verdict>) -> Light;

/// Sees each record while it is whole, and needs so much of its timeline.
struct Eye<'a> {
    see: &'a mut dyn FnMut(&PlannedTrial, &Record),
    timeline: Timeline,
}

fn view_of(
    file: &RunFile,
    light: Option<Lightener<'_>>,
    mut eye: Option<Eye<'_>>,
) -> Result<RunView, Failure> {
    let plan = file.plan()?;
    let stored = file.verdict()?;
    let is_over = stored.is_some();
    // Everything is judged again where the file's method is an earlier one.
    let todays = stored.as_ref().filter(|verdict| verdict.method >= METHOD);
    let light = light.map(|light| light(&plan, todays));
    let mut wanted = light.as_ref().map(Light::wanted).unwrap_or_default();
    if let (Some(eye), Some(_)) = (&eye, &light) {
        (wanted.metrics, wanted.timeline) = (None, eye.timeline);
    }
    let mut extractor = Extractor::new(&plan);
    let mut take = |trial: &PlannedTrial, mut record: Record| {
        if let Some(eye) = &mut eye {
            (eye.see)(trial, &record);
        }
        let outcome = extractor.outcome(&record);
        if let Some(light) = &light {
            light.lighten(&mut record);
        }
        (outcome, record)
    };
    // One copy of the records at a time: a run of 100,000 trials fills gigabytes.
    let (taken, found) = file.verified(&wanted, &mut take)?;
    let mut warnings = integrity(&found);
    let (outcomes, records): (Outcomes, Vec<_>) = taken
        .into_iter()
        .map(|(trial, (outcome, record))| ((trial.index, (trial, outcome)), (trial, record)))
        .unzip();
    let (verdict, stored) = match stored {
        None => (prolong::so_far(&plan, &outcomes), None),
        // The copy of a stack that such a run had is no longer judged.
        Some(stored) if plan.control.is_some() => (stored, None),
        Some(stored) => {
            let today = prolong::judged(&plan, &outcomes);
            if stored.method < today.method || !keeps_its_classes(&stored, &today) {
                (today, Some(stored))
            } else {
                warnings.extend(other_verdict(&stored, &today));
                (stored, None)
            }
        }
    };
    // Only the verdict needs them.
    drop(outcomes);
    warnings.extend(judge::warnings(&plan, &records));
    warnings.extend(judge::dependent_rounds(&verdict));
    Ok(RunView {
        warnings,
        why: file.why()?,
        host_ns: file.host_ns()?,
        backend: file.backend()?,
        environment: file.environment()?,
        plan,
        records,
        verdict,
        stored,
        is_over,
    })
}

/// True if every stack still has the class of what it keeps after a power cut, which decides who may be picked.
fn keeps_its_classes(stored: &Verdict, today: &Verdict) -> bool {
    let class = |verdict: &Verdict, stack: &str| {
        verdict.evidence.durability_of(stack).map(|found| found.class)
    };
    let mut stacks = today.evidence.durability.iter().map(|found| &found.stack);
    stacks.all(|stack| class(stored, stack).is_none_or(|kept| Some(kept) == class(today, stack)))
}

/// Warnings about changes to the file after it was written.
fn integrity(found: &Integrity) -> Vec<Warning> {
    let Integrity::Changed(parts) = found else { return vec![] };
    let warning = |text: &String| Warning::new(WarningCode::FileChanged, text.clone());
    parts.iter().map(warning).collect()
}

/// Two ratios are the same when they differ by less than this part.
const SAME: f64 = 1e-6;

/// The verdict that the records give today, where it is another than the stored one.
pub fn other_verdict(stored: &Verdict, today: &Verdict) -> Option<Warning> {
    let close = |left: Option<f64>, right: Option<f64>| match (left, right) {
        (Some(left), Some(right)) => (left - right).abs() <= SAME * left.abs().max(right.abs()),
        (left, right) => left == right,
    };
    let same_row = |(left, right): (&Ratio, &Ratio)| {
        left.stack == right.stack
            && close(left.ratio, right.ratio)
            && close(left.low, right.low)
            && close(left.high, right.high)
            && close(left.median, right.median)
    };
    let same = stored.kind == today.kind
        && stored.stacks == today.stacks
        && stored.baseline == today.baseline
        && stored.metric == today.metric
        && stored.ratios.len() == today.ratios.len()
        && stored.ratios.iter().zip(&today.ratios).all(same_row);
    if same {
        return None;
    }
    let said = |verdict: &Verdict| {
        let word = seekwell_report::decision_word(verdict.kind, verdict.decision).to_lowercase();
        format!("{word} ({})", verdict.stacks.join(", "))
    };
    let by = if stored.method == today.method {
        "today".to_owned()
    } else {
        format!("by method {} (the file's verdict is by method {})", today.method, stored.method)
    };
    let text = if said(stored) == said(today) {
        format!("the records give the same verdict {by}, {}, but other intervals", said(today))
    } else {
        let sentence = today.sentence.trim_end_matches('.');
        format!(
            "the file says {}, but the records give {} {by}: {sentence}",
            said(stored),
            said(today)
        )
    };
    Some(Warning::new(WarningCode::VerdictDiffers, text))
}

/// Form of a report on standard output.
#[derive(Clone, Copy, Debug)]
pub struct Print {
    /// JSON instead of text.
    pub json: bool,
    /// The whole report instead of its first screen.
    pub all: bool,
}

/// Prints the report of a run on standard output. JSON is read from the file, trial by trial.
///
/// # Errors
/// When the file cannot be read or the output cannot be written.
pub fn print(file: &RunFile, view: &RunView, path: &Path, how: Print) -> Result<(), Failure> {
    if !how.json {
        let screen = Screen {
            width: terminal::width(),
            height: terminal::height(),
            colour: terminal::colour(),
            all: how.all,
            path,
        };
        terminal::data(&seekwell_report::terminal(view, &screen));
        return Ok(());
    }
    terminal::data_piecewise(&|out| write_json(file, view, out))
        .map_err(|error| Failure::Error(format!("cannot print {}: {error}", path.display())))
}

fn write_json(file: &RunFile, view: &RunView, out: &mut dyn Write) -> std::io::Result<()> {
    let wanted = Wanted { series: false, timeline: Timeline::No, ..Wanted::default() };
    seekwell_report::write_json(view, &|see| each_trial(file, &wanted, see), out)
}

/// Writes an output. The run file itself is never written over.
fn write(path: &Path, kind: Kind, text: &str, arguments: &ReportArgs) -> Result<(), Failure> {
    refuse_run(path, arguments)?;
    output::write(path, kind, text.as_bytes(), arguments.force)
}

/// Refuses the run file as an output.
fn refuse_run(path: &Path, arguments: &ReportArgs) -> Result<(), Failure> {
    if is_same_file(path, &arguments.run) {
        let text = format!("{} is the run file itself; name another file", path.display());
        return Err(Failure::Usage(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
