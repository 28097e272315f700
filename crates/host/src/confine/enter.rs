//! The steps in the new process, between fork and exec: system calls alone, no allocation.

use super::{Confinement, Hidden};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
    open_tree,
};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// A step of the confinement, in words for its failure.
type Step = &'static str;

const NAMESPACE: Step = "make a mount namespace (this needs root)";
const FLAGS: Step = "set nosuid and nodev on all mounts (this needs Linux 5.12)";
const KEEP: Step = "keep a directory of /dev";
const MAKE: Step = "make a /dev";
const FILL: Step = "fill the new /dev";
const SHOW_DEV: Step = "mount the new /dev";
const PROC: Step = "mount a /proc";
const MNT: Step = "show the directory as /mnt";
const SETTINGS: Step = "make the settings of the kernel read-only";
const CAPABILITIES: Step = "drop capabilities";
const HIDE: Step = "hide the folder of Seekwell";

/// A message names a step by its position.
const STEPS: [Step; 11] =
    [NAMESPACE, FLAGS, KEEP, MAKE, FILL, SHOW_DEV, PROC, MNT, SETTINGS, CAPABILITIES, HIDE];

/// A message to the parent: position of the failed step or [`ENTERED`], then the time.
pub(super) const MESSAGE_BYTES: usize = 9;
const ENTERED: u8 = u8::MAX;

/// Character devices that every program may expect: name, major and minor number.
const CHARACTERS: [(&CStr, u32, u32); 6] = [
    (c"null", 1, 3),
    (c"zero", 1, 5),
    (c"full", 1, 7),
    (c"random", 1, 8),
    (c"urandom", 1, 9),
    (c"tty", 5, 0),
];

const LINKS: [(&CStr, &CStr); 5] = [
    (c"/proc/self/fd", c"fd"),
    (c"/proc/self/fd/0", c"stdin"),
    (c"/proc/self/fd/1", c"stdout"),
    (c"/proc/self/fd/2", c"stderr"),
    (c"pts/ptmx", c"ptmx"),
];

/// Directories of `/dev` that stay as they are: path and name below it.
const KEPT: [(&CStr, &CStr); 4] = [
    (c"/dev/pts", c"pts"),
    (c"/dev/shm", c"shm"),
    (c"/dev/mqueue", c"mqueue"),
    (c"/dev/hugepages", c"hugepages"),
];

/// Settings of the machine, which files of root's change without any capability: a helper named in
/// `core_pattern` would run with all of them, and a queue has no owner but root.
const SETTINGS_OF_THE_MACHINE: [&CStr; 5] =
    [c"/proc/sys", c"/proc/sysrq-trigger", c"/proc/irq", c"/proc/bus", c"/sys"];

/// A copy of a mount, and its copy with all mounts below it.
const TREE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);
const WHOLE_TREE: OpenTreeFlags = TREE.union(OpenTreeFlags::AT_RECURSIVE);

/// Highest capability number that a kernel could have.
const CAPABILITY_BITS: u32 = 64;

/// Failed step and its cause.
type Failure = (Step, io::Error);

fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| (step, errno.into())
}

impl Confinement {
    /// Takes every step in order.
    pub(super) fn enter(&self) -> Result<(), Failure> {
        // A program locks memory for io_uring by its limit, without the capability to pass it.
        let unlimited = Rlimit { current: None, maximum: None };
        let _ = rustix::process::setrlimit(Resource::Memlock, unlimited);
        if self.separate {
            self.separate()?;
        }
        drop_capabilities(self.kept, self.drop_bounding).map_err(|error| (CAPABILITIES, error))
    }

    fn separate(&self) -> Result<(), Failure> {
        // SAFETY: this process has one thread, and no other shares its table of descriptors or its root.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.map_err(at(NAMESPACE))?;
        // Unmounts outside reach this namespace, mounts in here stay here: a filesystem that is unmounted
        // outside is not kept busy from in here.
        let slave = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change(c"/", slave).map_err(at(NAMESPACE))?;
        let mut kept: [Option<OwnedFd>; KEPT.len()] = [const { None }; KEPT.len()];
        for (place, (path, _)) in kept.iter_mut().zip(KEPT) {
            *place = match open_tree(CWD, path, TREE) {
                Err(Errno::NOENT) => None,
                tree => Some(tree.map_err(at(KEEP))?),
            };
        }
        if let Some(hidden) = &self.hidden {
            hide(hidden).map_err(at(HIDE))?;
        }
        without_devices().map_err(at(FLAGS))?;
        let shown = match &self.shown {
            Some(path) => Some(open_tree(CWD, path.as_c_str(), TREE).map_err(at(MNT))?),
            None => None,
        };
        self.dev(&kept)?;
        proc().map_err(at(PROC))?;
        settings().map_err(at(SETTINGS))?;
        match shown {
            Some(tree) => attach(&tree, c"/mnt").map_err(at(MNT)),
            None => Ok(()),
        }
    }

    /// Puts a `/dev` with the devices of the trial alone over the machine's.
    fn dev(&self, kept: &[Option<OwnedFd>]) -> Result<(), Failure> {
        let dev = tmpfs(c"755").map_err(at(MAKE))?;
        let mask = rustix::process::umask(Mode::empty());
        let filled = self.fill(dev.as_fd());
        rustix::process::umask(mask);
        filled.map_err(at(FILL))?;
        attach(&dev, c"/dev").map_err(at(SHOW_DEV))?;
        for (tree, (path, _)) in kept.iter().zip(KEPT) {
            if let Some(tree) = tree {
                attach(tree, path).map_err(at(KEEP))?;
            }
        }
        Ok(())
    }

    fn fill(&self, dev: BorrowedFd<'_>) -> Result<(), Errno> {
        let everyone = Mode::from_raw_mode(0o666);
        for (name, major, minor) in CHARACTERS {
            let number = rustix::fs::makedev(major, minor);
            rustix::fs::mknodat(dev, name, FileType::CharacterDevice, everyone, number)?;
        }
        for (target, name) in LINKS {
            rustix::fs::symlinkat(target, dev, name)?;
        }
        for (_, name) in KEPT {
            rustix::fs::mkdirat(dev, name, Mode::from_raw_mode(0o1777))?;
        }
        for node in &self.nodes {
            for folder in &node.folders {
                match rustix::fs::mkdirat(dev, folder.as_c_str(), Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
            }
            let mode = Mode::from_raw_mode(0o660);
            let path = node.path.as_c_str();
            match rustix::fs::mknodat(dev, path, FileType::BlockDevice, mode, node.number) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

/// Covers a folder by an empty one that cannot be written, in which the kept directory has its place.
fn hide(hidden: &Hidden) -> Result<(), Errno> {
    // The working directory may be below it: seen from there the folder would not be covered.
    let mut here = [0_u8; libc::PATH_MAX as usize];
    // SAFETY: the buffer is ours and as long as told; the call writes a text that ends with a zero.
    if unsafe { libc::syscall(libc::SYS_getcwd, here.as_mut_ptr(), here.len()) } < 0 {
        return Err(last_errno());
    }
    let here = CStr::from_bytes_until_nul(&here).map_err(|_| Errno::NAMETOOLONG)?;
    let kept = match &hidden.kept {
        Some((path, _)) => Some(open_tree(CWD, path.as_c_str(), WHOLE_TREE)?),
        None => None,
    };
    let cover = tmpfs(c"700")?;
    for folder in hidden.kept.iter().flat_map(|(_, folders)| folders) {
        rustix::fs::mkdirat(&cover, folder.as_c_str(), Mode::from_raw_mode(0o700))?;
    }
    add_attributes(cover.as_fd(), c"", MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    attach(&cover, &hidden.folder)?;
    if let (Some(tree), Some((path, _))) = (&kept, &hidden.kept) {
        attach(tree, path)?;
    }
    rustix::process::chdir(here)
}

/// An empty filesystem in memory whose root has these permissions, mounted nowhere.
fn tmpfs(mode: &CStr) -> Result<OwnedFd, Errno> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), c"mode", mode)?;
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn attach(tree: &OwnedFd, target: &CStr) -> Result<(), Errno> {
    move_mount(tree.as_fd(), c"", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// `struct mount_attr` of `linux/mount.h`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// No mount of this namespace honours device nodes or set-user-ID bits any more.
fn without_devices() -> Result<(), Errno> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    add_attributes(CWD, c"/", flags)
}

/// Settings of the kernel and of devices can be read and not changed.
fn settings() -> Result<(), Errno> {
    for path in SETTINGS_OF_THE_MACHINE {
        let tree = match open_tree(CWD, path, WHOLE_TREE) {
            Err(Errno::NOENT) => continue,
            tree => tree?,
        };
        add_attributes(tree.as_fd(), c"", MountAttrFlags::MOUNT_ATTR_RDONLY)?;
        attach(&tree, path)?;
    }
    Ok(())
}

/// Adds attributes to a mount and to all below it.
fn add_attributes(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: MountAttrFlags,
) -> Result<(), Errno> {
    let attributes = MountAttributes {
        set: u64::from(flags.bits()),
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let all = AtFlags::EMPTY_PATH | AtFlags::from_bits_retain(libc::AT_RECURSIVE as u32);
    // SAFETY: the path is NUL-terminated, and the struct outlives the call and has the size given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory.as_raw_fd(),
            path.as_ptr(),
            all.bits(),
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// A `/proc` of this PID namespace: through the directories of other processes it would lead to their
/// `/dev`.
fn proc() -> Result<(), Errno> {
    let context = fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    attach(&proc, c"/proc")
}

/// Gives up all capabilities but these; from the bounding set too, if this process may, so that no
/// program that root starts gets them back.
pub(super) fn drop_capabilities(kept: CapabilitySet, bounding: bool) -> io::Result<()> {
    for number in (0..CAPABILITY_BITS).filter(|number| bounding && kept.bits() >> number & 1 == 0) {
        // SAFETY: PR_CAPBSET_DROP takes a number.
        let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
        if done != 0 && last_errno() == Errno::INVAL {
            // The kernel knows no capability with this number, nor any higher one.
            break;
        }
        if done != 0 {
            return Err(last_errno().into());
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let own = rustix::thread::capabilities(None)?;
    let kept = CapabilitySets {
        effective: own.effective & kept,
        permitted: own.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, kept)?)
}

fn last_errno() -> Errno {
    // SAFETY: errno of this thread, a valid location at any time.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// Tells the parent when the program begins, or which step failed.
pub(super) fn report(pipe: RawFd, entered: &Result<(), Failure>) {
    let mut message = [0_u8; MESSAGE_BYTES];
    message[0] = match entered {
        Ok(()) => ENTERED,
        Err((step, _)) => (0..).zip(STEPS).find(|(_, one)| one == step).map_or(0, |(at, _)| at),
    };
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let ns = (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64);
    message[1..].copy_from_slice(&ns.to_ne_bytes());
    // SAFETY: the descriptor is open in this process until exec, the buffer is ours. If no one reads, the
    // time is missing in the parent, which says so.
    unsafe { libc::write(pipe, message.as_ptr().cast(), message.len()) };
}

/// The time in a message that reports no failure.
pub(super) fn began_ns(message: &[u8; MESSAGE_BYTES]) -> Option<u64> {
    let [step, a, b, c, d, e, f, g, h] = *message;
    (step == ENTERED).then(|| u64::from_ne_bytes([a, b, c, d, e, f, g, h]))
}

/// The step that a message names as failed.
pub(super) fn failed_step(message: &[u8; MESSAGE_BYTES]) -> Option<Step> {
    STEPS.get(usize::from(message[0])).copied()
}
