//! Statistics of Seekwell: histograms, intervals, paired comparison and racing.
//!
//! For: turning samples into numbers that carry an interval, and into a decision about what to
//! measure next. Everything is a pure function of its arguments; where chance is needed (orders,
//! resampling) the seed is an argument.
//!
//! Not for: reading clocks, files or the environment, running anything, or knowing what a
//! filesystem is. A stack is an index here, a round is a row of numbers.

//! # From values to a verdict
//!
//! [`compare`] takes the judged metric of every trial, by stack and round, and says which stack
//! leads, how every other compares, and whether that is a winner, a tie or inconclusive:
//!
//! ```
//! use seekwell_stats::{Better, Question, Finding, compare};
//!
//! // Seconds of two stacks in six rounds; the second is about 10 % slower in every one.
//! let ext4 = [10.0, 10.4, 9.8, 10.1, 11.0, 10.2].map(Some).to_vec();
//! let xfs = [11.1, 11.4, 10.7, 11.2, 12.0, 11.3].map(Some).to_vec();
//! let found = compare(&[ext4, xfs], &Question::new(Better::Lower, 0.02, 0.95))?;
//! assert_eq!(found.finding, Finding::Winner { stack: 0 });
//! let ratio = found.rows[1].ratio.expect("six shared rounds");
//! assert!(ratio.low > 1.0 && ratio.centre > 1.09 && ratio.centre < 1.12);
//! # Ok::<(), seekwell_stats::PairedError>(())
//! ```

pub mod additive;
pub mod attribution;
pub mod axis;
pub mod checks;
pub mod dependence;
pub mod design;
pub mod estimate;
pub mod field;
pub mod granularity;
pub mod histogram;
pub mod independent;
pub mod interval;
pub mod linear;
pub mod looks;
pub mod paired;
pub mod pilot;
pub mod question;
pub mod race;
pub mod rng;
pub mod search;
pub mod serial;
pub mod shrink;
pub mod special;
pub mod typical;

pub use histogram::{Histogram, HistogramError};
pub use interval::Interval;
pub use paired::{Comparison, Finding, PairedError, Row, Standing, Unresolved, compare};
pub use question::{Better, Question};
pub use rng::{Rng, derive_seed, seeded};
