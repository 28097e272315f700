//! Programs that measure Seekwell: each figure of the documents has its command in `examples/`.
//!
//! `statistics` (promises of verdicts), `noise` (verdicts under noise, a plug-in each), `agreement` (our workloads against their originals), `disksim`,
//! `random_reads`, `write_amplification` and `draw` (device models), `observation-cost` (observers),
//! `time_to_verdict` (`seekwell try` until it decides)
//! and `made_run` and `many_trials` (reports of many trials). Benches that need private parts of a room stay with it.
