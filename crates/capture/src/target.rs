//! Processes and directories to trace.

use crate::error::CaptureError;
use crate::load::Loaded;
use crate::recorder::Recorder;
use crate::{Options, around, container, processes};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Error;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

/// Processes to record, with all that they start.
#[derive(Clone, Debug)]
pub enum Target {
    /// A command that the capture starts.
    Command(Command),
    /// A process that runs, with its descendants.
    Process(u32),
    /// Every process in this cgroup and below: its directory, or its path below `/sys/fs/cgroup`.
    Cgroup(PathBuf),
    /// Every process but this one.
    System,
}

/// A command to start.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// User and group to run it as, where this is not the caller's: under sudo.
    pub user: Option<(u32, u32)>,
    /// Further groups of that user.
    pub groups: Vec<u32>,
    /// Its variables.
    pub environment: Environment,
}

/// Variables of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// The caller's, but for these.
    Own(Vec<(OsString, OsString)>),
    /// These alone.
    Whole(Vec<(OsString, OsString)>),
}

impl Default for Environment {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

/// A target that is being recorded.
pub(crate) struct Running {
    child: Option<Child>,
    status: Option<ExitStatus>,
    process: Option<u32>,
    /// The folder of a cgroup, and its number.
    cgroup: Option<(PathBuf, u64)>,
}

impl Running {
    /// Attaches the programs and starts or finds the target.
    pub(crate) fn start(
        target: &Target,
        loaded: &mut Loaded,
        recorder: &mut Recorder,
    ) -> Result<Self, CaptureError> {
        let mut running = Self { child: None, status: None, process: None, cgroup: None };
        match target {
            Target::Command(command) => {
                // A child has its parent's descriptors and directory, and a child of a chosen
                // thread is chosen: that of this thread, from its first instruction on.
                recorder.resolver.seed(std::process::id(), &mut recorder.writer);
                let own = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
                loaded.attach()?;
                recorder.resolver.around_ns = around::measure(loaded, own)?;
                loaded.choose(own)?;
                let started = start(command);
                loaded.leave(own)?;
                running.child = Some(started?);
            }
            Target::Process(process) => {
                let path = PathBuf::from(format!("/proc/{process}"));
                if !path.exists() {
                    let source = std::io::Error::other("no process has this number");
                    return Err(CaptureError::Target { path, source });
                }
                if processes::is_of_kernel(*process) {
                    return Err(CaptureError::NotStarted(format!(
                        "process {process} is a thread of the kernel and makes no system calls; record the program \
                         that it works for, or everything with --system, where its block requests are in the trace"
                    )));
                }
                loaded.attach()?;
                choose_family(*process, loaded, recorder)?;
                running.process = Some(*process);
            }
            Target::Cgroup(path) => {
                let (path, folder) = cgroup(path)?;
                loaded.choose_cgroup(&folder)?;
                running.cgroup = number(&folder).map(|number| (path.clone(), number));
                recorder.mounts(container::mounts(&path));
                loaded.attach()?;
                choose_running(members(&path), loaded, recorder)?;
            }
            Target::System => {
                loaded.attach()?;
                choose_running(processes::programs(), loaded, recorder)?;
            }
        }
        Ok(running)
    }

    /// True when the command or the process has ended.
    pub(crate) fn ended(&mut self) -> bool {
        if let Some(child) = &mut self.child {
            self.status = child.try_wait().ok().flatten();
            return self.status.is_some();
        }
        let gone = |process| !Path::new("/proc").join(format!("{process}")).exists();
        self.process.is_some_and(gone)
    }

    /// Goes over to the new cgroup of a unit or container that was started again: it has the same name.
    pub(crate) fn follow(&mut self, loaded: &Loaded) -> Result<(), CaptureError> {
        let Some((path, known)) = &mut self.cgroup else { return Ok(()) };
        // Between its end and its next start there is none.
        if std::fs::metadata(&*path).map_or(true, |folder| folder.ino() == *known) {
            return Ok(());
        }
        let Ok((_, folder)) = cgroup(path) else { return Ok(()) };
        loaded.choose_cgroup(&folder)?;
        *known = number(&folder).unwrap_or(*known);
        Ok(())
    }

    pub(crate) fn status(&self) -> Option<ExitStatus> {
        self.status
    }
}

/// Chooses the threads of a process and its descendants. Those that start meanwhile are met by the
/// next look, or belong to a thread that is chosen already.
fn choose_family(
    process: u32,
    loaded: &Loaded,
    recorder: &mut Recorder,
) -> Result<(), CaptureError> {
    let mut chosen = HashSet::new();
    loop {
        let family = processes::family(process);
        let new: Vec<_> = family.into_iter().filter(|member| !chosen.contains(member)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for (member, thread) in new {
            loaded.choose(thread)?;
            chosen.insert((member, thread));
            if member == thread {
                know(member, loaded, recorder)?;
            }
        }
    }
}

/// Chooses the threads of these processes. Others of their cgroup or of the system are chosen by their first call, but a
/// thread that only touches pages which it mapped before makes none.
fn choose_running(
    running: Vec<u32>,
    loaded: &Loaded,
    recorder: &mut Recorder,
) -> Result<(), CaptureError> {
    for process in running.into_iter().filter(|process| *process != std::process::id()) {
        for thread in processes::threads(process) {
            loaded.choose(thread)?;
        }
        know(process, loaded, recorder)?;
    }
    Ok(())
}

/// Learns what a process has open and mapped.
fn know(process: u32, loaded: &Loaded, recorder: &mut Recorder) -> Result<(), CaptureError> {
    recorder.resolver.seed(process, &mut recorder.writer);
    match recorder.resolver.mapped_ranges(process) {
        Some(ranges) => loaded.choose_ranges(process, ranges),
        None => Ok(()),
    }
}

fn start(command: &Command) -> Result<Child, CaptureError> {
    let (program, arguments) = command.words.split_first().ok_or_else(|| {
        let source = std::io::Error::other("no command was given");
        CaptureError::Command { program: String::new(), source }
    })?;
    let mut process = std::process::Command::new(program);
    process.args(arguments);
    match &command.environment {
        Environment::Own(others) => process.envs(others.iter().cloned()),
        Environment::Whole(all) => process.env_clear().envs(all.iter().cloned()),
    };
    if let Some(user) = command.user {
        let groups = command.groups.clone();
        // SAFETY: between fork and exec it makes system calls alone, on memory that was made before.
        unsafe { process.pre_exec(move || become_user(user, &groups)) };
    }
    process.spawn().map_err(|source| {
        let program = program.to_string_lossy().into_owned();
        CaptureError::Command { program, source }
    })
}

/// Gives up this process's user and groups for those of another. (A `Command` drops the further groups
/// of a user.)
fn become_user((user, group): (u32, u32), groups: &[u32]) -> std::io::Result<()> {
    let done = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(Error::last_os_error()) };
    // SAFETY: the list lives until the call returns.
    done(unsafe { libc::setgroups(groups.len(), groups.as_ptr()) })?;
    // SAFETY: these take numbers.
    done(unsafe { libc::setgid(group) })?;
    // SAFETY: as above.
    done(unsafe { libc::setuid(user) })
}

fn cgroup(path: &Path) -> Result<(PathBuf, OwnedFd), CaptureError> {
    let path = if path.starts_with(container::CGROUPS) {
        path.to_owned()
    } else {
        container::root().join(path.strip_prefix("/").unwrap_or(path))
    };
    // Any other directory would be accepted here and match nothing.
    let opened = std::fs::metadata(path.join("cgroup.procs"))
        .and_then(|_| std::fs::File::open(&path))
        .map(OwnedFd::from);
    match opened {
        Ok(folder) => Ok((path, folder)),
        Err(source) => Err(CaptureError::Target { path, source }),
    }
}

/// The inode of an open folder.
fn number(folder: &OwnedFd) -> Option<u64> {
    rustix::fs::fstat(folder).ok().map(|status| status.st_ino)
}

/// The traced directories as absolute paths.
///
/// # Errors
/// When one is not there, or the output is inside it or on its device.
pub(crate) fn checked_paths(options: &Options) -> Result<Vec<String>, CaptureError> {
    let output = std::path::absolute(&options.output).unwrap_or_else(|_| options.output.clone());
    // The output does not exist yet; its nearest directory that does is resolved.
    let existing = output.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let real = existing.canonicalize().unwrap_or_else(|_| existing.to_owned());
    let device = std::fs::metadata(&real).map(|metadata| metadata.dev()).ok();
    let mut paths = Vec::new();
    for path in &options.paths {
        let unusable = |source| CaptureError::Target { path: path.clone(), source };
        paths.push(path.canonicalize().map_err(unusable)?);
    }
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let limits: Vec<String> = paths.iter().map(text).collect();
    if options.same_device {
        return Ok(limits);
    }
    let rest = output.strip_prefix(existing).unwrap_or(Path::new(""));
    if let Some(traced) = paths.iter().find(|traced| real.join(rest).starts_with(traced)) {
        let place = format!("inside the traced directory {}", traced.display());
        return Err(CaptureError::OutputRecorded { output, place });
    }
    let on_device = |traced: &Path| {
        let traced = traced.display();
        let place =
            format!("on the device of the traced directory {traced} and would add to its load");
        Err(CaptureError::OutputRecorded { output: output.clone(), place })
    };
    if paths.is_empty() {
        let is_in_memory = is_in_memory(&real);
        if matches!(options.target, Target::System) && !is_in_memory {
            return on_device(Path::new("/"));
        }
        // A process may have anything open in memory; what is written there adds nothing to the load of a device.
        if matches!(options.target, Target::Command(_)) || !is_in_memory {
            paths.extend(used(&options.target));
        }
    }
    for traced in paths {
        let of_traced = std::fs::metadata(&traced).map(|metadata| metadata.dev()).ok();
        if of_traced.is_some() && device == of_traced {
            return on_device(&traced);
        }
    }
    Ok(limits)
}

/// Directories whose state is recorded before the start.
pub(crate) fn walked(options: &Options) -> Vec<PathBuf> {
    if options.paths.is_empty() && matches!(options.target, Target::Command(_)) {
        return working_directory(&options.target).into_iter().collect();
    }
    options.paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// Directories where a target without `--path` works, and the files that it has open.
fn used(target: &Target) -> Vec<PathBuf> {
    let processes = match target {
        Target::Command(_) | Target::System => {
            return working_directory(target).into_iter().collect();
        }
        Target::Process(process) => {
            processes::family(*process).into_iter().map(|(member, _)| member).collect()
        }
        Target::Cgroup(path) => {
            cgroup(path).map_or_else(|_| Vec::new(), |(path, _)| members(&path))
        }
    };
    let of_process = |process: u32| {
        let seen = processes::seen(process);
        let open = seen.descriptors.into_iter().map(|open| open.path);
        seen.directory.into_iter().chain(open)
    };
    let paths: std::collections::BTreeSet<String> =
        processes.into_iter().collect::<HashSet<_>>().into_iter().flat_map(of_process).collect();
    // Terminals, sockets and what a mount of another namespace hides have no place on a device.
    let is_stored = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
    };
    paths.into_iter().map(PathBuf::from).filter(is_stored).collect()
}

/// Processes of a cgroup and of those below it.
fn members(cgroup: &Path) -> Vec<u32> {
    let own = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    let mut all: Vec<u32> = own.lines().filter_map(|line| line.parse().ok()).collect();
    let below = std::fs::read_dir(cgroup).into_iter().flatten().flatten();
    let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    below.for_each(|entry| all.extend(members(&entry.path())));
    all
}

/// True for a filesystem that writes to no device.
fn is_in_memory(folder: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == TMPFS)
}

/// The directory where a target without `--path` most likely works.
fn working_directory(target: &Target) -> Option<PathBuf> {
    match target {
        Target::Command(_) => std::env::current_dir().ok(),
        Target::Process(process) => std::fs::read_link(format!("/proc/{process}/cwd")).ok(),
        Target::Cgroup(_) | Target::System => None,
    }
}

#[cfg(test)]
mod tests;
