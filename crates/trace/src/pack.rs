//! A trace as one file: a tar archive of its description and segments, uncompressed, so that they are
//! read in place. `tar xf` makes a folder of it again.

use crate::error::TraceError;
use crate::read::Trace;
use seekwell_trust::Entry;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes the complete segments and the description of `trace` as the file `output`, which must not
/// exist. Returns its bytes.
///
/// # Errors
/// When a file cannot be read or written.
pub fn pack(trace: &Trace, output: &Path) -> Result<u64, TraceError> {
    let parts = trace.parts()?;
    if output.symlink_metadata().is_ok() {
        return Err(TraceError::Exists { path: output.to_owned() });
    }
    let entry = Entry::of(output).map_err(TraceError::io("make", output))?;
    let place = entry.path();
    let mut open = place.clone().into_os_string();
    open.push(".open");
    let open = PathBuf::from(open);
    let write = || -> std::io::Result<u64> {
        // A process that may only write here may not read.
        let file = File::options().write(true).create_new(true).mode(0o600).open(&open)?;
        let mut archive = tar::Builder::new(file);
        for (name, part) in parts {
            let mut header = tar::Header::new_gnu();
            header.set_size(part.bytes());
            // The same trace is the same file, whoever packs it.
            header.set_mode(0o600);
            header.set_mtime(0);
            archive.append_data(&mut header, name, part.from(0))?;
        }
        let file = archive.into_inner()?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        std::fs::rename(&open, &place)?;
        Ok(bytes)
    };
    write().map_err(|error| {
        // What half a pack left; a file of this name that was there before is another's.
        if error.kind() != std::io::ErrorKind::AlreadyExists {
            let _ = std::fs::remove_file(&open);
        }
        TraceError::io("write", output)(error)
    })
}

#[cfg(test)]
mod tests;
