//! The step between two programs: from `clone3` to `execve`.

use super::{Child, Options, c_string, close_range_on_exec, owned, raw};
use crate::error::{Error, Result};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::{CStr, CString, OsString, c_char};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

/// Everything that the new process needs, made before it exists: between `clone3` and `execve` it
/// may not allocate, because another thread may have held the allocator's lock at the clone.
pub(super) struct Plan<'a> {
    program: CString,
    _texts: Vec<CString>,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// Source and wanted number.
    descriptors: Vec<(RawFd, RawFd)>,
    /// Filled in the new process with copies above all wanted numbers.
    copies: Vec<RawFd>,
    /// Lowest number above all wanted ones.
    above: RawFd,
    options: &'a Options,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
        descriptors: &[(RawFd, BorrowedFd<'_>)],
        options: &'a Options,
    ) -> Result<Self> {
        let program =
            arguments.first().ok_or_else(|| Error::Argument("no program named".to_owned()))?;
        if options.fresh_proc && !(options.pid_namespace && options.mount_namespace) {
            return Err(Error::Argument(
                "a fresh /proc needs a PID and a mount namespace".to_owned(),
            ));
        }
        let mut texts = Vec::new();
        let mut pointers = |text: CString| {
            let pointer = text.as_ptr();
            texts.push(text);
            pointer
        };
        let mut argument_pointers = Vec::new();
        for argument in arguments {
            argument_pointers.push(pointers(c_string(argument)?));
        }
        argument_pointers.push(ptr::null());
        let mut environment_pointers = Vec::new();
        for (name, value) in environment {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            environment_pointers.push(pointers(c_string(&pair)?));
        }
        environment_pointers.push(ptr::null());
        let highest = descriptors.iter().map(|(wanted, _)| *wanted).max().unwrap_or(0);
        Ok(Self {
            program: c_string(program)?,
            _texts: texts,
            arguments: argument_pointers,
            environment: environment_pointers,
            descriptors: descriptors
                .iter()
                .map(|(wanted, source)| (raw(*source), *wanted))
                .collect(),
            copies: vec![-1; descriptors.len()],
            above: highest.max(2) + 1,
            options,
        })
    }
}

/// Steps that can fail in the new process; the number goes through the pipe.
const STEPS: [&str; 9] = [
    "copy descriptors", "follow its parent's death", "make mounts private", "mount /proc",
    "begin a session", "close descriptors", "place descriptors", "unblock signals",
    "run the program",
];

/// Index into [`STEPS`].
#[derive(Clone, Copy)]
enum Step {
    Copy = 0,
    Death = 1,
    Private = 2,
    Proc = 3,
    Session = 4,
    Close = 5,
    Place = 6,
    Signals = 7,
    Execute = 8,
}

/// Starts the process and waits until it has become the program, or says why it has not.
pub(super) fn launch(plan: &Plan<'_>) -> Result<Child> {
    let program = plan.program.to_string_lossy().into_owned();
    let failed = |action: &str, source: io::Error, remedy| Error::Call {
        action: format!("{action} for {program}"),
        source,
        remedy,
    };
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)
        .map_err(|source| failed("make a pipe", source.into(), "close some descriptors"))?;
    let mut pidfd: RawFd = -1;
    let mut flags = libc::CLONE_PIDFD as u64;
    if plan.options.pid_namespace {
        flags |= libc::CLONE_NEWPID as u64;
    }
    if plan.options.mount_namespace {
        flags |= libc::CLONE_NEWNS as u64;
    }
    if plan.options.network_namespace {
        flags |= libc::CLONE_NEWNET as u64;
    }
    let mut copies = plan.copies.clone();
    let arguments = CloneArguments {
        flags,
        pidfd: ptr::from_mut(&mut pidfd) as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArguments::default()
    };
    // SAFETY: without CLONE_VM this is a fork: the child has its own copy of all memory, and runs
    // only `become_program`, which makes nothing but system calls. The argument is a valid struct
    // clone_args, and pidfd outlives the call.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>())
    };
    if pid == 0 {
        become_program(plan, &mut copies, (reader.as_raw_fd(), writer.as_raw_fd()));
    }
    if pid < 0 {
        let remedy = "run as root: a new namespace needs it";
        return Err(failed("start a process", io::Error::last_os_error(), remedy));
    }
    drop(writer);
    let child = Child { pid: u32::try_from(pid).unwrap_or_default(), pidfd: owned(pidfd) };
    let mut report = [0_u8; 8];
    // Nothing arrives when the program runs: the pipe closes at execve.
    match File::from(reader).read_exact(&mut report) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(child),
        outcome => {
            super::wait(&child.pidfd)?;
            outcome.map_err(|source| failed("start a process", source, "try again"))?;
            let [a, b, c, d, e, f, g, h] = report;
            let step = STEPS.get(u32::from_ne_bytes([a, b, c, d]) as usize).unwrap_or(&"start");
            let source = io::Error::from_raw_os_error(i32::from_ne_bytes([e, f, g, h]));
            Err(failed(step, source, "check that the program exists and that this is root"))
        }
    }
}

/// `struct clone_args` of `linux/sched.h`, version 0.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// Runs in the new process, and never returns.
fn become_program(plan: &Plan<'_>, copies: &mut [RawFd], ends: (RawFd, RawFd)) -> ! {
    let (reader, writer) = ends;
    // SAFETY: closes our copy of the parent's end, so that the pipe breaks when the parent ends, and
    // moves ours out of the way of the wanted numbers; no memory is involved.
    let report = unsafe {
        libc::close(reader);
        libc::fcntl(writer, libc::F_DUPFD_CLOEXEC, plan.above)
    };
    let step = if report < 0 { Step::Copy } else { prepare(plan, copies, report) };
    let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    let mut message = [0_u8; 8];
    message[..4].copy_from_slice(&(step as u32).to_ne_bytes());
    message[4..].copy_from_slice(&error.to_ne_bytes());
    // SAFETY: the buffer is ours and 8 bytes long; _exit ends the process without running any
    // handler of the parent's copy.
    unsafe {
        libc::write(if report < 0 { writer } else { report }, message.as_ptr().cast(), 8);
        libc::_exit(127)
    }
}

/// Every step in order; returns the one that failed, with the reason in `errno`.
fn prepare(plan: &Plan<'_>, copies: &mut [RawFd], report: RawFd) -> Step {
    let options = plan.options;
    for (copy, (source, _)) in copies.iter_mut().zip(&plan.descriptors) {
        // SAFETY: duplicates a descriptor; no memory is involved.
        *copy = unsafe { libc::fcntl(*source, libc::F_DUPFD_CLOEXEC, plan.above) };
        if *copy < 0 {
            return Step::Copy;
        }
    }
    if options.die_with_parent && !follow_parent(report) {
        return Step::Death;
    }
    if options.mount_namespace && !mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE) {
        return Step::Private;
    }
    let proc_flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    if options.fresh_proc && !mount(Some(c"proc"), c"/proc", Some(c"proc"), proc_flags) {
        return Step::Proc;
    }
    // SAFETY: setsid takes nothing.
    if options.new_session && unsafe { libc::setsid() } < 0 {
        return Step::Session;
    }
    if !close_range_on_exec() {
        return Step::Close;
    }
    for (copy, (_, wanted)) in copies.iter().zip(&plan.descriptors) {
        // SAFETY: duplicates a descriptor; no memory is involved.
        if unsafe { libc::dup2(*copy, *wanted) } < 0 {
            return Step::Place;
        }
    }
    if !unblock_signals() {
        return Step::Signals;
    }
    // SAFETY: program, arguments and environment are NUL-terminated texts in arrays that end with a
    // null pointer, and live in the plan.
    unsafe {
        libc::execve(plan.program.as_ptr(), plan.arguments.as_ptr(), plan.environment.as_ptr())
    };
    Step::Execute
}

/// Asks to be killed with the parent, and looks whether it had ended before the question: then
/// nobody would ever kill us. The parent's process number cannot tell, it is 0 in a new namespace.
fn follow_parent(report: RawFd) -> bool {
    let mut pipe = libc::pollfd { fd: report, events: 0, revents: 0 };
    // SAFETY: PR_SET_PDEATHSIG takes a signal number; poll gets one valid pollfd.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::poll(&raw mut pipe, 1, 0) >= 0
            && pipe.revents & libc::POLLERR == 0
    }
}

fn mount(source: Option<&CStr>, target: &CStr, kind: Option<&CStr>, flags: libc::c_ulong) -> bool {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: all texts are NUL-terminated or null, which mount(2) allows for these flags.
    unsafe { libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, ptr::null()) == 0 }
}

/// A program expects no signal blocked, and SIGPIPE to end it; Rust's runtime ignores SIGPIPE.
fn unblock_signals() -> bool {
    // SAFETY: the set is initialised by sigemptyset before it is read; SIG_DFL is a valid handler.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL) != libc::SIG_ERR
            && libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) == 0
    }
}
