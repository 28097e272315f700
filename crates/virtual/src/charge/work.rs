//! CPU time that the work of layers takes on this machine: by `cryptsetup benchmark`, by the speeds that
//! the kernel measured when it chose its functions for parity, and by compressing with lzop.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};

use crate::machine::WorkCharge;

#[cfg(test)]
mod tests;

/// The kernel's log, one record for each read.
pub const KERNEL_LOG: &str = "/dev/kmsg";

/// Longest record of the kernel's log.
const LONGEST_RECORD: usize = 8 << 10;

/// Runs of lzop, of which the fastest counts.
const BATCHES: u32 = 5;

/// Bytes that lzop compresses; a run over a 16th of them tells what starting it takes.
const LZO_BYTES: usize = 32 << 20;

const NS_PER_S: f64 = 1e9;
const BYTES_PER_KIB: f64 = 1024.0;

/// Time of one kind of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTime {
    /// Name, as [`WorkCharge`] has it.
    pub name: &'static str,
    /// Nanoseconds per KiB and their source, or the reason why there are none.
    pub found: Result<(u32, String), String>,
}

/// Measures the work of layers. `tool` finds programs; `log` is [`KERNEL_LOG`].
#[must_use]
pub fn measure_work(tool: &dyn Fn(&str) -> Option<PathBuf>, log: &Path) -> Vec<WorkTime> {
    let [compress, decompress] = lzo(tool);
    let no_hash = "no program tells how fast the kernel's crc32c and sha256 are";
    vec![
        WorkTime { name: "cipher", found: cipher(tool) },
        WorkTime { name: "hash", found: Err(no_hash.to_owned()) },
        WorkTime { name: "parity", found: parity(log) },
        WorkTime { name: "compress", found: compress },
        WorkTime { name: "decompress", found: decompress },
    ]
}

/// The charge of what was found; work without a time is not charged.
#[must_use]
pub fn charge_of(times: &[WorkTime]) -> WorkCharge {
    let mut charge = WorkCharge::default();
    for WorkTime { name, found } in times {
        if let (Ok((ns, _)), Some(value)) = (found, charge.value_mut(name)) {
            *value = *ns;
        }
    }
    charge
}

/// Nanoseconds per KiB at so many bytes per second; `None` for a speed that cannot be.
fn per_kib(bytes_per_s: f64) -> Option<u32> {
    let ns = (BYTES_PER_KIB * NS_PER_S / bytes_per_s).round();
    // A charge of 0 would say that the work is free.
    (bytes_per_s > 0.0 && (1.0..=f64::from(u32::MAX)).contains(&ns)).then_some(ns as u32)
}

type Found = Result<(u32, String), String>;

/// The cipher of LUKS by default.
fn cipher(tool: &dyn Fn(&str) -> Option<PathBuf>) -> Found {
    let program = tool("cryptsetup").ok_or_else(|| missing("cryptsetup", "cryptsetup-bin"))?;
    let arguments = ["benchmark", "--cipher", "aes-xts-plain64", "--key-size", "512"];
    let output = run(&program, &arguments, Stdio::null())?;
    cipher_in(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("no line of it").trim().to_owned();
        format!("`cryptsetup benchmark` tells no rate of aes-xts with 512 bits: {said}")
    })
}

/// The mean time of enciphering and deciphering in the lines of `cryptsetup benchmark`.
fn cipher_in(text: &str) -> Option<(u32, String)> {
    let line = text.lines().find(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("aes-xts") && words.next() == Some("512b")
    })?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[1] == "MiB/s");
    let rates: Vec<f64> =
        pairs.filter_map(|pair| pair[0].parse::<f64>().ok().filter(|rate| *rate > 0.0)).collect();
    let [encipher, decipher] = rates[..] else { return None };
    let mean = 2.0 / (1.0 / encipher + 1.0 / decipher);
    let source = format!(
        "`cryptsetup benchmark`, aes-xts with 512 bits: {encipher:.0} and {decipher:.0} MiB/s"
    );
    Some((per_kib(mean * 1_048_576.0)?, source))
}

fn parity(log: &Path) -> Found {
    let text = kernel_log(log)
        .map_err(|error| format!("the kernel's log cannot be read ({error}); run it as root"))?;
    parity_in(&text).ok_or_else(|| {
        "the kernel's log has no speed of xor or RAID 6: modprobe raid456 after a reboot writes them"
            .to_owned()
    })
}

/// Reads what the log holds, without waiting for more.
fn kernel_log(path: &Path) -> io::Result<String> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut file = File::options().read(true).custom_flags(nonblocking).open(path)?;
    let mut text = String::new();
    let mut record = vec![0; LONGEST_RECORD];
    loop {
        match file.read(&mut record) {
            Ok(0) => return Ok(text),
            Ok(length) => {
                text.push_str(&String::from_utf8_lossy(&record[..length]));
                text.push('\n');
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(text),
            // A record was overwritten before it was read; the next read continues behind it.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The kernel's speed of xor, which RAID 5 takes, or else that of RAID 6.
fn parity_in(log: &str) -> Option<(u32, String)> {
    // The name of a function is between the first two texts, its speed in units of so many bytes before the last.
    let find = |[begin, between, end]: [&str; 3], unit: f64| {
        log.lines().rev().find_map(|line| {
            let (name, rest) = line.split_once(begin)?.1.split_once(between)?;
            let speed = rest.split_once(end)?.0.trim().parse::<f64>().ok()?;
            Some((per_kib(speed * unit)?, format!("{}: {speed:.0} MB/s", name.trim())))
        })
    };
    // `xor: using function: avx (41216 MB/sec)`, `raid6: using algorithm avx2x4 gen() 31213 MB/s`.
    let xor = find(["xor: using function: ", "(", " MB/sec"], 1e6);
    let xor = xor.map(|(ns, speed)| (ns, format!("the kernel's xor, {speed}")));
    xor.or_else(|| {
        let (ns, speed) = find(["raid6: using algorithm ", " gen() ", " MB/s"], 1_048_576.0)?;
        Some((ns, format!("the kernel's RAID 6, {speed}; its log has no speed of RAID 5")))
    })
}

/// The usual compressor of zram, as a program.
fn lzo(tool: &dyn Fn(&str) -> Option<PathBuf>) -> [Found; 2] {
    let Some(program) = tool("lzop") else {
        return [(); 2].map(|()| Err(missing("lzop", "lzop")));
    };
    let times = || -> io::Result<[Duration; 2]> {
        let data = half_random(LZO_BYTES);
        let packed = run_lzop(&program, "-c", &in_memory(&data)?)?.stdout;
        let small = run_lzop(&program, "-c", &in_memory(&data[..LZO_BYTES / 16])?)?.stdout;
        let compress = beyond_start(
            || timed(&program, "-c", &data),
            || timed(&program, "-c", &data[..LZO_BYTES / 16]),
        )?;
        let decompress =
            beyond_start(|| timed(&program, "-dc", &packed), || timed(&program, "-dc", &small))?;
        Ok([compress, decompress])
    };
    let bytes = (LZO_BYTES - LZO_BYTES / 16) as f64;
    match times() {
        Ok(times) => times.map(|time| {
            let speed = bytes / time.as_secs_f64();
            let source = format!("lzop, half of the data random: {:.0} MB/s", speed / 1e6);
            per_kib(speed).map(|ns| (ns, source)).ok_or_else(|| "lzop took no time".to_owned())
        }),
        Err(error) => [(); 2].map(|()| Err(format!("lzop cannot be timed: {error}"))),
    }
}

/// Time of a long run beyond that of a short one, the fastest of each.
fn beyond_start(
    mut long: impl FnMut() -> io::Result<Duration>,
    mut short: impl FnMut() -> io::Result<Duration>,
) -> io::Result<Duration> {
    let (mut longest, mut shortest) = (Duration::MAX, Duration::MAX);
    for _ in 0..BATCHES {
        longest = longest.min(long()?);
        shortest = shortest.min(short()?);
    }
    Ok(longest.saturating_sub(shortest))
}

fn timed(program: &Path, argument: &str, data: &[u8]) -> io::Result<Duration> {
    let input = in_memory(data)?;
    let begun = Instant::now();
    run_lzop(program, argument, &input)?;
    Ok(begun.elapsed())
}

fn run_lzop(program: &Path, argument: &str, input: &File) -> io::Result<Output> {
    let output = Command::new(program).arg(argument).stdin(input.try_clone()?).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("it ended with {}", output.status)));
    }
    Ok(output)
}

/// A file in memory with this content, at its start.
fn in_memory(data: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"seekwell-calibrate", MemfdFlags::CLOEXEC)?);
    file.write_all(data)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}

/// Data of which every second KiB is zeros.
fn half_random(bytes: usize) -> Vec<u8> {
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    let mut data = Vec::with_capacity(bytes);
    while data.len() < bytes {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_zero = data.len() / 1024 % 2 == 1;
        data.extend_from_slice(&if is_zero { 0 } else { word ^ (word >> 29) }.to_le_bytes());
    }
    data
}

fn run(program: &Path, arguments: &[&str], input: Stdio) -> Result<Output, String> {
    let output = Command::new(program).args(arguments).stdin(input).output();
    output.map_err(|error| format!("{} cannot be run: {error}", program.display()))
}

fn missing(program: &str, package: &str) -> String {
    format!("{program} is not installed: apt-get install {package}")
}
