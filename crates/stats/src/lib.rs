//! Statistics of Seekwell: histograms, intervals, paired comparison, steady state and racing.
//!
//! For: turning samples into numbers that carry an interval, and into a decision about what to
//! measure next. Everything is a pure function of its arguments; where chance is needed (orders,
//! resampling) the seed is an argument.
//!
//! Not for: reading clocks, files or the environment, running anything, or knowing what a
//! filesystem is. A stack is an index here, a round is a row of numbers.

pub mod histogram;
pub mod rng;

pub use histogram::{Histogram, HistogramError};
pub use rng::{Rng, derive_seed, seeded};
