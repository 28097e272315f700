//! Identities of files, with overlayfs of the real kernel.

use super::*;
use crate::fixture::with_own_mounts;
use rustix::mount::{MountFlags, mount};
use seekwell_testing::{root, skip};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

fn file(device: (u32, u32), inode: u64) -> FileId {
    FileId { device: rustix::fs::makedev(device.0, device.1), inode }
}

#[test]
fn two_files_of_plain_filesystems_are_two_files() {
    let one = |id| BackingFile { id, path: None };
    let (on_disk, invented) = (file((8, 1), 7), file((0, 51), 7));
    assert!(!one(on_disk).may_be_also(file((8, 1), 8)));
    assert!(!one(on_disk).may_be_also(file((8, 2), 7)));
    assert!(one(on_disk).may_be_also(invented) && one(invented).may_be_also(on_disk));
    assert!(!one(invented).may_be_also(file((0, 51), 8)));
    let in_memory = FileId { device: nameless_memory().unwrap(), inode: 7 };
    assert!(!one(invented).may_be_also(in_memory));
    let system = System::host();
    assert_eq!(one(on_disk).is_also(&system, Path::new("/"), on_disk), Some(true));
    assert_eq!(one(on_disk).is_also(&system, Path::new("/"), invented), None, "without a path");
}

#[test]
fn a_file_that_is_being_written_is_known_by_its_other_name() {
    let test = "a_file_that_is_being_written_is_known_by_its_other_name";
    if !root() {
        return skip(test, "needs root to mount");
    }
    let top = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount("seekwell", top.path(), "tmpfs", MountFlags::empty(), None).unwrap();
        for name in ["lower", "upper", "work", "merged"] {
            fs::create_dir(top.path().join(name)).unwrap();
        }
        let [lower, upper, work, merged] =
            ["lower", "upper", "work", "merged"].map(|name| top.path().join(name));
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            lower.display(),
            upper.display(),
            work.display()
        );
        let options = std::ffi::CString::new(options).unwrap();
        if mount("overlay", &merged, "overlay", MountFlags::empty(), Some(options.as_c_str()))
            .is_err()
        {
            return skip(test, "this kernel has no overlayfs");
        }
        let system = System::host();
        let facts = |path: &Path| system.nodes.facts(path).unwrap();
        let written = File::create(upper.join("x")).unwrap();
        File::create(upper.join("y")).unwrap();
        let shown = upper.join("x");
        let own = BackingFile::find(&system, facts(&shown).id, shown.to_str().unwrap());
        assert_ne!(own.id, facts(&merged.join("x")).id);
        let is_also = |name: &str| {
            let path = merged.join(name);
            own.is_also(&system, &path, facts(&path).id)
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut at = 0;
                while !is_over.load(Ordering::Relaxed) {
                    written.write_all_at(b"more", at).unwrap();
                    at += 4;
                }
            });
            let known = (0..2000).filter(|_| is_also("x") == Some(true)).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(known, 2000);
        });
        assert_eq!(is_also("y"), Some(false));
    });
}
