//! Files of which every synced byte is known: written until the power fails, and looked at afterwards.
//!
//! What is promised is said on standard output only once it is synced. A survey takes what was said
//! before the cut and looks whether it is so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::{Random, content};

const POINT: &str = "/mnt/disk";

/// Bytes of a sector: what a disk writes whole or not at all.
const SECTOR: usize = 512;

const BLOCK: usize = 4096;

/// Blocks of the file that is overwritten in place.
const BLOCKS: u64 = 48;

/// Files that a removal leaves behind the newest.
const KEPT: u64 = 6;

/// Disk and, behind a comma, the device of its journal.
fn split(device: &str) -> (&str, Option<&str>) {
    match device.split_once(',') {
        Some((data, journal)) => (data, Some(journal)),
        None => (device, None),
    }
}

/// Makes a filesystem of 512 MiB, small enough to be checked fast, with a log that wraps.
fn make(device: &str, kind: &str) {
    let (device, journal) = split(device);
    let outside = journal.map(|journal| format!("device={journal}"));
    if let Some(journal) = journal {
        // 2,048 blocks of 4 KiB.
        call(&["mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "4096", journal, "2048"]);
    }
    let words: &[&str] = match kind {
        "ext4" if let Some(outside) = &outside => {
            &["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", outside, device, "512M"]
        }
        "ext4" => &["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", device, "512M"],
        "xfs" => &["mkfs.xfs", "-q", "-f", "-d", "size=512m", device],
        "btrfs" => &["mkfs.btrfs", "-q", "-f", "-b", "512M", device],
        other => panic!("no way to make {other} is known here"),
    };
    call(words);
}

fn call(words: &[&str]) {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `-` is none; a journal outside is named again, since disks may have other names than when it was made.
fn options(words: &str, journal: Option<&str>) -> String {
    let own = (words != "-").then(|| words.to_owned());
    let path = journal.map(|journal| format!("journal_path={journal}"));
    own.into_iter().chain(path).collect::<Vec<_>>().join(",")
}

fn attach(device: &str, kind: &str, words: &str) -> std::io::Result<()> {
    fs::create_dir_all(POINT)?;
    let (device, journal) = split(device);
    let data = std::ffi::CString::new(options(words, journal)).unwrap();
    Ok(mount(device, POINT, kind, MountFlags::NOATIME, data.as_c_str())?)
}

/// Writes in five ways at once; `rounds` of each.
pub fn endure(device: &str, kind: &str, words: &str, rounds: u64) {
    make(device, kind);
    attach(device, kind, words).unwrap();
    let top = Path::new(POINT);
    for name in ["files", "swaps", "noise"] {
        fs::create_dir(top.join(name)).unwrap();
    }
    sync_directory(top);
    println!("mounted");
    thread::scope(|scope| {
        scope.spawn(|| write_files(&top.join("files"), rounds));
        scope.spawn(|| overwrite(&top.join("blocks"), rounds));
        scope.spawn(|| append(&top.join("log"), rounds));
        scope.spawn(|| swap(&top.join("swaps"), rounds));
        scope.spawn(|| make_noise(&top.join("noise"), rounds));
    });
    unmount(POINT, UnmountFlags::empty()).unwrap();
    println!("unmounted");
}

fn sync_directory(path: &Path) {
    File::open(path).unwrap().sync_all().unwrap();
}

fn file_bytes(number: u64) -> Vec<u8> {
    content(number, Random(number + 99).below(30_000) as usize)
}

fn write_files(directory: &Path, rounds: u64) {
    for number in 0..rounds {
        let mut file = File::create(directory.join(number.to_string())).unwrap();
        file.write_all(&file_bytes(number)).unwrap();
        file.sync_all().unwrap();
        sync_directory(directory);
        println!("file {number}");
        if number >= KEPT && number % 2 == 0 {
            let old = number - KEPT;
            println!("going {old}");
            fs::remove_file(directory.join(old.to_string())).unwrap();
            sync_directory(directory);
            println!("gone {old}");
        }
    }
}

fn block_bytes(block: u64, version: u64) -> Vec<u8> {
    content(1_000_000 + block * 100_000 + version, BLOCK)
}

fn overwrite(path: &Path, rounds: u64) {
    let file = OpenOptions::new().write(true).create_new(true).open(path).unwrap();
    for block in 0..BLOCKS {
        file.write_all_at(&block_bytes(block, 0), block * BLOCK as u64).unwrap();
    }
    file.sync_all().unwrap();
    sync_directory(path.parent().unwrap());
    println!("blocks");
    let mut versions = [0; BLOCKS as usize];
    let mut random = Random(5);
    for _ in 0..rounds {
        let block = random.below(BLOCKS);
        let version = &mut versions[block as usize];
        *version += 1;
        file.write_all_at(&block_bytes(block, *version), block * BLOCK as u64).unwrap();
        file.sync_data().unwrap();
        println!("block {block} {version}");
    }
}

/// The bytes of the log: what is at a place follows from the place.
fn log_bytes(from: u64, to: u64) -> Vec<u8> {
    (from..to).map(|at| (at.wrapping_mul(2_654_435_761) >> 7) as u8 | 1).collect()
}

fn append(path: &Path, rounds: u64) {
    let mut file = File::create(path).unwrap();
    file.sync_all().unwrap();
    sync_directory(path.parent().unwrap());
    let (mut length, mut random) = (0, Random(11));
    for _ in 0..rounds {
        let more = 1 + random.below(7000);
        file.write_all(&log_bytes(length, length + more)).unwrap();
        length += more;
        file.sync_data().unwrap();
        println!("log {length}");
    }
}

fn swap_bytes(generation: u64) -> Vec<u8> {
    content(7_000_000 + generation, 2000 + Random(generation).below(9000) as usize)
}

fn swap(directory: &Path, rounds: u64) {
    let fresh = directory.join("fresh");
    for generation in 1..=rounds {
        let mut file = File::create(&fresh).unwrap();
        file.write_all(&swap_bytes(generation)).unwrap();
        file.sync_all().unwrap();
        fs::rename(&fresh, directory.join("current")).unwrap();
        sync_directory(directory);
        println!("swap {generation}");
    }
}

/// Work that nothing is promised about, so that more is under way than what is synced.
fn make_noise(directory: &Path, rounds: u64) {
    let mut random = Random(3);
    for number in 0..rounds {
        let path = directory.join((number % 40).to_string());
        fs::write(&path, content(number, random.below(60_000) as usize)).unwrap();
        if number % 8 == 0 {
            let from = directory.join((random.below(40)).to_string());
            // Whether there is such a file is left to chance.
            let _ = fs::rename(from, directory.join("moved"));
        }
        thread::sleep(std::time::Duration::from_millis(40));
    }
}

/// What was said to be safe.
#[derive(Default)]
struct Promises {
    files: BTreeSet<u64>,
    going: BTreeSet<u64>,
    gone: BTreeSet<u64>,
    blocks: Option<BTreeMap<u64, u64>>,
    log: u64,
    swap: u64,
    count: u64,
}

impl Promises {
    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0] {
            "file" => {
                self.files.insert(number(1));
            }
            "going" => {
                self.going.insert(number(1));
            }
            "gone" => {
                self.gone.insert(number(1));
            }
            "blocks" => self.blocks = Some(BTreeMap::new()),
            "block" => {
                self.blocks.as_mut().unwrap().insert(number(1), number(2));
            }
            "log" => self.log = number(1),
            "swap" => self.swap = number(1),
            "mounted" | "unmounted" => return,
            other => panic!("nobody promises {other:?}"),
        }
        self.count += 1;
    }

    /// The first promise that is not kept.
    fn broken(&self, top: &Path) -> Result<(), String> {
        for number in self.files.difference(&self.gone) {
            let path = top.join("files").join(number.to_string());
            match fs::read(path) {
                Ok(found) if found == file_bytes(*number) => {}
                Ok(found) => {
                    return Err(differs(&format!("file {number}"), &found, &file_bytes(*number)));
                }
                Err(_) if self.going.contains(number) => {}
                Err(error) => return Err(format!("file {number}: {error}")),
            }
        }
        if let Some(number) =
            self.gone.iter().find(|gone| top.join("files").join(gone.to_string()).exists())
        {
            return Err(format!("file {number} was removed and is there"));
        }
        self.broken_blocks(&top.join("blocks"))?;
        self.broken_log(&top.join("log"))?;
        self.broken_swap(&top.join("swaps/current"))
    }

    /// Each sector holds what was synced last, or what was being written over it.
    fn broken_blocks(&self, path: &Path) -> Result<(), String> {
        let Some(versions) = &self.blocks else { return Ok(()) };
        let found = fs::read(path).map_err(|error| format!("blocks: {error}"))?;
        if found.len() != BLOCKS as usize * BLOCK {
            return Err(format!("blocks: {} bytes", found.len()));
        }
        for (block, found) in (0..).zip(found.chunks(BLOCK)) {
            let version = versions.get(&block).copied().unwrap_or(0);
            let may = [version, version + 1].map(|version| block_bytes(block, version));
            for (at, sector) in found.chunks(SECTOR).enumerate() {
                let place = at * SECTOR..(at + 1) * SECTOR;
                if may.iter().all(|may| may[place.clone()] != *sector) {
                    return Err(format!("block {block} lost version {version} in sector {at}"));
                }
            }
        }
        Ok(())
    }

    fn broken_log(&self, path: &Path) -> Result<(), String> {
        if self.log == 0 {
            return Ok(());
        }
        let found = fs::read(path).map_err(|error| format!("log: {error}"))?;
        let wanted = log_bytes(0, self.log);
        if found.starts_with(&wanted) { Ok(()) } else { Err(differs("log", &found, &wanted)) }
    }

    fn broken_swap(&self, path: &Path) -> Result<(), String> {
        let found = match fs::read(path) {
            Ok(found) => found,
            Err(_) if self.swap == 0 => return Ok(()),
            Err(error) => return Err(format!("swap {}: {error}", self.swap)),
        };
        let is_whole = (self.swap..self.swap + 2)
            .any(|generation| generation > 0 && found == swap_bytes(generation));
        if is_whole { Ok(()) } else { Err(format!("swap {} is torn", self.swap)) }
    }
}

fn differs(what: &str, found: &[u8], wanted: &[u8]) -> String {
    let alike = found.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    format!("{what}: {} of {} bytes, alike up to {alike}", found.len(), wanted.len())
}

/// Takes sections of `device PATH` and the promises made there; tells of each whether all is well.
pub fn survey(kind: &str, words: &str) {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let mut sections: Vec<(String, Promises)> = Vec::new();
    for line in input.lines() {
        match line.strip_prefix("device ") {
            Some(device) => sections.push((device.to_owned(), Promises::default())),
            None => sections.last_mut().unwrap().1.take(line),
        }
    }
    for (device, promises) in sections {
        match look_at(&device, kind, words, &promises) {
            Ok(()) => println!("{device} whole {}", promises.count),
            Err((what, told)) => println!("{device} {what} {}", told.replace('\n', " | ")),
        }
    }
}

/// Mounts, which replays the log, looks, unmounts and checks; what failed, and how.
fn look_at(
    device: &str,
    kind: &str,
    words: &str,
    promises: &Promises,
) -> Result<(), (&'static str, String)> {
    attach(device, kind, words).map_err(|error| ("mount", error.to_string()))?;
    let kept = promises.broken(Path::new(POINT));
    unmount(POINT, UnmountFlags::empty()).map_err(|error| ("unmount", error.to_string()))?;
    let checked = check(device, kind);
    if kind == "btrfs" {
        // Every image has the same identity; the kernel must not take the next for this one.
        let _ = Command::new("btrfs").args(["device", "scan", "--forget", device]).output();
    }
    kept.map_err(|told| ("promise", told))?;
    checked.map_err(|told| ("check", told))
}

fn check(device: &str, kind: &str) -> Result<(), String> {
    let (device, journal) = split(device);
    let words: &[&str] = match kind {
        "ext4" if let Some(journal) = journal => &["e2fsck", "-fn", "-j", journal, device],
        "ext4" => &["e2fsck", "-fn", device],
        "xfs" => &["xfs_repair", "-n", device],
        _ => &["btrfs", "check", "--readonly", device],
    };
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&text).chars().take(600).collect())
}
