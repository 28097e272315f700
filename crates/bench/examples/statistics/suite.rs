//! The figures behind the promises of the statistics, measured on synthetic laboratories whose
//! truth is known, and on trials that were really run.

pub mod choice;
pub mod coverage;
pub mod equal;
pub mod matrix;
pub mod recorded;
pub mod reference;
pub mod replay;
pub mod row;
pub mod timing;

use matrix::Trouble;
use row::Row;
use seekwell_stats::derive_seed;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Number of simulations and their seeds. The same scale gives the same figures.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Matrices per cell of the choice rows.
    pub matrices: usize,
    /// Cases per cell of the rows about errors and intervals.
    pub cases: usize,
    /// Whole runs per cell of the rows about time.
    pub timed: usize,
    /// Name of the family of seeds.
    pub seeds: &'static str,
}

/// The seeds of the kept table. The method was never tried on them while it was being made.
pub const REPORTED: &str = "reported";
/// The seeds on which the method was made, and on which every test runs.
pub const DEVELOPMENT: &str = "development";

impl Scale {
    /// The whole table.
    pub const WHOLE: Self = Self { matrices: 1000, cases: 4000, timed: 400, seeds: REPORTED };
    /// A version small enough to look at while working.
    pub const SMALL: Self = Self { matrices: 24, cases: 300, timed: 40, seeds: DEVELOPMENT };

    /// The seed of a case.
    pub fn seed(&self, case: usize) -> u64 {
        derive_seed(case as u64, self.seeds)
    }
}

/// The parts of the table, in order; each runs in a minute or two on two cores.
pub const PARTS: [&str; 11] = [
    "choice-48",
    "choice-192-wide",
    "choice-192-narrow",
    "choice-480-wide",
    "choice-480-narrow",
    "choice-480-troubled",
    "equal",
    "coverage",
    "timing",
    "recorded",
    "reference",
];

/// Measures the rows of a part and hands each over as soon as it is known.
///
/// # Panics
/// When there is no such part.
pub fn run(scale: Scale, part: &str, take: &mut impl FnMut(Row)) {
    const WIDE: f64 = 0.25;
    const NARROW: f64 = 0.05;
    let troubled = [Trouble::All, Trouble::HeavyTails, Trouble::TwoModes, Trouble::CarryOver];
    let every = [&[Trouble::None], &troubled[..]].concat();
    match part {
        "choice-48" => choice::rows(scale, 48, &[WIDE, NARROW], &every, take),
        "choice-192-wide" => choice::rows(scale, 192, &[WIDE], &every, take),
        "choice-192-narrow" => choice::rows(scale, 192, &[NARROW], &every, take),
        "choice-480-wide" => choice::rows(scale, 480, &[WIDE], &[Trouble::None], take),
        "choice-480-narrow" => choice::rows(scale, 480, &[NARROW], &[Trouble::None], take),
        "choice-480-troubled" => choice::rows(scale, 480, &[WIDE, NARROW], &[Trouble::All], take),
        "equal" => equal::rows(scale, take),
        "coverage" => coverage::rows(scale, take),
        "timing" => timing::rows(scale, take),
        "recorded" => replay::rows(scale, take),
        "reference" => reference::rows(take),
        other => panic!("no part {other}; there are {PARTS:?}"),
    }
}

/// Works out so many cases on all cores; the results are in the order of the cases.
pub fn each<T: Send>(cases: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(cases.max(1));
    let worker = || {
        let mut done = Vec::new();
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= cases {
                return done;
            }
            done.push((case, work(case)));
        }
    };
    let mut all: Vec<(usize, T)> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        running
            .into_iter()
            .flat_map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    all.sort_unstable_by_key(|(case, _)| *case);
    all.into_iter().map(|(_, result)| result).collect()
}
