//! Extended attributes. A trace has their names and lengths: the values are made up.

use crate::action::Action;
use crate::encode::Operation;
use rustix::fd::BorrowedFd;
use rustix::fs::{self, XattrFlags};
use rustix::io::Errno;
use std::ffi::CStr;

/// The attribute that is asked for when a trace does not name the one that was not there.
const NONE: &CStr = c"user.none";
/// Longest value, of `include/uapi/linux/limits.h`.
pub(crate) const LONGEST_VALUE: u64 = 65_536;

/// Kinds of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes of a user's own.
    User,
    /// Access lists, which the kernel reads.
    AccessList,
    /// Those of the system, which decide who may do what: they are not set.
    System,
}

impl Kind {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "system.posix_acl_access" | "system.posix_acl_default" => Self::AccessList,
            _ if name.starts_with("user.") => Self::User,
            _ => Self::System,
        }
    }
}

/// True when one of the two results says that a file has no such attribute, and the other one that its
/// filesystem has none: the kernel's configuration decides that for attributes of the system.
pub(crate) fn is_other(recorded: i64, replayed: i64) -> bool {
    let is_none = |result: i64| {
        [libc::ENODATA, libc::EOPNOTSUPP].iter().any(|one| result == -i64::from(*one))
    };
    is_none(recorded) && is_none(replayed)
}

/// Something with attributes.
#[derive(Clone, Copy)]
pub(crate) enum Holder<'a> {
    /// A path; true when a link at its end is followed.
    Path(&'a CStr, bool),
    /// An open file.
    Open(BorrowedFd<'a>),
}

/// Issues a call on an attribute. `data`, which is set, and `buffer` hold at least [`LONGEST_VALUE`]
/// bytes.
pub(crate) fn perform(
    holder: Holder<'_>,
    name: Option<&CStr>,
    operation: &Operation,
    (data, buffer): (&[u8], &mut [u8]),
) -> Result<i64, Errno> {
    let name = name.unwrap_or(NONE);
    let length = usize::try_from(operation.length.min(LONGEST_VALUE)).unwrap_or(0);
    match operation.action {
        Action::SetAttribute | Action::SetAttributeOpen => {
            let list = match Kind::of(&name.to_string_lossy()) {
                Kind::AccessList => Some(access_list(length, operation.mode)),
                _ => None,
            };
            let value = list.as_deref().unwrap_or(&data[..length]);
            let flags = XattrFlags::from_bits_retain((operation.flags & 3) as u32);
            match holder {
                Holder::Path(path, true) => fs::setxattr(path, name, value, flags),
                Holder::Path(path, false) => fs::lsetxattr(path, name, value, flags),
                Holder::Open(file) => fs::fsetxattr(file, name, value, flags),
            }
            .map(|()| 0)
        }
        Action::RemoveAttribute | Action::RemoveAttributeOpen => match holder {
            Holder::Path(path, true) => fs::removexattr(path, name),
            Holder::Path(path, false) => fs::lremovexattr(path, name),
            Holder::Open(file) => fs::fremovexattr(file, name),
        }
        .map(|()| 0),
        _ => {
            let value = &mut buffer[..length];
            match holder {
                Holder::Path(path, true) => fs::getxattr(path, name, value),
                Holder::Path(path, false) => fs::lgetxattr(path, name, value),
                Holder::Open(file) => fs::fgetxattr(file, name, value),
            }
            .map(|bytes| bytes as i64)
        }
    }
}

/// Gives a file an attribute with a value of this length. A filesystem that has none of its kind goes without.
pub(crate) fn give(
    path: &str,
    name: &str,
    bytes: u32,
    (data, mode): (&[u8], u32),
) -> Result<(), Errno> {
    let length = usize::try_from(u64::from(bytes).min(LONGEST_VALUE)).unwrap_or(0).min(data.len());
    let done = match Kind::of(name) {
        Kind::User => fs::lsetxattr(path, name, &data[..length], XattrFlags::empty()),
        Kind::AccessList => {
            fs::lsetxattr(path, name, &access_list(length, mode.into()), XattrFlags::empty())
        }
        Kind::System => Ok(()),
    };
    match done {
        Err(Errno::OPNOTSUPP | Errno::NOSPC | Errno::PERM | Errno::TOOBIG) => Ok(()),
        done => done,
    }
}

/// An access list of this length with these permissions, in the kernel's form
/// (`include/uapi/linux/posix_acl_xattr.h`): entries beyond the three that every file has name users.
fn access_list(length: usize, mode: u64) -> Vec<u8> {
    const VERSION: u32 = 2;
    const NOBODY: u32 = u32::MAX;
    const OWNER: u16 = 0x01;
    const USER: u16 = 0x02;
    const GROUP: u16 = 0x04;
    const MASK: u16 = 0x10;
    const OTHER: u16 = 0x20;
    let entries = length.saturating_sub(4) / 8;
    let bits = |shift: u32| (mode >> shift & 7) as u16;
    let named = entries.saturating_sub(4) as u32;
    // A list without entries takes the file's list away.
    if entries == 0 {
        return VERSION.to_le_bytes()[..length.min(4)].to_vec();
    }
    let mut list = vec![(OWNER, bits(6), NOBODY)];
    list.extend((1..=named).map(|user| (USER, bits(3), user)));
    list.push((GROUP, bits(3), NOBODY));
    if entries > 3 {
        list.push((MASK, bits(3), NOBODY));
    }
    list.push((OTHER, bits(0), NOBODY));
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, permissions, id) in list {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests;
