//! What the tests and benchmarks run in a guest: the first process, and small workloads.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "it is part of the tests; what fails in it must be seen in the guest's log"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// `O_DIRECT` on this architecture.
const DIRECT: i32 = 0o40000;

const PAGE: usize = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if seekwell_virtual::guest::is_first_process() {
        let error = seekwell_virtual::guest::serve().err();
        panic!("the guest could not serve: {error:?}");
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["echo"] => {
            let mut input = Vec::new();
            std::io::stdin().read_to_end(&mut input).unwrap();
            std::io::stdout().write_all(&input).unwrap();
            eprintln!("{} bytes", input.len());
        }
        ["cat", path] => std::io::stdout().write_all(&fs::read(path).unwrap()).unwrap(),
        ["status", code] => std::process::exit(code.parse().unwrap()),
        ["spin"] => loop {
            std::hint::spin_loop();
        },
        ["stamped", device, kind, mib] => stamped(device, kind, mib.parse().unwrap()),
        ["sleep", milliseconds] => {
            let begun = Instant::now();
            thread::sleep(Duration::from_millis(milliseconds.parse().unwrap()));
            println!("{}", begun.elapsed().as_millis());
        }
        ["random"] => {
            let mut bytes = [0; 16];
            File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
            println!("{bytes:02x?}");
        }
        ["syscalls", count] => syscalls(count.parse().unwrap()),
        ["reads", device, count] => reads(device, count.parse().unwrap(), PAGE),
        ["reads", device, count, bytes] => {
            reads(device, count.parse().unwrap(), bytes.parse().unwrap());
        }
        ["at-once", device, scheduler, threads, count] => {
            at_once(device, scheduler, threads.parse().unwrap(), count.parse().unwrap());
        }
        ["queue", device] => queue(device),
        ["churn", device, kind, scheduler] => churn(device, kind, scheduler),
        ["fill", device, kind] => fill(device, kind),
        ["verify", device, kind] => verify(device, kind),
        other => panic!("unknown: {other:?}"),
    }
}

/// One file as a workload with `content = "stamped"` writes it: zeros with a stamp in every 4 KiB, past the
/// page cache.
fn stamped(device: &str, kind: &str, mib: u64) {
    let options = ["-q", "-F", "-T", "largefile4", "-O", "^resize_inode", device];
    let made = Command::new(format!("mkfs.{kind}")).args(options).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    with_mounted(device, kind, |top| {
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create(true).custom_flags(DIRECT).open(top.join("file")).unwrap();
        let mut memory = vec![0_u8; (1 << 20) + PAGE];
        let start = memory.as_ptr().addr().next_multiple_of(PAGE) - memory.as_ptr().addr();
        let mut stamp = 1_u64;
        for chunk in 0..mib {
            for block in memory[start..start + (1 << 20)].chunks_exact_mut(PAGE) {
                stamp = stamp.wrapping_add(0x9e37_79b9_7f4a_7c15);
                block[..8].copy_from_slice(&stamp.to_le_bytes());
            }
            file.write_all_at(&memory[start..start + (1 << 20)], chunk << 20).unwrap();
        }
        file.sync_all().unwrap();
    });
}

fn syscalls(count: u64) {
    let file = File::open("/dev/null").unwrap();
    let mut byte = [0];
    let begun = Instant::now();
    for _ in 0..count {
        assert_eq!((&file).read(&mut byte).unwrap(), 0, "/dev/null is empty");
    }
    println!("{}", begun.elapsed().as_nanos());
}

/// Numbers that look random and are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 16) % limit
    }
}

fn open_direct(device: &str) -> File {
    OpenOptions::new().read(true).custom_flags(DIRECT).open(device).unwrap()
}

fn device_bytes(device: &str) -> u64 {
    read_queue(device, "../size").parse::<u64>().unwrap() * 512
}

fn queue_file(device: &str, name: &str) -> PathBuf {
    let name_of_device = Path::new(device).file_name().unwrap();
    Path::new("/sys/block").join(name_of_device).join("queue").join(name)
}

fn read_queue(device: &str, name: &str) -> String {
    fs::read_to_string(queue_file(device, name)).unwrap().trim().to_owned()
}

fn write_queue(device: &str, name: &str, value: &str) {
    fs::write(queue_file(device, name), value).unwrap();
}

fn random_reads(file: &File, bytes: u64, count: u64, size: usize, seed: u64) {
    let mut memory = vec![0_u8; 2 * PAGE];
    let start = memory.as_ptr().addr().next_multiple_of(PAGE) - memory.as_ptr().addr();
    let buffer = &mut memory[start..start + size];
    let mut random = Random(seed);
    for _ in 0..count {
        let block = random.below(bytes / size as u64);
        file.read_exact_at(buffer, block * size as u64).unwrap();
    }
}

fn reads(device: &str, count: u64, size: usize) {
    let (file, bytes) = (open_direct(device), device_bytes(device));
    let begun = Instant::now();
    random_reads(&file, bytes, count, size, 1);
    println!("{}", begun.elapsed().as_nanos());
}

/// Reads of several threads, so that a scheduler has something to choose from; nanoseconds.
fn at_once(device: &str, scheduler: &str, threads: u64, count: u64) {
    write_queue(device, "scheduler", scheduler);
    if scheduler != "none" {
        write_queue(device, "nr_requests", "128");
    }
    let bytes = device_bytes(device);
    let begun = Instant::now();
    thread::scope(|scope| {
        for seed in 0..threads {
            scope.spawn(move || random_reads(&open_direct(device), bytes, count, PAGE, seed + 1));
        }
    });
    println!("{}", begun.elapsed().as_nanos());
}

/// What the block layer believes of a device.
fn queue(device: &str) {
    let names = ["rotational", "nr_requests", "max_hw_sectors_kb", "max_segments", "write_cache"];
    for name in
        names.into_iter().chain(["logical_block_size", "physical_block_size", "max_segment_size"])
    {
        println!("{name} {}", read_queue(device, name));
    }
    println!("sectors {}", read_queue(device, "../size"));
    println!("serial {}", read_queue(device, "../serial").trim_end_matches('\0'));
}

fn make(device: &str, kind: &str) {
    let force: &[&str] = match kind {
        "ext2" | "ext3" | "ext4" => &["-F"],
        "jfs" => &["-q"],
        "reiserfs" => &["-ff", "-q"],
        _ => &["-f"],
    };
    let output = Command::new(format!("mkfs.{kind}")).args(force).arg(device).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn with_mounted(device: &str, kind: &str, work: impl FnOnce(&Path)) {
    let point = Path::new("/mnt/disk");
    fs::create_dir_all(point).unwrap();
    mount(device, point, kind, MountFlags::NOATIME, None).unwrap();
    work(point);
    unmount(point, UnmountFlags::empty()).unwrap();
}

fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..bytes.div_ceil(4))
        .flat_map(|_| (random.below(1 << 32) as u32).to_le_bytes())
        .take(bytes)
        .collect()
}

/// Several writers at once, some of them syncing, then everything read again and half removed.
fn churn(device: &str, kind: &str, scheduler: &str) {
    write_queue(device, "scheduler", scheduler);
    make(device, kind);
    let begun = Instant::now();
    with_mounted(device, kind, |top| {
        thread::scope(|scope| {
            for writer in 0..4_u64 {
                scope.spawn(move || write_files(&top.join(writer.to_string()), writer));
            }
        });
    });
    with_mounted(device, kind, |top| {
        for writer in 0..4_u64 {
            for number in 0..FILES {
                let path = top.join(writer.to_string()).join(number.to_string());
                assert_eq!(fs::read(&path).unwrap(), file_content(writer, number));
                if number % 2 == 0 {
                    fs::remove_file(path).unwrap();
                }
            }
        }
    });
    println!("{}", begun.elapsed().as_nanos());
}

const FILES: u64 = 24;

fn file_content(writer: u64, number: u64) -> Vec<u8> {
    let seed = writer * 1000 + number;
    content(seed, Random(seed + 7).below(60_000) as usize)
}

fn write_files(directory: &Path, writer: u64) {
    fs::create_dir(directory).unwrap();
    for number in 0..FILES {
        let mut file = File::create(directory.join(number.to_string())).unwrap();
        file.write_all(&file_content(writer, number)).unwrap();
        if number % 4 == writer {
            file.sync_all().unwrap();
        }
    }
}

/// Writes and syncs file after file, and says which are safe, until the power fails.
fn fill(device: &str, kind: &str) {
    make(device, kind);
    with_mounted(device, kind, |top| {
        println!("mounted");
        for number in 0..1000_u64 {
            let mut file = File::create(top.join(number.to_string())).unwrap();
            file.write_all(&content(number, 3000 + 40 * number as usize)).unwrap();
            file.sync_all().unwrap();
            File::open(top).unwrap().sync_all().unwrap();
            println!("safe {number}");
            std::io::stdout().flush().unwrap();
        }
    });
}

/// Mounts, which recovers; checks the files that the input calls safe; unmounts; checks the disk.
fn verify(device: &str, kind: &str) {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let safe: Vec<u64> =
        input.lines().filter_map(|line| line.strip_prefix("safe ")?.parse().ok()).collect();
    with_mounted(device, kind, |top| {
        for number in &safe {
            let found = fs::read(top.join(number.to_string())).unwrap();
            assert!(
                found == content(*number, 3000 + 40 * *number as usize),
                "file {number} differs"
            );
        }
    });
    let (program, arguments): (_, &[&str]) = match kind {
        "ext4" => ("e2fsck", &["-fn"]),
        "xfs" => ("xfs_repair", &["-n"]),
        _ => ("btrfs", &["check", "--readonly"]),
    };
    let output = Command::new(program).args(arguments).arg(device).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    println!("{} files are whole", safe.len());
}
