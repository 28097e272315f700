//! What does observing cost? The same job with nothing, with the timeline, and with the timeline
//! and the block event stream, in random order inside each round, on a loop device over memory.
//!
//! `cargo run --release -p seekwell-agent --example observation-cost -- ROUNDS MILLISECONDS [CSV]`
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
use std::error::Error;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const WAYS: [&str; 4] = ["unobserved", "unobserved again", "timeline", "timeline and block events"];

struct Bench {
    device: loop_device::LoopDevice,
    milliseconds: u64,
    lost: u64,
}

impl Bench {
    /// IOPS of one job under one way of observing.
    fn job(&mut self, way: usize, seed: u64) -> Result<f64, Box<dyn Error>> {
        let origin_ns = monotonic_ns();
        let name = self.device.kernel_name().to_owned();
        let timeline = if way >= 2 { Some(timeline(&name, origin_ns)?) } else { None };
        let events = if way >= 3 {
            let number = DeviceNumber::read(Path::new("/"), &name)?;
            let instance = instance_name("observation-cost", std::process::id());
            Some(BlockEventStream::start(&BlockEventOptions::new(instance, number, origin_ns))?)
        } else {
            None
        };
        let file =
            OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(self.device.path())?;
        let span = Span { offset: 0, length: self.device.size().0 };
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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: u64 = arguments.first().map_or(Ok(20), |text| text.parse())?;
    let milliseconds: u64 = arguments.get(1).map_or(Ok(500), |text| text.parse())?;
    let system = System::host();
    let image = image::create_in_ram(&system, Bytes::mib(256), 1, &mut |_| {})?;
    let device = loop_device::attach(&system, image.file(), Bytes(512), None)?;
    let mut bench = Bench { device, milliseconds, lost: 0 };
    let mut ratios = vec![vec![]; WAYS.len()];
    let mut csv = String::from("round,way,iops\n");
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..WAYS.len()).collect();
        seekwell_stats::seeded(round).shuffle(&mut order);
        let mut iops = vec![0.0; WAYS.len()];
        for way in order {
            iops[way] = bench.job(way, round)?;
            writeln!(csv, "{round},{},{:.1}", WAYS[way], iops[way])?;
        }
        for way in 1..WAYS.len() {
            ratios[way].push(iops[way] / iops[0]);
        }
    }
    for way in 1..WAYS.len() {
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
