//! Targets of the reads: a zram device, a loop device with direct I/O over a file in memory, and
//! `/dev/zero`, of which no thread of the kernel takes part in a read.

use rustix::fs::{Mode, OFlags};
use seekwell_testing::RamDisk;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of each.
pub const BYTES: u64 = 256 << 20;

/// One of them, open for reading.
pub struct Target {
    /// Its node.
    pub path: PathBuf,
    /// Past the page cache where there is one.
    pub direct: bool,
    /// Open accordingly.
    pub file: File,
    /// Keeps a zram device; dropped after the file.
    _ram: Option<RamDisk>,
}

impl Target {
    fn open(path: &Path, direct: bool, ram: Option<RamDisk>) -> Result<Self, String> {
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC;
        flags.set(OFlags::DIRECT, direct);
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| e.to_string())?;
        Ok(Self { path: path.to_owned(), direct, file: File::from(file), _ram: ram })
    }

    /// Needs no call at all for the null engine, and no right to read it.
    pub fn zero() -> Result<Self, String> {
        Self::open(Path::new("/dev/zero"), false, None)
    }

    /// A new zram device full of random data.
    pub fn zram() -> Result<Self, String> {
        let ram = RamDisk::make(BYTES)?;
        fill(ram.path())?;
        let path = ram.path().to_owned();
        Self::open(&path, true, Some(ram))
    }

    /// A new loop device over a file full of random data, in memory. It is detached with the last
    /// descriptor, and the file has no name any more.
    pub fn looped() -> Result<Self, String> {
        let image = PathBuf::from(format!("/dev/shm/seekwell-engine-{}", std::process::id()));
        let made = fill(&image).and_then(|()| attach(&image));
        let _ = std::fs::remove_file(&image);
        let device = made?;
        let target = Self::open(&device, true, None);
        losetup(&["--detach", &device.display().to_string()])?;
        target
    }
}

fn attach(image: &Path) -> Result<PathBuf, String> {
    let image = image.display().to_string();
    Ok(losetup(&["--find", "--show", "--direct-io=on", "--read-only", &image])?.into())
}

fn losetup(arguments: &[&str]) -> Result<String, String> {
    let tool = seekwell_testing::tool("losetup").ok_or("losetup is not installed")?;
    let output = Command::new(tool).args(arguments).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Random data: zram would keep a page of zeros as one number.
fn fill(path: &Path) -> Result<(), String> {
    let mut rng = seekwell_stats::seeded(1);
    let write = || {
        let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
        for _ in 0..BYTES >> 20 {
            let part: Vec<u8> = (0..1 << 17).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
            file.write_all(&part)?;
        }
        file.sync_all()
    };
    let mut write = write;
    write().map_err(|error: std::io::Error| format!("{}: {error}", path.display()))
}
