//! Groups of the memory controller: how an empty one is removed.

use crate::error::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The kernel needs a moment until a group that was just left may be removed.
const REMOVAL: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// Removes an empty group; one that is gone already is fine.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    let begin = Instant::now();
    loop {
        match fs::remove_dir(directory) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ResourceBusy && begin.elapsed() < REMOVAL => {}
            Err(error) => return Err(Error::io("remove the memory group", directory)(error)),
        }
        sleep(POLL);
    }
}
