//! Time until `seekwell try` names the best of three stacks that differ by 30 % each.
//!
//! `cargo run --release -p seekwell-bench --example time_to_verdict -- PROGRAM [TIMES]`
//!
//! Needs root. The work is the processor's: on ext4 it hashes so much, on xfs 30 % more, on btrfs 30 %
//! more than that, and each writes and syncs a little. So the truth is known, and the noise is that of
//! the machine. Prints a line per run: seconds from start to end, exit code (0: decided, 4:
//! inconclusive) and the first line of the verdict; then their median.

#![allow(clippy::print_stdout, reason = "a measuring program prints its figures")]

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Hashes 100, 130 or 169 MB, by the filesystem.
const WORK: &str = "case $(stat -f -c %T {dir}) in ext*) n=100;; xfs) n=130;; *) n=169;; esac; \
                    head -c ${n}000000 /dev/zero | sha256sum > {dir}/sum; sync {dir}/sum";

/// Seconds, exit code and the sentence of the verdict.
type Tried = (f64, Option<i32>, String);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("name the program seekwell")?;
    let times: usize = arguments.next().map_or(Ok(5), |times| times.parse())?;
    let mut seconds = Vec::new();
    println!("seconds,code,verdict");
    for _ in 0..times {
        let (took, code, sentence) = once(&program)?;
        println!("{took:.1},{},{sentence}", code.map_or("-".to_owned(), |code| code.to_string()));
        seconds.push(took);
    }
    let median = seekwell_stats::estimate::quantile(&seconds, 0.5).ok_or("no run")?;
    println!("median {median:.1} s");
    Ok(())
}

fn once(program: &str) -> Result<Tried, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("try.seekwell");
    let begun = Instant::now();
    let output = Command::new(program)
        .args(["try", WORK, "--fs", "ext4,xfs,btrfs", "--json", "-o"])
        .arg(&file)
        .stderr(Stdio::inherit())
        .output()?;
    let took = begun.elapsed().as_secs_f64();
    let run: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let sentence = run["verdict"]["sentence"].as_str().unwrap_or_default().to_owned();
    Ok((took, output.status.code(), sentence))
}
