//! A block device in memory whose reads are done by the process that asks for them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Gives the device back when its standard input ends, which it does however the owner ends. In a
/// process group of its own, so that a signal to the owner's group does not reach it.
const GUARD: &str = r#"
trap "" HUP INT TERM
read -r _
tries=0
until { echo 1 > "/sys/block/zram$0/reset" && echo "$0" > /sys/class/zram-control/hot_remove; } 2> /dev/null
do
    # In a mount namespace of its owner's its own presence would keep a mount alive.
    umount "/dev/zram$0" 2> /dev/null
    tries=$((tries + 1))
    if [ $tries -ge 6000 ]; then exit 1; fi
    sleep 0.1
done
"#;

/// A zram device of its own, never one that was there before. It is given back when this value is
/// dropped, and when its process is killed.
///
/// What a program reads from it is copied by that program's own thread, where a loop device has a
/// thread of the kernel do it: measurements scatter far less. Its sectors have 4 KiB.
#[derive(Debug)]
pub struct RamDisk {
    path: PathBuf,
    guard: Child,
}

impl RamDisk {
    /// Makes one of so many bytes, all zeros.
    ///
    /// # Errors
    /// Why there is none here, in words: no right to make one, or a kernel without zram.
    pub fn make(bytes: u64) -> Result<Self, String> {
        let control = Path::new("/sys/class/zram-control/hot_add");
        let told = |error: io::Error| format!("zram: {error}");
        let number = fs::read_to_string(control).map_err(told)?.trim().to_owned();
        let guard = start_guard(&number).map_err(|error| {
            let _ = fs::write("/sys/class/zram-control/hot_remove", &number);
            format!("zram: {error}")
        })?;
        let disk = Self { path: PathBuf::from(format!("/dev/zram{number}")), guard };
        fs::write(format!("/sys/block/zram{number}/disksize"), bytes.to_string()).map_err(told)?;
        Ok(disk)
    }

    /// Its node.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn start_guard(number: &str) -> io::Result<Child> {
    use std::os::unix::process::CommandExt;
    Command::new("/bin/sh")
        .args(["-c", GUARD, number])
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
}

impl Drop for RamDisk {
    fn drop(&mut self) {
        // The end of its input is what the guard waits for.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}
