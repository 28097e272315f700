//! `seekwell device`: the modelled devices, and what they do, drawn.

use crate::args::{DeviceCommand, DeviceCompareArgs, DeviceImportArgs};
use crate::commands::compare::Run;
use crate::failure::{Exit, Failure};
use crate::{foreign, output, terminal};
use seekwell_device::compared::Compared;
use seekwell_host::confine::Reach;
use seekwell_host::output::Kind;
use seekwell_model::comparison::Prediction;
use seekwell_model::stack::Backing;
use seekwell_runner::compare::{Side, predicted};
use seekwell_session::Session;
use std::io::Read as _;
use std::path::{Component, Path};

/// Lists the modelled devices, draws one, or makes a device file from a specification.
///
/// # Errors
/// When there is no such device, or a file is wrong or cannot be read or written.
pub fn run(session: &Session, command: &DeviceCommand) -> Result<Exit, Failure> {
    match command {
        DeviceCommand::List => {
            let devices = session.devices()?;
            terminal::data(&seekwell_device::catalogue::table(devices.values()));
        }
        DeviceCommand::Show { name } => {
            let file = session.device(name)?;
            terminal::data(&terminal::harmless(&seekwell_device::draw(&file)));
            terminal::data(&terminal::harmless(&seekwell_device::catalogue::origins(&file)));
        }
        DeviceCommand::Import(arguments) => import(arguments)?,
        DeviceCommand::Compare(arguments) => compare(arguments)?,
    }
    Ok(Exit::Done)
}

/// Makes a device file from a specification of DiskSim and the files it names.
fn import(arguments: &DeviceImportArgs) -> Result<(), Failure> {
    let path = &arguments.specification;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // The specification names files of its folder.
    let reach = Reach::default().reading(path).reading(folder.unwrap_or(Path::new(".")));
    let reach = arguments.output.iter().fold(reach, |reach, output| reach.writing(output));
    foreign::confine(&reach);
    let text = text_of(path)
        .map_err(|error| Failure::Error(format!("cannot read {}: {error}", path.display())))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut named_file = |named: &str| {
        let mut parts = Path::new(named).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(file)), None) => {
                text_of(&directory.join(file)).map_err(|error| error.to_string())
            }
            _ => Err("only plain names of files in the same directory are read".to_owned()),
        }
    };
    let device = seekwell_device::diskspecs::import(&name, &text, &mut named_file)
        .map_err(|error| Failure::from_error(&error))?;
    match &arguments.output {
        Some(output) => output::create(output, Kind::Device, device.as_bytes()),
        None => {
            terminal::data(&device);
            Ok(())
        }
    }
}

/// Compares a prediction on a device file with a run on the device, and keeps the error in the file.
fn compare(arguments: &DeviceCompareArgs) -> Result<(), Failure> {
    let DeviceCompareArgs { file: path, predicted, real, dry_run } = arguments;
    let reach = Reach::default().reading(path).reading_database(predicted).reading_database(real);
    foreign::confine(&if *dry_run { reach } else { reach.writing(path) });
    let text = text_of(path)
        .map_err(|error| Failure::Error(format!("cannot read {}: {error}", path.display())))?;
    let device = seekwell_device::load(&text)
        .map_err(|error| Failure::Error(format!("{}: {error}", path.display())))?;
    let (model, disk) = (Run::read(predicted)?, Run::read(real)?);
    let side = model.side();
    if !is_on(&side, device.name()) {
        let (run, name) = (predicted.display(), device.name());
        return Err(Failure::Error(format!(
            "{run} did not run on the modelled device {name}; name the run on it"
        )));
    }
    let found =
        predicted::predicted(&side, &disk.side()).map_err(|error| Failure::from_error(&error))?;
    terminal::data(&seekwell_report::prediction_text(
        &found,
        terminal::width(),
        terminal::colour(),
    ));
    if *dry_run {
        return Ok(());
    }
    let kept = kept(&side.plan.lab.name, &found);
    let more = seekwell_device::with_comparison(&text, &kept)
        .map_err(|error| Failure::from_error(&error))?;
    output::write(path, Kind::Device, more.as_bytes(), true)
}

/// Returns true if a run has a stack whose disk or journal is this modelled device.
fn is_on(side: &Side<'_>, name: &str) -> bool {
    let is_it = |backing: &Backing| match backing {
        Backing::Model { model, .. } => model.split(['@', ',']).next() == Some(name),
        _ => false,
    };
    side.plan.stacks.iter().any(|stack| {
        is_it(&stack.device.backing) || stack.journal.external.as_ref().is_some_and(is_it)
    })
}

fn kept(lab: &str, found: &Prediction) -> Compared {
    let [predicted_best, best] = found.best().map(str::to_owned);
    Compared {
        lab: lab.to_owned(),
        metric: found.metric.clone(),
        stacks: u32::try_from(found.stacks.len()).unwrap_or(u32::MAX),
        lowest: found.lowest,
        median: found.median,
        highest: found.highest,
        predicted_best,
        best,
    }
}

/// The text of a file, one byte beyond the largest specification at most.
fn text_of(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let most = seekwell_device::diskspecs::MOST_BYTES as u64 + 1;
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
