//! Processes as `/proc` shows them, and paths.

use crate::mappings::Mappings;
use seekwell_trace::FileId;
use seekwell_trace::fast::FastMap;

/// A traced process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    pub(crate) name: Option<String>,
    pub(crate) parent: Option<u32>,
    pub(crate) directory: Option<String>,
    pub(crate) descriptors: FastMap<i32, Descriptor>,
    pub(crate) mappings: Mappings,
}

/// An open descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    pub(crate) file: Option<FileId>,
    pub(crate) close_on_exec: bool,
}

/// A process that runs already.
pub(crate) struct Seen {
    pub(crate) name: Option<String>,
    pub(crate) directory: Option<String>,
    pub(crate) descriptors: Vec<OpenNow>,
    pub(crate) mapped: Vec<MappedNow>,
}

/// A file's mapping of a process that runs already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedNow {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) offset: u64,
    pub(crate) is_shared: bool,
    pub(crate) path: String,
}

/// A descriptor of a process that runs already.
pub(crate) struct OpenNow {
    pub(crate) fd: i32,
    pub(crate) path: String,
    pub(crate) close_on_exec: bool,
}

fn link(path: &str) -> Option<String> {
    std::fs::read_link(path).ok().map(|target| target.to_string_lossy().into_owned())
}

/// The process as it is now; what has ended already has nothing.
pub(crate) fn seen(process: u32) -> Seen {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok();
    let folder = format!("/proc/{process}/fd");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let descriptors = entries.filter_map(|entry| {
        let fd: i32 = entry.file_name().to_str()?.parse().ok()?;
        let path = link(&format!("{folder}/{fd}"))?;
        Some(OpenNow { fd, path, close_on_exec: closes_on_exec(process, fd) })
    });
    Seen {
        name: name.map(|name| name.trim_end().to_owned()),
        directory: link(&format!("/proc/{process}/cwd")),
        descriptors: descriptors.collect(),
        mapped: mapped(process),
    }
}

/// Mappings of files, in the order of their addresses.
pub(crate) fn mapped(process: u32) -> Vec<MappedNow> {
    let text = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    text.lines().filter_map(mapped_line).collect()
}

/// A line of `/proc/PID/maps`; `None` for memory without a file.
fn mapped_line(line: &str) -> Option<MappedNow> {
    let mut words = line.splitn(6, ' ');
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let path = words.nth(2)?.trim_start();
    let (start, end) = range.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    // Devices and anonymous memory that has a name are no files with pages of their own.
    const ELSEWHERE: [&str; 3] = ["/dev/", "/memfd:", "/SYSV"];
    let is_file = path.starts_with('/') && !ELSEWHERE.iter().any(|start| path.starts_with(start));
    is_file.then_some(MappedNow {
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(offset)?,
        is_shared: rights.ends_with('s'),
        path: path.to_owned(),
    })
}

fn closes_on_exec(process: u32, fd: i32) -> bool {
    const O_CLOEXEC: u64 = 0o2_000_000;
    let text = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & O_CLOEXEC != 0)
}

/// The process of a thread; `None` when it has ended.
pub(crate) fn process_of(thread: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Path of a descriptor as the kernel shows it now.
pub(crate) fn descriptor(process: u32, fd: i32) -> Option<String> {
    link(&format!("/proc/{process}/fd/{fd}"))
}

/// Numbers that are the names of a folder's entries.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Threads of a process; none when it has ended.
pub(crate) fn threads(process: u32) -> Vec<u32> {
    numbers(&format!("/proc/{process}/task"))
}

/// Every process that is no thread of the kernel.
pub(crate) fn programs() -> Vec<u32> {
    numbers("/proc").into_iter().filter(|process| !is_of_kernel(*process)).collect()
}

/// True for a thread of the kernel, which makes no system calls.
pub(crate) fn is_of_kernel(process: u32) -> bool {
    const PF_KTHREAD: u32 = 0x0020_0000;
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name is in brackets, and may hold any of them.
    let flags = text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6));
    flags.and_then(|flags| flags.parse::<u32>().ok()).is_some_and(|flags| flags & PF_KTHREAD != 0)
}

/// Threads of a process and of its descendants, each with its process.
pub(crate) fn family(process: u32) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut left = vec![process];
    while let Some(process) = left.pop() {
        for thread in threads(process) {
            found.push((process, thread));
            let children =
                std::fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
            let children = children.unwrap_or_default();
            left.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    found
}

/// File type of what is no file: the kernel shows `pipe:[1]` and `socket:[1]`.
pub(crate) fn mode_of(path: &str) -> Option<u32> {
    [("pipe:", 0o010_000), ("socket:", 0o140_000), ("anon_inode:", 0o140_000)]
        .into_iter()
        .find(|(prefix, _)| path.starts_with(prefix))
        .map(|(_, mode)| mode)
}

#[cfg(test)]
mod tests;
