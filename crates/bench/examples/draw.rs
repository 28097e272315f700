//! Draws device files. Run: `cargo run --release -p seekwell-bench --example draw -- devices/NAME.toml …`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use std::process::ExitCode;

use seekwell_device::{draw, load};

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("error: {path}: {error}");
                return ExitCode::from(1);
            }
        };
        match load(&text) {
            Ok(file) => println!("{}", draw(&file)),
            Err(error) => {
                eprintln!("error: {path}: {error}");
                return ExitCode::from(1);
            }
        }
    }
    ExitCode::SUCCESS
}
