//! Files of a mail tree, in the order of its archive.

use super::Totals;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::MailParams;
use seekwell_model::workloads::mail::LARGEST_FILE;
use seekwell_stats::{Rng, derive_seed, seeded};
use std::fmt::Write;

/// A tree of files.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Files in archive order.
    files: Vec<FileEntry>,
    /// Bytes that reading every file gives.
    bytes: u64,
}

/// One file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileEntry {
    /// Index of its directory.
    directory: u32,
    /// Number in its directory.
    number: u32,
    /// Bytes.
    size: u64,
}

impl Tree {
    /// A seeded tree: directories whose sizes fall as 1/rank, so that the first is the largest,
    /// and lognormal file sizes.
    #[must_use]
    pub fn seeded(params: &MailParams, seed: u64) -> Self {
        let mut rng = seeded(derive_seed(seed, "mail sizes"));
        let counts = match params.largest {
            None => directory_sizes(params.files, params.directories, 1.0),
            Some(largest) => {
                let exponent = exponent_for(params.files, params.directories, largest);
                directory_sizes(params.files, params.directories, exponent)
            }
        };
        let mut files = Vec::with_capacity(usize::try_from(params.files).unwrap_or(0));
        for (directory, count) in counts.iter().enumerate() {
            for number in 1..=*count {
                let size = file_size(params, &mut rng);
                files.push(FileEntry { directory: directory as u32, number: number as u32, size });
            }
        }
        let bytes = files.iter().map(|file| file.size).sum();
        Self { files, bytes }
    }

    /// Returns the number of files.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns true when it has no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Expected totals of reading every file.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals { files: self.files.len() as u64, bytes: self.bytes }
    }

    /// Size of a file in bytes.
    #[must_use]
    pub fn size(&self, file: usize) -> u64 {
        self.files[file].size
    }

    /// Path of a file below the root such as `f00012/345`, written into `path`.
    pub fn path<'a>(&self, file: usize, path: &'a mut String) -> &'a str {
        let FileEntry { directory, number, .. } = self.files[file];
        path.clear();
        push_directory(directory, path);
        // Writing to a string cannot fail.
        let _ = write!(path, "/{number}");
        path
    }

    /// The directory that must be made before this file, written into `path`;
    /// `None` if an earlier file is in it too.
    pub fn new_directory<'a>(&self, file: usize, path: &'a mut String) -> Option<&'a str> {
        let FileEntry { directory, number, .. } = self.files[file];
        if number != 1 {
            return None;
        }
        path.clear();
        push_directory(directory, path);
        Some(path)
    }
}

fn push_directory(directory: u32, path: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(path, "f{directory:05}");
}

/// The power of the rank by which the sizes of directories must fall for the largest to have so
/// many files, or as near to that as can be.
fn exponent_for(files: u64, directories: u64, largest: u64) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let first = directory_sizes(files, directories, middle).first().copied().unwrap_or(0);
        if first < largest { low = middle } else { high = middle }
    }
    high
}

/// Files per directory: one each, and the rest in proportion to a power of the rank; with 1, to
/// 1, 1/2, 1/3 … Never rising.
fn directory_sizes(files: u64, directories: u64, exponent: f64) -> Vec<u64> {
    let directories = directories.clamp(1, files.max(1));
    // With 1 exactly the numbers that it always had: a seed stays what it was.
    let power = |rank: u64| match exponent {
        1.0 => rank as f64,
        _ => (rank as f64).powf(exponent),
    };
    let harmonic: f64 = (1..=directories).map(|rank| 1.0 / power(rank)).sum();
    let rest = files.saturating_sub(directories);
    let mut sizes: Vec<u64> = (1..=directories)
        .map(|rank| 1 + (rest as f64 / (power(rank) * harmonic)).floor() as u64)
        .collect();
    // Rounding down left some over, at most one per directory: the largest take them.
    let left = files.saturating_sub(sizes.iter().sum());
    let share = sizes.len() as u64;
    for (index, size) in sizes.iter_mut().enumerate() {
        *size += left / share + u64::from((index as u64) < left % share);
    }
    sizes
}

fn file_size(params: &MailParams, rng: &mut Rng) -> u64 {
    lognormal_size(params.median_size, params.spread, rng)
}

/// A lognormal size of at least one byte, cut at the catalogue's largest.
pub fn lognormal_size(median: Bytes, spread: f64, rng: &mut Rng) -> u64 {
    let size = median.0 as f64 * (spread * rng.normal()).exp();
    (size.round() as u64).clamp(1, LARGEST_FILE.0)
}

#[cfg(test)]
mod tests;
