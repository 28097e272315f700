//! Constants of the kernel's interface on `x86_64` by the names that strace prints.

/// Error numbers of `include/uapi/asm-generic/errno-base.h`, from 1 on.
const ERRORS: [&str; 40] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
    "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV",
    "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC",
    "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK",
    "ENOSYS", "ENOTEMPTY", "ELOOP",
];

/// Those of `errno.h` that calls on files return.
const MORE_ERRORS: [(&str, i64); 16] = [
    ("ENODATA", 61),
    ("ETIME", 62),
    ("ENOLINK", 67),
    ("EPROTO", 71),
    ("EOVERFLOW", 75),
    ("EUSERS", 87),
    ("EOPNOTSUPP", 95),
    ("ECONNRESET", 104),
    ("ENOTCONN", 107),
    ("ETIMEDOUT", 110),
    ("ESTALE", 116),
    ("EDQUOT", 122),
    ("ECANCELED", 125),
    ("ERESTARTSYS", 512),
    ("ERESTARTNOINTR", 513),
    ("ERESTART_RESTARTBLOCK", 516),
];

/// Flags and commands.
const FLAGS: [(&str, u64); 104] = [
    ("O_RDONLY", 0),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_CREAT", 0o100),
    ("O_EXCL", 0o200),
    ("O_NOCTTY", 0o400),
    ("O_TRUNC", 0o1000),
    ("O_APPEND", 0o2000),
    ("O_NONBLOCK", 0o4000),
    ("O_DSYNC", 0o10_000),
    ("O_DIRECT", 0o40_000),
    ("O_LARGEFILE", 0o100_000),
    ("O_DIRECTORY", 0o200_000),
    ("O_NOFOLLOW", 0o400_000),
    ("O_NOATIME", 0o1_000_000),
    ("O_CLOEXEC", 0o2_000_000),
    ("O_SYNC", 0o4_010_000),
    ("O_PATH", 0o10_000_000),
    ("O_TMPFILE", 0o20_200_000),
    ("FASYNC", 0o20_000),
    ("F_DUPFD", 0),
    ("F_GETFD", 1),
    ("F_SETFD", 2),
    ("F_GETFL", 3),
    ("F_SETFL", 4),
    ("F_GETLK", 5),
    ("F_SETLK", 6),
    ("F_SETLKW", 7),
    ("F_OFD_GETLK", 36),
    ("F_OFD_SETLK", 37),
    ("F_OFD_SETLKW", 38),
    ("F_DUPFD_CLOEXEC", 1030),
    ("F_GETPIPE_SZ", 1032),
    ("F_ADD_SEALS", 1033),
    ("F_GET_RW_HINT", 1035),
    ("F_SET_RW_HINT", 1036),
    ("SEEK_SET", 0),
    ("SEEK_CUR", 1),
    ("SEEK_END", 2),
    ("SEEK_DATA", 3),
    ("SEEK_HOLE", 4),
    ("F_OK", 0),
    ("X_OK", 1),
    ("W_OK", 2),
    ("R_OK", 4),
    ("MAP_SHARED", 1),
    ("MAP_PRIVATE", 2),
    ("MAP_SHARED_VALIDATE", 3),
    ("MAP_FIXED", 0x10),
    ("MAP_ANONYMOUS", 0x20),
    ("MAP_DENYWRITE", 0x800),
    ("MAP_LOCKED", 0x2000),
    ("MAP_NORESERVE", 0x4000),
    ("MAP_POPULATE", 0x8000),
    ("MAP_STACK", 0x20000),
    ("MAP_FIXED_NOREPLACE", 0x0010_0000),
    ("MS_ASYNC", 1),
    ("MS_INVALIDATE", 2),
    ("MS_SYNC", 4),
    ("AT_SYMLINK_NOFOLLOW", 0x100),
    ("AT_REMOVEDIR", 0x200),
    ("AT_EACCESS", 0x200),
    ("AT_SYMLINK_FOLLOW", 0x400),
    ("AT_NO_AUTOMOUNT", 0x800),
    ("AT_EMPTY_PATH", 0x1000),
    ("AT_STATX_SYNC_AS_STAT", 0),
    ("AT_STATX_FORCE_SYNC", 0x2000),
    ("AT_STATX_DONT_SYNC", 0x4000),
    ("FALLOC_FL_KEEP_SIZE", 1),
    ("FALLOC_FL_PUNCH_HOLE", 2),
    ("FALLOC_FL_COLLAPSE_RANGE", 8),
    ("FALLOC_FL_ZERO_RANGE", 16),
    ("FALLOC_FL_INSERT_RANGE", 32),
    ("FALLOC_FL_UNSHARE_RANGE", 64),
    ("RWF_HIPRI", 1),
    ("RWF_DSYNC", 2),
    ("RWF_SYNC", 4),
    ("RWF_NOWAIT", 8),
    ("RWF_APPEND", 16),
    ("LOCK_SH", 1),
    ("LOCK_EX", 2),
    ("LOCK_NB", 4),
    ("LOCK_UN", 8),
    ("RENAME_NOREPLACE", 1),
    ("RENAME_EXCHANGE", 2),
    ("RENAME_WHITEOUT", 4),
    ("POSIX_FADV_NORMAL", 0),
    ("POSIX_FADV_RANDOM", 1),
    ("POSIX_FADV_SEQUENTIAL", 2),
    ("POSIX_FADV_WILLNEED", 3),
    ("POSIX_FADV_DONTNEED", 4),
    ("POSIX_FADV_NOREUSE", 5),
    ("SYNC_FILE_RANGE_WAIT_BEFORE", 1),
    ("SYNC_FILE_RANGE_WRITE", 2),
    ("SYNC_FILE_RANGE_WAIT_AFTER", 4),
    ("SPLICE_F_MOVE", 1),
    ("SPLICE_F_NONBLOCK", 2),
    ("SPLICE_F_MORE", 4),
    ("XATTR_CREATE", 1),
    ("XATTR_REPLACE", 2),
    ("CLOSE_RANGE_UNSHARE", 2),
    ("CLOSE_RANGE_CLOEXEC", 4),
    ("S_IFREG", 0o100_000),
    ("S_IFIFO", 0o10_000),
];

/// `CLONE_THREAD` as strace prints it.
pub(super) const CLONE_THREAD: &str = "CLONE_THREAD";

/// The number of an error.
pub(super) fn error(name: &str) -> Option<i64> {
    let base = (1_i64..).zip(ERRORS).find(|(_, known)| *known == name).map(|(number, _)| number);
    base.or_else(|| MORE_ERRORS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number))
        .or_else(|| (name == "EWOULDBLOCK").then_some(11))
}

/// The number of flags such as `O_RDWR|O_CREAT`, `0x42` or `0644`; `None` when one is not known.
pub(super) fn flags(text: &str) -> Option<u64> {
    let parts = text.split('|').map(|part| {
        let part = part.trim();
        number(part).or_else(|| FLAGS.iter().find(|(name, _)| *name == part).map(|(_, bits)| *bits))
    });
    parts.sum()
}

/// A number as strace prints it: decimal, `0x…` or octal with a leading 0. Negative ones are those of
/// the register.
pub(super) fn number(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        return u64::from_str_radix(digits, 8).ok();
    }
    text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
}
