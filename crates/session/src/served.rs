//! A modelled device as a block device of this machine, and the server's process behind it.

use crate::devices::Devices;
use crate::error::SessionError;
use crate::loaded::Session;
use seekwell_device::{Model, build};
use seekwell_host::sysfs::System;
use seekwell_host::undo;
use seekwell_serve::{
    Disk, Floor, Served, ServedError, ServerError, Setup, floor, is_left_alone, serve,
};
use seekwell_virtual::instant::Instant;
use seekwell_virtual::{Content, Keeping};
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;

/// First argument of the server's process.
pub(crate) const SERVER: &str = "serve-device";

/// Content that is held in memory before it goes to a file in the scratch directory.
const MEMORY_BYTES: u64 = 1 << 30;

/// Size of the device without latency in sectors of 512 bytes.
const FLOOR_SECTORS: u64 = 1 << 21;

/// Reads that measure it.
const FLOOR_READS: u64 = 500;

/// Errors of the server's process.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// Serving.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The device.
    #[error(transparent)]
    Device(#[from] SessionError),
    /// Arguments of another version of the program.
    #[error("the server of a device was started with the seed '{0}', which is no number")]
    Seed(String),
    /// The undo list of a command that was killed.
    #[error(transparent)]
    Undo(#[from] seekwell_host::Error),
}

impl Session {
    /// Serves a modelled device in real time as a block device: a name, `NAME@BUS`, or the path of a device file, with
    /// changes of its numbers as labs write them. The seed is that of [`build`].
    ///
    /// # Errors
    /// When there is no such device, the user is not root, or it cannot be served.
    pub fn serve_device(&self, word: &str, seed: u64) -> Result<Served, SessionError> {
        let model = build(&self.device(word)?, seed);
        Ok(self.served(Some(word), seed, &*model)?)
    }

    /// Serves a device whose model takes no time and measures how long each request takes all the same.
    ///
    /// # Errors
    /// When it cannot be served or read.
    pub fn floor(&self) -> Result<Floor, SessionError> {
        let device = self.served(None, 0, &Instant::new(FLOOR_SECTORS))?;
        let measured = floor(device.path(), device.size(), FLOOR_READS);
        device.end()?;
        measured.map_err(SessionError::Floor)
    }

    fn served(
        &self,
        word: Option<&str>,
        seed: u64,
        model: &dyn Model,
    ) -> Result<Served, ServedError> {
        let machine = self.machine();
        let mut arguments: Vec<OsString> = vec![SERVER.into(), seed.to_string().into()];
        arguments.push(machine.temporary.clone().into());
        arguments.push(word.unwrap_or_default().into());
        let setup = Setup {
            system: &machine.system,
            program: &machine.program,
            arguments: &arguments,
            undo: &machine.undo(),
        };
        Served::start(&setup, &model.geometry())
    }
}

/// The server's process. Its arguments are those of [`Session::served`] and the undo list.
pub(crate) fn server(
    [seed, scratch, word, list]: [&OsString; 4],
    command: impl AsFd,
    output: impl Write,
) -> Result<(), ServingError> {
    let seed = seed.to_string_lossy();
    let seed = seed.parse().map_err(|_| ServingError::Seed(seed.into_owned()))?;
    let served = disk(&word.to_string_lossy(), seed, Path::new(scratch))
        .and_then(|disk| Ok(serve(disk, &command, output)?));
    // The command was killed, so its settings are put back here.
    if is_left_alone(command) {
        undo::restore(&System::host(), Path::new(list))?;
    }
    served
}

fn disk(word: &str, seed: u64, scratch: &Path) -> Result<Disk, ServingError> {
    let model: Box<dyn Model> = if word.is_empty() {
        Box::new(Instant::new(FLOOR_SECTORS))
    } else {
        let shipped = seekwell_device::catalogue().map_err(SessionError::Catalogue)?;
        build(&Devices::new(&shipped).one(word)?, seed)
    };
    let keeping = Keeping { memory_bytes: MEMORY_BYTES, directory: scratch.to_owned() };
    let content = Content::new(model.geometry().sectors_512, keeping);
    Ok(Disk::new(model, content))
}
