//! What the tests of this room share: a fake machine, and scratch devices on the real one.
//!
//! No spare disk can be expected on a machine that runs these tests. Disks, partitions, layers and
//! mounts are therefore a tree of files that looks like sysfs and procfs, with device nodes that answer
//! from a script; everything that needs a real kernel uses loop devices on images of its own.

use crate::image::{self, Image};
use crate::loop_device::{self, LoopDevice};
use crate::nodes::{DeviceNumber, Kernel, NodeKind, Nodes, Probe};
use crate::sysfs::System;
use seekwell_model::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// An image in memory of that many MiB, attached with direct I/O.
pub(crate) fn ram_device(mib: u64) -> (Image, LoopDevice) {
    let system = System::host();
    let image = image::create_in_ram(&system, Bytes::mib(mib), 1, &mut |_| {}).unwrap();
    let device = loop_device::attach(&system, image.file(), Bytes(512), None).unwrap();
    (image, device)
}

/// Runs a test in a thread with mounts of its own: they end with it, also when it fails.
pub(crate) fn with_own_mounts<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: a new mount namespace for this thread changes no descriptors or memory.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.unwrap();
            let private = rustix::mount::MountPropagationFlags::PRIVATE
                | rustix::mount::MountPropagationFlags::REC;
            rustix::mount::mount_change("/", private).unwrap();
            test()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What the scripted nodes answer.
#[derive(Debug, Default)]
struct Script {
    numbers: BTreeMap<String, DeviceNumber>,
    sizes: BTreeMap<String, u64>,
    busy: BTreeSet<String>,
    diskseq: BTreeMap<String, u64>,
    /// Folders and files, and the number of their filesystem.
    files: BTreeMap<PathBuf, NodeKind>,
    unreadable: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Scripted {
    root: PathBuf,
    script: Arc<Mutex<Script>>,
}

impl Scripted {
    /// `sdb` for `/dev/sdb` and for the node in the fake tree.
    fn name(&self, path: &Path) -> Option<String> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let below = path.strip_prefix(self.root.join("dev")).or_else(|_| path.strip_prefix("/dev"));
        Some(below.ok()?.to_str()?.to_owned())
    }
}

impl Nodes for Scripted {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn kind(&self, path: &Path) -> io::Result<NodeKind> {
        let script = self.script.lock().unwrap();
        if let Some(number) = self.name(path).and_then(|name| script.numbers.get(&name).copied()) {
            return Ok(NodeKind::Block(number));
        }
        match script.files.get(path) {
            Some(kind) => Ok(*kind),
            None => Kernel.kind(path),
        }
    }

    fn probe(&self, path: &Path) -> io::Result<Probe> {
        let name = self.name(path).ok_or(io::ErrorKind::NotFound)?;
        let script = self.script.lock().unwrap();
        if script.busy.contains(&name) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        let number = *script.numbers.get(&name).ok_or(io::ErrorKind::NotFound)?;
        let diskseq = script.diskseq.get(&name).copied();
        Ok(Probe { number, size_bytes: script.sizes[&name], diskseq })
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let name = self.name(path).ok_or(io::ErrorKind::NotFound)?;
        if self.script.lock().unwrap().unreadable.contains(&name) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Kernel.read_at(&self.root.join("dev").join(name), offset, length)
    }
}

/// A machine with a system disk `sda` (`sda1` mounted on `/`), to which a test adds what it needs.
pub(crate) struct Machine {
    pub root: TempDir,
    nodes: Scripted,
    mounts: BTreeMap<String, String>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        // Hundreds of small files: in memory where there is a place for it.
        let memory = Path::new("/dev/shm");
        let root = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let path = root.path().to_owned();
        for folder in
            ["sys/class/block", "sys/dev/block", "proc/sys/kernel/random", "dev", "run", "bin"]
        {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        let nodes = Scripted { root: path.clone(), script: Arc::default() };
        let mut machine = Self { root, nodes, mounts: BTreeMap::new() };
        machine.write("proc/sys/kernel/random/boot_id", "boot-1");
        machine.write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority");
        machine.write(
            "proc/filesystems",
            "nodev\tsysfs\nnodev\toverlay\nnodev\ttmpfs\n\text4\n\tbtrfs",
        );
        machine.write("proc/self/status", "Name:\ttest\nPPid:\t1\n");
        machine.mounts.insert("1".into(), String::new());
        machine.mounts.insert("thread-self".into(), String::new());
        machine.disk("sda", "8:0", 200_000);
        machine.partition("sda", "sda1", "8:1", 2048, 100_000);
        machine.mount("1", "8:1", "/", "ext4", "/dev/sda1");
        machine.mount("thread-self", "8:1", "/", "ext4", "/dev/sda1");
        machine
    }

    pub(crate) fn system(&self) -> System {
        let mut system = System::rooted_at(self.root.path());
        system.nodes = Arc::new(self.nodes.clone());
        system
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn node(&mut self, name: &str, number: &str, sectors: u64, folder: &Path) {
        for inner in ["holders", "slaves"] {
            fs::create_dir_all(folder.join(inner)).unwrap();
        }
        fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
        fs::write(folder.join("size"), format!("{sectors}\n")).unwrap();
        fs::write(folder.join("ro"), "0\n").unwrap();
        symlink(folder, self.path("sys/class/block").join(name)).unwrap();
        symlink(folder, self.path("sys/dev/block").join(number)).unwrap();
        let file = fs::File::create(self.path("dev").join(name)).unwrap();
        file.set_len(sectors * 512).unwrap();
        let mut script = self.nodes.script.lock().unwrap();
        script.numbers.insert(name.into(), DeviceNumber::parse(number).unwrap());
        script.sizes.insert(name.into(), sectors * 512);
        script.diskseq.insert(name.into(), 7);
    }

    /// A whole disk, or a loop or mapped device.
    pub(crate) fn disk(&mut self, name: &str, number: &str, sectors: u64) {
        let folder = self.path("sys/devices/platform/block").join(name);
        fs::create_dir_all(folder.join("queue")).unwrap();
        fs::write(folder.join("diskseq"), "7\n").unwrap();
        self.node(name, number, sectors, &folder);
    }

    pub(crate) fn partition(
        &mut self,
        disk: &str,
        name: &str,
        number: &str,
        start: u64,
        size: u64,
    ) {
        let folder = self.path("sys/devices/platform/block").join(disk).join(name);
        fs::create_dir_all(&folder).unwrap();
        let index = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        fs::write(folder.join("partition"), format!("{index}\n")).unwrap();
        fs::write(folder.join("start"), format!("{start}\n")).unwrap();
        self.node(name, number, size, &folder);
        self.nodes.script.lock().unwrap().diskseq.insert(name.into(), 7);
    }

    /// An attribute of a device in sysfs.
    pub(crate) fn attribute(&self, name: &str, attribute: &str, value: &str) {
        self.write(&format!("sys/class/block/{name}/{attribute}"), value);
    }

    pub(crate) fn loop_file(&self, name: &str, file: &str) {
        self.attribute(name, "loop/backing_file", file);
    }

    /// `upper` is a layer on `lower`.
    pub(crate) fn stack(&self, upper: &str, lower: &str) {
        self.attribute(lower, &format!("holders/{upper}"), "");
        self.attribute(upper, &format!("slaves/{lower}"), "");
    }

    /// A mount that a process sees: its number, or `thread-self`.
    pub(crate) fn mount(
        &mut self,
        process: &str,
        number: &str,
        target: &str,
        kind: &str,
        source: &str,
    ) {
        let line = format!("30 20 {number} / {target} rw,relatime shared:1 - {kind} {source} rw\n");
        let lines = self.mounts.entry(process.into()).or_default();
        lines.push_str(&line);
        let text = lines.trim_end().to_owned();
        self.write(&format!("proc/{process}/mountinfo"), &text);
    }

    pub(crate) fn unmount_all(&mut self, process: &str) {
        self.mounts.insert(process.into(), String::new());
        fs::write(self.path(&format!("proc/{process}/mountinfo")), "").unwrap();
    }

    pub(crate) fn swap(&self, path: &str) {
        let lines = format!("Filename\tType\tSize\tUsed\tPriority\n{path}\tpartition\t1\t0\t-2");
        self.write("proc/swaps", &lines);
    }

    pub(crate) fn busy(&self, name: &str) {
        self.nodes.script.lock().unwrap().busy.insert(name.into());
    }

    pub(crate) fn unreadable(&self, name: &str) {
        self.nodes.script.lock().unwrap().unreadable.insert(name.into());
    }

    pub(crate) fn diskseq(&self, name: &str, number: u64) {
        self.nodes.script.lock().unwrap().diskseq.insert(name.into(), number);
    }

    /// What a path outside the tree is.
    pub(crate) fn file(&self, path: &str, kind: NodeKind) {
        self.nodes.script.lock().unwrap().files.insert(path.into(), kind);
    }

    /// Another process with a descriptor on a device.
    pub(crate) fn process(&self, pid: u32, name: &str, device: &str, flags: &str) {
        let folder = self.path(&format!("proc/{pid}"));
        fs::create_dir_all(folder.join("fd")).unwrap();
        symlink(self.path("dev").join(device), folder.join("fd/4")).unwrap();
        self.write(
            &format!("proc/{pid}/fdinfo/4"),
            &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t9"),
        );
        self.write(&format!("proc/{pid}/comm"), name);
        fs::write(folder.join("mountinfo"), "").unwrap();
    }

    /// Bytes on a device.
    pub(crate) fn put(&self, device: &str, offset: u64, bytes: &[u8]) {
        use std::os::unix::fs::FileExt;
        let node = fs::OpenOptions::new().write(true).open(self.path("dev").join(device)).unwrap();
        node.write_all_at(bytes, offset).unwrap();
    }
}
