//! `seekwell kernel`: builds the kernel that guests run, lists those that were built, and searches its filesystems.

use crate::args::{KernelBuildArgs, KernelCommand, KernelSetArg};
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_session::{Machine, Session, SessionError};
use seekwell_virtual::KernelSet;
use seekwell_virtual::kernel::{self, DEBIAN_TARBALL, Kernel, KernelPlan, KernelSource, Progress};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Does what was asked of the lab kernels.
///
/// # Errors
/// When a kernel cannot be built, or the cache cannot be read.
pub fn run(session: &Session, command: &KernelCommand) -> Result<Exit, Failure> {
    let machine = session.machine();
    match command {
        KernelCommand::Build(arguments) => build(machine, arguments),
        KernelCommand::List => list(machine),
        KernelCommand::Calibrate(arguments) => super::calibrate::run(machine, arguments),
        KernelCommand::Cuts(arguments) => super::cuts::run(session, arguments),
    }
}

fn build(machine: &Machine, arguments: &KernelBuildArgs) -> Result<Exit, Failure> {
    let source = match &arguments.source {
        Some(path) if path.is_file() => KernelSource::Tarball(path.clone()),
        Some(path) => KernelSource::Directory(path.clone()),
        None => KernelSource::Tarball(DEBIAN_TARBALL.into()),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.unwrap_or(cores);
    let plan = KernelPlan { source, set: set(arguments.set), jobs };
    let begun = Instant::now();
    let mut show = Shown::default();
    let built = kernel::build(&plan, cache(machine)?, &mut |progress| {
        show.show(&progress);
    });
    let kernel = built?;
    let how = if show.compiled {
        format!("built in {} s", begun.elapsed().as_secs())
    } else {
        "was built before".to_owned()
    };
    terminal::talk(&format!("{how}: {}", kernel.path.display()));
    terminal::data(&kernel.id);
    Ok(Exit::Done)
}

fn list(machine: &Machine) -> Result<Exit, Failure> {
    let kernels = kernel::list(cache(machine)?)?;
    if kernels.is_empty() {
        terminal::talk("no lab kernel found; build one: seekwell kernel build");
    } else {
        terminal::data(&text(&kernels));
    }
    Ok(Exit::Done)
}

/// Directory of the lab kernels.
fn cache(machine: &Machine) -> Result<&Path, Failure> {
    machine.kernels.as_deref().ok_or_else(|| SessionError::NoHome.into())
}

fn set(set: KernelSetArg) -> KernelSet {
    match set {
        KernelSetArg::Full => KernelSet::Full,
        KernelSetArg::Reduced => KernelSet::Reduced,
        KernelSetArg::Layers => KernelSet::Layers,
    }
}

/// One line per kernel; those of other versions of this program are marked.
fn text(kernels: &[Kernel]) -> String {
    let mut text = format!("{:16}  {:9}  {:22}  source\n", "kernel", "set", "version");
    for kernel in kernels {
        let old = if kernel.is_current() { "" } else { "  (made by another version)" };
        let (id, set, version) = (&kernel.id, kernel.set.to_string(), &kernel.version);
        let source = terminal::harmless(&kernel.source);
        let _ = writeln!(text, "{id:16}  {set:9}  {version:22}  {source}{old}");
    }
    text
}

/// Progress of a build: a line now and then on standard error.
#[derive(Default)]
struct Shown {
    compiled: bool,
    /// Time at which the first file was compiled.
    since: Option<Instant>,
}

/// Files between two lines.
const FILES_PER_LINE: u32 = 100;

impl Shown {
    fn show(&mut self, progress: &Progress) {
        let words = match progress {
            Progress::Hashing => "reading the source",
            Progress::Waiting => "waiting for another build",
            Progress::Unpacking => "unpacking the source",
            Progress::Patching => "applying the patches",
            Progress::Configuring => "configuring",
            Progress::Compiling { done, expected } => {
                self.compiled = true;
                let since = *self.since.get_or_insert_with(Instant::now);
                if done % FILES_PER_LINE == 0 {
                    terminal::talk(&compiled(*done, *expected, since.elapsed()));
                }
                return;
            }
        };
        terminal::talk(words);
    }
}

/// The line after `done` files, which took `elapsed`, with the time that the others will take.
fn compiled(done: u32, expected: u32, elapsed: Duration) -> String {
    let line = format!("compiled {done} of about {expected} files");
    let left = expected.saturating_sub(done);
    if left == 0 || done == 0 {
        return line;
    }
    let seconds = elapsed.as_secs_f64() / f64::from(done) * f64::from(left);
    if seconds < 60.0 {
        return format!("{line}, less than a minute left");
    }
    format!("{line}, about {:.0} min left", seconds / 60.0)
}

#[cfg(test)]
mod tests;
