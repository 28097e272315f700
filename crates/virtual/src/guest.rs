//! The first program in the guest: mounts what programs expect, does the ordered task, says what
//! it writes through the mailbox, and switches off.
//!
//! This is the only part of the room that runs inside.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::system::{RebootCommand, reboot};

use crate::agreed::{ENVIRONMENT, device_path};
use crate::mailbox::{self, Kind, Order, Task};
use crate::root::RootImage;

#[cfg(test)]
mod tests;

/// Revision of what guests do around the calls of a workload, raised when it changes results: 2 since steps begin at a
/// tick and a queue has its whole length.
pub const REVISION: u32 = 2;

/// Alignment of direct I/O.
const PAGE_BYTES: usize = 4096;

/// Largest payload of one frame.
const FRAME_BYTES: usize = 1 << 16;

/// Errors of a guest that could not do as ordered.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// Something did not work.
    #[error("cannot {what}: {source}")]
    System {
        /// The action that failed.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
    /// No disk is the mailbox, or the mailbox has no valid order.
    #[error("no order for the guest: {0}")]
    NoOrder(&'static str),
}

fn failed<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> GuestError {
    move |error| GuestError::System { what: what.into(), source: error.into() }
}

/// Returns true if this process is the first of its system, as the lab kernel starts it.
#[must_use]
pub fn is_first_process() -> bool {
    std::process::id() == 1
}

/// Does what the mailbox orders, then switches the guest off.
///
/// # Errors
///
/// [`GuestError`], also written to the kernel's log. A first process that ends makes the kernel
/// panic, which the other side sees.
pub fn serve() -> Result<Infallible, GuestError> {
    let outcome = prepare().and_then(obey);
    if let Err(error) = &outcome
        && let Ok(mut log) = fs::OpenOptions::new().write(true).open("/dev/kmsg")
    {
        // If the log cannot be written, the panic that follows reports the failure.
        let _ = writeln!(log, "<2>seekwell: {error}");
    }
    outcome
}

/// Filesystems that programs expect, in the order of mounting.
const MOUNTS: [(&str, &str, &str); 9] = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", ""),
    ("tmpfs", "/tmp", "mode=1777"),
    ("tmpfs", "/run", "mode=755"),
    ("tmpfs", "/mnt", "mode=755"),
    ("tmpfs", "/root", "mode=700"),
    ("tmpfs", "/var", "mode=755"),
    ("cgroup2", "/sys/fs/cgroup", ""),
];

/// Directories made in them.
const DIRECTORIES: [&str; 4] = ["/var/tmp", "/var/lib", "/dev/shm", "/run/lock"];

fn prepare() -> Result<Voice, GuestError> {
    for (kind, target, options) in MOUNTS {
        let options = std::ffi::CString::new(options).unwrap_or_default();
        mount(kind, target, kind, MountFlags::empty(), options.as_c_str())
            .map_err(failed(format!("mount {target}")))?;
        if target == "/dev" {
            let mut voice = Voice::find()?;
            voice.say(Kind::Started, &[])?;
        }
    }
    for directory in DIRECTORIES {
        fs::create_dir_all(directory).map_err(failed(format!("make {directory}")))?;
    }
    let mut voice = Voice::find()?;
    voice.skip_first();
    Ok(voice)
}

fn obey(mut voice: Voice) -> Result<Infallible, GuestError> {
    let (order, input) = voice.read_order()?;
    for (position, disk) in order.disks.iter().enumerate() {
        present(position, disk.rotational)?;
    }
    fill_cache(&device_path(order.disks.len()))?;
    let status = run(&order, &input, &mut voice)?;
    voice.say(Kind::Exit, status.to_string().as_bytes())?;
    reboot(RebootCommand::PowerOff).map_err(failed("switch off"))?;
    Err(GuestError::NoOrder("the guest did not switch off"))
}

/// Bytes of the page cache that the program and what is read after it take.
const CACHED_BYTES: u64 = 64 << 20;

/// Bytes that one call reads of it.
const READ_BYTES: usize = 1 << 20;

/// Reads the program, whose code is at its beginning, and of the root image what is missing from a round number. Every
/// build has its functions on other pages, and another length: a page that is read in the middle of a trial takes a few
/// looks at the clock of 256 ns each, and the kernel writes back by the memory that is left.
fn fill_cache(root: &Path) -> Result<(), GuestError> {
    let read = |path: &Path, most: u64| -> Result<u64, GuestError> {
        let file = File::open(path).map_err(failed(format!("open {}", path.display())))?;
        // In large pieces: a system call of a guest takes longer than reading a page.
        let mut file = BufReader::with_capacity(READ_BYTES, file.take(most));
        io::copy(&mut file, &mut io::sink()).map_err(failed(format!("read {}", path.display())))
    };
    let program = read(Path::new(RootImage::INIT), CACHED_BYTES)?;
    read(root, CACHED_BYTES - program)?;
    Ok(())
}

/// Sets what a virtio disk cannot say of itself.
fn present(position: usize, rotational: bool) -> Result<(), GuestError> {
    let path = device_path(position);
    let name = path.file_name().unwrap_or_default();
    let queue = Path::new("/sys/block").join(name).join("queue");
    let file = queue.join("rotational");
    let value = if rotational { "1" } else { "0" };
    fs::write(&file, value).map_err(failed(format!("write {}", file.display())))?;
    // A scheduler on a device with a queue depth of 1 starts with 2, but the kernel rejects writing less than
    // this limit: the value that a trial restores at its end must be one that can be written.
    let file = queue.join("nr_requests");
    let requests = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u32>().ok());
    if requests.is_some_and(|requests| requests < LEAST_REQUESTS) {
        // Without a scheduler the kernel refuses, and a trial does not change it either.
        let _ = fs::write(&file, LEAST_REQUESTS.to_string());
    }
    Ok(())
}

/// `BLKDEV_MIN_RQ` of the kernel.
const LEAST_REQUESTS: u32 = 4;

fn run(order: &Order, input: &Path, voice: &mut Voice) -> Result<i32, GuestError> {
    let input = File::open(input).map_err(failed("open the task's input"))?;
    match &order.task {
        Task::Agent => Ok(serve_agent(input, voice)),
        Task::Program(words) => run_program(words, input, voice),
    }
}

/// An agent in this process: its right to the disks is that of the first process of this kernel.
fn serve_agent(input: File, voice: &mut Voice) -> i32 {
    match seekwell_agent::process::serve(input, &mut *voice) {
        Ok(()) => 0,
        Err(error) => {
            let text = format!("{}\n", in_full(&error));
            // If this fails too, the status alone reports the failure.
            let _ = voice.say(Kind::Log, text.as_bytes());
            1
        }
    }
}

/// An error with its causes, as one line.
fn in_full(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", in_full(cause)),
        None => error.to_string(),
    }
}

fn run_program(words: &[String], input: File, voice: &mut Voice) -> Result<i32, GuestError> {
    let [program, arguments @ ..] = words else {
        return Err(GuestError::NoOrder("the command is empty"));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir("/root")
        .env_clear()
        .envs(ENVIRONMENT)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed(format!("start {program}")))?;
    let status = relay(&mut child, voice)?;
    Ok(shell_status(status))
}

fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Says what the command writes until it has ended; what its own children write later is lost.
fn relay(child: &mut Child, voice: &mut Voice) -> Result<ExitStatus, GuestError> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(GuestError::NoOrder("the command has no process id"))?;
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(failed("watch the command"))?;
    let mut pipes: Vec<(Kind, File)> = Vec::new();
    pipes.extend(
        child
            .stdout
            .take()
            .map(|pipe| (Kind::Output, File::from(std::os::fd::OwnedFd::from(pipe)))),
    );
    pipes.extend(
        child.stderr.take().map(|pipe| (Kind::Log, File::from(std::os::fd::OwnedFd::from(pipe)))),
    );
    let mut buffer = vec![0; FRAME_BYTES];
    loop {
        let mut sources: Vec<PollFd<'_>> =
            pipes.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)).collect();
        sources.push(PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN));
        poll(&mut sources, None).map_err(failed("wait for the command"))?;
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        // Pipes first: output written before the end is sent before the end.
        let Some(index) = ready.iter().position(|ready| *ready) else { continue };
        let Some((kind, pipe)) = pipes.get_mut(index) else {
            return child.wait().map_err(failed("wait for the command"));
        };
        let read = pipe.read(&mut buffer).map_err(failed("read what the command writes"))?;
        if read == 0 {
            pipes.remove(index);
        } else {
            voice.say(*kind, &buffer[..read])?;
        }
    }
}

/// The guest's end of the mailbox.
struct Voice {
    disk: File,
    at: u64,
}

impl Voice {
    fn find() -> Result<Self, GuestError> {
        let disks = fs::read_dir("/sys/block").map_err(failed("list disks"))?;
        for disk in disks.flatten() {
            let serial = fs::read_to_string(disk.path().join("serial")).unwrap_or_default();
            if serial.trim_end_matches(['\0', '\n']) == mailbox::SERIAL {
                return Self::open(&PathBuf::from("/dev").join(disk.file_name()));
            }
        }
        Err(GuestError::NoOrder("no disk is the mailbox"))
    }

    fn open(path: &Path) -> Result<Self, GuestError> {
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let disk = open(path, flags, Mode::empty()).map_err(failed("open the mailbox"))?;
        Ok(Self { disk: File::from(disk), at: mailbox::SAYINGS_SECTOR * 512 })
    }

    /// Continues after the frame `Started`.
    fn skip_first(&mut self) {
        self.at += 512;
    }

    /// The order, and where the command's input was put.
    fn read_order(&self) -> Result<(Order, PathBuf), GuestError> {
        let first = self.read(0, 512)?;
        let place = mailbox::order_place(&first).ok_or(GuestError::NoOrder("it has no header"))?;
        let text = self.read(place.order_at, place.order_bytes)?;
        let order = serde_json::from_slice(&text).map_err(failed("read the order"))?;
        let path = PathBuf::from("/run/seekwell-input");
        let mut input = File::create(&path).map_err(failed("keep the command's input"))?;
        let mut done = 0;
        while done < place.input_bytes {
            let length = (place.input_bytes - done).min(FRAME_BYTES as u64);
            let bytes = self.read(place.input_at + done, length)?;
            input.write_all(&bytes).map_err(failed("keep the command's input"))?;
            done += length;
        }
        Ok((order, path))
    }

    fn read(&self, at: u64, length: u64) -> Result<Vec<u8>, GuestError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut buffer = Aligned::new(length);
        self.disk.read_exact_at(buffer.bytes(), at).map_err(failed("read the mailbox"))?;
        Ok(buffer.bytes()[..length].to_vec())
    }

    /// The payload first, then the header, so that a header is never there without its payload.
    fn say(&mut self, kind: Kind, bytes: &[u8]) -> Result<(), GuestError> {
        let mut payload = Aligned::new(bytes.len());
        payload.bytes()[..bytes.len()].copy_from_slice(bytes);
        let mut header = Aligned::new(mailbox::HEADER_BYTES);
        let numbers = mailbox::saying_header(kind, bytes.len() as u64);
        header.bytes()[..mailbox::HEADER_BYTES].copy_from_slice(&numbers);
        for (part, at) in [(&mut payload, self.at + 512), (&mut header, self.at)] {
            self.disk.write_all_at(part.bytes(), at).map_err(failed("write to the mailbox"))?;
        }
        self.at += 512 + payload.bytes().len() as u64;
        Ok(())
    }
}

/// Bytes written are sent as output frames.
impl Write for &mut Voice {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = &bytes[..bytes.len().min(FRAME_BYTES)];
        self.say(Kind::Output, now).map_err(io::Error::other)?;
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Memory for direct I/O: aligned, and of whole sectors.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(bytes: usize) -> Self {
        let length = bytes.next_multiple_of(512);
        let memory = vec![0; length + PAGE_BYTES];
        let start = memory.as_ptr().addr().next_multiple_of(PAGE_BYTES) - memory.as_ptr().addr();
        Self { memory, start, length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}
