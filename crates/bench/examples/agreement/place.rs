//! The stacks that all rows share, in memory: a zram device, whose reads the asking thread does
//! itself, an ext4 on a second one, and a larger ext4 on a third for what both sides write alike
//! compressible. Everything ends with the process.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use seekwell_testing::RamDisk;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories and devices in which the rows work.
pub struct Place {
    /// A folder in memory.
    pub folder: PathBuf,
    /// A block device in memory, 256 MiB of words that compress by about half: a read is some
    /// microseconds of the calling thread's work, compared with which the programs' own time is
    /// small.
    pub device: PathBuf,
    /// The root of an empty ext4 of 1 GiB, on a block device in memory.
    pub directory: PathBuf,
    /// The block device of [`Self::directory`].
    pub directory_device: PathBuf,
    /// The root of an empty ext4 of 6 GiB on a block device in memory: what is written there must
    /// compress alike on both sides.
    pub large_directory: PathBuf,
    /// Does a tenth of the work, for runs whose times are not used.
    pub quick: bool,
    /// Resources of this place, dropped after everything is unmounted.
    _held: Vec<Held>,
}

/// Keeps a device until its last user is dropped.
enum Held {
    Open(#[allow(dead_code, reason = "an open loop device stays attached")] File),
    Ram(#[allow(dead_code, reason = "it is given back when it is dropped")] RamDisk),
}

/// Bytes of [`Place::device`].
pub const DEVICE_BYTES: u64 = 256 << 20;
const DIRECTORY_BYTES: u64 = 1 << 30;
const LARGE_DIRECTORY_BYTES: u64 = 6 << 30;

impl Place {
    /// # Errors
    /// Why it cannot be made here, in words.
    pub fn make(quick: bool) -> Result<Self, String> {
        if !seekwell_testing::root() {
            return Err("needs root for block devices and mounts".to_owned());
        }
        if !Path::new("/dev/loop-control").exists() {
            return Err("there are no loop devices".to_owned());
        }
        // SAFETY: no other thread exists yet, and nothing is borrowed from the old namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            return Err(format!("mount namespace: {}", std::io::Error::last_os_error()));
        }
        run("mount", &["--make-rprivate", "/"])?;
        let folder =
            std::env::temp_dir().join(format!("seekwell-agreement-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let made = Self::in_folder(&folder, quick);
        if made.is_err() {
            // The mounts end with the process.
            let _ = run("umount", &["--lazy", &text(&folder)]);
            let _ = std::fs::remove_dir(&folder);
        }
        made
    }

    fn in_folder(folder: &Path, quick: bool) -> Result<Self, String> {
        run("mount", &["-t", "tmpfs", "-o", "size=8g", "seekwell-agreement", &text(folder)])?;
        let mut held = Vec::new();
        let device_bytes = if quick { DEVICE_BYTES / 4 } else { DEVICE_BYTES };
        let device = in_memory(&folder.join("device"), device_bytes, &mut held)?;
        fill(&device, &words(device_bytes))?;
        let second = in_memory(&folder.join("filesystem"), DIRECTORY_BYTES, &mut held)?;
        let directory = mounted(&folder.join("mounted"), &second)?;
        let third = in_memory(&folder.join("large"), LARGE_DIRECTORY_BYTES, &mut held)?;
        let large_directory = mounted(&folder.join("large-mounted"), &third)?;
        pin();
        Ok(Self {
            folder: folder.to_owned(),
            device,
            directory,
            directory_device: second,
            large_directory,
            quick,
            _held: held,
        })
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// A block device in memory: zram, or where the kernel has none a loop device over a file there.
fn in_memory(image: &Path, bytes: u64, held: &mut Vec<Held>) -> Result<PathBuf, String> {
    match RamDisk::make(bytes) {
        Ok(disk) => {
            let path = disk.path().to_owned();
            held.push(Held::Ram(disk));
            Ok(path)
        }
        Err(why) => {
            eprintln!("{why}: a loop device instead, of which all scatters more");
            attached(image, bytes, held)
        }
    }
}

/// A loop device over a new file.
fn attached(image: &Path, bytes: u64, held: &mut Vec<Held>) -> Result<PathBuf, String> {
    File::create(image).and_then(|file| file.set_len(bytes)).map_err(|error| error.to_string())?;
    let device = attach(image)?;
    held.push(Held::Open(File::open(&device).map_err(|error| error.to_string())?));
    // Detached when its last descriptor is closed: also when this process is killed.
    run("losetup", &["--detach", &text(&device)])?;
    Ok(device)
}

/// An empty ext4.
fn mounted(point: &Path, device: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir(point).map_err(|error| error.to_string())?;
    let node = text(device);
    let ready = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    run("mkfs.ext4", &["-q", "-F", "-E", ready, &node])?;
    run("mount", &["-o", "noatime", &node, &text(point)])?;
    Ok(point.to_owned())
}

impl Place {
    /// So much work, or a tenth of it.
    #[must_use]
    pub fn amount(&self, whole: u64) -> u64 {
        if self.quick { whole / 10 } else { whole }
    }

    /// A file of random data in [`Self::directory`], on its device.
    pub fn random_file(&self, name: &str, bytes: u64) -> PathBuf {
        self.file(name, &random(bytes))
    }

    /// The same of words that compress by about half.
    pub fn text_file(&self, name: &str, bytes: u64) -> PathBuf {
        self.file(name, &words(bytes))
    }

    fn file(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self.directory.join(name);
        fill(&path, data).unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What fails here ends with the mount namespace.
        for directory in [&self.directory, &self.large_directory] {
            let _ = run("umount", &[&text(directory)]);
        }
        let _ = run("umount", &["--lazy", &text(&self.folder)]);
        let _ = std::fs::remove_dir(&self.folder);
    }
}

fn run(tool: &str, arguments: &[&str]) -> Result<(), String> {
    let path = seekwell_testing::tool(tool).ok_or_else(|| format!("{tool} is not installed"))?;
    let output = Command::new(path).args(arguments).output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{tool}: {told}")) }
}

fn attach(image: &Path) -> Result<PathBuf, String> {
    let losetup = seekwell_testing::tool("losetup").ok_or("losetup is not installed")?;
    let output = Command::new(losetup)
        .args(["--find", "--show", "--direct-io=on"])
        .arg(image)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Data that does not compress.
fn random(bytes: u64) -> Vec<u8> {
    let mut rng = seekwell_stats::seeded(1);
    (0..bytes / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
}

/// Data like a text: words of a small language, of which every page has other ones.
fn words(bytes: u64) -> Vec<u8> {
    const LETTERS: &[u8; 32] = b"etaoinshrdlucmfwypvbgkjqxz,.; \n-";
    let mut rng = seekwell_stats::seeded(1);
    let word = |rng: &mut seekwell_stats::Rng| -> Vec<u8> {
        (0..=rng.index(7)).map(|_| LETTERS[rng.index(LETTERS.len())]).collect()
    };
    let language: Vec<Vec<u8>> = (0..512).map(|_| word(&mut rng)).collect();
    let mut text = Vec::with_capacity(bytes as usize + 8);
    while (text.len() as u64) < bytes {
        text.extend_from_slice(&language[rng.index(language.len())]);
    }
    text.truncate(bytes as usize);
    text
}

/// Writes it all, so that nothing is a hole.
fn fill(path: &Path, data: &[u8]) -> Result<(), String> {
    let filled = || {
        let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
        file.write_all(data)?;
        file.sync_all()
    };
    filled().map_err(|error| error.to_string())
}

/// Keeps to the last CPU that this process may use: the first serves most interrupts.
fn pin() {
    let allowed = sched_getaffinity(None).unwrap();
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).unwrap();
}

/// Lets the calling thread run on the CPUs that are not measured on, where there are any.
pub fn leave_to_others() {
    let own = sched_getaffinity(None).unwrap();
    let mut others = CpuSet::new();
    (0..64).filter(|cpu| !own.is_set(*cpu)).for_each(|cpu| others.set(cpu));
    // With one CPU alone there is no other.
    let _ = sched_setaffinity(None, &others);
}
