//! Fresh filesystems in an image.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted filesystem; it is unmounted when this is dropped.
pub struct Mounted {
    at: PathBuf,
    /// `None` for a plain directory.
    image: Option<PathBuf>,
    /// I/O scheduler of the device; `None` for the kernel's choice.
    scheduler: Option<String>,
    /// File of the device's scheduler, and the one that it had.
    before: RefCell<Option<(PathBuf, String)>>,
}

/// Name for a plain directory in place of a filesystem: nothing is mounted, the cache stays warm.
const DIRECTORY: &str = "directory";

const IMAGE_BYTES: u64 = 2 << 30;

fn run(words: &[&str], path: &[&Path]) {
    let output = Command::new(words[0]).args(&words[1..]).args(path).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Mounted {
    /// Makes the filesystem and mounts it.
    pub fn fresh(stack: &str, folder: &Path) -> Self {
        let (kind, scheduler) = match stack.split_once('+') {
            Some((kind, scheduler)) => (kind, Some(scheduler.to_owned())),
            None => (stack, None),
        };
        let at = folder.join("mount");
        if kind == DIRECTORY {
            std::fs::create_dir(&at).unwrap();
            return Self { at, image: None, scheduler, before: RefCell::default() };
        }
        let image = folder.join("image");
        // A new file: what the last filesystem wrote has no influence.
        let _ = std::fs::remove_file(&image);
        std::fs::File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
        let mkfs = format!("mkfs.{kind}");
        let force = if kind.starts_with("ext") { "-F" } else { "-f" };
        run(&[&mkfs, "-q", force], &[&image]);
        std::fs::create_dir_all(&at).unwrap();
        let mounted = Self { at, image: Some(image), scheduler, before: RefCell::default() };
        mounted.mount();
        mounted
    }

    fn mount(&self) {
        let Some(image) = &self.image else { return };
        run(&["mount", "-o", "loop"], &[image, &self.at]);
        let Some(scheduler) = &self.scheduler else { return };
        let device =
            Command::new("findmnt").args(["-no", "SOURCE"]).arg(&self.at).output().unwrap();
        let device = String::from_utf8(device.stdout).unwrap();
        let name = device.trim().trim_start_matches("/dev/");
        let file = PathBuf::from(format!("/sys/block/{name}/queue/scheduler"));
        let offered = std::fs::read_to_string(&file).unwrap();
        let old = offered.split(['[', ']']).nth(1).unwrap().to_owned();
        std::fs::write(&file, scheduler).unwrap();
        *self.before.borrow_mut() = Some((file, old));
    }

    /// Unmounts. A loop device keeps its scheduler for the next user, so it gets its old one back.
    fn unmount(&self) {
        if let Some((file, old)) = self.before.take() {
            std::fs::write(file, old).unwrap();
        }
        run(&["umount"], &[&self.at]);
    }

    /// The directory.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Writes everything back; a cold cache also forgets the filesystem. Programs stay in memory.
    pub fn settle(&self, cold: bool) {
        rustix::fs::sync();
        let Some(image) = self.image.as_ref().filter(|_| cold) else { return };
        self.unmount();
        let file = std::fs::File::open(image).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        self.mount();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.image.is_some() {
            self.unmount();
        } else {
            std::fs::remove_dir_all(&self.at).unwrap();
        }
    }
}
