//! Puts the files of a mounted filesystem together again, with its own means.

use crate::command::child::{Ended, Limits, not_run, run_program};
use crate::error::WorkloadError;
use crate::mail::{Root, walk};
use crate::outcome::StepOutcome;
use crate::step::StepContext;
use rustix::fs::{Mode, OFlags};
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::workloads::aging::{DEFRAGMENTERS, Defragmenter};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

/// `F2FS_IOC_DEFRAGMENT` of linux/f2fs.h.
const F2FS_IOC_DEFRAGMENT: libc::c_ulong = 0xC010_F508;

pub(super) fn run(
    step: &str,
    directory: &Path,
    context: &StepContext<'_>,
) -> Result<StepOutcome, WorkloadError> {
    let kind =
        kernel_type(directory).map_err(WorkloadError::file("find the filesystem of", directory))?;
    let Some(tool) = DEFRAGMENTERS.iter().find(|tool| tool.kernel_type == kind) else {
        let known: Vec<&str> = DEFRAGMENTERS.iter().map(|tool| tool.kernel_type).collect();
        let problem =
            format!("cannot defragment {kind}: it has no tool that works on a mounted filesystem");
        let remedy = format!("use it on {}", known.join(", "));
        return Err(WorkloadError::unfit(step, problem, &remedy));
    };
    match tool.command {
        [] => each_file(directory, context),
        [program, arguments @ ..] => run_tool(step, tool, program, arguments, directory, context),
    }
}

fn run_tool(
    step: &str,
    tool: &Defragmenter,
    program: &str,
    arguments: &[&str],
    directory: &Path,
    context: &StepContext<'_>,
) -> Result<StepOutcome, WorkloadError> {
    let start = |program: &str| {
        let mut command = Command::new(program);
        for argument in arguments {
            match *argument {
                "{dir}" => command.arg(directory),
                other => command.arg(other),
            };
        }
        // A fixed program with fixed arguments, which needs the right to move blocks.
        let limits = Limits { timeout: None, stop: context.stop.as_deref() };
        run_program(command, directory, limits, None)
    };
    let finished = start(program)
        .or_else(|error| match error.kind() {
            // An ordinary user's path leaves it out.
            io::ErrorKind::NotFound => start(&format!("/usr/sbin/{program}")),
            _ => Err(error),
        })
        .map_err(|source| {
            WorkloadError::command(step, not_run(program, tool.package, &source), "")
        })?;
    match finished.ended.failure("was not done in time") {
        Some(problem) => {
            let problem = format!("({program}) {problem}");
            Err(WorkloadError::command(step, problem, &finished.output.text()))
        }
        None => Ok(StepOutcome {
            elapsed_ns: finished.elapsed_ns,
            cpu_ns: finished.cpu_ns,
            stopped: finished.ended == Ended::Stopped,
            ..StepOutcome::default()
        }),
    }
}

/// f2fs puts one file together at a time, when asked.
fn each_file(directory: &Path, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
    #[repr(C)]
    struct Range {
        start: u64,
        length: u64,
    }
    let begin_ns = MonotonicClock.now_ns();
    let root = Root::open(directory.to_owned())?;
    let mut outcome = StepOutcome::default();
    walk::files(&root, |at, name| {
        let path = || directory.join(name.to_string_lossy().as_ref());
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(at, name, flags, Mode::empty())
            .map_err(|errno| WorkloadError::file("open", &path())(errno))?;
        let facts = rustix::fs::fstat(&file)
            .map_err(|errno| WorkloadError::file("look at", &path())(errno))?;
        let mut range = Range { start: 0, length: (facts.st_size as u64).next_multiple_of(4096) };
        // SAFETY: the range is laid out as the kernel's struct f2fs_defragment and lives during
        // the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), F2FS_IOC_DEFRAGMENT, &raw mut range) };
        if result != 0 && facts.st_size > 0 {
            return Err(WorkloadError::file("defragment", &path())(io::Error::last_os_error()));
        }
        outcome.ops += 1;
        Ok(!context.is_stopped())
    })?;
    outcome.stopped = context.is_stopped();
    outcome.elapsed_ns = MonotonicClock.now_ns().saturating_sub(begin_ns);
    Ok(outcome)
}

/// The type of the filesystem that a directory is on, as the kernel calls it.
fn kernel_type(directory: &Path) -> io::Result<String> {
    let directory = directory.canonicalize()?;
    let text = std::fs::read_to_string("/proc/self/mountinfo")?;
    type_in(&text, &directory)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "it is not in /proc/self/mountinfo"))
}

/// The type of the last of the nearest mounts above a path.
pub(super) fn type_in(mountinfo: &str, directory: &Path) -> Option<String> {
    let mut nearest: Option<(usize, &str)> = None;
    for line in mountinfo.lines() {
        let (mount, rest) = line.split_once(" - ")?;
        let (point, kind) = (mount.split(' ').nth(4)?, rest.split(' ').next()?);
        let point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\");
        let depth = Path::new(&point).components().count();
        if directory.starts_with(&point) && nearest.is_none_or(|(deepest, _)| depth >= deepest) {
            nearest = Some((depth, kind));
        }
    }
    nearest.map(|(_, kind)| kind.to_owned())
}
