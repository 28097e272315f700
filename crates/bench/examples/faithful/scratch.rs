//! Fresh filesystems in an image.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted filesystem; it is unmounted when this is dropped.
pub struct Mounted {
    at: PathBuf,
    image: PathBuf,
}

const IMAGE_BYTES: u64 = 2 << 30;

fn run(words: &[&str], path: &[&Path]) {
    let output = Command::new(words[0]).args(&words[1..]).args(path).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Mounted {
    /// Makes the filesystem and mounts it.
    pub fn fresh(kind: &str, folder: &Path) -> Self {
        let image = folder.join("image");
        // A new file: what the last filesystem wrote has no influence.
        let _ = std::fs::remove_file(&image);
        std::fs::File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
        let mkfs = format!("mkfs.{kind}");
        let force = if kind.starts_with("ext") { "-F" } else { "-f" };
        run(&[&mkfs, "-q", force], &[&image]);
        let at = folder.join("mount");
        std::fs::create_dir_all(&at).unwrap();
        let mounted = Self { at, image };
        mounted.mount();
        mounted
    }

    fn mount(&self) {
        run(&["mount", "-o", "loop"], &[&self.image, &self.at]);
    }

    /// The directory.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Writes everything back; a cold cache also forgets everything.
    pub fn settle(&self, cold: bool) {
        rustix::fs::sync();
        if cold {
            run(&["umount"], &[&self.at]);
            self.mount();
            std::fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run(&["umount"], &[&self.at]);
    }
}
