//! Users that neither mountinfo nor a table of descriptors shows, against the real kernel: another node of the same bytes
//! is in use, or a process writes by other means than a descriptor.

use super::super::*;
use super::kernel::{Elsewhere, OPENED, Partitioned, run};
use crate::detached::detached;
use crate::fixture::with_own_mounts;
use crate::loop_device::{self, LoopDevice};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use seekwell_model::units::Bytes;
use seekwell_testing::{root, skip, tool};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// Two loop devices over one file with a filesystem.
struct Pair {
    folder: TempDir,
    used: LoopDevice,
    asked: LoopDevice,
}

impl Pair {
    fn new(make: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious.img");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(32 << 20).unwrap();
        run(make[0], &[&make[1..], &[path.to_str().unwrap()]].concat());
        let [used, asked] = [(); 2]
            .map(|()| loop_device::attach(&System::host(), &file, Bytes(512), None).unwrap());
        Self { folder, used, asked }
    }

    fn ext4() -> Self {
        Self::new(&["mkfs.ext4", "-q", "-F"])
    }

    fn used(&self) -> &str {
        self.used.path().to_str().unwrap()
    }

    fn look(&self) -> Result<Verified, Refusal> {
        check(&System::host(), self.asked.path(), Purpose::Claim, &Context::default())
    }

    /// Both questions of the guard: that to a claimed device, and the kernel's alone.
    fn is_busy(&self, what: &str) {
        let twin =
            format!("the kernel says that {}, which has the same bytes", self.used.kernel_name());
        // A child that another test has forked holds every descriptor until it executes its program.
        let is_child = |refusal: &Refusal| refusal.reason.contains("(guard::tests::");
        let mut looks = (0..100).map(|look| {
            std::thread::sleep(Duration::from_millis(10 * u64::from(look > 0)));
            self.look().expect_err(what)
        });
        let refusal = looks.find(|refusal| !is_child(refusal)).expect(what);
        assert_eq!(refusal.kind, RefusalKind::Busy, "{what}: {refusal}");
        assert!(refusal.reason.starts_with(&twin), "{what}: {refusal}");
        let refusal = token::without_claim(&System::host(), self.asked.path()).expect_err(what);
        assert_eq!(refusal.kind, RefusalKind::Busy, "{what}: {refusal}");
    }
}

fn can_format(test: &str) -> bool {
    let can = root() && tool("mkfs.ext4").is_some();
    if !can {
        skip(test, "needs root and mkfs.ext4");
    }
    can
}

#[test]
fn a_twin_that_is_mounted_out_of_sight_is_refused() {
    if !can_format("a_twin_that_is_mounted_out_of_sight_is_refused") {
        return;
    }
    let pair = Pair::ext4();
    is_free(&pair);
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        mount(pair.used(), point.path(), "ext4", MountFlags::empty(), None).unwrap();
        let held = File::open(point.path().join("lost+found")).unwrap();
        unmount(point.path(), UnmountFlags::DETACH).unwrap();
        pair.is_busy("lazily unmounted with an open file");
        drop(held);
    });
    is_free(&pair);
    // The namespace of a thread that has ended, held by a descriptor.
    let point = tempfile::tempdir().unwrap();
    let namespace = with_own_mounts(|| {
        mount(pair.used(), point.path(), "ext4", MountFlags::empty(), None).unwrap();
        File::open("/proc/thread-self/ns/mnt").unwrap()
    });
    pair.is_busy("mounted in a namespace that only a descriptor holds");
    drop(namespace);
    is_free(&pair);
    let mounted = detached("ext4", "CONFIG_EXT4_FS", pair.used.path(), &[]).unwrap();
    pair.is_busy("mounted without a mount point");
    drop(mounted);
    is_free(&pair);
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let alone = open(pair.used.path(), flags, Mode::empty()).unwrap();
    pair.is_busy("held with O_EXCL");
    drop(alone);
    is_free(&pair);
}

/// A filesystem ends a moment after its last user.
fn is_free(pair: &Pair) {
    for _ in 0..200 {
        if pair.look().is_ok() {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    pair.look().expect("nothing uses it any more");
}

#[test]
fn a_twin_that_is_a_journal_or_swap_is_refused() {
    let test = "a_twin_that_is_a_journal_or_swap_is_refused";
    if !can_format(test) {
        return;
    }
    let journal = Pair::new(&["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "journal_dev"]);
    let data = journal.folder.path().join("data.img");
    File::create(&data).unwrap().set_len(32 << 20).unwrap();
    let option = format!("device={}", journal.used());
    run("mkfs.ext4", &["-q", "-F", "-b", "4096", "-J", &option, data.to_str().unwrap()]);
    let file = File::options().read(true).write(true).open(&data).unwrap();
    let data = loop_device::attach(&System::host(), &file, Bytes(512), None).unwrap();
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        mount(data.path(), point.path(), "ext4", MountFlags::empty(), None).unwrap();
        journal.is_busy("the journal device of a mounted filesystem");
        unmount(point.path(), UnmountFlags::empty()).unwrap();
    });
    drop(data);
    let swap = Pair::new(&["mkswap"]);
    let number = fs::metadata(swap.used.path()).unwrap().rdev();
    let (on, is_on) = channel();
    let (done, is_done) = channel::<()>();
    let inside = move || {
        // The node of another namespace: its name leads nowhere here.
        let nodes = tempfile::tempdir().unwrap();
        mount("seekwell", nodes.path(), "tmpfs", MountFlags::empty(), None).unwrap();
        let node = nodes.path().join("node");
        mknodat(CWD, &node, FileType::BlockDevice, Mode::from_raw_mode(0o600), number).unwrap();
        let is_on = Command::new("swapon").arg(&node).status().unwrap().success();
        on.send(is_on).unwrap();
        // Until the other end is dropped.
        let _ = is_done.recv();
        if is_on {
            run("swapoff", &[node.to_str().unwrap()]);
        }
        unmount(nodes.path(), UnmountFlags::empty()).unwrap();
    };
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| with_own_mounts(inside));
        let refused = is_on.recv().unwrap().then(|| swap.look().map(drop));
        drop(done);
        refused
    });
    match refused {
        Some(refused) => assert_eq!(refused.unwrap_err().kind, RefusalKind::Busy),
        None => skip(test, "this kernel does not swap to loop devices"),
    }
}

/// A loop device over a part of a file, detached when dropped.
struct Part(String);

impl Part {
    fn new(file: &Path, offset: u64, limit: u64) -> Self {
        let (offset, limit) = (offset.to_string(), limit.to_string());
        for _ in 0..50 {
            let output = Command::new("losetup")
                .args(["--find", "--show", "--offset", &offset, "--sizelimit", &limit])
                .arg(file)
                .output()
                .unwrap();
            if output.status.success() {
                return Self(String::from_utf8(output.stdout).unwrap().trim().to_owned());
            }
            // Another program was faster.
            sleep(Duration::from_millis(20));
        }
        panic!("no free loop device");
    }

    fn look(&self) -> Result<(), Refusal> {
        check(&System::host(), Path::new(&self.0), Purpose::Claim, &Context::default()).map(drop)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn parts_of_one_file_concern_each_other_where_they_overlap() {
    const PART: u64 = 16 << 20;
    if !can_format("parts_of_one_file_concern_each_other_where_they_overlap") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    File::create(&path).unwrap().set_len(2 * PART).unwrap();
    let [first, second] = [Part::new(&path, 0, PART), Part::new(&path, PART, PART)];
    let across = Part::new(&path, PART / 2, PART);
    run("mkfs.ext4", &["-q", "-F", &first.0]);
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        mount(&first.0, point.path(), "ext4", MountFlags::empty(), None).unwrap();
        second.look().expect("none of its bytes are mounted");
        assert_eq!(across.look().unwrap_err().kind, RefusalKind::Mounted);
        unmount(point.path(), UnmountFlags::empty()).unwrap();
    });
    across.look().unwrap();
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let alone = open(&second.0, flags, Mode::empty()).unwrap();
    first.look().expect("none of its bytes are held");
    assert_eq!(across.look().unwrap_err().kind, RefusalKind::Busy);
    drop(alone);
    // A writer of the file may write any part of it.
    let _writer = Elsewhere::python(OPENED, &path);
    assert_eq!(second.look().unwrap_err().kind, RefusalKind::Busy);
}

#[test]
fn a_partition_concerns_the_loop_device_at_its_offset_alone() {
    let test = "a_partition_concerns_the_loop_device_at_its_offset_alone";
    if !root() || tool("addpart").is_none() {
        return skip(test, "needs root and addpart");
    }
    let Some(parted) = Partitioned::new() else {
        return skip(test, "this kernel makes no partitions on loop devices");
    };
    let file = parted.file();
    let start = 2048 * 512;
    let [at_it, behind] = [Part::new(&file, start, 1 << 20), Part::new(&file, 36 << 20, 1 << 20)];
    let look = || {
        let path = parted.partition();
        check(&System::host(), Path::new(&path), Purpose::Claim, &Context::default()).map(drop)
    };
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let alone = open(&behind.0, flags, Mode::empty()).unwrap();
    look().expect("the partition ends before it");
    drop(alone);
    let alone = open(&at_it.0, flags, Mode::empty()).unwrap();
    assert_eq!(look().unwrap_err().kind, RefusalKind::Busy);
    drop(alone);
    look().unwrap();
}

#[test]
fn one_file_is_known_by_both_its_names_in_an_overlay() {
    let test = "one_file_is_known_by_both_its_names_in_an_overlay";
    if !can_format(test) {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount("seekwell", top.path(), "tmpfs", MountFlags::empty(), None).unwrap();
        let [lower, upper, work, merged] =
            ["lower", "upper", "work", "merged"].map(|name| top.path().join(name));
        for folder in [&lower, &upper, &work, &merged] {
            fs::create_dir(folder).unwrap();
        }
        for name in ["x", "y"] {
            File::create(upper.join(name)).unwrap().set_len(16 << 20).unwrap();
        }
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            lower.display(),
            upper.display(),
            work.display()
        );
        let options = std::ffi::CString::new(options).unwrap();
        let options = Some(options.as_c_str());
        if mount("overlay", &merged, "overlay", MountFlags::empty(), options).is_err() {
            return skip(test, "this kernel has no overlayfs");
        }
        let [used, asked, other] =
            [merged.join("x"), upper.join("x"), upper.join("y")].map(|path| Part::new(&path, 0, 0));
        asked.look().unwrap();
        run("mkfs.ext4", &["-q", "-F", &used.0]);
        let point = top.path().join("point");
        fs::create_dir(&point).unwrap();
        mount(&used.0, &point, "ext4", MountFlags::empty(), None).unwrap();
        let refusal = asked.look().unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Mounted, "{refusal}");
        other.look().expect("another file of the same size");
        unmount(&point, UnmountFlags::empty()).unwrap();
        drop(used);
        // A process that writes the file under its other name.
        let writer = Elsewhere::python(OPENED, &merged.join("x"));
        assert_eq!(asked.look().unwrap_err().kind, RefusalKind::Busy);
        drop(writer);
        asked.look().unwrap();
    });
}

/// Registered with a ring, whose descriptor is all that is left.
const RING: &str = "
import ctypes, os, sys
libc = ctypes.CDLL(None)
ring = libc.syscall(425, 8, ctypes.create_string_buffer(120))
if ring < 0: print('absent', flush=True); sys.exit()
fd = os.open(sys.argv[1], os.O_RDWR)
if libc.syscall(427, ring, 2, (ctypes.c_int * 1)(fd), 1) != 0: sys.exit(1)
os.close(fd)
print('ready', flush=True); sys.stdin.read()";

/// Mapped, and the first thread has ended. Python's own `mmap` keeps a copy of the descriptor.
const LEADERLESS: &str = "
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
fd = os.open(sys.argv[1], os.O_RDWR)
if libc.mmap(None, 4096, 3, 1, fd, 0) == 2**64 - 1: sys.exit(1)
os.close(fd)
def work():
    state = lambda: open(f'/proc/{os.getpid()}/stat').read().rsplit(')')[1].split()[0]
    while state() != 'Z': time.sleep(0.01)
    print('ready', flush=True); os.read(0, 1); os._exit(0)
threading.Thread(target=work).start()
libc.syscall(60, 0)";

#[test]
fn writers_without_a_descriptor_are_found() {
    let test = "writers_without_a_descriptor_are_found";
    if !root() || tool("python3").is_none() {
        return skip(test, "needs root and python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious image");
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    file.write_all_at(b"canary", 0).unwrap();
    file.set_len(1 << 20).unwrap();
    let device = loop_device::attach(&System::host(), &file, Bytes(512), None).unwrap();
    drop(file);
    let look = || check(&System::host(), device.path(), Purpose::Claim, &Context::default());
    for node in [device.path(), &path] {
        for (how, script) in
            [("registered with an io_uring", RING), ("mapped for writing", LEADERLESS)]
        {
            let process = Elsewhere::python(script, node);
            if process.is_absent() {
                skip(test, "this kernel has no io_uring");
                continue;
            }
            let refusal = look().expect_err(how);
            assert_eq!(refusal.kind, RefusalKind::Busy, "{how}: {refusal}");
            assert!(refusal.reason.ends_with(how), "{how} on {}: {refusal}", node.display());
        }
        look().expect("the writer has ended");
    }
    let mut content = [0; 6];
    File::open(&path).unwrap().read_exact_at(&mut content, 0).unwrap();
    assert_eq!(&content, b"canary");
}
