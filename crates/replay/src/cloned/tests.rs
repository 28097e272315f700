use super::copy;
use crate::engine::{Options, Speed, replay};
use crate::fidelity::Replayed;
use crate::fixture::{REGULAR, Script};
use crate::planner::Choice;
use crate::rebuild::{Content, rebuild};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

const BYTES: u64 = 3 << 20;

/// Programs run to their end and print nothing.
fn done(program: &Path, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program:?} {arguments:?}: {output:?}");
}

/// A filesystem in a file, mounted until it is dropped.
struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    fn new(mkfs: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(400 << 20).unwrap();
        std::fs::create_dir(folder.path().join("target")).unwrap();
        done(mkfs, &["-q", image.to_str().unwrap()]);
        let mounted = Self { folder };
        let at = mounted.target();
        done(Path::new("mount"), &["-o", "loop", image.to_str().unwrap(), at.to_str().unwrap()]);
        mounted
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("target")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.target()).status();
    }
}

/// `cp` and a trailer: tries a clone, copies the data where there is none, and writes behind it.
fn copying(clone_result: i64) -> Script {
    let mut script = Script::default();
    script.known("/w/in", REGULAR, BYTES);
    script.open(1, "/w/in", libc::O_RDONLY, 3);
    script.open(1, "/w/out", libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 4);
    let to = script.file("/w/out");
    script.on(1, "ioctl_ficlone", (3, "/w/in"), clone_result).to_file = Some(to);
    if clone_result != 0 {
        for result in [BYTES as i64, 0] {
            let copy = script.on(1, "copy_file_range", (3, "/w/in"), result);
            (copy.to_file, copy.length) = (Some(to), Some(1 << 30));
        }
    }
    script.on(1, "lseek", (4, "/w/out"), BYTES as i64).flags = Some(2);
    let trailer = script.on(1, "write", (4, "/w/out"), 4096);
    (trailer.offset, trailer.length) = (Some(BYTES), Some(4096));
    script.on(1, "close", (4, "/w/out"), 0);
    script.on(1, "close", (3, "/w/in"), 0);
    script
}

/// Replays in this folder. The copy has the bytes of the file and shares its blocks, or does not.
fn replayed(clone_result: i64, target: &Path) -> (Replayed, bool) {
    let plan = copying(clone_result).plan(&Choice::default()).unwrap();
    rebuild(&plan, target, Content::Random, None).unwrap();
    let options = Options { speed: Speed::AsFastAsPossible, ..Options::default() };
    let replayed = replay(&plan, target, &options).unwrap();
    assert_eq!(replayed.differences, BTreeMap::new());
    let calls = if clone_result == 0 { 7 } else { 9 };
    assert_eq!((replayed.issued + replayed.spared, replayed.not_open), (calls, 0));
    let [from, to] = ["w/in", "w/out"].map(|name| std::fs::read(target.join(name)).unwrap());
    assert_eq!((from.len() as u64, to.len() as u64), (BYTES, BYTES + 4096));
    assert!(to.starts_with(&from));
    let extents = Command::new("filefrag").arg("-sv").arg(target.join("w/out")).output().unwrap();
    (replayed, String::from_utf8_lossy(&extents.stdout).contains("shared"))
}

#[test]
fn a_filesystem_decides_if_a_file_is_cloned_or_copied() {
    let test = "a_filesystem_decides";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to mount");
    }
    let tools = ["mkfs.btrfs", "mkfs.ext4"].map(seekwell_testing::tool);
    let [Some(btrfs), Some(ext4)] = tools else {
        return seekwell_testing::skip(test, "mkfs.btrfs or mkfs.ext4 is not installed");
    };
    let unable = -i64::from(libc::EOPNOTSUPP);
    // Recorded result, filesystem, other than recorded, shared blocks.
    let cases = [
        (0, &btrfs, 0, true),
        (0, &ext4, 1, false),
        (unable, &btrfs, 1, true),
        (unable, &ext4, 0, false),
    ];
    for (recorded, mkfs, otherwise, is_shared) in cases {
        let mounted = Mounted::new(mkfs);
        let (replayed, shares) = replayed(recorded, &mounted.target());
        let found = (replayed.cloned_otherwise, shares);
        assert_eq!(found, (otherwise, is_shared), "{recorded} {mkfs:?}");
        // What the filesystem clones is not copied; the trailer is written in any case.
        let copied = if is_shared { 0 } else { BYTES };
        assert_eq!(replayed.bytes_written, copied + 4096, "{recorded} {mkfs:?}");
        let spared = u64::from(recorded != 0 && is_shared);
        assert_eq!(replayed.spared, spared, "{recorded} {mkfs:?}");
    }
}

#[test]
fn a_clone_between_two_filesystems_is_not_repeated() {
    let plan = copying(-i64::from(libc::EXDEV)).plan(&Choice::default()).unwrap();
    let recorded = plan.recorded();
    assert_eq!(recorded.planned, 8);
    assert!(recorded.skipped.keys().all(|reason| !reason.is_loss()), "{recorded:?}");
}

#[test]
fn a_copy_in_place_of_a_clone_leaves_holes() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let open = |name: &str| {
        let options = &mut std::fs::File::options();
        options.read(true).write(true).create(true).truncate(true);
        options.open(folder.path().join(name)).unwrap()
    };
    let (from, to) = (open("from"), open("to"));
    from.set_len(64 << 20).unwrap();
    from.write_all_at(&[7; 4096], 20 << 20).unwrap();
    assert_eq!(copy(from.as_fd(), to.as_fd(), || false), Ok(4096));
    assert_eq!(to.metadata().unwrap().len(), 64 << 20);
    assert!(to.metadata().unwrap().blocks() * 512 < 1 << 20);
    let mut read = [0; 4096];
    to.read_exact_at(&mut read, 20 << 20).unwrap();
    assert_eq!(read, [7; 4096]);
    assert_eq!(copy(from.as_fd(), open("stopped").as_fd(), || true), Ok(0));
}
