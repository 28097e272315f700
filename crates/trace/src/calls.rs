//! Catalogue of the system calls that a trace holds: one definition for capture, imports and
//! summaries.

/// Purpose of a call, as summaries group them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Opens a file.
    Open,
    /// Closes descriptors.
    Close,
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Waits until data is on the device.
    Sync,
    /// Asks for attributes or names.
    Stat,
    /// Creates, removes or renames names.
    Name,
    /// Changes attributes, sizes or allocation.
    Change,
    /// Submits or awaits asynchronous I/O.
    Asynchronous,
    /// Descriptors, working directory, mappings, locks and processes.
    Other,
}

impl Class {
    /// Every class, in the order of summaries.
    pub const ALL: [Self; 10] = [
        Self::Open,
        Self::Close,
        Self::Read,
        Self::Write,
        Self::Sync,
        Self::Stat,
        Self::Name,
        Self::Change,
        Self::Asynchronous,
        Self::Other,
    ];

    /// Name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Stat => "stat",
            Self::Name => "name",
            Self::Change => "change",
            Self::Asynchronous => "async",
            Self::Other => "other",
        }
    }
}

/// Definition of a call. Arguments are named by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name in the manual.
    pub name: &'static str,
    /// Number on `x86_64`.
    pub number: u16,
    /// Purpose.
    pub class: Class,
    /// Descriptor of the file the call works on.
    pub fd: Option<u8>,
    /// Second descriptor: the destination of copies.
    pub to_fd: Option<u8>,
    /// Path, as the program gave it.
    pub path: Option<u8>,
    /// Directory descriptor that `path` is relative to.
    pub directory: Option<u8>,
    /// Second path, of renames and links.
    pub to_path: Option<u8>,
    /// Directory descriptor that `to_path` is relative to.
    pub to_directory: Option<u8>,
    /// Name of an extended attribute.
    pub attribute: Option<u8>,
    /// Offset in the file, bytes.
    pub offset: Option<u8>,
    /// Requested length, bytes.
    pub length: Option<u8>,
    /// Flags or mode.
    pub flags: Option<u8>,
    /// The result is a new descriptor of the file at `path`.
    pub opens: bool,
    /// Works at the file's own position and moves it by the result.
    pub positioned: bool,
    /// Changes the working directory.
    pub changes_directory: bool,
}

/// Methods that tell by its index the argument which holds something.
macro_rules! arguments {
    ($($name:ident)*) => {$(
        const fn $name(mut self, at: u8) -> Self {
            self.$name = Some(at);
            self
        }
    )*};
}

impl Call {
    arguments! { fd to_fd path to_path attribute offset length flags }

    const fn new(name: &'static str, number: u16, class: Class) -> Self {
        Self {
            name,
            number,
            class,
            fd: None,
            to_fd: None,
            path: None,
            directory: None,
            to_path: None,
            to_directory: None,
            attribute: None,
            offset: None,
            length: None,
            flags: None,
            opens: false,
            positioned: false,
            changes_directory: false,
        }
    }

    const fn path_at(mut self, directory: u8, path: u8) -> Self {
        self.directory = Some(directory);
        self.path = Some(path);
        self
    }

    const fn to_path_at(mut self, directory: u8, path: u8) -> Self {
        self.to_directory = Some(directory);
        self.to_path = Some(path);
        self
    }

    const fn opens(mut self) -> Self {
        self.opens = true;
        self
    }

    const fn positioned(mut self) -> Self {
        self.positioned = true;
        self
    }

    const fn changes_directory(mut self) -> Self {
        self.changes_directory = true;
        self
    }

    /// True for an operation of asynchronous I/O: its thread does not wait for it.
    #[must_use]
    pub const fn is_operation(&self) -> bool {
        self.number >= OPERATIONS && self.number != PAGE_FAULT
    }

    /// True for calls that make a symbolic link: its text leads from the directory of the link on, and the
    /// length is that of the text.
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        matches!(self.name, "symlink" | "symlinkat")
    }

    /// True for calls that move data between a program and a file.
    #[must_use]
    pub const fn moves_data(&self) -> bool {
        matches!(self.class, Class::Read | Class::Write)
    }
}

/// Index of a call in [`CALLS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u16);

impl CallId {
    /// The call with this name, of the manual or of strace.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let at = CALLS.iter().position(|call| call.name == name)?;
        u16::try_from(at).ok().map(Self)
    }

    /// The call with this number on `x86_64`.
    #[must_use]
    pub fn numbered(number: u16) -> Option<Self> {
        let at = CALLS.iter().position(|call| call.number == number)?;
        u16::try_from(at).ok().map(Self)
    }

    /// The definition.
    #[must_use]
    pub fn call(self) -> &'static Call {
        CALLS.get(usize::from(self.0)).unwrap_or(&CALLS[0])
    }
}

/// First number of what is no system call.
pub const OPERATIONS: u16 = 1000;

/// Flag of a single sync operation that leaves metadata out, as `fdatasync` does. The bits below are its code.
pub const DATA_ALONE: u64 = 1 << 32;

/// Number of a page fault in a file's mapping.
pub const PAGE_FAULT: u16 = OPERATIONS + 7;

/// Calls of a trace with their numbers on `x86_64`, from `arch/x86/entry/syscalls/syscall_64.tbl`
/// of Linux 6.18. 64-bit numbers do not change.
#[rustfmt::skip]
pub const CALLS: &[Call] = &[
    Call::new("read", 0, Class::Read).fd(0).length(2).positioned(),
    Call::new("write", 1, Class::Write).fd(0).length(2).positioned(),
    Call::new("open", 2, Class::Open).path(0).flags(1).opens(),
    Call::new("close", 3, Class::Close).fd(0),
    Call::new("stat", 4, Class::Stat).path(0),
    Call::new("fstat", 5, Class::Stat).fd(0),
    Call::new("lstat", 6, Class::Stat).path(0),
    Call::new("lseek", 8, Class::Other).fd(0).offset(1).flags(2),
    Call::new("mmap", 9, Class::Other).fd(4).length(1).offset(5).flags(3),
    Call::new("pread64", 17, Class::Read).fd(0).length(2).offset(3),
    Call::new("pwrite64", 18, Class::Write).fd(0).length(2).offset(3),
    Call::new("readv", 19, Class::Read).fd(0).positioned(),
    Call::new("writev", 20, Class::Write).fd(0).positioned(),
    Call::new("access", 21, Class::Stat).path(0).flags(1),
    Call::new("msync", 26, Class::Sync).length(1).flags(2),
    Call::new("dup", 32, Class::Other).fd(0),
    Call::new("dup2", 33, Class::Other).fd(0).to_fd(1),
    Call::new("sendfile", 40, Class::Read).fd(1).to_fd(0).length(3),
    Call::new("clone", 56, Class::Other).flags(0),
    Call::new("fork", 57, Class::Other),
    Call::new("vfork", 58, Class::Other),
    Call::new("execve", 59, Class::Other).path(0),
    Call::new("fcntl", 72, Class::Other).fd(0).flags(1),
    Call::new("flock", 73, Class::Other).fd(0).flags(1),
    Call::new("fsync", 74, Class::Sync).fd(0),
    Call::new("fdatasync", 75, Class::Sync).fd(0),
    Call::new("truncate", 76, Class::Change).path(0).length(1),
    Call::new("ftruncate", 77, Class::Change).fd(0).length(1),
    Call::new("getdents", 78, Class::Stat).fd(0).length(2),
    Call::new("chdir", 80, Class::Other).path(0).changes_directory(),
    Call::new("fchdir", 81, Class::Other).fd(0).changes_directory(),
    Call::new("rename", 82, Class::Name).path(0).to_path(1),
    Call::new("mkdir", 83, Class::Name).path(0).flags(1),
    Call::new("rmdir", 84, Class::Name).path(0),
    Call::new("creat", 85, Class::Open).path(0).flags(1).opens(),
    Call::new("link", 86, Class::Name).path(0).to_path(1),
    Call::new("unlink", 87, Class::Name).path(0),
    Call::new("symlink", 88, Class::Name).path(1).to_path(0),
    Call::new("readlink", 89, Class::Stat).path(0),
    Call::new("chmod", 90, Class::Change).path(0).flags(1),
    Call::new("fchmod", 91, Class::Change).fd(0).flags(1),
    Call::new("chown", 92, Class::Change).path(0),
    Call::new("fchown", 93, Class::Change).fd(0),
    Call::new("lchown", 94, Class::Change).path(0),
    Call::new("utime", 132, Class::Change).path(0),
    Call::new("mknod", 133, Class::Name).path(0).flags(1),
    Call::new("statfs", 137, Class::Stat).path(0),
    Call::new("fstatfs", 138, Class::Stat).fd(0),
    Call::new("sync", 162, Class::Sync),
    Call::new("readahead", 187, Class::Other).fd(0).offset(1).length(2),
    Call::new("setxattr", 188, Class::Change).path(0).attribute(1).length(3).flags(4),
    Call::new("lsetxattr", 189, Class::Change).path(0).attribute(1).length(3).flags(4),
    Call::new("fsetxattr", 190, Class::Change).fd(0).attribute(1).length(3).flags(4),
    Call::new("getxattr", 191, Class::Stat).path(0).attribute(1).length(3),
    Call::new("lgetxattr", 192, Class::Stat).path(0).attribute(1).length(3),
    Call::new("fgetxattr", 193, Class::Stat).fd(0).attribute(1).length(3),
    Call::new("listxattr", 194, Class::Stat).path(0).length(2),
    Call::new("llistxattr", 195, Class::Stat).path(0).length(2),
    Call::new("flistxattr", 196, Class::Stat).fd(0).length(2),
    Call::new("removexattr", 197, Class::Change).path(0).attribute(1),
    Call::new("lremovexattr", 198, Class::Change).path(0).attribute(1),
    Call::new("fremovexattr", 199, Class::Change).fd(0).attribute(1),
    Call::new("io_getevents", 208, Class::Asynchronous),
    Call::new("io_submit", 209, Class::Asynchronous),
    Call::new("getdents64", 217, Class::Stat).fd(0).length(2),
    Call::new("fadvise64", 221, Class::Other).fd(0).offset(1).length(2).flags(3),
    Call::new("utimes", 235, Class::Change).path(0),
    Call::new("openat", 257, Class::Open).path_at(0, 1).flags(2).opens(),
    Call::new("mkdirat", 258, Class::Name).path_at(0, 1).flags(2),
    Call::new("mknodat", 259, Class::Name).path_at(0, 1).flags(2),
    Call::new("fchownat", 260, Class::Change).path_at(0, 1).flags(4),
    Call::new("futimesat", 261, Class::Change).path_at(0, 1),
    Call::new("newfstatat", 262, Class::Stat).path_at(0, 1).flags(3),
    Call::new("unlinkat", 263, Class::Name).path_at(0, 1).flags(2),
    Call::new("renameat", 264, Class::Name).path_at(0, 1).to_path_at(2, 3),
    Call::new("linkat", 265, Class::Name).path_at(0, 1).to_path_at(2, 3).flags(4),
    Call::new("symlinkat", 266, Class::Name).path_at(1, 2).to_path(0),
    Call::new("readlinkat", 267, Class::Stat).path_at(0, 1).length(3),
    Call::new("fchmodat", 268, Class::Change).path_at(0, 1).flags(2),
    Call::new("faccessat", 269, Class::Stat).path_at(0, 1).flags(2),
    Call::new("splice", 275, Class::Read).fd(0).to_fd(2).length(4).flags(5),
    Call::new("sync_file_range", 277, Class::Sync).fd(0).offset(1).length(2).flags(3),
    Call::new("utimensat", 280, Class::Change).path_at(0, 1).flags(3),
    Call::new("fallocate", 285, Class::Change).fd(0).flags(1).offset(2).length(3),
    Call::new("dup3", 292, Class::Other).fd(0).to_fd(1).flags(2),
    Call::new("preadv", 295, Class::Read).fd(0).offset(3),
    Call::new("pwritev", 296, Class::Write).fd(0).offset(3),
    Call::new("syncfs", 306, Class::Sync).fd(0),
    Call::new("renameat2", 316, Class::Name).path_at(0, 1).to_path_at(2, 3).flags(4),
    Call::new("execveat", 322, Class::Other).path_at(0, 1).flags(4),
    Call::new("copy_file_range", 326, Class::Write).fd(0).to_fd(2).length(4),
    Call::new("preadv2", 327, Class::Read).fd(0).offset(3).flags(5),
    Call::new("pwritev2", 328, Class::Write).fd(0).offset(3).flags(5),
    Call::new("statx", 332, Class::Stat).path_at(0, 1).flags(2),
    Call::new("io_uring_setup", 425, Class::Asynchronous),
    Call::new("io_uring_enter", 426, Class::Asynchronous).fd(0),
    Call::new("io_uring_register", 427, Class::Asynchronous).fd(0),
    Call::new("clone3", 435, Class::Other),
    Call::new("close_range", 436, Class::Close).offset(0).length(1).flags(2),
    Call::new("openat2", 437, Class::Open).path_at(0, 1).opens(),
    Call::new("faccessat2", 439, Class::Stat).path_at(0, 1).flags(2),
    Call::new("fchmodat2", 452, Class::Change).path_at(0, 1).flags(3),
    Call::new("munmap", 11, Class::Other).length(1),
    Call::new("io_pgetevents", 333, Class::Asynchronous),
    // Single operations of asynchronous I/O: from submission to completion, without a system call.
    Call::new("io_uring_read", OPERATIONS, Class::Read),
    Call::new("io_uring_write", OPERATIONS + 1, Class::Write),
    Call::new("io_uring_fsync", OPERATIONS + 2, Class::Sync),
    Call::new("io_uring_file", OPERATIONS + 3, Class::Asynchronous),
    Call::new("aio_read", OPERATIONS + 4, Class::Read),
    Call::new("aio_write", OPERATIONS + 5, Class::Write),
    Call::new("aio_fsync", OPERATIONS + 6, Class::Sync),
    // A page that a program touched in a mapping: its offset in the file; flags 1 for a write that goes
    // to the file. The duration is the time asleep for the page, unknown when it did not sleep.
    Call::new("page_fault", PAGE_FAULT, Class::Other),
    Call::new("mremap", 25, Class::Other).length(2).flags(3),
    // Of a mapped file alone; the offset is that in the file.
    Call::new("madvise", 28, Class::Other).length(1).flags(2),
    // The request FICLONE of ioctl, which shares the blocks of a whole file with another one. No other
    // request of ioctl is in a trace.
    Call::new("ioctl_ficlone", 16, Class::Change).fd(2).to_fd(0),
    // Of Linux 6.13; the length of a value is in a structure of the program.
    Call::new("setxattrat", 463, Class::Change).path_at(0, 1).attribute(3).flags(2),
    Call::new("getxattrat", 464, Class::Stat).path_at(0, 1).attribute(3).flags(2),
    Call::new("listxattrat", 465, Class::Stat).path_at(0, 1).length(4).flags(2),
    Call::new("removexattrat", 466, Class::Change).path_at(0, 1).attribute(3).flags(2),
    // Of Linux 6.17: flags of an inode.
    Call::new("file_getattr", 468, Class::Stat).path_at(0, 1).flags(4),
    Call::new("file_setattr", 469, Class::Change).path_at(0, 1).flags(4),
];

#[cfg(test)]
mod tests;
