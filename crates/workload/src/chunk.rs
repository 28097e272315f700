//! `chunk`: a character at a time, then the whole at once, again and again.

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::workloads::StepOutline;
use seekwell_model::workloads::chunk::ChunkParams;
use seekwell_stats::{Histogram, Rng, derive_seed, seeded};
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// The C library's buffer of a file, `BUFSIZ` rounded to a block.
const BUFFER_BYTES: usize = 4096;

/// Characters between two looks at the caller's stop.
const STRIDE: u64 = 1 << 20;

/// The steps.
#[must_use]
pub fn steps(params: ChunkParams, place: Place) -> Vec<Box<dyn Step>> {
    let mut outlines = params.steps().into_iter();
    let mut steps: Vec<Box<dyn Step>> = Vec::new();
    if let Some(outline) = outlines.next() {
        steps.push(Box::new(Characters { outline, params, place }));
    }
    if let Some(outline) = outlines.next() {
        steps.push(Box::new(Whole { outline, params, place }));
    }
    steps
}

fn path(context: &StepContext<'_>, place: Place, step: &str) -> Result<PathBuf, WorkloadError> {
    match context.directory {
        Some(directory) => Ok(directory.join(place.name("chunk.data"))),
        None => Err(WorkloadError::Unfit {
            step: step.to_owned(),
            problem: "needs a directory".to_owned(),
            remedy: "use it on a filesystem".to_owned(),
        }),
    }
}

/// Writes the chunk a character at a time.
#[derive(Debug)]
struct Characters {
    outline: StepOutline,
    params: ChunkParams,
    place: Place,
}

/// Characters that no compressor makes smaller.
struct Letters {
    rng: Rng,
    word: u64,
    left: u32,
}

impl Letters {
    #[inline]
    fn next(&mut self) -> u8 {
        if self.left == 0 {
            (self.word, self.left) = (self.rng.next_u64(), 8);
        }
        self.left -= 1;
        let letter = self.word as u8;
        self.word >>= 8;
        letter
    }
}

impl Characters {
    fn write(&self, file: &File, letters: &mut Letters, count: u64) -> io::Result<()> {
        let mut buffer = [0_u8; BUFFER_BYTES];
        let capacity = if self.params.unbuffered { 1 } else { BUFFER_BYTES };
        let mut filled = 0;
        for _ in 0..count {
            // Or the compiler would copy words.
            buffer[filled] = std::hint::black_box(letters.next());
            filled += 1;
            if filled == capacity {
                write_all(file, &buffer[..filled])?;
                filled = 0;
            }
        }
        write_all(file, &buffer[..filled])
    }
}

fn write_all(file: &File, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        match rustix::io::write(file, data) {
            Ok(written) => data = &data[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Step for Characters {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let path = path(context, self.place, &self.outline.name)?;
        let rng = seeded(derive_seed(context.seed, &self.place.name("chunk")));
        let mut letters = Letters { rng, word: 0, left: 0 };
        let file = File::create(&path).map_err(WorkloadError::file("create", &path))?;
        let (begin_ns, cpu_ns) = (MonotonicClock.now_ns(), thread_cpu_ns());
        let mut left = self.params.size.0;
        while left > 0 {
            if context.is_stopped() {
                return Err(WorkloadError::Stopped { step: self.outline.name.clone() });
            }
            let count = left.min(STRIDE);
            self.write(&file, &mut letters, count)
                .map_err(WorkloadError::file("write to", &path))?;
            left -= count;
        }
        file.sync_all().map_err(WorkloadError::file("sync", &path))?;
        let mut outcome = StepOutcome {
            ops: self.params.size.0,
            app_bytes_written: self.params.size.0,
            elapsed_ns: MonotonicClock.now_ns() - begin_ns,
            cpu_ns: thread_cpu_ns() - cpu_ns,
            ..StepOutcome::default()
        };
        outcome.compute(&self.outline.metrics);
        Ok(outcome)
    }
}

/// Reads and writes the whole with one call each.
#[derive(Debug)]
struct Whole {
    outline: StepOutline,
    params: ChunkParams,
    place: Place,
}

impl Whole {
    fn whole(&self, done: usize, what: &str) -> Result<(), WorkloadError> {
        if done as u64 == self.params.size.0 {
            return Ok(());
        }
        Err(WorkloadError::Unfit {
            step: self.outline.name.clone(),
            problem: format!("{what} {done} of {} bytes with one call", self.params.size.0),
            remedy: "the filesystem is full, or something else changed the file".to_owned(),
        })
    }
}

impl Step for Whole {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let path = path(context, self.place, &self.outline.name)?;
        let file = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(WorkloadError::file("open", &path))?;
        let mut chunk = vec![1_u8; usize::try_from(self.params.size.0).unwrap_or(usize::MAX)];
        let (mut reads, mut writes) = (Histogram::new(), Histogram::new());
        let (mut read_ns, mut write_ns) = (0, 0);
        let mut outcome = StepOutcome::default();
        let (begin_ns, cpu_ns) = (MonotonicClock.now_ns(), thread_cpu_ns());
        let mut now_ns = begin_ns;
        for _ in 0..self.params.repeats {
            if context.is_stopped() {
                outcome.stopped = true;
                break;
            }
            let done = rustix::io::pread(&file, &mut chunk, 0)
                .map_err(WorkloadError::file("read", &path))?;
            self.whole(done, "read")?;
            let between_ns = MonotonicClock.now_ns();
            let done = rustix::io::pwrite(&file, &chunk, 0)
                .map_err(WorkloadError::file("write to", &path))?;
            self.whole(done, "wrote")?;
            let end_ns = MonotonicClock.now_ns();
            reads.record(between_ns - now_ns);
            writes.record(end_ns - between_ns);
            read_ns += between_ns - now_ns;
            write_ns += end_ns - between_ns;
            now_ns = end_ns;
            outcome.ops += 2;
            outcome.app_bytes_read += self.params.size.0;
            outcome.app_bytes_written += self.params.size.0;
        }
        outcome.elapsed_ns = now_ns - begin_ns;
        outcome.cpu_ns = thread_cpu_ns() - cpu_ns;
        outcome.compute(&self.outline.metrics);
        let turns = reads.count() as f64;
        if turns > 0.0 {
            outcome.metrics.insert("chunk_read".to_owned(), read_ns as f64 / 1e9 / turns);
            outcome.metrics.insert("chunk_write".to_owned(), write_ns as f64 / 1e9 / turns);
        }
        outcome.keep("read", reads);
        outcome.keep("write", writes);
        Ok(outcome)
    }
}
