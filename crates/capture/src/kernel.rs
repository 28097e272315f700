//! The running kernel as the programs have to know it: offsets of members, and which form of a
//! tracepoint it has.

use crate::btf::Btf;
use crate::error::CaptureError;

/// Members whose offsets the programs read, in the order of `struct at`, each with its place in
/// earlier kernels, if that is another.
const MEMBERS: [(Member, Option<Member>); 36] = [
    (("task_struct", "files"), None),
    (("files_struct", "fdt"), None),
    (("fdtable", "fd"), None),
    (("file", "f_pos"), None),
    (("file", "f_inode"), None),
    (("file", "f_path"), None),
    (("path", "mnt"), None),
    (("path", "dentry"), None),
    (("dentry", "d_parent"), None),
    (("dentry", "d_name"), None),
    (("qstr", "name"), None),
    (("vfsmount", "mnt_root"), None),
    (("mount", "mnt"), None),
    (("mount", "mnt_parent"), None),
    (("mount", "mnt_mountpoint"), None),
    (("inode", "i_ino"), None),
    (("inode", "i_sb"), None),
    (("inode", "i_mode"), None),
    (("inode", "i_size"), None),
    (("super_block", "s_dev"), None),
    (("task_struct", "fs"), None),
    (("fs_struct", "pwd"), None),
    (("task_struct", "pid"), None),
    (("task_struct", "tgid"), None),
    (("task_struct", "comm"), None),
    (("request", "__sector"), None),
    (("request", "cmd_flags"), None),
    (("request", "q"), None),
    // The queue knows its disk since 5.15, the request knew it until 5.16.
    (DISK, Some(DISK_OF_REQUEST)),
    (("gendisk", "major"), None),
    (("gendisk", "first_minor"), None),
    (("linux_binprm", "filename"), None),
    // Since 5.14.
    (("task_struct", "__state"), Some(("task_struct", "state"))),
    (("task_struct", "signal"), None),
    (("signal_struct", "live"), None),
    (("task_struct", "flags"), None),
];
const DISK: Member = ("request_queue", "disk");
const DISK_OF_REQUEST: Member = ("request", "rq_disk");

/// Members for single operations of `io_uring`, in the order of `struct at` after `self`. Kernels
/// without them record the calls alone.
const URING: [Member; 12] = [
    ("io_kiocb", "file"),
    ("io_kiocb", "opcode"),
    ("io_kiocb", "flags"),
    ("io_kiocb", "cqe"),
    ("io_cqe", "fd"),
    ("io_rw", "kiocb"),
    ("kiocb", "ki_pos"),
    ("io_rw", "len"),
    ("io_rw", "flags"),
    ("io_sync", "flags"),
    ("io_uring_cqe", "res"),
    ("io_kiocb", "cmd"),
];
/// Words for the programs of `io_uring`.
const URING_WORDS: usize = 10;
/// Parameters of the tracepoint `io_uring_complete` that has the entry of the completion queue, the
/// type's own first one included.
const WITH_ENTRY: u32 = 4;

/// Tracepoints of page faults; not every architecture has them.
const FAULTS: [&str; 2] = ["page_fault_user", "page_fault_kernel"];

/// Structure and name.
type Member = (&'static str, &'static str);

/// Threads whose calls are recorded, besides those that are chosen one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    Chosen,
    Cgroup,
    System,
}

/// Facts about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Offsets of [`MEMBERS`].
    offsets: Vec<u32>,
    /// The disk of a request is a member of the request.
    pub(crate) disk_in_request: bool,
    /// Section of the program for the tracepoint `block_rq_issue`.
    issues: &'static str,
    /// Section of the program for submissions to `io_uring`, and the words for it.
    uring: Option<(&'static str, [u32; URING_WORDS])>,
    faults: bool,
}

impl Kernel {
    /// Looks up everything in the kernel's types.
    ///
    /// # Errors
    /// When it lacks a member in each of its forms.
    pub(crate) fn of(btf: &Btf<'_>) -> Result<Self, CaptureError> {
        let find = |(structure, member): Member| btf.offset(structure, member);
        let offset = |(member, before): &(Member, Option<Member>)| {
            let found = find(*member).or_else(|| before.and_then(find));
            found.ok_or_else(|| {
                CaptureError::Kernel(format!("member {} of struct {}", member.1, member.0))
            })
        };
        let is_first = btf.takes("btf_trace_block_rq_issue", "request");
        Ok(Self {
            offsets: MEMBERS.iter().map(offset).collect::<Result<_, _>>()?,
            disk_in_request: find(DISK).is_none(),
            issues: if is_first { "block_rq_issue" } else { "block_rq_issue/after_queue" },
            uring: submits(btf).zip(uring(btf)),
            faults: FAULTS.iter().all(|name| btf.typedef(&format!("btf_trace_{name}")).is_some()),
        })
    }

    /// True when single operations of `io_uring` can be recorded.
    pub(crate) fn has_uring(&self) -> bool {
        self.uring.is_some()
    }

    /// True when page faults can be recorded.
    pub(crate) fn has_faults(&self) -> bool {
        self.faults
    }

    /// True when the program of this section, without `tp_btf/`, is for this kernel.
    pub(crate) fn has(&self, section: &str) -> bool {
        match section {
            _ if section.starts_with("block_rq_issue") => section == self.issues,
            _ if section.starts_with("io_uring_submit") => {
                self.uring.is_some_and(|(submits, _)| submits == section)
            }
            _ if section.starts_with("io_uring_") => self.uring.is_some(),
            _ => self.faults || !FAULTS.contains(&section),
        }
    }

    /// Bytes of `struct at`.
    pub(crate) fn constants(&self, select: Select) -> Vec<u8> {
        let select = match select {
            Select::Chosen => 0,
            Select::Cgroup => 1,
            Select::System => 2,
        };
        let mut words = self.offsets.clone();
        words.extend([self.disk_in_request.into(), select, std::process::id()]);
        words.extend(self.uring.map_or([0; URING_WORDS], |(_, words)| words));
        words.into_iter().flat_map(u32::to_ne_bytes).collect()
    }
}

/// The tracepoint with the request that a program submits to `io_uring`: until 6.3 it has another name,
/// and until 5.18 it comes without the request.
fn submits(btf: &Btf<'_>) -> Option<&'static str> {
    ["io_uring_submit_req", "io_uring_submit_sqe"]
        .into_iter()
        .find(|name| btf.takes(&format!("btf_trace_{name}"), "io_kiocb"))
}

/// Words for the programs of `io_uring`; `None` where the kernel lacks something.
fn uring(btf: &Btf<'_>) -> Option<[u32; URING_WORDS]> {
    let form = btf.parameters("btf_trace_io_uring_complete")?;
    let offset = |(structure, member): &Member| btf.offset(structure, member);
    let members: Option<Vec<u32>> = URING.iter().map(offset).collect();
    let &[file, opcode, flags, cqe, fd, kiocb, position, length, rw, sync, result, cmd] =
        members?.as_slice()
    else {
        return None;
    };
    let has_entry = u32::from(form == WITH_ENTRY);
    let of_command = [kiocb + position, length, rw, sync].map(|offset| cmd + offset);
    let [position, length, rw, sync] = of_command;
    Some([file, opcode, flags, cqe + fd, position, length, rw, sync, result, has_entry])
}

#[cfg(test)]
mod tests;
