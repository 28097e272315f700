//! The calls that the engine makes, and which of them a recorded call becomes.

use seekwell_trace::calls::CALLS;

macro_rules! actions {
    ($($(#[$mark:meta])? $name:ident $doc:literal $($call:literal)*;)*) => {
        /// Call of the engine.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Action { $(#[doc = $doc] $(#[$mark])? $name),* }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The action for a call of the trace's catalogue.
            fn named(call: &str) -> Self {
                match call {
                    $($($call)|* => Self::$name,)*
                    _ => Self::Order,
                }
            }
        }
    };
}

actions! {
    #[default] Order "No call: keeps the order of others." "no call";
    Skip "Not reproduced." "no skip";
    Open "Opens a file." "open" "openat" "openat2" "creat";
    Close "Closes a descriptor." "close";
    CloseRange "Closes descriptors from one to another." "close_range";
    Duplicate "Copies a descriptor." "dup" "dup2" "dup3";
    Control "Copies a descriptor, locks or asks." "fcntl";
    Read "Reads at the file's position." "read" "readv";
    ReadAt "Reads at an offset." "pread64" "preadv" "preadv2" "io_uring_read" "aio_read";
    Write "Writes at the file's position." "write" "writev";
    WriteAt "Writes at an offset." "pwrite64" "pwritev" "pwritev2" "io_uring_write" "aio_write";
    Send "Copies between descriptors." "sendfile" "splice" "copy_file_range";
    CloneFile "Shares the blocks of a file with another one." "ioctl_ficlone";
    Seek "Sets the file's position." "lseek";
    Sync "Syncs a file." "fsync" "io_uring_fsync" "aio_fsync";
    SyncData "Syncs the data of a file." "fdatasync";
    SyncFilesystem "Syncs the filesystem of a file." "syncfs";
    SyncRange "Syncs a range of a file." "sync_file_range";
    Allocate "Allocates or frees ranges of a file." "fallocate";
    SetSize "Sets the size of an open file." "ftruncate";
    SetSizeOf "Sets the size of the file at a path." "truncate";
    Advise "Announces reads." "fadvise64";
    ReadAhead "Reads ahead." "readahead";
    Map "Maps a file and reads the mapping's pages." "mmap";
    Lock "Locks a whole file." "flock";
    LockRecord "Locks a range of a file." "no lock";
    Status "Attributes of an open file." "fstat";
    StatusOf "Attributes of the file at a path." "stat" "newfstatat" "statx";
    StatusOfLink "Attributes of the link at a path." "lstat";
    SystemStatus "Attributes of the filesystem of an open file." "fstatfs";
    SystemStatusOf "Attributes of the filesystem at a path." "statfs";
    Access "Asks for permissions." "access" "faccessat" "faccessat2";
    ReadLink "Reads a symbolic link." "readlink" "readlinkat";
    List "Lists a directory." "getdents" "getdents64";
    MakeDirectory "Makes a directory." "mkdir" "mkdirat";
    RemoveDirectory "Removes a directory." "rmdir";
    Unlink "Removes a name." "unlink" "unlinkat";
    Rename "Renames." "rename" "renameat" "renameat2";
    Link "Adds a name." "link" "linkat";
    LinkOpen "Gives an open file a name." "no link";
    Arrive "Makes the file that comes from outside of the folder, in place of the one there." "no arrival";
    MakeLink "Makes a symbolic link." "symlink" "symlinkat";
    MakeFile "Makes a regular file." "mknod" "mknodat";
    SetMode "Sets permissions of an open file." "fchmod";
    SetModeOf "Sets permissions at a path." "chmod" "fchmodat" "fchmodat2";
    SetOwner "Sets the owner of an open file." "fchown";
    SetOwnerOf "Sets the owner at a path." "chown" "fchownat";
    SetOwnerOfLink "Sets the owner of a link." "lchown";
    SetTimesOf "Sets times at a path." "utime" "utimes" "utimensat" "futimesat";
    GetAttribute "Asks for an extended attribute." "getxattr" "lgetxattr";
    GetAttributeOpen "Asks an open file for an extended attribute." "fgetxattr";
    ListAttributes "Lists extended attributes at a path." "listxattr" "llistxattr";
    ListAttributesOpen "Lists extended attributes of an open file." "flistxattr";
    SetAttribute "Sets an extended attribute." "setxattr" "lsetxattr";
    SetAttributeOpen "Sets an extended attribute of an open file." "fsetxattr";
    RemoveAttribute "Removes an extended attribute." "removexattr" "lremovexattr";
    RemoveAttributeOpen "Removes an extended attribute of an open file." "fremovexattr";
    Machine "Syncs the whole machine." "sync";
    Asynchronous "Asynchronous I/O." "io_setup" "io_destroy" "io_getevents" "io_pgetevents" "io_submit" "io_cancel" "io_uring_setup" "io_uring_enter" "io_uring_register" "io_uring_file";
    Memory "Mappings by address." "munmap" "mremap";
    AdviseMemory "Announces reads of a mapping, known by its address." "madvise";
    SyncMemory "Syncs a mapping, known by its address." "msync";
    Fork "Makes a process or a thread." "clone" "clone3" "fork" "vfork";
    Execute "Starts a program." "execve" "execveat";
    Directory "Changes the working directory." "chdir" "fchdir";
    Attach "Maps a file, whose pages the trace tells one by one." "no attach";
    Touch "Reads or writes to a page of a mapped file." "page_fault";
    Partly "A call with arguments in a structure, which no trace holds." "setxattrat" "getxattrat" "listxattrat" "removexattrat" "file_getattr" "file_setattr";
}

impl Action {
    /// Actions of the calls of the trace's catalogue, in its order.
    pub(crate) fn of_calls() -> Vec<Self> {
        CALLS.iter().map(|call| Self::named(call.name)).collect()
    }

    /// The action with this number.
    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests;
