//! `chunk`: a character at a time, then the whole at once, again and again.

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use seekwell_engine::buffer::Aligned;
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::workloads::StepOutline;
use seekwell_model::workloads::chunk::ChunkParams;
use seekwell_stats::{Histogram, Rng, derive_seed, seeded};
use std::fs::File;
use std::io::{self, Write};
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
    let unfit = || WorkloadError::unfit(step, "needs a directory", "use it on a filesystem");
    Ok(context.directory.ok_or_else(unfit)?.join(place.name("chunk.data")))
}

/// Writes the chunk a character at a time.
#[derive(Debug)]
struct Characters {
    outline: StepOutline,
    params: ChunkParams,
    place: Place,
}

/// Bytes of what compressors and deduplicating storage look at.
const BLOCK_BYTES: usize = 4096;

/// Characters that no compressor makes smaller, or as far as the parameters say.
struct Letters {
    rng: Rng,
    word: u64,
    left: u32,
    /// First byte of each block that is zero.
    zeros_from: usize,
    repeated_percent: u32,
    /// Place in the block.
    at: usize,
    /// Blocks so far, in percent of one that repeats.
    repeated_due: u32,
    /// The source of a block that repeats, while it is written.
    repeating: Option<Rng>,
}

impl Letters {
    fn new(params: &ChunkParams, rng: Rng) -> Self {
        let zeros = BLOCK_BYTES * usize::from(params.compressible.min(100)) / 100;
        Self {
            rng,
            word: 0,
            left: 0,
            // Eight bytes of each block stay random.
            zeros_from: (BLOCK_BYTES - zeros).max(8),
            repeated_percent: params.repeated.into(),
            at: 0,
            repeated_due: 0,
            repeating: None,
        }
    }

    fn next_word(&mut self) -> u64 {
        if self.at == 0 {
            self.repeated_due += self.repeated_percent;
            self.repeating = None;
            if self.repeated_due >= 100 {
                self.repeated_due -= 100;
                self.repeating = Some(seeded(derive_seed(0, "repeated")));
            }
        }
        let place = self.at;
        self.at = (self.at + 8) % BLOCK_BYTES;
        if place + 8 > self.zeros_from {
            return 0;
        }
        self.repeating.as_mut().unwrap_or(&mut self.rng).next_u64()
    }

    #[inline]
    fn next(&mut self) -> u8 {
        if self.left == 0 {
            (self.word, self.left) = (self.next_word(), 8);
        }
        self.left -= 1;
        let letter = self.word as u8;
        self.word >>= 8;
        letter
    }
}

impl Characters {
    fn write(&self, mut file: &File, letters: &mut Letters, count: u64) -> io::Result<()> {
        let mut buffer = [0_u8; BUFFER_BYTES];
        let capacity = if self.params.unbuffered { 1 } else { BUFFER_BYTES };
        let mut filled = 0;
        for _ in 0..count {
            // Or the compiler would copy words.
            buffer[filled] = std::hint::black_box(letters.next());
            filled += 1;
            if filled == capacity {
                file.write_all(&buffer[..filled])?;
                filled = 0;
            }
        }
        file.write_all(&buffer[..filled])
    }
}

impl Step for Characters {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let path = path(context, self.place, &self.outline.name)?;
        let rng = seeded(derive_seed(context.seed, &self.place.name("chunk")));
        let mut letters = Letters::new(&self.params, rng);
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
        let problem = format!("{what} {done} of {} bytes with one call", self.params.size.0);
        let remedy = "the filesystem is full, or something else changed the file";
        Err(WorkloadError::unfit(&self.outline.name, problem, remedy))
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
        let mut chunk = Aligned::zeroed(self.params.size.0);
        // Touched, or the first read would pay for the memory.
        chunk.fill(1);
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
            let done = rustix::io::pread(&file, &mut *chunk, 0)
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
