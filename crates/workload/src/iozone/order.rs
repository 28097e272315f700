//! In which order a pass goes through the records of a file.

use seekwell_model::workloads::iozone::IozonePass;
use seekwell_stats::seeded;

/// Numbers of records, each once.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Forward {
        next: u64,
        records: u64,
    },
    /// As iozone's: every record once.
    Shuffled {
        left: Vec<u32>,
    },
    /// As [`Self::Shuffled`] where a list would need too much memory: with repetition.
    Drawn {
        rng: seekwell_stats::Rng,
        left: u64,
        records: u64,
    },
}

/// Longest list that is shuffled: 256 MiB.
const MOST_SHUFFLED: u64 = 1 << 26;

impl Order {
    pub(super) fn new(pass: &IozonePass, records: u64, seed: u64) -> Self {
        if pass.test != 2 {
            return Self::Forward { next: 0, records };
        }
        let mut rng = seeded(seed);
        if records > MOST_SHUFFLED {
            return Self::Drawn { rng, left: records, records };
        }
        let mut left: Vec<u32> = (0..records as u32).collect();
        rng.shuffle(&mut left);
        Self::Shuffled { left }
    }
}

impl Iterator for Order {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Forward { next, records } => {
                let record = *next;
                *next += 1;
                (record < *records).then_some(record)
            }
            Self::Shuffled { left } => left.pop().map(u64::from),
            Self::Drawn { rng, left, records } => {
                *left = left.checked_sub(1)?;
                Some(rng.below(*records))
            }
        }
    }
}
