//! The step between two programs: from `clone3` to `execve`.

use super::{Child, Options, c_string, close_range_on_exec};
use crate::error::{Error, Result};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::{CString, OsString, c_char};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// Everything that the new process needs, made before it exists: between `clone3` and `execve` it
/// may not allocate, because another thread may have held the allocator's lock at the clone.
pub(super) struct Plan<'a> {
    program: CString,
    /// Texts that the pointers lead to.
    _texts: [Vec<CString>; 2],
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
        let texts = arguments.iter().map(|text| c_string(text)).collect::<Result<Vec<_>>>()?;
        let pairs = environment.iter().map(|(name, value)| {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            c_string(&pair)
        });
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        // Each array ends with a null pointer.
        let pointers = |texts: &[CString]| -> Vec<*const c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let highest = descriptors.iter().map(|(wanted, _)| *wanted).max().unwrap_or(0);
        Ok(Self {
            program: c_string(program)?,
            arguments: pointers(&texts),
            environment: pointers(&pairs),
            _texts: [texts, pairs],
            descriptors: descriptors
                .iter()
                .map(|(wanted, source)| (source.as_raw_fd(), *wanted))
                .collect(),
            copies: vec![-1; descriptors.len()],
            above: highest.max(2) + 1,
            options,
        })
    }
}

/// Steps that can fail in the new process; the number goes through the pipe.
const STEPS: [&str; 8] = [
    "copy descriptors", "follow its parent's death", "make mounts private", "begin a session",
    "close descriptors", "place descriptors", "unblock signals", "run the program",
];

/// Index into [`STEPS`].
#[derive(Clone, Copy)]
enum Step {
    Copy = 0,
    Death = 1,
    Private = 2,
    Session = 3,
    Close = 4,
    Place = 5,
    Signals = 6,
    Execute = 7,
}

/// Starts the process and waits until it has become the program, or says why it has not.
pub(super) fn launch(plan: &Plan<'_>) -> Result<Child> {
    let program = plan.program.to_string_lossy().into_owned();
    let failed = |action: &str, source: io::Error, remedy| {
        Error::call(format!("{action} for {program}"), remedy)(source)
    };
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)
        .map_err(|source| failed("make a pipe", source.into(), "close some descriptors"))?;
    let mut pidfd: RawFd = -1;
    let namespaces = [
        (plan.options.pid_namespace, libc::CLONE_NEWPID),
        (plan.options.mount_namespace, libc::CLONE_NEWNS),
        (plan.options.network_namespace, libc::CLONE_NEWNET),
    ];
    let wanted = namespaces.into_iter().filter(|(is_wanted, _)| *is_wanted);
    let flags = wanted.fold(libc::CLONE_PIDFD, |flags, (_, flag)| flags | flag) as u64;
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
    // SAFETY: the kernel has just returned this descriptor to us and no other code knows it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let child = Child { pid: u32::try_from(pid).unwrap_or_default(), pidfd };
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
    if options.mount_namespace && !make_mounts_private() {
        return Step::Private;
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

fn make_mounts_private() -> bool {
    let (none, flags) = (ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: all texts are NUL-terminated or null, which mount(2) allows for these flags.
    unsafe { libc::mount(none, c"/".as_ptr(), none, flags, ptr::null()) == 0 }
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
