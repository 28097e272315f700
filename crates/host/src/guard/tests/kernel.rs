//! The guard against the real kernel, on loop devices over images of the test's own.

use super::super::*;
use crate::claim;
use crate::fixture::{ram_device, with_own_mounts};
use crate::image;
use crate::loop_device::{self, LoopDevice};
use seekwell_model::units::Bytes;
use seekwell_testing::{root, skip, tool};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A loop device over a file with a name, as somebody else would have made it.
struct Stranger {
    folder: TempDir,
    device: LoopDevice,
    canary: Vec<u8>,
}

impl Stranger {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.path().join("precious.img"))
            .unwrap();
        let canary: Vec<u8> = (0..4 << 20).map(|index: u32| (index / 7) as u8).collect();
        file.write_all_at(&canary, 0).unwrap();
        let device = loop_device::attach(&System::host(), &file, Bytes(512), None).unwrap();
        Self { folder, device, canary }
    }

    fn context(&self) -> Context {
        Context { claims: self.folder.path().join("claims"), run_file: None }
    }

    fn look(&self, purpose: Purpose) -> Result<Verified, Refusal> {
        check(&System::host(), self.device.path(), purpose, &self.context())
    }

    fn claim(&self) {
        let system = System::host();
        let card = claim::describe(&system, self.device.path(), None).unwrap();
        assert_eq!(card.refusal, None);
        let typed = (self.canary.len() / 512).to_string();
        claim::confirm(&system, &self.context().claims, &card, &typed).unwrap();
    }

    fn is_untouched(&self) -> bool {
        crate::caches::flush_device(self.device.file()).unwrap();
        fs::read(self.folder.path().join("precious.img")).unwrap() == self.canary
    }
}

pub(super) fn run(program: &str, arguments: &[&str]) {
    let once = || Command::new(program).args(arguments).output().unwrap();
    let mut output = once();
    if program == "umount" {
        // A program that another test starts has copies of our descriptors until its exec.
        seekwell_testing::soon(|| {
            output.status.success() || {
                output = once();
                output.status.success()
            }
        });
    }
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
}

#[test]
fn a_loop_device_over_somebodys_file_needs_a_claim() {
    if !root() {
        return skip(
            "a_loop_device_over_somebodys_file_needs_a_claim",
            "needs root to attach a loop device",
        );
    }
    let stranger = Stranger::new();
    assert_eq!(stranger.look(Purpose::Write).unwrap_err().kind, RefusalKind::NotClaimed);
    // Not even who holds the file gets a token as if it were scratch.
    let file = File::open(stranger.folder.path().join("precious.img")).unwrap();
    let refusal = scratch(&System::host(), &stranger.device, &file).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotOurs);

    stranger.claim();
    let token = stranger.look(Purpose::Write).unwrap().permit().unwrap();
    assert!(!token.is_scratch());
    assert!(stranger.is_untouched());
    token.open(true).unwrap();
    token.open(false).unwrap().write_all_at(&[1; 512], 0).unwrap();
    assert!(!stranger.is_untouched(), "a claim is the right to write");
}

#[test]
fn a_mount_is_seen_also_in_another_namespace() {
    if !root() || tool("mkfs.ext4").is_none() {
        return skip("a_mount_is_seen_also_in_another_namespace", "needs root and mkfs.ext4");
    }
    let (_image, device) = ram_device(16);
    let path = device.path().to_str().unwrap().to_owned();
    run("mkfs.ext4", &["-q", "-F", &path]);
    let refused = |context: &Context| {
        check(&System::host(), device.path(), Purpose::Claim, context).unwrap_err().kind
    };
    let context = Context::default();
    check(&System::host(), device.path(), Purpose::Claim, &context).unwrap();
    with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        run("mount", &["-t", "ext4", &path, folder.path().to_str().unwrap()]);
        // Seen from the namespace of this thread, and from the outside by the exclusive open: no
        // process whose mounts are listed has it, only a thread.
        assert_eq!(refused(&context), RefusalKind::Mounted);
        let outside = std::thread::scope(|scope| scope.spawn(|| refused(&context)).join().unwrap());
        assert_eq!(outside, RefusalKind::Mounted);
        let mut elsewhere = Command::new("unshare")
            .args(["--mount", "sleep", "60"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        // The copy in the other process stays when this one is gone.
        while fs::read_to_string(format!("/proc/{}/comm", elsewhere.id())).unwrap() != "sleep\n" {
            std::thread::yield_now();
        }
        run("umount", &[folder.path().to_str().unwrap()]);
        let still = refused(&context);
        elsewhere.kill().unwrap();
        elsewhere.wait().unwrap();
        assert_eq!(still, RefusalKind::Mounted);
    });
}

#[test]
fn a_mount_that_nothing_shows_is_caught_by_the_exclusive_open() {
    if !root() || tool("mkfs.ext4").is_none() {
        return skip("a_mount_that_nothing_shows", "needs root and mkfs.ext4");
    }
    let (_image, device) = ram_device(16);
    let path = device.path().to_str().unwrap().to_owned();
    run("mkfs.ext4", &["-q", "-F", &path]);
    with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        let mount_point = folder.path().to_str().unwrap();
        run("mount", &["-t", "ext4", &path, mount_point]);
        // Lazily unmounted while a file is open: no mountinfo names it any more.
        let held = File::open(folder.path().join("lost+found")).unwrap();
        run("umount", &["--lazy", mount_point]);
        let refusal =
            check(&System::host(), device.path(), Purpose::Claim, &Context::default()).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Busy, "{refusal}");
        drop(held);
    });
}

#[test]
fn swap_loops_and_writers_on_a_real_device_are_refused() {
    if !root() || tool("mkswap").is_none() {
        return skip("swap_loops_and_writers_on_a_real_device", "needs root and mkswap");
    }
    let system = System::host();
    let (_image, device) = ram_device(16);
    let kind =
        || check(&system, device.path(), Purpose::Claim, &Context::default()).unwrap_err().kind;
    // A loop device on the loop device.
    let upper = loop_device::attach(&system, device.file(), Bytes(512), None);
    if let Ok(upper) = upper {
        assert_eq!(kind(), RefusalKind::Held);
        let name = upper.kernel_name().to_owned();
        drop(upper);
        loop_device::wait_detached(&system, &name, Duration::from_secs(10)).unwrap();
    }
    // A process that writes to it, as a virtual machine would.
    let script = format!("exec 9<>{}; echo ready; sleep 60", device.path().display());
    let mut writer = Command::new("setsid")
        .args(["--fork", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(writer.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let refusal = check(&system, device.path(), Purpose::Claim, &Context::default()).unwrap_err();
    let pid: i32 = refusal.reason.split_whitespace().nth(1).unwrap().parse().unwrap();
    let number = rustix::process::Pid::from_raw(pid).unwrap();
    // It is a session of its own, so that it is no child of this process but of process 1.
    rustix::process::kill_process_group(number, rustix::process::Signal::KILL).unwrap();
    writer.wait().unwrap();
    assert_eq!(refusal.kind, RefusalKind::Busy, "{refusal}");
}

#[test]
fn swap_on_a_real_device_is_refused() {
    if !root() || tool("mkswap").is_none() {
        return skip("swap_on_a_real_device_is_refused", "needs root and mkswap");
    }
    let (_image, device) = ram_device(16);
    let path = device.path().to_str().unwrap();
    run("mkswap", &[path]);
    let on = Command::new("swapon").arg(path).output().unwrap();
    if !on.status.success() {
        return skip(
            "swap_on_a_real_device_is_refused",
            "this kernel does not swap to loop devices",
        );
    }
    let refusal = check(&System::host(), device.path(), Purpose::Claim, &Context::default());
    run("swapoff", &[path]);
    assert_eq!(refusal.unwrap_err().kind, RefusalKind::Swap);
}

#[test]
fn the_disk_under_this_system_is_refused() {
    // Looking only: the root filesystem's own device, whatever it is here.
    let lines = crate::mounts::of_self(&System::host()).unwrap();
    let on_root = lines.iter().rev().find(|line| line.target == Path::new("/"));
    let device =
        on_root.and_then(|line| crate::device::Device::by_number(&System::host(), line.number));
    let Some(device) = device else {
        return skip(
            "the_disk_under_this_system_is_refused",
            "the root filesystem has no block device",
        );
    };
    let path = Path::new("/dev").join(&device.name);
    let Err(refusal) = check(&System::host(), &path, Purpose::Claim, &Context::default()) else {
        panic!("{} was let through", path.display());
    };
    let expected = [RefusalKind::System, RefusalKind::Unreadable, RefusalKind::Missing];
    assert!(expected.contains(&refusal.kind), "{refusal}");
    assert!(!root() || refusal.kind == RefusalKind::System, "{refusal}");
}

#[test]
fn a_scratch_image_gets_a_token_only_for_its_own_device() {
    if !root() {
        return skip(
            "a_scratch_image_gets_a_token_only_for_its_own_device",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (image, device) = ram_device(2);
    let (other, _other_device) = ram_device(2);
    let token = scratch(&system, &device, image.file()).unwrap();
    assert!(token.is_scratch());
    token.recheck().unwrap();
    token.open(true).unwrap();
    let refusal = scratch(&system, &device, other.file()).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotOurs);

    // The device is let go and another image takes its place under the same name.
    let name = device.kernel_name().to_owned();
    drop(device);
    loop_device::wait_detached(&system, &name, Duration::from_secs(10)).unwrap();
    let refusal = token.recheck().unwrap_err();
    let expected = [RefusalKind::Changed, RefusalKind::NotOurs, RefusalKind::Unreadable];
    assert!(expected.contains(&refusal.kind), "{refusal}");
}

#[test]
fn a_mounted_scratch_device_is_not_formatted_again() {
    if !root() || tool("mkfs.ext4").is_none() {
        return skip("a_mounted_scratch_device_is_not_formatted_again", "needs root and mkfs.ext4");
    }
    let (image, device) = ram_device(16);
    let token = scratch(&System::host(), &device, image.file()).unwrap();
    let path = device.path().to_str().unwrap().to_owned();
    run("mkfs.ext4", &["-q", "-F", &path]);
    with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        run("mount", &["-t", "ext4", &path, folder.path().to_str().unwrap()]);
        assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Mounted);
        run("umount", &[folder.path().to_str().unwrap()]);
        token.recheck().unwrap();
    });
}

#[test]
fn a_nameless_image_behind_a_device_of_the_run_may_be_written() {
    if !root() {
        return skip(
            "a_nameless_image_behind_a_device_of_the_run_may_be_written",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let folder = tempfile::tempdir().unwrap();
    let nameless = image::create(folder.path(), Bytes::mib(1), 1, &mut |_| {}).unwrap();
    let device = loop_device::attach(&system, nameless.file(), Bytes(512), None).unwrap();
    scratch(&system, &device, nameless.file()).unwrap();
}

/// A disk with one partition, as the kernel shows it; taken apart again whatever happens.
pub(super) struct Partitioned {
    folder: TempDir,
    disk: String,
}

impl Partitioned {
    /// `None` where the kernel makes no partitions on loop devices.
    pub(super) fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk.img");
        File::create(&file).unwrap().set_len(40 << 20).unwrap();
        let output = Command::new("losetup")
            .args(["--find", "--show", "--partscan", file.to_str().unwrap()])
            .output()
            .unwrap();
        let disk = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let made = Self { folder, disk };
        let added =
            Command::new("addpart").args([&made.disk, "1", "2048", "65536"]).status().unwrap();
        added.success().then_some(made)
    }

    pub(super) fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("disk.img")
    }

    pub(super) fn partition(&self) -> String {
        format!("{}p1", self.disk)
    }
}

impl Drop for Partitioned {
    fn drop(&mut self) {
        let _ = Command::new("delpart").args([&self.disk, "1"]).status();
        let _ = Command::new("losetup").args(["--detach", &self.disk]).status();
    }
}

#[test]
fn a_real_partition_concerns_its_disk() {
    const TEST: &str = "a_real_partition_concerns_its_disk";
    if !root() || tool("mkfs.ext4").is_none() || tool("addpart").is_none() {
        return skip(TEST, "needs root, mkfs.ext4 and addpart");
    }
    let Some(parted) = Partitioned::new() else {
        return skip(TEST, "this kernel makes no partitions on loop devices");
    };
    let system = System::host();
    let context = Context { claims: parted.folder.path().join("claims"), run_file: None };
    let look = |path: &str, purpose| check(&system, Path::new(path), purpose, &context);
    let kind = |path: &str| look(path, Purpose::Claim).unwrap_err().kind;
    let (disk, partition) = (parted.disk.clone(), parted.partition());
    run("mkfs.ext4", &["-q", "-F", &partition]);
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        let point = point.path().to_str().unwrap();
        run("mount", &["-t", "ext4", &partition, point]);
        assert_eq!((kind(&disk), kind(&partition)), (RefusalKind::Mounted, RefusalKind::Mounted));
        let card = claim::describe(&system, Path::new(&disk), None).unwrap();
        assert_eq!(card.mounts, [format!("{} on {point}", partition.trim_start_matches("/dev/"))]);
        assert!(card.signatures.iter().any(|line| line.contains("ext4")), "{card:?}");
        run("umount", &[point]);
    });
    let found = look(&partition, Purpose::Claim).unwrap();
    assert_eq!(found.identity().partition, Some((1, 2048)));
    assert_eq!(found.identity().sectors(), 65536);
    let card = claim::describe(&system, Path::new(&partition), None).unwrap();
    claim::confirm(&system, &context.claims, &card, "65536").unwrap();
    look(&partition, Purpose::Write).unwrap().permit().unwrap();
    assert_eq!(look(&disk, Purpose::Write).unwrap_err().kind, RefusalKind::NotClaimed);
}

/// Another process that does something with a device and stays until it is dropped.
pub(super) struct Elsewhere(std::process::Child, [u8; 6]);

impl Elsewhere {
    /// Runs a Python script that prints a line when it is ready.
    pub(super) fn python(script: &str, path: &Path) -> Self {
        let child = Command::new("python3")
            .args(["-c", script, path.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut process = Self(child, [0; 6]);
        std::io::Read::read_exact(process.0.stdout.as_mut().unwrap(), &mut process.1).unwrap();
        process
    }

    /// True if it said that the kernel lacks what it needs.
    pub(super) fn is_absent(&self) -> bool {
        self.1 == *b"absent"
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) const OPENED: &str = "
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
print('ready', flush=True); sys.stdin.read()";

const READ: &str = "
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_SH)
print('ready', flush=True); sys.stdin.read()";

/// The descriptor is closed; the mapping alone is left.
const MAPPED: &str = "
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
fd = os.open(sys.argv[1], os.O_RDWR)
if libc.mmap(None, 4096, PROTECTION, 1, fd, 0) == ctypes.c_void_p(-1).value: sys.exit(1)
os.close(fd)
print('ready', flush=True); sys.stdin.read()";

/// A thread with a table of its own (`CLONE_FILES`); the process has nothing open.
const THREAD: &str = "
import ctypes, os, sys, threading
libc = ctypes.CDLL(None)
def work():
    if libc.unshare(0x400) != 0: os._exit(1)
    fd = os.open(sys.argv[1], os.O_RDWR)
    print('ready', flush=True); sys.stdin.read()
thread = threading.Thread(target=work); thread.start(); thread.join()";

#[test]
fn the_bytes_of_a_mounted_filesystem_are_refused_by_every_node() {
    const TEST: &str = "the_bytes_of_a_mounted_filesystem_are_refused_by_every_node";
    if !root() || tool("mkfs.ext4").is_none() {
        return skip(TEST, "needs root and mkfs.ext4");
    }
    let system = System::host();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious.img");
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    file.set_len(16 << 20).unwrap();
    run("mkfs.ext4", &["-q", "-F", path.to_str().unwrap()]);
    let first = loop_device::attach(&system, &file, Bytes(512), None).unwrap();
    let second = loop_device::attach(&system, &file, Bytes(512), None).unwrap();
    let context = Context { claims: folder.path().join("claims"), run_file: None };
    let look = |purpose| check(&system, second.path(), purpose, &context);
    // Idle, it may be claimed.
    let card = claim::describe(&system, second.path(), None).unwrap();
    claim::confirm(&system, &context.claims, &card, &(16_384 * 2).to_string()).unwrap();
    let token = look(Purpose::Write).unwrap().permit().unwrap();
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        let point = point.path().to_str().unwrap();
        run("mount", &["-t", "ext4", first.path().to_str().unwrap(), point]);
        fs::write(Path::new(point).join("photo"), "canary").unwrap();
        for refusal in [look(Purpose::Claim).unwrap_err(), token.recheck().unwrap_err()] {
            assert_eq!(refusal.kind, RefusalKind::Mounted, "{refusal}");
            assert!(refusal.reason.contains("which has the same bytes as"), "{refusal}");
        }
        assert_eq!(fs::read(Path::new(point).join("photo")).unwrap(), b"canary");
        run("umount", &[point]);
    });
    token.recheck().unwrap();
}

#[test]
fn writers_of_every_kind_are_found_on_the_device_and_on_its_file() {
    const TEST: &str = "writers_of_every_kind_are_found_on_the_device_and_on_its_file";
    if !root() || tool("python3").is_none() {
        return skip(TEST, "needs root and python3");
    }
    let stranger = Stranger::new();
    let file = stranger.folder.path().join("precious.img");
    let reading = MAPPED.replace("PROTECTION", "1");
    let writing = MAPPED.replace("PROTECTION", "3");
    for node in [stranger.device.path(), &file] {
        for (what, script) in [
            ("a descriptor", OPENED),
            ("a mapping", writing.as_str()),
            ("a mapping that is read-only for now", reading.as_str()),
            ("a thread's own descriptor", THREAD),
        ] {
            let process = Elsewhere::python(script, node);
            let refusal = stranger.look(Purpose::Claim).expect_err(what);
            assert_eq!(refusal.kind, RefusalKind::Busy, "{what} on {}: {refusal}", node.display());
            let named = format!("process {} (python3)", process.0.id());
            assert!(refusal.reason.starts_with(&named), "{refusal}");
        }
        let _reader = Elsewhere::python(READ, node);
        stranger.look(Purpose::Claim).expect("a reader that holds a lock is no reason");
    }
    assert!(stranger.is_untouched());
}
