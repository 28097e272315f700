//! Cost of observing: the same job with nothing, with the timeline, and with the timeline
//! and the block event stream, in random order inside each round, on a device in memory.
//!
//! `cargo run --release -p seekwell-bench --example observation-cost -- ROUNDS MILLISECONDS [CSV [zram]]`
//!
//! On a loop device, or with `zram` on a device whose reads the asking thread copies itself: that one
//! scatters far less, but has no request queue and so no block events.
//!
//! Needs root. Prints the ratios of IOPS to the unobserved job with 95 % intervals; the first row
//! compares the unobserved job with itself and shows what the machine can resolve.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use seekwell_engine::{Job, Span, run};
use seekwell_host::sysfs::System;
use seekwell_host::{image, loop_device};
use seekwell_model::units::Bytes;
use seekwell_observe::block_events::{
    BlockEventOptions, BlockEventStream, DeviceNumber, instance_name,
};
use seekwell_observe::clock::monotonic_ns;
use seekwell_observe::timeline::{Timeline, TimelineOptions};
use seekwell_stats::interval::geometric_mean_interval;
use seekwell_testing::RamDisk;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SIZE: Bytes = Bytes::mib(256);
const WAYS: [&str; 4] = ["unobserved", "unobserved again", "timeline", "timeline and block events"];

enum Target {
    Loop(loop_device::LoopDevice),
    Zram(RamDisk),
}

impl Target {
    fn path(&self) -> &Path {
        match self {
            Self::Loop(device) => device.path(),
            Self::Zram(disk) => disk.path(),
        }
    }
}

struct Bench {
    target: Target,
    milliseconds: u64,
    lost: u64,
}

impl Bench {
    /// IOPS of one job under one way of observing.
    fn job(&mut self, way: usize, seed: u64) -> Result<f64, Box<dyn Error>> {
        let origin_ns = monotonic_ns();
        let path = self.target.path().to_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let timeline = if way >= 2 { Some(timeline(&name, origin_ns)?) } else { None };
        let events = if way >= 3 {
            let number = DeviceNumber::read(Path::new("/"), &name)?;
            let instance = instance_name("observation-cost", std::process::id());
            Some(BlockEventStream::start(&BlockEventOptions::new(instance, number, origin_ns))?)
        } else {
            None
        };
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
        let span = Span { offset: 0, length: SIZE.0 };
        let mut job = Job::new(file.as_fd(), span, 4096);
        job.time_ns = Some(self.milliseconds * 1_000_000);
        job.seed = seed;
        let result = run(&job)?;
        drop(timeline.map(Timeline::stop));
        if let Some(events) = events {
            self.lost += events.stop()?.lost;
        }
        result.iops().ok_or_else(|| "no operation completed".into())
    }
}

fn timeline(device: &str, origin_ns: u64) -> Result<Timeline, Box<dyn Error>> {
    Ok(Timeline::start(&TimelineOptions {
        root: PathBuf::from("/"),
        device: device.to_owned(),
        journal: None,
        interval: Duration::from_millis(100),
        origin_ns,
    })?)
}

/// A device in memory full of data: a page of zeros costs no copying.
fn filled() -> Result<RamDisk, Box<dyn Error>> {
    let disk = RamDisk::make(SIZE.0)?;
    let mut data = OpenOptions::new().write(true).open(disk.path())?;
    let mut random = std::fs::File::open("/dev/urandom")?.take(SIZE.0);
    std::io::copy(&mut random, &mut data)?;
    data.sync_all()?;
    Ok(disk)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: u64 = arguments.first().map_or(Ok(20), |text| text.parse())?;
    let milliseconds: u64 = arguments.get(1).map_or(Ok(500), |text| text.parse())?;
    let zram = arguments.get(3).is_some_and(|target| target == "zram");
    let system = System::host();
    let image = image::create_in_ram(&system, SIZE, 1, &mut |_| {})?;
    let target = match zram {
        true => Target::Zram(filled()?),
        false => Target::Loop(loop_device::attach(&system, image.file(), Bytes(512), None)?),
    };
    let ways = if zram { WAYS.len() - 1 } else { WAYS.len() };
    let mut bench = Bench { target, milliseconds, lost: 0 };
    let mut ratios = vec![vec![]; ways];
    let mut csv = String::from("round,way,iops\n");
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..ways).collect();
        seekwell_stats::seeded(round).shuffle(&mut order);
        let mut iops = vec![0.0; ways];
        for way in order {
            iops[way] = bench.job(way, round)?;
            writeln!(csv, "{round},{},{:.1}", WAYS[way], iops[way])?;
        }
        for way in 1..ways {
            ratios[way].push(iops[way] / iops[0]);
        }
    }
    for way in 1..ways {
        match geometric_mean_interval(&ratios[way], 0.05) {
            Some(interval) => println!(
                "{:26} {:.4} of the unobserved IOPS, 95 % interval {:.4} to {:.4}, {rounds} pairs",
                WAYS[way], interval.centre, interval.low, interval.high
            ),
            None => println!("{:26} too few rounds for an interval", WAYS[way]),
        }
    }
    println!("block events lost: {}", bench.lost);
    if let Some(path) = arguments.get(2) {
        std::fs::write(path, csv)?;
    }
    Ok(())
}
