//! Files and databases as a power cut left them, for the other side to compare.

use seekwell_capture::guest::Recording;
use seekwell_model::agent::{FoundDatabase, FoundFile};
use seekwell_workload::{Acknowledged, database};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

#[cfg(test)]
mod tests;

/// Bytes of a sector: a disk writes it whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// Bytes read at a time.
const READ_BYTES: u64 = 256 << 10;

/// Records the rows that a database acknowledged.
#[derive(Debug)]
pub(crate) struct Rows(pub(crate) Recording);

impl Acknowledged for Rows {
    fn take(&self, rows: u64) {
        // A lost number is found missing when the records are read.
        let _ = self.0.count(u32::try_from(rows).unwrap_or(u32::MAX));
    }
}

/// Hash of a sector; a shorter one is filled up with zeros.
#[must_use]
pub fn sum(sector: &[u8]) -> u32 {
    let mut whole = [0; SECTOR_BYTES];
    whole[..sector.len()].copy_from_slice(sector);
    xxh3_64(&whole) as u32
}

/// Calls `each` with the directory `top` and everything below it but links and special files.
///
/// # Errors
/// When a directory cannot be listed. The rest of a file that cannot be read is missing.
pub(crate) fn visit(top: &Path, each: &mut dyn FnMut(FoundFile)) -> io::Result<()> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    each(FoundFile { path: path(top), bytes: None, sectors: vec![] });
    for entry in fs::read_dir(top)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            visit(&entry.path(), each)?;
        } else if kind.is_file() {
            let bytes = Some(entry.metadata()?.len());
            let sectors = sums(&entry.path());
            each(FoundFile { path: path(&entry.path()), bytes, sectors });
        }
    }
    Ok(())
}

/// Sums of a file's sectors, as far as it can be read.
fn sums(path: &Path) -> Vec<u32> {
    let mut sums = Vec::new();
    let Ok(mut file) = File::open(path) else { return sums };
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let read = file.by_ref().take(READ_BYTES).read_to_end(&mut buffer);
        sums.extend(buffer.chunks(SECTOR_BYTES).map(sum));
        if read.is_err() || (buffer.len() as u64) < READ_BYTES {
            return sums;
        }
    }
}

/// The database of a `sqlite` workload below `top`; one that cannot be read has no rows.
pub(crate) fn database(top: &Path) -> Option<FoundDatabase> {
    match database::sqlite_survey(top) {
        Ok(found) => found.map(|(rows, damage)| FoundDatabase { rows, damage }),
        Err(error) => Some(FoundDatabase { rows: 0, damage: Some(error) }),
    }
}
