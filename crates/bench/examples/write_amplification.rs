//! Measures the write amplification of the page-mapped model under uniform random writes against the closed form of
//! greedy collection.
//!
//! Run: `cargo run --release -p seekwell-bench --example write_amplification`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use std::process::ExitCode;

#[path = "../../device/tests/devices/closed_form.rs"]
mod closed_form;

use closed_form::{closed_form, measured};

/// Blocks and pages of a block: large enough that the reserve and the ends of blocks hardly show.
const SHAPE: [u32; 2] = [2048, 512];

fn main() -> ExitCode {
    println!("spare    measured  closed form  difference");
    for spare in [0.07, 0.1, 0.15, 0.2, 0.28, 0.3, 0.4, 0.5] {
        match measured(spare, SHAPE, 3.0, 1) {
            Ok(found) => {
                let expected = closed_form(spare);
                let difference = (found / expected - 1.0) * 100.0;
                println!("{spare:.2}     {found:>8.3}  {expected:>11.3}  {difference:>+9.2} %");
            }
            Err(reason) => {
                eprintln!("error: {reason}");
                return ExitCode::from(1);
            }
        }
    }
    ExitCode::SUCCESS
}
