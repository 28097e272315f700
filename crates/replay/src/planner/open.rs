//! Calls that open, copy and close descriptors.

use super::Planner;
use super::calls::{Planned, Unplanned};
use super::descriptors::{HandleId, Target};
use super::draft::Draft;
use super::names::is;
use super::tree::{Kind, Named, NodeId, Place};
use crate::action::Action;
use crate::error::ReplayError;
use crate::order::Use;
use crate::plan::Reason;
use seekwell_trace::{Event, FileId};

const O_ACCMODE: u64 = 3;
const O_RDWR: u64 = 2;
const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_TRUNC: u64 = 0o1000;
const O_APPEND: u64 = 0o2000;
const O_NONBLOCK: u64 = 0o4000;
const O_DIRECTORY: u64 = 0o200_000;
const O_CLOEXEC: u64 = 0o2_000_000;
const O_TMPFILE: u64 = 0o20_000_000;

/// Permissions of files whose mode the trace does not tell.
const MODE: u64 = 0o644;

impl Planner {
    /// The handle of a call's descriptor. A descriptor that was open before the trace began is opened
    /// just before the call.
    pub(super) fn handle(
        &mut self,
        event: &Event,
        draft: &mut Draft,
    ) -> Result<HandleId, Unplanned> {
        let fd = event.fd.filter(|fd| *fd >= 0).ok_or(Reason::UnknownFile)?;
        let known = self.handles.find(event.process, fd);
        let reason = self.files.path(event.file).err();
        match (known, reason) {
            // A call that the trace does not hold may have replaced the file by a pipe or the like.
            (_, Some(reason @ (Reason::NotAFile | Reason::Outside))) => Err(reason.into()),
            (Some((Target::Handle(id), _)), _) => Ok(id),
            (Some((Target::Other, file)), _) if file == event.file || event.file.is_none() => {
                Err(Reason::NotAFile.into())
            }
            (_, Some(reason)) => Err(reason.into()),
            (_, None) => self.open_before(event, fd, draft),
        }
    }

    /// Puts the opening of a file before its first use.
    pub(super) fn open_before(
        &mut self,
        event: &Event,
        fd: i32,
        draft: &mut Draft,
    ) -> Result<HandleId, Unplanned> {
        let mut opening = Draft::new(event, Action::Open, draft.me.lane, draft.me.number);
        opening.operation.added = true;
        // Also before a call that failed.
        opening.operation.expected = 0;
        opening.needs.append(&mut draft.needs);
        // It begins when its call does and takes no time of its own.
        opening.me.end_ns = event.start_ns;
        let is_directory = matches!(self.actions[usize::from(event.call.0)], Action::List);
        opening.operation.flags = if is_directory { O_DIRECTORY } else { O_RDWR };
        opening.operation.mode = MODE;
        opening.operation.offset = match event.call.call().positioned {
            true => event.offset.unwrap_or(0),
            false => 0,
        };
        let Some(place) = self.place(event.file, true, &mut opening) else {
            return Err(draft.instead_of(opening, Reason::UnknownFile).into());
        };
        let kind = if is_directory { Kind::Directory } else { Kind::File };
        let node = self.existing(place, event.file, kind);
        if self.tree.node(node).kind == Kind::Directory {
            opening.operation.flags = O_DIRECTORY;
        }
        self.tree.look(place, opening.me, &mut opening.needs);
        let id = match self.new_handle(node, event.file, false, None, &mut opening) {
            Ok(id) => id,
            Err(reason) => return Err(draft.instead_of(opening, reason).into()),
        };
        self.handles.share(id);
        self.set(event, fd, Target::Handle(id), false);
        opening.operation.path = self.files.path(event.file).map_or(0, |(number, _)| number);
        self.emit(opening)?;
        // The call comes after it in the lane.
        draft.me.number = self.lanes[draft.me.lane as usize].count + 1;
        Ok(id)
    }

    fn new_handle(
        &mut self,
        node: NodeId,
        file: Option<FileId>,
        appends: bool,
        of: Option<usize>,
        draft: &mut Draft,
    ) -> Result<HandleId, Reason> {
        let most = self.limits.open;
        let id = self.handles.new_handle(of, draft.me.lane, most, &mut draft.needs);
        let id = id.ok_or(Reason::TooManyOpen)?;
        if of.is_none() {
            let open = self.handles.open_file(id);
            (open.node, open.file, open.appends) = (node, file, appends);
            draft.uses(&mut open.position, Use::Alone);
        }
        let handle = self.handles.handle(id);
        draft.uses(&mut handle.order, Use::Alone);
        draft.operation.slot = handle.slot;
        Ok(id)
    }

    /// The place of a file's path.
    pub(super) fn place(
        &mut self,
        file: Option<FileId>,
        sure: bool,
        draft: &mut Draft,
    ) -> Option<Place> {
        let (_, path) = self.files.path(file).ok()?;
        let parts = self.tree.parts(path);
        draft.used = true;
        self.tree.walk(&parts, sure, draft.me, &mut draft.needs)
    }

    /// The file at a place where a call's result shows that there is one.
    pub(super) fn existing(&mut self, place: Place, file: Option<FileId>, kind: Kind) -> NodeId {
        let entry = file.and_then(|file| self.files.entry(file)).cloned();
        let id = match self.tree.state(place) {
            Named::File(id) => id,
            Named::Nothing => {
                self.tree.contradictions += 1;
                self.tree.made(place, kind.clone(), None)
            }
            Named::Unknown => {
                let bytes = entry.as_ref().and_then(|entry| entry.bytes);
                let mode = entry.as_ref().and_then(|entry| entry.mode);
                let told = match mode.map(|mode| mode & libc::S_IFMT) {
                    Some(libc::S_IFDIR) => Kind::Directory,
                    Some(libc::S_IFREG) => Kind::File,
                    _ => Kind::Unknown,
                };
                let is_file = told == Kind::File;
                let first = bytes.filter(|_| is_file).unwrap_or(0);
                let id = self.tree.found(place, told, mode.map(|mode| mode & 0o1777), first);
                self.tree.node(id).bytes_known = is_file && bytes.is_some();
                id
            }
        };
        let node = self.tree.node(id);
        if node.kind == Kind::Unknown && kind != Kind::Unknown {
            node.kind = kind;
        }
        id
    }

    /// Plans an opening.
    pub(super) fn open(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let flags = match event.call.call().name {
            "creat" => O_CREAT | O_TRUNC | 1,
            _ => event.flags.unwrap_or_else(|| self.likely_flags(event)),
        };
        let number = match self.files.path(event.file) {
            Ok((number, _)) => number,
            Err(reason) => {
                self.opened_elsewhere(event, flags);
                return Err(reason.into());
            }
        };
        draft.operation.path = number;
        // A replay has no terminal and no FIFO, and descriptors are closed one by one.
        draft.operation.flags = flags & !(O_CLOEXEC | O_NONBLOCK);
        let entry = event.file.and_then(|file| self.files.entry(file));
        let mode = entry.and_then(|entry| entry.mode).map_or(MODE, u64::from);
        draft.operation.mode = self.permissions(mode);
        (draft.operation.offset, draft.operation.length) = (0, 0);
        if event.failed() {
            self.open_failed(event, flags, draft);
            return Ok(());
        }
        let node = self.open_name(event, flags, draft)?;
        let id = self.new_handle(node, event.file, flags & O_APPEND != 0, None, draft)?;
        self.handles.open_file(id).is_both = flags & O_ACCMODE == O_RDWR;
        self.handles.share(id);
        if let Some(fd) = event.result.and_then(|fd| i32::try_from(fd).ok()) {
            self.set(event, fd, Target::Handle(id), flags & O_CLOEXEC != 0);
        }
        Ok(())
    }

    /// Flags of an openat2, whose trace does not hold them.
    fn likely_flags(&self, event: &Event) -> u64 {
        let entry = event.file.and_then(|file| self.files.entry(file));
        match entry.and_then(|entry| entry.mode).map(|mode| mode & libc::S_IFMT) {
            Some(libc::S_IFDIR) => O_DIRECTORY,
            Some(libc::S_IFREG) if !event.failed() => O_RDWR | O_CREAT,
            _ => 0,
        }
    }

    /// A descriptor of something that is not reproduced.
    fn opened_elsewhere(&mut self, event: &Event, flags: u64) {
        let fd = event.result.filter(|fd| *fd >= 0).and_then(|fd| i32::try_from(fd).ok());
        let Some(fd) = fd else { return };
        self.set(event, fd, Target::Other, flags & O_CLOEXEC != 0);
    }

    /// Uses of names by an opening that failed.
    fn open_failed(&mut self, event: &Event, flags: u64, draft: &mut Draft) {
        let exists = is(event, libc::EEXIST) || is(event, libc::EISDIR);
        let no_directory = is(event, libc::ENOTDIR);
        if no_directory && flags & O_DIRECTORY == 0 {
            self.way_is_blocked(event.file, draft);
        } else if let Some(place) = self.place(event.file, exists, draft) {
            if exists || no_directory {
                let kind = match (is(event, libc::EISDIR), no_directory) {
                    (true, _) => Kind::Directory,
                    (_, true) => Kind::File,
                    _ => Kind::Unknown,
                };
                self.existing(place, event.file, kind);
            }
            if is(event, libc::ENOENT) && flags & O_CREAT == 0 {
                self.absent(place);
            }
            self.tree.look(place, draft.me, &mut draft.needs);
        }
        draft.operation.flags = flags & !(O_CLOEXEC | O_NONBLOCK);
    }

    /// Uses of names by an opening that succeeded; returns its file.
    fn open_name(
        &mut self,
        event: &Event,
        flags: u64,
        draft: &mut Draft,
    ) -> Result<NodeId, Reason> {
        if flags & O_TMPFILE != 0 {
            return self.open_nameless(event, draft);
        }
        let Some(place) = self.place(event.file, true, draft) else {
            return self.open_root(event);
        };
        let entry = event.file.and_then(|file| self.files.entry(file));
        let bytes = entry.and_then(|entry| entry.bytes);
        let creates = flags & O_CREAT != 0;
        let made = creates
            && match self.tree.state(place) {
                Named::File(_) => false,
                Named::Nothing => true,
                // Without a size after the opening, it is taken as new.
                Named::Unknown => {
                    let may_be_new = flags & (O_EXCL | O_TRUNC) != 0;
                    may_be_new || bytes.is_none_or(|b| b == 0) || self.tree.was_absent(place)
                }
            };
        if made {
            self.tree.change(place, draft.me, &mut draft.needs);
            let mode = u32::try_from(draft.operation.mode).ok();
            return Ok(self.tree.made(place, Kind::File, mode));
        }
        self.tree.look(place, draft.me, &mut draft.needs);
        let kind = match flags & O_DIRECTORY != 0 {
            true => Kind::Directory,
            false if flags & O_ACCMODE != 0 => Kind::File,
            false => Kind::Unknown,
        };
        let is_first = self.tree.state(place) == Named::Unknown;
        let node = self.existing(place, event.file, kind);
        if flags & O_TRUNC != 0 {
            // The size that the trace holds is the one after the opening.
            self.tree.node(node).bytes_known &= !is_first;
            self.tree.loses(node);
            let file = self.tree.node(node);
            self.room.free(file.bytes);
            file.bytes = 0;
            draft.uses_as_recorded(&mut file.data, Use::Alone);
        }
        if self.tree.node(node).kind == Kind::Directory {
            draft.operation.flags |= O_DIRECTORY;
        }
        Ok(node)
    }

    /// The opening of the root, which has no place.
    fn open_root(&mut self, event: &Event) -> Result<NodeId, Reason> {
        let (_, path) = self.files.path(event.file)?;
        if path == "/" { Ok(0) } else { Err(Reason::UnknownFile) }
    }

    /// The opening of a file without a name: the trace holds a made-up one in its directory.
    fn open_nameless(&mut self, event: &Event, draft: &mut Draft) -> Result<NodeId, Reason> {
        let (_, path) = self.files.path(event.file)?;
        let above = path.rsplit_once('/').map_or("/", |(above, _)| above);
        let above = if above.is_empty() { "/" } else { above }.to_owned();
        draft.operation.path = self.files.add(&above);
        let place = self.place(event.file, true, draft).ok_or(Reason::UnknownFile)?;
        let mode = u32::try_from(draft.operation.mode).ok();
        let node = self.tree.made(place, Kind::File, mode);
        self.tree.set(place, Named::Nothing);
        Ok(node)
    }

    /// Plans a close.
    pub(super) fn close(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let fd = event.fd.ok_or(Reason::UnknownFile)?;
        if event.failed() {
            return Err(Reason::Process.into());
        }
        let Some(id) = self.handles.take(event.process, fd) else {
            let reason = self.files.path(event.file).err().unwrap_or(Reason::Process);
            self.channel(event, draft);
            let reason = if reason == Reason::UnknownFile { Reason::Process } else { reason };
            return Err(reason.into());
        };
        if !self.handles.release(id) {
            return Err(Reason::Process.into());
        }
        self.close_handle(id, draft);
        Ok(())
    }

    fn close_handle(&mut self, id: HandleId, draft: &mut Draft) {
        let handle = self.handles.handle(id);
        draft.operation.action = Action::Close;
        draft.operation.slot = handle.slot;
        draft.uses(&mut handle.order, Use::Alone);
        let open = self.handles.open_file(id);
        if open.is_locked && open.handles == 1 {
            let locks = &mut self.tree.node(open.node).locks;
            draft.uses_as_recorded(locks, Use::Alone);
        }
        self.handles.closed(id, draft.me);
    }

    /// Gives a descriptor its target, after a call with its file.
    pub(super) fn set(&mut self, event: &Event, fd: i32, target: Target, close_on_exec: bool) {
        let before = self.handles.set(event.process, fd, target, event.file, close_on_exec);
        self.dropped(before);
    }

    /// A handle lost a descriptor; the last one closes it after this call.
    fn dropped(&mut self, before: Option<HandleId>) {
        if let Some(id) = before.filter(|id| self.handles.release(*id)) {
            self.processes.drop_later(id);
        }
    }

    /// A descriptor was closed.
    pub(super) fn drop_descriptor(&mut self, process: u32, fd: i32) {
        let before = self.handles.take(process, fd);
        self.dropped(before);
    }

    /// Closes handles that lost their descriptors, as operations of their own.
    pub(super) fn close_dropped(&mut self, event: &Event, lane: u32) -> Result<(), ReplayError> {
        for id in self.processes.dropped() {
            let number = self.lanes[lane as usize].count + 1;
            let mut draft = Draft::new(event, Action::Close, lane, number);
            draft.adds(Action::Close, draft.me.end_ns);
            self.close_handle(id, &mut draft);
            self.emit(draft)?;
        }
        Ok(())
    }

    /// Plans a copy of a descriptor.
    pub(super) fn duplicate(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let fd = event.result.filter(|fd| *fd >= 0).and_then(|fd| i32::try_from(fd).ok());
        let new = fd.filter(|new| event.fd != Some(*new)).ok_or(Reason::Process)?;
        let exec = match event.call.call().name {
            "dup3" => event.flags.is_some_and(|flags| flags & O_CLOEXEC != 0),
            "fcntl" => event.flags == Some(1030),
            _ => false,
        };
        let id = self.handle(event, draft);
        let id = id.inspect_err(|_| self.set(event, new, Target::Other, exec))?;
        let handle = self.handles.handle(id);
        let (from, open) = (handle.slot, handle.open);
        draft.uses(&mut handle.order, Use::Shared);
        let copy = self.new_handle(0, event.file, false, Some(open), draft)?;
        draft.operation.to_slot = draft.operation.slot;
        draft.operation.slot = from;
        self.handles.share(copy);
        self.set(event, new, Target::Handle(copy), exec);
        Ok(())
    }

    /// Closes a range of descriptors: the trace holds the bounds as offset and length.
    pub(super) fn close_range(&mut self, event: &Event) -> Planned {
        const CLOSE_ON_EXEC: u64 = 4;
        let keeps = event.flags.is_some_and(|flags| flags & CLOSE_ON_EXEC != 0);
        let (Some(first), Some(last)) = (event.offset, event.length) else {
            return Err(Reason::Process.into());
        };
        if !event.failed() && !keeps {
            for fd in self.handles.numbers(event.process, false) {
                if u64::try_from(fd).is_ok_and(|fd| fd >= first && fd <= last) {
                    self.drop_descriptor(event.process, fd);
                }
            }
        }
        Err(Reason::Process.into())
    }

    /// Starts a program: its reading of the file is not reproduced, descriptors are closed.
    pub(super) fn execute(&mut self, event: &Event) -> Planned {
        if !event.failed() {
            for fd in self.handles.numbers(event.process, true) {
                self.drop_descriptor(event.process, fd);
            }
        }
        Err(Reason::Process.into())
    }

    /// The end of a process: its descriptors are closed.
    pub(super) fn close_all(&mut self, event: &Event, lane: u32) -> Result<(), ReplayError> {
        for fd in self.handles.numbers(event.process, false) {
            self.drop_descriptor(event.process, fd);
        }
        self.handles.forget(event.process);
        self.close_dropped(event, lane)
    }

    /// Order of pipes and sockets: who reads waits for those that wrote before.
    pub(super) fn channel(&mut self, event: &Event, draft: &mut Draft) {
        let Some(file) = event.file.filter(|file| self.files.is_channel(*file)) else { return };
        let action = self.actions[usize::from(event.call.0)];
        let writes = matches!(action, Action::Write | Action::Close)
            || (action == Action::Send
                && self.handles.of_file(event.process, Some(file)).is_none());
        let stamps = self.processes.channel(file);
        if writes {
            crate::order::put(stamps, draft.me);
            draft.used = true;
        } else if action == Action::Read {
            draft.needs.extend(stamps.iter().filter(|one| one.end_ns <= draft.me.end_ns));
        }
    }
}
