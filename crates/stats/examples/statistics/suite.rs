//! The figures behind the promises of the statistics, measured on synthetic laboratories whose
//! truth is known.

pub mod choice;
pub mod coverage;
pub mod equal;
pub mod matrix;
pub mod replay;
pub mod row;
pub mod timing;

use row::Row;

/// How much is simulated. Seeds are fixed: the same scale gives the same figures.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Matrices per cell of the choice rows.
    pub matrices: usize,
    /// Largest matrix.
    pub largest: usize,
    /// Cases per cell of the rows about errors and intervals.
    pub cases: usize,
    /// Whole runs per cell of the rows about time.
    pub timed: usize,
}

impl Scale {
    /// The whole table.
    pub const WHOLE: Self = Self { matrices: 1000, largest: 480, cases: 4000, timed: 400 };
    /// A version small enough for every test run.
    pub const SMALL: Self = Self { matrices: 60, largest: 48, cases: 300, timed: 40 };
}

/// The parts of the table, in order.
pub const PARTS: [&str; 4] = ["choice", "equal", "coverage", "timing"];

/// Measures the rows of some parts and hands each over as soon as it is known.
pub fn run(scale: Scale, parts: &[&str], mut take: impl FnMut(Row)) {
    for part in parts {
        match *part {
            "choice" => choice::rows(scale, &mut take),
            "equal" => equal::rows(scale, &mut take),
            "coverage" => coverage::rows(scale, &mut take),
            "timing" => timing::rows(scale, &mut take),
            other => panic!("no part {other}; there are {PARTS:?}"),
        }
    }
}
