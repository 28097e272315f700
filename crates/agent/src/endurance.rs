//! Files of which every synced byte is known: written until the power fails, and compared afterwards.
//!
//! Five writers work at once. What one of them synced it says only after the call has returned;
//! [`Promises`] collects what was said before the cut and looks whether all of it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Bytes of a sector: a disk writes it whole or not at all.
const SECTOR: usize = 512;

const BLOCK: usize = 4096;

/// Blocks of the file that is overwritten in place.
const BLOCKS: u64 = 48;

/// Files that a removal leaves behind the newest.
const KEPT: u64 = 6;

const FILES: &str = "files";
const SWAPS: &str = "swaps";
const NOISE: &str = "noise";
const BLOCK_FILE: &str = "blocks";
const LOG_FILE: &str = "log";

/// First message: the directories are there, nothing is promised yet.
pub const READY: &str = "ready";

/// Pause between two files that nothing is promised about.
const NOISE_PAUSE: Duration = Duration::from_millis(40);

/// A writer's way to say what it synced.
type Say = Sender<String>;

/// Writes in five ways at once, `rounds` of each: new files and removals, blocks overwritten in place, a
/// log that grows, a file replaced by renaming, and files that are never synced. `synced` hears
/// [`READY`], and then each promise once its sync has returned.
///
/// # Errors
///
/// The first of a writer.
pub fn write(top: &Path, rounds: u64, synced: &mut dyn FnMut(&str)) -> io::Result<()> {
    for name in [FILES, SWAPS, NOISE] {
        fs::create_dir(top.join(name))?;
    }
    sync_directory(top)?;
    synced(READY);
    let (say, said) = channel();
    thread::scope(|scope| {
        let start = |writer: fn(&Path, u64, &Say) -> io::Result<()>| {
            let say = say.clone();
            scope.spawn(move || writer(top, rounds, &say))
        };
        let writers = [write_files, overwrite, append, swap, make_noise].map(start);
        drop(say);
        for promise in said {
            synced(&promise);
        }
        writers.into_iter().try_for_each(|writer| {
            writer.join().unwrap_or_else(|_| Err(io::Error::other("a writer panicked")))
        })
    })
}

/// The listener ends with the trial, and then there is no one to promise to.
fn promise(say: &Say, text: String) {
    let _ = say.send(text);
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
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

fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..bytes.div_ceil(4))
        .flat_map(|_| (random.below(1 << 32) as u32).to_le_bytes())
        .take(bytes)
        .collect()
}

fn file_bytes(number: u64) -> Vec<u8> {
    content(number, Random(number + 99).below(30_000) as usize)
}

fn write_files(top: &Path, rounds: u64, say: &Say) -> io::Result<()> {
    let directory = top.join(FILES);
    for number in 0..rounds {
        let mut file = File::create(directory.join(number.to_string()))?;
        file.write_all(&file_bytes(number))?;
        file.sync_all()?;
        sync_directory(&directory)?;
        promise(say, format!("file {number}"));
        if number >= KEPT && number % 2 == 0 {
            let old = number - KEPT;
            promise(say, format!("going {old}"));
            fs::remove_file(directory.join(old.to_string()))?;
            sync_directory(&directory)?;
            promise(say, format!("gone {old}"));
        }
    }
    Ok(())
}

fn block_bytes(block: u64, version: u64) -> Vec<u8> {
    content(1_000_000 + block * 100_000 + version, BLOCK)
}

fn overwrite(top: &Path, rounds: u64, say: &Say) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(top.join(BLOCK_FILE))?;
    for block in 0..BLOCKS {
        file.write_all_at(&block_bytes(block, 0), block * BLOCK as u64)?;
    }
    file.sync_all()?;
    sync_directory(top)?;
    promise(say, "blocks".to_owned());
    let mut versions = [0; BLOCKS as usize];
    let mut random = Random(5);
    for _ in 0..rounds {
        let block = random.below(BLOCKS);
        let version = &mut versions[block as usize];
        *version += 1;
        file.write_all_at(&block_bytes(block, *version), block * BLOCK as u64)?;
        file.sync_data()?;
        promise(say, format!("block {block} {version}"));
    }
    Ok(())
}

/// The bytes of the log: each follows from its place.
fn log_bytes(from: u64, to: u64) -> Vec<u8> {
    (from..to).map(|at| (at.wrapping_mul(2_654_435_761) >> 7) as u8 | 1).collect()
}

fn append(top: &Path, rounds: u64, say: &Say) -> io::Result<()> {
    let mut file = File::create(top.join(LOG_FILE))?;
    file.sync_all()?;
    sync_directory(top)?;
    let (mut length, mut random) = (0, Random(11));
    for _ in 0..rounds {
        let more = 1 + random.below(7000);
        file.write_all(&log_bytes(length, length + more))?;
        length += more;
        file.sync_data()?;
        promise(say, format!("log {length}"));
    }
    Ok(())
}

fn swap_bytes(generation: u64) -> Vec<u8> {
    content(7_000_000 + generation, 2000 + Random(generation).below(9000) as usize)
}

fn swap(top: &Path, rounds: u64, say: &Say) -> io::Result<()> {
    let directory = top.join(SWAPS);
    let fresh = directory.join("fresh");
    for generation in 1..=rounds {
        let mut file = File::create(&fresh)?;
        file.write_all(&swap_bytes(generation))?;
        file.sync_all()?;
        fs::rename(&fresh, directory.join("current"))?;
        sync_directory(&directory)?;
        promise(say, format!("swap {generation}"));
    }
    Ok(())
}

/// Work that nothing is promised about, so that more is under way than what is synced.
fn make_noise(top: &Path, rounds: u64, _: &Say) -> io::Result<()> {
    let directory = top.join(NOISE);
    let mut random = Random(3);
    for number in 0..rounds {
        let path = directory.join((number % 40).to_string());
        fs::write(&path, content(number, random.below(60_000) as usize))?;
        if number % 8 == 0 {
            let from = directory.join((random.below(40)).to_string());
            // Chance decides whether there is such a file.
            let _ = fs::rename(from, directory.join("moved"));
        }
        thread::sleep(NOISE_PAUSE);
    }
    Ok(())
}

/// Everything that was said to be safe.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    files: BTreeSet<u64>,
    going: BTreeSet<u64>,
    gone: BTreeSet<u64>,
    blocks: Option<BTreeMap<u64, u64>>,
    log: u64,
    swap: u64,
    count: u64,
}

impl Promises {
    /// Adds a message of [`write()`]; false if it is none.
    pub fn take(&mut self, text: &str) -> bool {
        let mut words = text.split(' ');
        let what = words.next().unwrap_or_default();
        let mut number = || words.next()?.parse::<u64>().ok();
        let taken = match what {
            READY => return true,
            "file" => number().map(|number| self.files.insert(number)).is_some(),
            "going" => number().map(|number| self.going.insert(number)).is_some(),
            "gone" => number().map(|number| self.gone.insert(number)).is_some(),
            "blocks" => {
                self.blocks = Some(BTreeMap::new());
                true
            }
            "block" => match (self.blocks.as_mut(), number(), number()) {
                (Some(blocks), Some(block), Some(version)) => {
                    blocks.insert(block, version);
                    true
                }
                _ => false,
            },
            "log" => number().map(|bytes| self.log = bytes).is_some(),
            "swap" => number().map(|generation| self.swap = generation).is_some(),
            _ => false,
        };
        self.count += u64::from(taken);
        taken
    }

    /// Number of promises.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first promise that the files below `top` do not keep, in words; `None` if all are kept.
    #[must_use]
    pub fn broken(&self, top: &Path) -> Option<String> {
        self.look(top).err()
    }

    fn look(&self, top: &Path) -> Result<(), String> {
        let directory = top.join(FILES);
        for number in self.files.difference(&self.gone) {
            match fs::read(directory.join(number.to_string())) {
                Ok(found) if found == file_bytes(*number) => {}
                Ok(found) => {
                    return Err(differs(&format!("file {number}"), &found, &file_bytes(*number)));
                }
                Err(_) if self.going.contains(number) => {}
                Err(error) => return Err(format!("file {number}: {error}")),
            }
        }
        let is_back = |number: &&u64| directory.join(number.to_string()).exists();
        if let Some(number) = self.gone.iter().find(is_back) {
            return Err(format!("file {number} was removed, and is there"));
        }
        self.look_at_blocks(&top.join(BLOCK_FILE))?;
        self.look_at_log(&top.join(LOG_FILE))?;
        self.look_at_swap(&top.join(SWAPS).join("current"))
    }

    /// Each sector holds what was synced last, or what was being written over it.
    fn look_at_blocks(&self, path: &Path) -> Result<(), String> {
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

    fn look_at_log(&self, path: &Path) -> Result<(), String> {
        if self.log == 0 {
            return Ok(());
        }
        let found = fs::read(path).map_err(|error| format!("log: {error}"))?;
        let wanted = log_bytes(0, self.log);
        if found.starts_with(&wanted) { Ok(()) } else { Err(differs("log", &found, &wanted)) }
    }

    fn look_at_swap(&self, path: &Path) -> Result<(), String> {
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
