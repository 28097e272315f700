//! Flushes of a modelled disk after 1, 16, 64 and 256 random writes of 4 KiB, and its random reads at depth 1 and 32: a
//! line for each flush and for each rate, as `device,what,of,value,unit`.
//!
//! Run: `cargo run --release -p seekwell-bench --example flushes -- devices/NAME.toml…`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use std::process::ExitCode;

use seekwell_device::{Completion, Lba, Model, Operation, Request, build, load};

/// Flushes after each number of writes.
const TIMES: u32 = 40;

/// Reads of a rate, after a tenth of them that is not counted.
const READS: u32 = 4000;

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        eprintln!("usage: flushes FILE…");
        return ExitCode::from(2);
    }
    println!("device,what,of,value,unit");
    for path in paths {
        match lines(&path) {
            Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
            Err(reason) => {
                eprintln!("error: {path}: {reason}");
                return ExitCode::from(1);
            }
        }
    }
    ExitCode::SUCCESS
}

fn lines(path: &str) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let file = load(&text).map_err(|error| error.to_string())?;
    let name = file.name();
    let mut lines = Vec::new();
    for depth in [1, 32] {
        let mut disk = Disk::new(build(&file, 1));
        let depth = depth.min(disk.model.geometry().queue_depth);
        disk.random(Operation::Read, READS / 10, depth)?;
        let took_ns = disk.random(Operation::Read, READS, depth)?;
        let per_second = f64::from(READS) * 1e9 / took_ns as f64;
        lines.push(format!("{name},random reads at depth,{depth},{per_second:.1},/s"));
    }
    for dirty in [1, 16, 64, 256] {
        let mut disk = Disk::new(build(&file, 1));
        for _ in 0..TIMES {
            disk.random(Operation::Write, dirty, 1)?;
            let took_ns = disk.requests(&[(Operation::Flush, 0, 0)], 1)?;
            lines.push(format!("{name},flush after writes,{dirty},{:.3},ms", took_ns as f64 / 1e6));
        }
    }
    Ok(lines)
}

/// A model, its time and a source of places.
struct Disk {
    model: Box<dyn Model>,
    now_ns: u64,
    id: u64,
    state: u64,
}

impl Disk {
    fn new(model: Box<dyn Model>) -> Self {
        Self { model, now_ns: 0, id: 0, state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Requests of 4 KiB anywhere, and the time of all.
    fn random(&mut self, operation: Operation, count: u32, depth: u32) -> Result<u64, String> {
        let places = self.model.geometry().sectors_512 / 8;
        let requests: Vec<_> = (0..count)
            .map(|_| {
                self.state ^= self.state << 13;
                self.state ^= self.state >> 7;
                self.state ^= self.state << 17;
                let place = ((u128::from(self.state) * u128::from(places)) >> 64) as u64;
                (operation, place * 8, 8)
            })
            .collect();
        self.requests(&requests, depth)
    }

    /// Requests, `depth` at a time, and the time of all.
    fn requests(&mut self, all: &[(Operation, u64, u32)], depth: u32) -> Result<u64, String> {
        let begun_ns = self.now_ns;
        let (mut sent, mut done) = (0, 0);
        let mut completions: Vec<Completion> = Vec::new();
        while done < all.len() {
            while sent - done < depth as usize
                && let Some((operation, lba, sectors)) = all.get(sent).copied()
            {
                self.id += 1;
                let request =
                    Request { id: self.id, operation, lba: Lba(lba), sectors, fua: false };
                self.model.submit(self.now_ns, request).map_err(|refused| refused.to_string())?;
                sent += 1;
            }
            self.now_ns = self.model.next_event_ns().ok_or("the model forgot a request")?;
            self.model.advance(self.now_ns, &mut completions);
            done += completions.drain(..).count();
        }
        Ok(self.now_ns - begun_ns)
    }
}
