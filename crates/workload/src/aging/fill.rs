//! Fills a filesystem and churns it until it is as full and as fragmented as wanted.

use super::layout::Layout;
use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_host::fiemap;
use seekwell_model::units::Bytes;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::StepOutline;
use seekwell_model::workloads::aging::AgeParams;
use seekwell_stats::{Rng, derive_seed, seeded};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

/// Directories that the files are spread over.
const DIRECTORIES: usize = 64;
/// Files that grow at the same time while the filesystem is churned.
const GROWING: usize = 8;
/// Bytes that such a file grows by at a time.
const PIECE: usize = 64 << 10;
/// Of the files, one in so many is deleted before others grow in their place.
const DELETED: usize = 20;
/// Largest file.
const LARGEST: Bytes = Bytes::mib(64);
/// No file takes more than one part in so many of the filesystem.
const LARGEST_PART: u64 = 50;

/// The step.
#[derive(Debug)]
pub(super) struct Age {
    pub outline: StepOutline,
    pub params: AgeParams,
    pub place: Place,
}

/// A file that is there.
#[derive(Clone, Copy, Debug)]
struct Kept {
    number: u64,
    extents: Option<u64>,
}

/// A file that grows.
#[derive(Debug)]
struct Growing {
    file: File,
    path: PathBuf,
    number: u64,
    left: u64,
    done: u64,
}

/// The filesystem while it ages.
struct Aging<'a> {
    root: &'a Path,
    params: &'a AgeParams,
    rng: Rng,
    content: Vec<u8>,
    largest: u64,
    files: Vec<Kept>,
    made: u64,
    written: u64,
}

/// Used and free space of a filesystem.
#[derive(Clone, Copy, Debug)]
struct Fill {
    used: u64,
    total: u64,
}

fn fill_of(path: &Path) -> Result<Fill, WorkloadError> {
    let facts =
        rustix::fs::statvfs(path).map_err(WorkloadError::file("find the free space of", path))?;
    let total = facts.f_blocks.saturating_mul(facts.f_frsize);
    Ok(Fill { used: total - facts.f_bfree.saturating_mul(facts.f_frsize).min(total), total })
}

impl<'a> Aging<'a> {
    fn new(root: &'a Path, params: &'a AgeParams, seed: u64) -> Result<Self, WorkloadError> {
        std::fs::create_dir(root).map_err(WorkloadError::file("make the directory", root))?;
        for directory in 0..DIRECTORIES {
            let path = root.join(format!("{directory:02}"));
            std::fs::create_dir(&path).map_err(WorkloadError::file("make the directory", &path))?;
        }
        let mut rng = seeded(derive_seed(seed, "age"));
        let content = (0..PIECE / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        let largest = (fill_of(root)?.total / LARGEST_PART).min(LARGEST.0).max(PIECE as u64);
        let (files, made, written) = (Vec::new(), 0, 0);
        Ok(Self { root, params, rng, content, largest, files, made, written })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.root.join(format!("{:02}/{number}", number % DIRECTORIES as u64))
    }

    fn size(&mut self) -> u64 {
        let spread = (self.params.spread * self.rng.normal()).exp();
        let size = self.params.median_size.0 as f64 * spread;
        (size as u64).clamp(4096, self.largest)
    }

    fn begin(&mut self) -> Result<Growing, WorkloadError> {
        let number = self.made;
        self.made += 1;
        let path = self.path(number);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))
            .map_err(WorkloadError::file("create", &path))?;
        let left = self.size();
        Ok(Growing { file: File::from(file), path, number, left, done: 0 })
    }

    /// Writes the next piece of a file; `false` when the filesystem is full.
    fn grow(&mut self, growing: &mut Growing) -> Result<bool, WorkloadError> {
        let length = PIECE.min(usize::try_from(growing.left).unwrap_or(PIECE));
        let piece = &self.content[..length];
        match rustix::io::retry_on_intr(|| rustix::io::write(&growing.file, piece)) {
            Ok(0) | Err(Errno::NOSPC) => Ok(false),
            Ok(written) => {
                growing.left -= written as u64;
                growing.done += written as u64;
                self.written += written as u64;
                Ok(true)
            }
            Err(errno) => Err(WorkloadError::file("write to", &growing.path)(errno)),
        }
    }

    /// The file has its size. Reads its layout now, or later if its data is not yet on the device.
    fn end(&mut self, growing: &Growing) {
        let extents = fiemap::extents(growing.file.as_fd());
        let extents = extents.ok().flatten().map(|found| found.len() as u64);
        self.files.push(Kept { number: growing.number, extents });
    }

    /// `None` where the filesystem does not tell.
    fn extents_per_file(&self) -> Option<f64> {
        let sum: u64 = self.files.iter().map(|file| file.extents).sum::<Option<u64>>()?;
        Some(sum as f64 / self.files.len().max(1) as f64)
    }

    fn is_full(&self) -> Result<bool, WorkloadError> {
        let fill = fill_of(self.root)?;
        Ok(fill.used as f64 >= fill.total as f64 * self.params.fullness as f64 / 100.0)
    }

    /// One file after the other, until it is as full as wanted.
    fn fill(&mut self, context: &StepContext<'_>) -> Result<(), WorkloadError> {
        while !context.is_stopped() && !self.is_full()? {
            let mut growing = self.begin()?;
            while growing.left > 0 {
                if !self.grow(&mut growing)? {
                    self.end(&growing);
                    return self.too_full();
                }
            }
            self.end(&growing);
        }
        Ok(())
    }

    fn too_full(&self) -> Result<(), WorkloadError> {
        if self.is_full()? {
            return Ok(());
        }
        let fullness = self.params.fullness;
        let problem = format!("cannot fill the filesystem to {fullness} %: it is full before");
        Err(WorkloadError::unfit(&self.params.step, problem, "state a smaller fullness"))
    }

    /// Deletes some files, and lets others grow in their place, several at the same time, each
    /// piece placed on the device before the next.
    fn churn(&mut self, context: &StepContext<'_>) -> Result<(), WorkloadError> {
        for _ in 0..(self.files.len() / DELETED).max(1).min(self.files.len()) {
            let chosen = self.rng.index(self.files.len());
            let Kept { number, .. } = self.files.swap_remove(chosen);
            let path = self.path(number);
            std::fs::remove_file(&path).map_err(WorkloadError::file("remove", &path))?;
        }
        let mut growing: Vec<Growing> = Vec::new();
        let mut ending = false;
        loop {
            ending |= context.is_stopped() || self.is_full()?;
            while !ending && growing.len() < GROWING {
                growing.push(self.begin()?);
            }
            if growing.is_empty() {
                return Ok(());
            }
            let mut still = Vec::with_capacity(GROWING);
            for mut file in growing {
                let begin = file.done;
                // When there is enough, files that were started end as they are.
                if ending || !self.grow(&mut file)? {
                    ending = true;
                    self.end(&file);
                    continue;
                }
                place(&file, begin)?;
                if file.left == 0 { self.end(&file) } else { still.push(file) }
            }
            growing = still;
        }
    }
}

/// Has the filesystem place what was written to a file since `begin`: until then it may still put
/// all pieces side by side.
fn place(growing: &Growing, begin: u64) -> Result<(), WorkloadError> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (offset, length) = (begin as i64, (growing.done - begin) as i64);
    // SAFETY: only numbers are passed.
    let result = unsafe { libc::sync_file_range(growing.file.as_raw_fd(), offset, length, flags) };
    if result == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ENOSPC) {
        return Ok(());
    }
    Err(WorkloadError::file("write back", &growing.path)(error))
}

impl Step for Age {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let directory = context.filesystem(&self.outline.name)?;
        let (begin_ns, cpu_before_ns) = (MonotonicClock.now_ns(), thread_cpu_ns());
        let root = directory.join(self.place.name("aged"));
        let mut aging = Aging::new(&root, &self.params, context.seed)?;
        aging.fill(context)?;
        let filled = aging.written;
        let most = (filled as f64 * (1.0 + self.params.churn)) as u64;
        while !context.is_stopped()
            && aging.written < most
            && aging.extents_per_file().is_none_or(|reached| reached < self.params.extents)
            && !aging.files.is_empty()
        {
            aging.churn(context)?;
        }
        let mut outcome = StepOutcome {
            ops: aging.made,
            app_bytes_written: aging.written,
            elapsed_ns: MonotonicClock.now_ns().saturating_sub(begin_ns),
            cpu_ns: thread_cpu_ns().saturating_sub(cpu_before_ns),
            stopped: context.is_stopped(),
            ..StepOutcome::default()
        };
        outcome.compute(&self.outline.metrics);
        let layout = Layout::of(&root)?;
        layout.add_to(&mut outcome);
        outcome.warnings.extend(self.doubt(&layout));
        Ok(outcome)
    }
}

impl Age {
    fn doubt(&self, layout: &Layout) -> Option<Warning> {
        let reached = layout.extents_per_file()?;
        // Churning ends by the extents of files as they were when they were closed.
        (reached < 0.9 * self.params.extents && self.params.churn > 0.0).then(|| {
            Warning::new(
                WarningCode::NotFragmented,
                format!(
                    "{} left {reached:.2} extents per file, and {} were asked for",
                    self.outline.name, self.params.extents
                ),
            )
        })
    }
}
