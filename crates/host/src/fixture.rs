//! Shared by the tests of this room: a fake machine, and scratch devices on the real one.
//!
//! No spare disk can be expected on a machine that runs these tests. Disks, partitions, layers and
//! mounts are therefore a tree of files that looks like sysfs and procfs, with device nodes that answer
//! from a script; everything that needs a real kernel uses loop devices on images of its own.

use crate::image::{self, Image};
use crate::loop_device::{self, LoopDevice, LoopLock};
use crate::nodes::{
    Behind, BehindLoop, DeviceNumber, FileFacts, FileId, Kernel, NodeKind, Nodes, Probe,
};
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
///
/// A temporary folder that the test mounts something on and does not unmount is made outside: inside
/// it is busy when it should be removed.
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

/// Answers of the scripted nodes.
#[derive(Debug, Default)]
struct Script {
    numbers: BTreeMap<String, DeviceNumber>,
    sizes: BTreeMap<String, u64>,
    busy: BTreeSet<String>,
    diskseq: BTreeMap<String, u64>,
    /// Folders and files, and the number of their filesystem.
    files: BTreeMap<PathBuf, NodeKind>,
    unreadable: BTreeSet<String>,
    /// Files by name, for those that have a number of their own.
    inodes: BTreeMap<PathBuf, u64>,
    loops: BTreeMap<String, Behind>,
    /// Loop devices that another process has locked.
    locked: BTreeSet<String>,
    /// True in a PID namespace that hides processes.
    hides_processes: bool,
    /// Loop devices that do not say what is behind them.
    unasked: BTreeSet<String>,
    /// Loop devices over images of Seekwell.
    ours: BTreeSet<String>,
    /// Results of the exclusive open that differ from what sysfs says.
    probes: BTreeMap<String, Result<DeviceNumber, i32>>,
    /// File that is opened to hold a device.
    held: BTreeMap<String, PathBuf>,
    /// True when writing a setting changes others, as the kernel's do.
    recomputes: bool,
    /// Writes of settings that are refused before the next one is taken, since another process changes the queue.
    busy_writes: u32,
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
        let leads = fs::read_link(path).unwrap_or_else(|_| path.to_owned());
        match script.files.get(path) {
            Some(kind) => Ok(*kind),
            None if script.inodes.contains_key(&leads) => {
                Ok(NodeKind::Regular(DeviceNumber { major: 0, minor: 99 }))
            }
            None => Kernel.kind(path),
        }
    }

    fn probe(&self, path: &Path) -> io::Result<Probe> {
        let name = self.name(path).ok_or(io::ErrorKind::NotFound)?;
        let script = self.script.lock().unwrap();
        if script.busy.contains(&name) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        let number = match script.probes.get(&name) {
            Some(scripted) => scripted.map_err(io::Error::from_raw_os_error)?,
            None => *script.numbers.get(&name).ok_or(io::ErrorKind::NotFound)?,
        };
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

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        let script = self.script.lock().unwrap();
        let leads = fs::read_link(path).unwrap_or_else(|_| path.to_owned());
        match script.inodes.get(&leads) {
            Some(inode) => {
                let id = FileId { device: 99, inode: *inode };
                Ok(FileFacts { id, size: 0, modified: (0, 0), changed: (0, 0) })
            }
            None => Kernel.facts(path),
        }
    }

    fn sees_all_processes(&self, _proc: &Path) -> io::Result<bool> {
        Ok(!self.script.lock().unwrap().hides_processes)
    }

    fn lock_loop(&self, _dev: &Path, kernel_name: &str) -> io::Result<Option<LoopLock>> {
        let is_locked = self.script.lock().unwrap().locked.contains(kernel_name);
        Ok((!is_locked).then(LoopLock::of_nothing))
    }

    fn locked_loops(&self, _dev: &Path, kernel_names: &[String]) -> BTreeSet<String> {
        let script = self.script.lock().unwrap();
        kernel_names.iter().filter(|name| script.locked.contains(*name)).cloned().collect()
    }

    fn behind_loop(&self, node: &Path) -> io::Result<Option<Behind>> {
        let name = self.name(node).ok_or(io::ErrorKind::NotFound)?;
        let script = self.script.lock().unwrap();
        if script.unasked.contains(&name) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(script.loops.get(&name).copied())
    }

    fn has_our_image(&self, node: &Path) -> bool {
        self.name(node).is_some_and(|name| self.script.lock().unwrap().ours.contains(&name))
    }

    fn hold(&self, path: &Path) -> io::Result<Option<fs::File>> {
        let script = self.script.lock().unwrap();
        let held = self.name(path).and_then(|name| script.held.get(&name));
        held.map(fs::File::open).transpose()
    }

    fn write_once(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut script = self.script.lock().unwrap();
        if script.busy_writes > 0 {
            script.busy_writes -= 1;
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        if !script.recomputes {
            return fs::write(path, text);
        }
        recompute(path, text)
    }
}

/// Writes an attribute of a queue as Linux 6.18 takes it, with what it changes besides.
fn recompute(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let queue = path.ancestors().find(|folder| folder.ends_with("queue")).unwrap();
    let put = |name: &str, value: &str| fs::write(queue.join(name), format!("{value}\n"));
    let get = |name: &str| fs::read_to_string(queue.join(name)).unwrap().trim().to_owned();
    let number = || text.parse::<u64>().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL));
    match name {
        "scheduler" => {
            if !["none", "mq-deadline", "bfq"].contains(&text) {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            let marked = ["none", "mq-deadline", "bfq"]
                .map(|known| if known == text { format!("[{known}]") } else { known.to_owned() });
            if get("scheduler").contains(&format!("[{text}]")) {
                return Ok(());
            }
            put("scheduler", &marked.join(" "))?;
            put("nr_requests", if text == "none" { "128" } else { "256" })?;
            put("wbt_lat_usec", if text == "bfq" { "0" } else { "2000" })?;
            let _ = fs::remove_dir_all(queue.join("iosched"));
            fs::create_dir(queue.join("iosched"))?;
            match text {
                "mq-deadline" => put("iosched/fifo_batch", "16"),
                "bfq" => put("iosched/slice_idle", "8"),
                _ => Ok(()),
            }
        }
        "nr_requests" => put(name, &number()?.max(4).to_string()),
        "read_ahead_kb" => put(name, &(number()? / 4 * 4).to_string()),
        "wbt_lat_usec" | "fifo_batch" | "slice_idle" => fs::write(path, format!("{}\n", number()?)),
        "nomerges" | "rq_affinity" => put(name, &number()?.to_string()),
        // Every limit and feature: committing them sets the read-ahead from the largest request.
        _ => {
            let value = match name {
                "max_sectors_kb" if number()? > 1280 => {
                    return Err(io::Error::from_raw_os_error(libc::EINVAL));
                }
                _ => text.to_owned(),
            };
            put(name, &value)?;
            let largest: u64 = get("max_sectors_kb").parse().unwrap();
            put("read_ahead_kb", &(2 * largest).max(128).to_string())
        }
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
        for folder in [
            "sys/class/block", "sys/block", "sys/dev/block", "proc/sys/kernel/random", "dev",
            "run", "bin",
        ] {
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
        seekwell_testing::program(&machine.path("bin/wipefs"), "#!/bin/sh\n");
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
        symlink(&folder, self.path("sys/block").join(name)).unwrap();
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
        let mut script = self.nodes.script.lock().unwrap();
        let device = file.strip_prefix("/dev/").and_then(|name| script.numbers.get(name).copied());
        let next = 1000 + script.inodes.len() as u64;
        let behind = match device {
            Some(number) => BehindLoop::Device(number),
            None => {
                let inode = *script.inodes.entry(file.into()).or_insert(next);
                BehindLoop::File(FileId { device: 99, inode })
            }
        };
        script.loops.insert(name.into(), Behind { what: behind, offset: 0 });
    }

    /// A loop device over a file that is open here.
    pub(crate) fn loop_over(&self, name: &str, file: impl std::os::fd::AsFd) {
        self.attribute(name, "loop/backing_file", "/nameless (deleted)");
        let facts = rustix::fs::fstat(file).unwrap();
        let file = FileId { device: facts.st_dev, inode: facts.st_ino };
        let behind = Behind { what: BehindLoop::File(file), offset: 0 };
        self.nodes.script.lock().unwrap().loops.insert(name.into(), behind);
    }

    /// Locks a loop device for another process.
    pub(crate) fn locked(&self, name: &str) {
        self.nodes.script.lock().unwrap().locked.insert(name.into());
    }

    /// Shows the processes of one PID namespace alone.
    pub(crate) fn hide_processes(&self) {
        self.nodes.script.lock().unwrap().hides_processes = true;
    }

    /// A loop device that does not say what is behind it.
    pub(crate) fn unasked(&self, name: &str) {
        self.nodes.script.lock().unwrap().unasked.insert(name.into());
    }

    /// Makes the file behind a loop device one of Seekwell's images.
    pub(crate) fn ours(&self, name: &str) {
        self.nodes.script.lock().unwrap().ours.insert(name.into());
    }

    /// Sets the result of the exclusive open: a number, or an error of the kernel.
    pub(crate) fn probed(&self, name: &str, result: Result<&str, i32>) {
        let result = result.map(|number| DeviceNumber::parse(number).unwrap());
        self.nodes.script.lock().unwrap().probes.insert(name.into(), result);
    }

    /// Sets the node that is opened to hold a device.
    pub(crate) fn held(&self, name: &str, node: &str) {
        self.nodes.script.lock().unwrap().held.insert(name.into(), node.into());
    }

    /// Gives a disk a queue whose settings depend on each other as the kernel's do. This process is in procfs, so that it can keep an undo list.
    /// Refuses so many writes of settings with `EBUSY`.
    pub(crate) fn busy_queue(&self, writes: u32) {
        self.nodes.script.lock().unwrap().busy_writes = writes;
    }

    /// Those that are still to be refused.
    pub(crate) fn still_busy(&self) -> u32 {
        self.nodes.script.lock().unwrap().busy_writes
    }

    pub(crate) fn recomputing_queue(&self, name: &str) {
        let defaults = [
            ("scheduler", "[none] mq-deadline bfq"),
            ("nr_requests", "128"),
            ("read_ahead_kb", "128"),
            ("max_sectors_kb", "1280"),
            ("rotational", "1"),
            ("write_cache", "write back"),
            ("wbt_lat_usec", "2000"),
            ("iostats", "1"),
            ("add_random", "0"),
            ("nomerges", "0"),
            ("rq_affinity", "1"),
        ];
        for (attribute, value) in defaults {
            self.attribute(name, &format!("queue/{attribute}"), value);
        }
        fs::create_dir_all(self.path(&format!("sys/class/block/{name}/queue/iosched"))).unwrap();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        self.write(&format!("proc/{}/stat", std::process::id()), stat.trim_end());
        self.nodes.script.lock().unwrap().recomputes = true;
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

    /// Sets the kind of a path outside the tree.
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

    /// A thread of a process with a table of descriptors of its own.
    pub(crate) fn thread(&self, pid: u32, thread: u32, path: &str, flags: &str) {
        let folder = self.path(&format!("proc/{pid}/task/{thread}"));
        fs::create_dir_all(folder.join("fd")).unwrap();
        symlink(path, folder.join("fd/5")).unwrap();
        self.write(
            &format!("proc/{pid}/task/{thread}/fdinfo/5"),
            &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t9"),
        );
        self.write(&format!("proc/{pid}/comm"), "threaded");
        fs::write(self.path(&format!("proc/{pid}/mountinfo")), "").unwrap();
    }

    /// A process with a mapping of a file or device, its descriptor closed. `flags` are those of
    /// smaps, of which `mw` says that it may be written.
    pub(crate) fn mapping(&self, pid: u32, path: &str, permissions: &str, flags: &str) {
        let folder = self.path(&format!("proc/{pid}"));
        fs::create_dir_all(folder.join("map_files")).unwrap();
        fs::create_dir_all(folder.join("fd")).unwrap();
        symlink(path, folder.join("map_files/7f0000-7f1000")).unwrap();
        let line = format!("7f0000-7f1000 {permissions} 00000000 00:05 9 {path}");
        self.write(&format!("proc/{pid}/maps"), &line);
        self.write(&format!("proc/{pid}/smaps"), &format!("{line}\nSize: 4 kB\nVmFlags: {flags}"));
        self.write(&format!("proc/{pid}/comm"), "mapper");
        fs::write(folder.join("mountinfo"), "").unwrap();
    }

    /// Bytes on a device.
    pub(crate) fn put(&self, device: &str, offset: u64, bytes: &[u8]) {
        use std::os::unix::fs::FileExt;
        let node = fs::OpenOptions::new().write(true).open(self.path("dev").join(device)).unwrap();
        node.write_all_at(bytes, offset).unwrap();
    }
}
