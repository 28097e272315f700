//! Scripted traces for tests.

use crate::error::ReplayError;
use crate::plan::Plan;
use crate::planner::{Choice, plan};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::{self, Meta};
use seekwell_trace::{
    Content, Event, FileEntry, FileId, InitialEntry, Limits, ProcessEntry, Trace, TraceWriter,
};
use std::collections::HashMap;
use tempfile::TempDir;

pub(crate) const DIRECTORY: u32 = libc::S_IFDIR | 0o755;
pub(crate) const REGULAR: u32 = libc::S_IFREG | 0o640;

impl Plan {
    /// The path with this number, as threads of the replay see it.
    pub(crate) fn path(&self, number: u64) -> Option<&str> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.paths.get(at)?.to_str().ok()
    }
}

/// A trace that is written call by call; each takes 1000 ns and begins 2000 ns after the last one.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) files: Vec<FileEntry>,
    pub(crate) named: HashMap<String, FileId>,
    pub(crate) events: Vec<Event>,
    pub(crate) processes: Vec<ProcessEntry>,
    pub(crate) now_ns: u64,
    /// The walked tree; its first entry is the root.
    pub(crate) initial: Vec<InitialEntry>,
    /// True when page faults were recorded.
    pub(crate) faults: bool,
    /// What the recording lost.
    pub(crate) lost: Vec<meta::Lost>,
}

impl Script {
    /// Number of the file at a path.
    pub(crate) fn file(&mut self, path: &str) -> FileId {
        if let Some(id) = self.named.get(path) {
            return *id;
        }
        let id = FileId(u32::try_from(self.files.len()).unwrap());
        self.named.insert(path.to_owned(), id);
        let path = Some(path.to_owned());
        self.files.push(FileEntry { id, path, device: None, inode: None, mode: None, bytes: None });
        id
    }

    /// A file with a known mode and size.
    pub(crate) fn known(&mut self, path: &str, mode: u32, bytes: u64) -> FileId {
        let id = self.file(path);
        let entry = &mut self.files[id.0 as usize];
        (entry.mode, entry.bytes) = (Some(mode), Some(bytes));
        id
    }

    /// A file of the walked tree: 4096 bytes allocated, of user 7 and group 8.
    pub(crate) fn walked(&mut self, path: &str, mode: u32, bytes: u64) -> &mut InitialEntry {
        self.initial.push(InitialEntry {
            path: path.to_owned(),
            device: Some(1),
            inode: Some(self.initial.len() as u64),
            mode,
            owner: Some(7),
            group: Some(8),
            bytes,
            allocated_bytes: 4096,
            content: Some(Content::Random),
            birth_ms: None,
            target: None,
            attributes: Vec::new(),
            data: Vec::new(),
        });
        self.initial.last_mut().unwrap()
    }

    /// The next call of a process with one thread.
    pub(crate) fn call(&mut self, process: u32, name: &str, result: i64) -> &mut Event {
        let call = CallId::named(name).unwrap();
        let mut event = Event::new(self.now_ns, process, process, call);
        event.duration_ns = Some(1000);
        event.result = Some(result);
        self.now_ns += 2000;
        self.events.push(event);
        self.events.last_mut().unwrap()
    }

    /// A call on the file at a path.
    pub(crate) fn at(&mut self, process: u32, name: &str, path: &str, result: i64) -> &mut Event {
        let file = self.file(path);
        let event = self.call(process, name, result);
        event.file = Some(file);
        event
    }

    /// An opening.
    pub(crate) fn open(&mut self, process: u32, path: &str, flags: i32, fd: i32) -> &mut Event {
        let event = self.at(process, "openat", path, fd.into());
        event.fd = (fd >= 0).then_some(fd);
        event.flags = Some(u64::try_from(flags).unwrap());
        event
    }

    /// A call on a descriptor of the file at a path.
    pub(crate) fn on(
        &mut self,
        process: u32,
        name: &str,
        (fd, path): (i32, &str),
        result: i64,
    ) -> &mut Event {
        let event = self.at(process, name, path, result);
        event.fd = Some(fd);
        event
    }

    /// A file without a name that gets data, a link to it through this path, and a new file in its place.
    pub(crate) fn nameless(from: &str, flags: i32) -> Self {
        let mut script = Self::default();
        script.known("/w", DIRECTORY, 4096);
        script.known("/w/#17", REGULAR, 0);
        script.open(1, "/w/#17", libc::O_TMPFILE | libc::O_RDWR, 5);
        let write = script.on(1, "write", (5, "/w/#17"), 9);
        (write.offset, write.length) = (Some(0), Some(9));
        let to = script.file("/w/final");
        let link = script.at(1, "linkat", from, 0);
        (link.to_file, link.flags) = (Some(to), Some(u64::try_from(flags).unwrap()));
        script.on(1, "close", (5, "/w/#17"), 0);
        script.at(1, "newfstatat", "/w/final", 0);
        script.at(1, "unlink", "/w/final", 0);
        script.open(1, "/w/final", libc::O_CREAT | libc::O_EXCL, 5);
        script
    }

    pub(crate) fn write(&self) -> (TempDir, Trace) {
        let folder = tempfile::tempdir().unwrap();
        let mut meta = Meta { faults: self.faults, lost: self.lost.clone(), ..Meta::new("script") };
        let root = self.initial.first().map(|entry| entry.path.clone());
        meta.initial = root.into_iter().map(|root| meta::Tree { root, complete: true }).collect();
        let path = folder.path().join("trace");
        let mut writer = TraceWriter::create(&path, &meta, Limits::default()).unwrap();
        self.files.iter().for_each(|file| writer.file(file.clone()));
        self.processes.iter().for_each(|process| writer.process(process.clone()));
        self.initial.iter().for_each(|entry| writer.initial(entry.clone()).unwrap());
        self.events.iter().for_each(|event| writer.event(*event).unwrap());
        writer.finish(&meta).unwrap();
        let trace = Trace::open(&path).unwrap();
        (folder, trace)
    }

    pub(crate) fn plan(&self, choice: &Choice) -> Result<Plan, ReplayError> {
        let (_folder, trace) = self.write();
        plan(&trace, choice)
    }
}
