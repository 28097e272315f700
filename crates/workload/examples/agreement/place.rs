//! The stack that all rows share: a file in memory, a loop device with direct I/O above it, and an
//! ext4 on a second one. Everything ends with the process.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the rows work.
pub struct Place {
    /// A folder in memory.
    pub folder: PathBuf,
    /// A loop device, 256 MiB of random data.
    pub device: PathBuf,
    /// The root of an empty ext4 of 1 GiB, on a loop device over memory.
    pub directory: PathBuf,
    /// The block device of [`Self::directory`].
    pub directory_device: PathBuf,
    /// The CPU that this process and its children keep to.
    pub cpu: usize,
    /// Whether a tenth of the work is enough, because nobody looks at the time.
    pub quick: bool,
    _held: File,
}

/// Bytes of [`Place::device`].
pub const DEVICE_BYTES: u64 = 256 << 20;
const DIRECTORY_BYTES: u64 = 1 << 30;

impl Place {
    /// # Errors
    /// Why it cannot be made here, in words.
    pub fn make(quick: bool) -> Result<Self, String> {
        if !seekwell_testing::root() {
            return Err("needs root for loop devices and mounts".to_owned());
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
            let _ = std::fs::remove_dir(&folder);
        }
        made
    }

    fn in_folder(folder: &Path, quick: bool) -> Result<Self, String> {
        let text = |path: &Path| path.display().to_string();
        run("mount", &["-t", "tmpfs", "-o", "size=2g", "seekwell-agreement", &text(folder)])?;
        let (image, second) = (folder.join("device"), folder.join("filesystem"));
        fill(&image, if quick { DEVICE_BYTES / 4 } else { DEVICE_BYTES })?;
        let size = |path: &Path, bytes| {
            File::create(path).and_then(|file| file.set_len(bytes)).map_err(|e| e.to_string())
        };
        size(&second, DIRECTORY_BYTES)?;
        let device = attach(&image)?;
        let held = File::open(&device).map_err(|error| error.to_string())?;
        // Detached once nobody holds it: also when this process is killed.
        run("losetup", &["--detach", &text(&device)])?;
        let directory_device = attach(&second)?;
        let directory = folder.join("mounted");
        std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
        let node = text(&directory_device);
        let mounted = run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0", &node])
            .and_then(|()| run("mount", &["-o", "noatime", &node, &text(&directory)]));
        run("losetup", &["--detach", &node])?;
        mounted?;
        let folder = folder.to_owned();
        Ok(Self { folder, device, directory, directory_device, cpu: pin(), quick, _held: held })
    }
}

impl Place {
    /// So much work, or a tenth of it.
    #[must_use]
    pub fn amount(&self, whole: u64) -> u64 {
        if self.quick { whole / 10 } else { whole }
    }

    /// A file of random data in [`Self::directory`], on its device.
    pub fn random_file(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.directory.join(name);
        fill(&path, bytes).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What fails here ends with the mount namespace.
        let _ = run("umount", &[&self.directory.display().to_string()]);
        let _ = run("umount", &["--lazy", &self.folder.display().to_string()]);
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

/// Random data, so that nothing is a hole.
fn fill(path: &Path, bytes: u64) -> Result<(), String> {
    let mut rng = seekwell_stats::seeded(1);
    let data: Vec<u8> = (0..bytes / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    std::fs::write(path, data).map_err(|error| error.to_string())
}

/// Keeps to the last CPU that this process may use: the first serves most interrupts.
fn pin() -> usize {
    let allowed = sched_getaffinity(None).unwrap();
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).unwrap();
    last
}
