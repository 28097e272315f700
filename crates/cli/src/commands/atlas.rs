//! `seekwell atlas` and `publish`: runs on modelled devices become a table and a site, whose cells can
//! be run again.

use crate::args::{AtlasCheckArgs, AtlasCommand, AtlasRunArgs, PublishArgs};
use crate::commands::ask::no_room;
use crate::commands::{report, run, tune};
use crate::failure::{Exit, Failure};
use crate::{machine, output, terminal};
use seekwell_host::output::Kind;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Status;
use seekwell_model::units::Nanos;
use seekwell_report::{
    Cell, Entry, atlas_entries, atlas_lines, cell_fingerprint, comparison_key, is_near_value,
    is_same_value,
};
use seekwell_session::atlas::{AtlasDevice, DEVICES, LOADS, device, lab, load};
use seekwell_session::{LabText, Options, Planned, Session, Standing};
use seekwell_store::RunFile;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The table that comes with the program.
const CELLS: &str = include_str!("../../../../atlas/cells.jsonl");

/// Entries of the table that comes with the program.
///
/// # Errors
/// When it is damaged, which the tests rule out.
pub fn entries() -> Result<Vec<Entry>, Failure> {
    Ok(atlas_entries(CELLS)?)
}

/// Runs an action on the atlas.
///
/// # Errors
/// Those of the action.
pub fn run(session: &Session, command: &AtlasCommand) -> Result<Exit, Failure> {
    match command {
        AtlasCommand::Run(arguments) => make(session, arguments),
        AtlasCommand::Check(arguments) => check(session, arguments),
        AtlasCommand::Publish(arguments) => publish(session, arguments),
        AtlasCommand::Tune(arguments) => tune::run(session, arguments),
        AtlasCommand::Questions => {
            terminal::data(&seekwell_report::questions_markdown(&entries()?, &kind));
            Ok(Exit::Done)
        }
    }
}

fn planned(
    session: &Session,
    load: &str,
    device: &AtlasDevice,
    jobs: Option<usize>,
) -> Result<Planned, Failure> {
    let text = lab(load, device)
        .ok_or_else(|| Failure::Error(format!("the atlas has no lab of the load {load}")))?;
    let options = Options { jobs, ..Options::of("virtual") };
    Ok(session.resolve(&LabText::new(load, &text), &options)?.plan()?)
}

/// The run behind an entry, as it would be made now.
fn planned_again(
    session: &Session,
    entry: &Entry,
    jobs: Option<usize>,
) -> Result<Planned, Failure> {
    let device = device(&entry.device).ok_or_else(|| gone(&entry.name(None)))?;
    planned(session, &entry.load, device, jobs)
}

fn gone(name: &str) -> Failure {
    Failure::Error(format!("{name} is in no lab of the atlas any more"))
}

/// True when a run made now could be compared with an entry.
fn is_current(planned: &Planned, entry: &Entry) -> Result<bool, Failure> {
    let facts = planned.decisive()?;
    Ok(comparison_key(|fact| facts.get(fact).cloned(), &planned.plan().lab) == entry.key)
}

/// Runs what is missing, and writes the table after each run.
fn make(session: &Session, arguments: &AtlasRunArgs) -> Result<Exit, Failure> {
    let known = |words: &[String], is: &dyn Fn(&str) -> bool, what: &str| {
        let unknown = words.iter().find(|word| !is(word));
        unknown
            .map_or(Ok(()), |word| Err(Failure::Usage(format!("the atlas has no {what} {word}"))))
    };
    known(&arguments.loads, &|word| load(word).is_some(), "load")?;
    known(&arguments.devices, &|word| device(word).is_some(), "device")?;
    let runs = arguments.directory.join("runs");
    std::fs::create_dir_all(&runs)
        .map_err(|error| Failure::Error(format!("cannot make {}: {error}", runs.display())))?;
    let table = arguments.directory.join("cells.jsonl");
    let mut entries = kept(&table, arguments.kept)?;
    let loads: Vec<&str> = arguments.loads.iter().filter_map(|word| load(word)).collect();
    let models: Vec<&str> =
        arguments.devices.iter().filter_map(|word| Some(device(word)?.name())).collect();
    let is_asked = |asked: &[&str], name: &str| asked.is_empty() || asked.contains(&name);
    for (name, word) in
        loads.iter().flat_map(|name| arguments.devices.iter().map(move |word| (name, word)))
    {
        if device(word).is_some_and(|one| lab(name, one).is_none()) {
            return Err(no_room(name));
        }
    }
    for (name, _) in LOADS.iter().filter(|(name, _)| is_asked(&loads, name)) {
        for one in DEVICES.iter().filter(|one| is_asked(&models, one.name())) {
            let path = runs.join(format!("{name}.{}.seekwell", one.name()));
            if lab(name, one).is_none() || arguments.kept && !path.is_file() {
                continue;
            }
            let planned = planned(session, name, one, arguments.jobs)?;
            if !arguments.kept {
                run::complete(planned, &path)?;
            } else if planned.standing(&path)? != Standing::Complete {
                continue;
            }
            let entry = Entry::of(&report::view(&RunFile::open(&path)?)?);
            entries.retain(|old| (&old.load, &old.device) != (&entry.load, &entry.device));
            entries.push(entry);
            write(&table, &mut entries)?;
        }
    }
    let cost = entries.iter().filter_map(|entry| entry.host_s).sum::<u64>();
    terminal::talk(&format!(
        "{} cells of {} runs in {}; their trials took {} of host time",
        entries.iter().map(|entry| entry.cells.len()).sum::<usize>(),
        entries.len(),
        table.display(),
        Nanos::seconds(cost)
    ));
    Ok(Exit::Done)
}

/// Entries of the table so far: none without a table, or where it is made anew of the runs.
fn kept(table: &Path, anew: bool) -> Result<Vec<Entry>, Failure> {
    match std::fs::read_to_string(table) {
        _ if anew => Ok(Vec::new()),
        Ok(text) => Ok(atlas_entries(&text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Failure::Error(format!("cannot read {}: {error}", table.display()))),
    }
}

/// Writes the table in the order of loads and devices.
fn write(table: &Path, entries: &mut [Entry]) -> Result<(), Failure> {
    let place = |entry: &Entry| {
        let load = LOADS.iter().position(|(name, _)| *name == entry.load);
        (load, DEVICES.iter().position(|one| one.name() == entry.device))
    };
    entries.sort_by_key(place);
    std::fs::write(table, atlas_lines(entries)?)
        .map_err(|error| Failure::Error(format!("cannot write {}: {error}", table.display())))
}

/// Cells that can be drawn: those of the kernel, model, load and guest of today.
fn drawn_from<'a>(
    session: &Session,
    entries: &'a [Entry],
    jobs: Option<usize>,
) -> Result<Vec<(&'a Entry, &'a Cell)>, Failure> {
    let mut drawn = Vec::new();
    let mut others = 0;
    for entry in entries {
        match is_current(&planned_again(session, entry, jobs)?, entry)? {
            true => drawn.extend(entry.cells.iter().map(|cell| (entry, cell))),
            false => others += 1,
        }
    }
    if others > 0 {
        terminal::talk(&format!(
            "{others} of {} runs are of another kernel, model, load or guest and not drawn from: seekwell atlas check \
             --changed makes them anew",
            entries.len()
        ));
    }
    Ok(drawn)
}

/// Runs cells again and compares them.
fn check(session: &Session, arguments: &AtlasCheckArgs) -> Result<Exit, Failure> {
    let entries = entries()?;
    if arguments.changed {
        return changed(session, &entries, arguments);
    }
    let all = || entries.iter().flat_map(|entry| entry.cells.iter().map(move |cell| (entry, cell)));
    let mut chosen = Vec::new();
    for name in &arguments.cells {
        let found = all().find(|(entry, cell)| entry.name(Some(cell)) == *name);
        chosen.push(found.ok_or_else(|| {
            Failure::Usage(format!(
                "no cell {name} in the atlas; seekwell ask names those of an answer"
            ))
        })?);
    }
    let mut rest = match arguments.random {
        Some(_) => drawn_from(session, &entries, arguments.jobs)?,
        None => Vec::new(),
    };
    for _ in 0..arguments.random.unwrap_or(0).min(rest.len()) {
        let drawn = RandomState::new().build_hasher().finish() as usize % rest.len();
        chosen.push(rest.swap_remove(drawn));
    }
    let stop = machine::stop_on_interrupt()?;
    let started = Instant::now();
    let (mut moved, mut near) = (Vec::new(), 0);
    for (entry, cell) in &chosen {
        let name = entry.name(Some(cell));
        let (standing, note) = again(session, entry, cell, arguments.jobs, &stop)?;
        terminal::data(&format!("{:<6} {name}{note}", standing.word()));
        match standing {
            Again::Same => {}
            Again::Near => near += 1,
            Again::Moved => moved.push(name),
        }
    }
    if !moved.is_empty() {
        return Err(Failure::Error(format!(
            "{} of {} cells moved: {}. The kernel, a model, a load or a program of the guests such as mkfs is another \
             one; seekwell atlas run makes them anew",
            moved.len(),
            chosen.len(),
            moved.join(", ")
        )));
    }
    let took = Nanos(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let near = match near {
        0 => String::new(),
        near => format!("; {near} agree to 0.5 % alone"),
    };
    terminal::talk(&format!("{} cells recomputed in {took}: none moved{near}", chosen.len()));
    Ok(Exit::Done)
}

/// A cell that was run again.
#[derive(Clone, Copy)]
enum Again {
    /// The same requests, and the same value as far as two builds agree.
    Same,
    /// A value as near as two builds have it: some requests depend on the nanosecond of a flush or a step's end.
    Near,
    Moved,
}

impl Again {
    fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Near => "near",
            Self::Moved => "moved",
        }
    }
}

/// Runs a cell again; with the result the difference to the kept cell in words.
fn again(
    session: &Session,
    entry: &Entry,
    cell: &Cell,
    jobs: Option<usize>,
    stop: &Arc<AtomicBool>,
) -> Result<(Again, String), Failure> {
    let planned = planned_again(session, entry, jobs)?;
    let plan = planned.plan();
    let is_its = |trial: &&PlannedTrial| plan.pair(trial).0.label == cell.stack;
    let trials: Vec<PlannedTrial> = plan.trials.iter().filter(is_its).copied().collect();
    if trials.is_empty() {
        return Err(gone(&entry.name(Some(cell))));
    }
    let records = planned.again(&trials, stop)?;
    let kernel =
        planned.decisive()?.get("kernel").and_then(|one| one.as_str()).unwrap_or("").to_owned();
    let other = match kernel == entry.kernel {
        true => String::new(),
        false => format!(" (Linux {kernel}; the atlas has {})", entry.kernel),
    };
    let fingerprint = cell_fingerprint(&records);
    let ok = records.iter().filter(|record| record.status == Status::Ok);
    let values: Vec<f64> = ok.filter_map(|one| one.metric(&entry.metric)).collect();
    let now = seekwell_stats::estimate::median(&values);
    let standing = match () {
        () if fingerprint == cell.fingerprint && is_same_value(cell.median, now) => Again::Same,
        () if is_near_value(cell.median, now) => Again::Near,
        () => Again::Moved,
    };
    let change = cell.median.zip(now);
    let change = change
        .map_or_else(String::new, |(old, now)| format!(" {:+.3} %", (now / old - 1.0) * 100.0));
    let change = match standing {
        Again::Same => String::new(),
        _ => format!(": {}{change}", entry.metric),
    };
    Ok((standing, change + &other))
}

/// Makes the runs anew whose kernel, model, load or guest is another one now, and compares them.
fn changed(
    session: &Session,
    entries: &[Entry],
    arguments: &AtlasCheckArgs,
) -> Result<Exit, Failure> {
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::Error(format!("cannot make a temporary folder: {error}")))?;
    let (mut runs, mut moved, mut flipped) = (0, 0, 0);
    for entry in entries {
        let name = entry.name(None);
        let is_its = |cell: &String| *cell == name || cell.starts_with(&format!("{name}/"));
        if !arguments.cells.is_empty() && !arguments.cells.iter().any(is_its) {
            continue;
        }
        let planned = planned_again(session, entry, arguments.jobs)?;
        if is_current(&planned, entry)? {
            continue;
        }
        runs += 1;
        let path = folder.path().join(format!("{runs}.seekwell"));
        run::complete(planned, &path)?;
        let now = Entry::of(&report::view(&RunFile::open(&path)?)?);
        let others = entry.moved_to(&now);
        moved += others.len();
        flipped += usize::from(entry.pick != now.pick);
        let word = |pick: &Option<String>| pick.clone().unwrap_or_else(|| "no pick".to_owned());
        let answer = match entry.pick == now.pick {
            true => format!("{} stays", word(&now.pick)),
            false => format!("{} instead of {}", word(&now.pick), word(&entry.pick)),
        };
        let count = entry.cells.len();
        terminal::data(&format!("{name}: {answer}; {} of {count} cells moved", others.len()));
        others.iter().for_each(|line| terminal::data(&format!("  {line}")));
    }
    if runs == 0 {
        terminal::talk("the kernel, the models, the loads and the guests are those of the atlas");
        return Ok(Exit::Done);
    }
    let said = format!("runs made anew: {runs}, cells moved: {moved}, answers flipped: {flipped}");
    match moved {
        0 => {
            terminal::talk(&said);
            Ok(Exit::Done)
        }
        _ => Err(Failure::Error(format!("{said}; seekwell atlas run brings the table up to date"))),
    }
}

/// Kind of a device in a table; the model where the atlas has none.
fn kind(name: &str) -> String {
    device(name).map_or(name, |device| device.kind).to_owned()
}

/// Writes the site.
fn publish(session: &Session, arguments: &PublishArgs) -> Result<Exit, Failure> {
    let devices = session.devices()?;
    let title = |name: &str| {
        let device = device(name)?;
        Some(device.made_of(devices.get(device.model)?.title()))
    };
    let pages = seekwell_report::site(&entries()?, &title, &kind)?;
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::Error(format!("cannot make {}: {error}", directory.display())))?;
    for page in &pages {
        output::silently(
            &directory.join(&page.name),
            Kind::Page,
            page.text.as_bytes(),
            arguments.force,
        )?;
    }
    terminal::talk(&format!(
        "wrote {} pages; open {}",
        pages.len(),
        directory.join("index.html").display()
    ));
    Ok(Exit::Done)
}
