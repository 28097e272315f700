//! In which order a pass goes through the records of a file.

use seekwell_model::workloads::iozone::IozonePass;
use seekwell_stats::seeded;

/// Numbers of records, each once, except that a record rewrite stays at the first.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Forward {
        next: u64,
        records: u64,
    },
    Backward {
        left: u64,
    },
    /// The first record, again and again.
    Same {
        left: u64,
    },
    /// Every `stride`-th record, then the same from the next one on, as iozone's `-j`.
    Strided {
        next: u64,
        begin: u64,
        stride: u64,
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
    pub(super) fn new(pass: &IozonePass, records: u64, stride: u64, seed: u64) -> Self {
        match pass.test {
            2 | 8 => Self::random(records, seed),
            3 => Self::Backward { left: records },
            4 => Self::Same { left: records },
            5 => Self::Strided { next: 0, begin: 0, stride, records },
            _ => Self::Forward { next: 0, records },
        }
    }

    fn random(records: u64, seed: u64) -> Self {
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
            Self::Backward { left } => {
                *left = left.checked_sub(1)?;
                Some(*left)
            }
            Self::Same { left } => {
                *left = left.checked_sub(1)?;
                Some(0)
            }
            Self::Strided { next, begin, stride, records } => {
                if *next >= *records {
                    *begin += 1;
                    *next = *begin;
                }
                let record = *next;
                *next += *stride;
                (*begin < *stride && record < *records).then_some(record)
            }
            Self::Shuffled { left } => left.pop().map(u64::from),
            Self::Drawn { rng, left, records } => {
                *left = left.checked_sub(1)?;
                Some(rng.below(*records))
            }
        }
    }
}
