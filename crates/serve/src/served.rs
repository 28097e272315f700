//! The side of the command: it starts a server, attaches its file, and takes everything down.

use crate::mount::FILE_NAME;
use crate::server::{RESTORES, Report};
use rustix::fs::{Mode, OFlags, open};
use seekwell_device::Geometry;
use seekwell_host::loop_device::{Candidate, LoopDevice, attach_noted};
use seekwell_host::queue::{self, Wanted};
use seekwell_host::sysfs::System;
use seekwell_host::undo::{self, Undo};
use seekwell_model::stack::WriteCache;
use seekwell_model::units::Bytes;
use seekwell_model::warning::Warning;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Fewest requests that a queue of the kernel can be limited to.
const LEAST_REQUESTS: u32 = 4;

/// Longest wait for a server that has nothing left to do.
const LAST_WORDS: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(2);

/// Tells the lists of several devices of one process apart.
static NTH: AtomicU32 = AtomicU32::new(0);

/// Errors of serving a device.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// The user is not root.
    #[error("serving a device needs root, for /dev/fuse and a loop device; use sudo")]
    NotRoot,
    /// The server's process.
    #[error("cannot start the server of the device")]
    Start(#[source] io::Error),
    /// It ended before it served anything.
    #[error("the server of the device ended at its start; its message is above")]
    Ended,
    /// It was killed, or failed.
    #[error(
        "the server of the device ended by itself ({0}); the device is gone, and so are its contents"
    )]
    Died(String),
    /// Its file cannot be opened.
    #[error("cannot open the file of the served device: {0}; its server may have ended")]
    Open(rustix::io::Errno),
    /// The loop device, its settings, or the undo list.
    #[error(transparent)]
    Host(#[from] seekwell_host::Error),
    /// Settings that could not be put back.
    #[error("not every setting of the loop device could be restored: {0}")]
    NotRestored(String),
}

/// Everything that serving needs besides the device.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The kernel's view.
    pub system: &'a System,
    /// The program that becomes the server.
    pub program: &'a Path,
    /// Arguments that make it one. The path of the undo list follows.
    pub arguments: &'a [OsString],
    /// Directory for the undo list.
    pub undo: &'a Path,
}

/// A device that is served. Dropped, it ends at once.
#[derive(Debug)]
pub struct Served {
    system: System,
    server: Child,
    /// Its end ends a server whose file was not opened, and tells one whose file was closed that this process is gone.
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    undo: Undo,
    device: Option<LoopDevice>,
    path: PathBuf,
    size: Bytes,
    warnings: Vec<Warning>,
}

impl Served {
    /// Starts a server and attaches its file to a free loop device, whose queue gets the limits that the model presents.
    ///
    /// # Errors
    /// [`ServedError`]; nothing is left behind then.
    pub fn start(setup: &Setup<'_>, geometry: &Geometry) -> Result<Self, ServedError> {
        if !rustix::process::geteuid().is_root() {
            return Err(ServedError::NotRoot);
        }
        let system = setup.system;
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let run = format!("{}{}{nth}", system.own_pid(), undo::OF_SERVED);
        let list = setup.undo.join(format!("{run}.{}", undo::EXTENSION));
        let undo = Undo::create(system, &list, &run)?;
        let server = Command::new(setup.program)
            .args(setup.arguments)
            .arg(&list)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of reach of Ctrl-C, which only asks the command to end.
            .process_group(0)
            .spawn();
        let mut server = match server {
            Ok(server) => server,
            Err(error) => {
                // Nothing is in it yet.
                let _ = undo::restore(system, &list);
                return Err(ServedError::Start(error));
            }
        };
        let pipes = server.stdin.take().zip(server.stdout.take());
        let (input, output) = pipes.ok_or(ServedError::Ended)?;
        let mut served = Self {
            system: system.clone(),
            server,
            input,
            output: BufReader::new(output),
            undo,
            device: None,
            path: PathBuf::new(),
            size: Bytes(0),
            warnings: Vec::new(),
        };
        served.undo.add_owner(served.server.id())?;
        served.attach(geometry)?;
        Ok(served)
    }

    fn attach(&mut self, geometry: &Geometry) -> Result<(), ServedError> {
        let directory: i32 = self.read().ok_or(ServedError::Ended)?;
        let file = format!("/proc/{}/fd/{directory}/{FILE_NAME}", self.server.id());
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = open(file, flags, Mode::empty()).map_err(ServedError::Open)?;
        let sector = Bytes(geometry.logical_block.into());
        let undo = &mut self.undo;
        let mut note = |candidate: Candidate<'_>| undo.record_candidate(candidate);
        let device = attach_noted(&self.system, &file, sector, None, &mut note)?;
        // The loop device has the file now, and its end is what the server waits for.
        drop(file);
        let device = self.device.insert(device.held_for_reading()?);
        (self.path, self.size) = (device.path().to_owned(), device.size());
        let write_cache =
            if geometry.write_cache { WriteCache::WriteBack } else { WriteCache::WriteThrough };
        let wanted = Wanted {
            scheduler: Some("none".to_owned()),
            nr_requests: Some(geometry.queue_depth.max(LEAST_REQUESTS)),
            max_sectors_kb: Some(geometry.max_request_bytes / 1024),
            rotational: Some(geometry.rotational),
            write_cache: Some(write_cache),
            ..Wanted::default()
        };
        let name = device.kernel_name().to_owned();
        self.warnings = queue::apply(&self.system, &name, &wanted, &mut self.undo)?;
        Ok(())
    }

    /// The device's node, `/dev/loopN`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Settings of its queue that the kernel did not take.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Lets the loop device go: it is free when its last user is gone.
    pub fn release(&mut self) {
        if let Some(device) = self.device.take() {
            // A server that has ended cannot hear it.
            let _ = self.input.write_all(&[RESTORES]);
            // What cannot be put back now is in the list, and put back or reported at the end.
            let _ = queue::restore(&self.system, device.kernel_name(), &mut self.undo);
        }
    }

    /// Returns true when the server has ended: after [`release`](Self::release) because the device is no longer used.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.server.try_wait(), Ok(None))
    }

    /// Ends the device, puts the settings back, and returns what the server did. Users that are left get errors.
    ///
    /// # Errors
    /// When the server died, or a setting cannot be put back.
    pub fn end(mut self) -> Result<Report, ServedError> {
        let died = self.device.is_some() && self.has_ended();
        self.release();
        self.wait_or_kill();
        let report: Option<Report> = self.read();
        let status = self.server.wait().map_or_else(|error| error.to_string(), |s| s.to_string());
        let restored = self.undo.restore_and_remove()?;
        match report.filter(|_| !died) {
            None => Err(ServedError::Died(status)),
            Some(_) if !restored.problems.is_empty() => {
                Err(ServedError::NotRestored(restored.problems.join("; ")))
            }
            Some(report) => Ok(report),
        }
    }

    fn wait_or_kill(&mut self) {
        let begun = Instant::now();
        while !self.has_ended() {
            if begun.elapsed() > LAST_WORDS {
                // It may have ended in this moment.
                let _ = self.server.kill();
                let _ = self.server.wait();
                return;
            }
            sleep(POLL);
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&mut self) -> Option<T> {
        let mut line = String::new();
        self.output.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.release();
        if !self.has_ended() {
            // It may have ended in this moment.
            let _ = self.server.kill();
            let _ = self.server.wait();
        }
        // What is not put back stays in the list, for the next command.
        let _ = self.undo.restore_and_remove();
    }
}
