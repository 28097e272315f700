//! Calls on names: lookups, and those that make, remove and move them.

use super::Planner;
use super::descriptors::HandleId;
use super::draft::Draft;
use super::tree::{Kind, Named, NodeId, Place};
use crate::action::Action;
use crate::links;
use crate::order::Use;
use crate::plan::Reason;
use seekwell_trace::{Event, FileId};

const AT_EMPTY_PATH: u64 = 0x1000;
const RENAME_NOREPLACE: u64 = 1;
const RENAME_EXCHANGE: u64 = 2;

/// True when the call ended with this error.
pub(super) fn is(event: &Event, error: i32) -> bool {
    event.result == Some(-i64::from(error))
}

/// Errors that show that the directories of the path exist.
fn way_exists(event: &Event) -> bool {
    let shown = [libc::EEXIST, libc::ENOTEMPTY, libc::EISDIR, libc::EBUSY, libc::ENODATA];
    !event.failed() || shown.iter().any(|error| is(event, *error))
}

/// True when the call's result shows that its file exists.
fn exists(event: &Event) -> bool {
    let shown = [libc::EEXIST, libc::ENOTEMPTY, libc::EISDIR, libc::ENODATA, libc::EINVAL];
    event.result.is_some_and(|result| result >= 0) || shown.iter().any(|error| is(event, *error))
}

impl Planner {
    /// Calls that look a path up.
    pub(super) fn path(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Reason> {
        let (number, path) = self.files.path(event.file)?;
        let is_root = path == "/";
        draft.operation.path = number;
        let action = draft.operation.action;
        if action == Action::SetModeOf {
            draft.operation.flags = self.permissions(draft.operation.flags);
        }
        if is_root {
            return Ok(());
        }
        if is(event, libc::ENOTDIR) {
            self.way_is_blocked(event.file, draft);
            return Ok(());
        }
        let Some(place) = self.place(event.file, way_exists(event), draft) else {
            return Ok(());
        };
        self.tree.look(place, draft.me, &mut draft.needs);
        if !exists(event) {
            if is(event, libc::ENOENT) {
                self.absent(place);
            }
            return Ok(());
        }
        let is_link = action == Action::ReadLink && !event.failed();
        let id = self.existing(place, event.file, Kind::Unknown);
        if action == Action::SetSizeOf && !event.failed() {
            self.tree.loses(id);
        }
        let node = self.tree.node(id);
        if is_link && node.kind == Kind::Unknown {
            node.kind = Kind::Link(None);
            let bytes = event.result.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(1);
            node.reaches(bytes);
        }
        if action == Action::SetSizeOf && !event.failed() {
            let bytes = event.length.unwrap_or(0);
            self.room.free(node.bytes.saturating_sub(bytes));
            node.bytes = bytes;
            draft.uses_as_recorded(&mut node.data, Use::Alone);
        }
        Ok(())
    }

    /// A part of the path is no directory: of those that no call has told, the one above the file.
    pub(super) fn way_is_blocked(&mut self, file: Option<FileId>, draft: &mut Draft) {
        let Ok((_, path)) = self.files.path(file) else { return };
        let parts = self.tree.parts(path);
        let Some((_, above)) = parts.split_last() else { return };
        draft.used = true;
        let place = self.tree.walk(&above.into(), true, draft.me, &mut draft.needs);
        let Some(place) = place else { return };
        self.tree.look(place, draft.me, &mut draft.needs);
        match self.tree.state(place) {
            Named::Unknown => {
                self.tree.found(place, Kind::File, None, 0);
            }
            Named::File(id) if self.tree.node(id).kind == Kind::Unknown => {
                self.tree.node(id).kind = Kind::File;
            }
            _ => {}
        }
    }

    /// A lookup found nothing: if no call told otherwise, nothing was there before.
    pub(super) fn absent(&mut self, place: Place) {
        if self.tree.state(place) == Named::Unknown {
            self.tree.set(place, Named::Nothing);
        }
    }

    /// Calls that make or remove one name.
    pub(super) fn name(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Reason> {
        let (number, path) = self.files.path(event.file)?;
        if path == "/" {
            return Err(Reason::Process);
        }
        draft.operation.path = number;
        let action = match draft.operation.action {
            Action::Unlink | Action::RemoveDirectory => Self::removal(event),
            action => action,
        };
        draft.operation.action = action;
        match action {
            Action::MakeFile => {
                let kind = event.flags.unwrap_or(0) & u64::from(libc::S_IFMT);
                if kind != 0 && kind != u64::from(libc::S_IFREG) {
                    return Err(Reason::DeviceNode);
                }
                draft.operation.mode = self.permissions(event.flags.unwrap_or(0o644));
            }
            Action::MakeDirectory => {
                draft.operation.mode = self.permissions(event.flags.unwrap_or(0o755));
            }
            Action::MakeLink => {
                draft.operation.to_path = self.text_of_link(event);
            }
            _ => {}
        }
        if is(event, libc::ENOTDIR) {
            self.not_a_directory(event, action, draft);
            return Ok(());
        }
        let Some(place) = self.place(event.file, way_exists(event), draft) else {
            return Ok(());
        };
        if event.failed() {
            self.name_failed(event, place, action, draft);
            return Ok(());
        }
        match action {
            Action::Unlink | Action::RemoveDirectory => self.removed(event, place, action, draft),
            Action::MakeDirectory => self.new_name(place, Kind::Directory, draft),
            Action::MakeLink => {
                let path = self.files.path(event.to_file).map(|(_, path)| path.to_owned());
                let target = path.ok().map(|path| self.tree.parts(&path));
                self.new_name(place, Kind::Link(target), draft);
            }
            _ => self.new_name(place, Kind::File, draft),
        }
        Ok(())
    }

    /// Number of the text of a new link; 0 where the trace does not tell it. Traces of earlier versions have no length
    /// of it.
    fn text_of_link(&mut self, event: &Event) -> u64 {
        let target = self.files.path(event.to_file);
        let Some(bytes) = event.length else { return target.map_or(0, |(to, _)| to) };
        let link = self.files.path(event.file);
        let text = match (link, target) {
            (Ok((_, link)), Ok((_, target))) => links::text(link, target, bytes),
            _ => links::to_own_directory(bytes),
        };
        self.files.add(&text)
    }

    fn new_name(&mut self, place: Place, kind: Kind, draft: &mut Draft) {
        self.tree.change(place, draft.me, &mut draft.needs);
        let mode = u32::try_from(draft.operation.mode).ok();
        self.tree.made(place, kind, mode);
    }

    fn removed(&mut self, event: &Event, place: Place, action: Action, draft: &mut Draft) {
        let kind = if action == Action::Unlink { Kind::File } else { Kind::Directory };
        let id = self.existing(place, event.file, kind);
        if action == Action::RemoveDirectory {
            self.tree.empty(id);
            self.tree.contents(id, draft.me, Use::Alone, &mut draft.needs);
        } else {
            self.loses(id);
        }
        self.tree.change(place, draft.me, &mut draft.needs);
        self.tree.set(place, Named::Nothing);
    }

    /// A file loses a name, and its data with it if that was the last one.
    fn loses(&mut self, id: NodeId) {
        self.tree.loses(id);
        self.room.free(self.tree.node(id).bytes);
    }

    fn name_failed(&mut self, event: &Event, place: Place, action: Action, draft: &mut Draft) {
        self.tree.look(place, draft.me, &mut draft.needs);
        let removes = matches!(action, Action::Unlink | Action::RemoveDirectory);
        let directory = is(event, libc::ENOTEMPTY)
            || is(event, libc::EISDIR)
            || (action == Action::Unlink && is(event, libc::EPERM));
        if directory || is(event, libc::EEXIST) {
            let kind = if directory { Kind::Directory } else { Kind::Unknown };
            let id = self.existing(place, event.file, kind);
            if is(event, libc::ENOTEMPTY) {
                self.tree.not_empty(id);
                self.tree.contents(id, draft.me, Use::Listing, &mut draft.needs);
            }
        } else if is(event, libc::ENOENT) && removes {
            self.absent(place);
        }
    }

    /// A removal or a new name below something that is no directory, or a directory to be removed that
    /// is none.
    fn not_a_directory(&mut self, event: &Event, action: Action, draft: &mut Draft) {
        if action != Action::RemoveDirectory {
            return self.way_is_blocked(event.file, draft);
        }
        let Some(place) = self.place(event.file, true, draft) else { return };
        self.tree.look(place, draft.me, &mut draft.needs);
        self.existing(place, event.file, Kind::File);
    }

    /// Renames and links.
    pub(super) fn two_names(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Reason> {
        let is_link = draft.operation.action == Action::Link;
        let is_open = is_link && self.is_of_open(event);
        if let Some(open) = self.linked_open(event).filter(|_| is_open) {
            return self.link_open(event, open, draft);
        }
        let from = self.files.path(event.file).map(|(number, _)| number);
        let to = self.files.path(event.to_file).map(|(number, _)| number);
        let (from, to) = match (from, to) {
            (_, Ok(to)) if is_open && !event.failed() => return self.arrives(event, to, draft),
            (Ok(from), Ok(to)) => (from, to),
            (Err(reason), Ok(to)) if !event.failed() && reason != Reason::NotAFile => {
                return self.arrives(event, to, draft);
            }
            (Ok(from), Err(reason)) if !event.failed() && !is_link => {
                return self.departs(event, (from, reason), draft);
            }
            (from, to) => return from.and(to).map(drop),
        };
        draft.operation.path = from;
        draft.operation.to_path = to;
        let sure = way_exists(event);
        if event.failed() {
            self.two_names_failed(event, draft);
            return Ok(());
        }
        let from = self.place(event.file, sure, draft);
        let to = self.place(event.to_file, sure, draft);
        let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
        let is_rename = draft.operation.action == Action::Rename;
        // A rename replaces a file by a file and a directory by a directory.
        let replaced = match self.tree.state(to) {
            Named::File(id) if is_rename => {
                self.loses(id);
                self.tree.node(id).kind.clone()
            }
            _ => Kind::Unknown,
        };
        let id = self.existing(from, event.file, replaced);
        if is_rename {
            self.tree.change(from, draft.me, &mut draft.needs);
            // Names below a directory that moves are other paths afterwards.
            self.tree.contents(id, draft.me, Use::Alone, &mut draft.needs);
        } else {
            self.tree.look(from, draft.me, &mut draft.needs);
        }
        if from == to {
            return Ok(());
        }
        let flags =
            if event.call.call().name == "renameat2" { event.flags.unwrap_or(0) } else { 0 };
        let other = match flags {
            RENAME_EXCHANGE => Named::File(self.existing(to, event.to_file, Kind::Unknown)),
            _ => Named::Nothing,
        };
        self.tree.change(to, draft.me, &mut draft.needs);
        draft.operation.flags = flags & (RENAME_NOREPLACE | RENAME_EXCHANGE);
        self.tree.set(to, Named::File(id));
        if is_rename {
            self.tree.set(from, other);
        }
        Ok(())
    }

    /// True for a link that gives an open file a name: `linkat` of a descriptor, or of its name in /proc.
    fn is_of_open(&self, event: &Event) -> bool {
        let path = event.file.and_then(|file| self.files.entry(file)?.path.as_deref());
        let flags = event.flags.filter(|_| event.call.call().name == "linkat").unwrap_or(0);
        flags & AT_EMPTY_PATH != 0
            || path.is_some_and(|path| path.starts_with("/proc/") && path.contains("/fd/"))
    }

    /// The open file of such a link.
    fn linked_open(&self, event: &Event) -> Option<HandleId> {
        let path = self.files.entry(event.file?)?.path.as_deref().unwrap_or_default();
        let in_proc = path.strip_prefix("/proc/").and_then(|path| path.split_once("/fd/"));
        let Some((of_process, fd)) = in_proc else {
            return self.handles.of_file(event.process, event.file);
        };
        let process = match of_process {
            "self" | "thread-self" => event.process,
            number => number.parse().ok()?,
        };
        self.handles.find(process, fd.parse().ok()?)?.0.handle()
    }

    /// A name for an open file: `O_TMPFILE`, the data, then this.
    fn link_open(&mut self, event: &Event, id: HandleId, draft: &mut Draft) -> Result<(), Reason> {
        let (to, _) = self.files.path(event.to_file)?;
        let handle = self.handles.handle(id);
        (draft.operation.action, draft.operation.slot) = (Action::LinkOpen, handle.slot);
        (draft.operation.to_path, draft.operation.flags) = (to, 0);
        draft.uses(&mut handle.order, Use::Shared);
        let node = self.handles.open_file(id).node;
        let Some(place) = self.place(event.to_file, way_exists(event), draft) else {
            return Ok(());
        };
        if event.failed() {
            self.tree.look(place, draft.me, &mut draft.needs);
            if is(event, libc::EEXIST) {
                self.existing(place, event.to_file, Kind::Unknown);
            }
            return Ok(());
        }
        self.tree.change(place, draft.me, &mut draft.needs);
        self.tree.set(place, Named::File(node));
        Ok(())
    }

    /// A rename or link brings a file from outside of the folder: one of its size is made.
    fn arrives(&mut self, event: &Event, to: u64, draft: &mut Draft) -> Result<(), Reason> {
        let entry = event.file.and_then(|file| self.files.entry(file));
        // A link in /proc has a mode and size of its own.
        let entry =
            entry.filter(|_| draft.operation.action == Action::Rename || !self.is_of_open(event));
        let mode = entry.and_then(|entry| entry.mode);
        let told = entry.and_then(|entry| entry.bytes);
        let written = event.file.and_then(|file| self.outside.get(&file).copied());
        let bytes = told.max(written);
        let Some(place) = self.place(event.to_file, true, draft) else {
            return Err(Reason::Border);
        };
        self.tree.change(place, draft.me, &mut draft.needs);
        if let Named::File(id) = self.tree.state(place) {
            self.loses(id);
        }
        let other = match mode.map(|mode| mode & libc::S_IFMT) {
            Some(libc::S_IFDIR) => Some(Kind::Directory),
            Some(libc::S_IFLNK) => Some(Kind::Link(None)),
            _ => None,
        };
        if let Some(kind) = other {
            self.tree.made(place, kind, mode.map(|mode| mode & 0o1777));
            return Err(Reason::Border);
        }
        let permissions = self.permissions(mode.map_or(0o644, u64::from));
        let operation = &mut draft.operation;
        (operation.action, operation.path, operation.to_path) = (Action::Arrive, to, 0);
        (operation.mode, operation.flags) = (permissions, 0);
        operation.length = bytes.unwrap_or(0);
        let id = self.tree.made(place, Kind::File, u32::try_from(permissions).ok());
        self.tree.node(id).bytes = bytes.unwrap_or(0);
        self.room.add(bytes.unwrap_or(0));
        self.tree.unknown_files += u64::from(bytes.is_none());
        Ok(())
    }

    /// A rename takes a file out of the folder: its name is removed.
    fn departs(
        &mut self,
        event: &Event,
        (from, reason): (u64, Reason),
        draft: &mut Draft,
    ) -> Result<(), Reason> {
        let flags = event.flags.filter(|_| event.call.call().name == "renameat2");
        if flags.is_some_and(|flags| flags & RENAME_EXCHANGE != 0) {
            // Another file takes its name.
            return Err(if reason == Reason::Outside { Reason::Border } else { reason });
        }
        let Some(place) = self.place(event.file, true, draft) else {
            return Err(Reason::Border);
        };
        let id = self.existing(place, event.file, Kind::Unknown);
        self.loses(id);
        self.tree.change(place, draft.me, &mut draft.needs);
        self.tree.set(place, Named::Nothing);
        if self.tree.node(id).kind == Kind::Directory {
            self.tree.contents(id, draft.me, Use::Alone, &mut draft.needs);
            return Err(Reason::Border);
        }
        let operation = &mut draft.operation;
        (operation.action, operation.path, operation.to_path) = (Action::Unlink, from, 0);
        operation.flags = 0;
        Ok(())
    }

    /// Uses of names by a rename or link that failed, and what its error shows.
    fn two_names_failed(&mut self, event: &Event, draft: &mut Draft) {
        let is_link = draft.operation.action == Action::Link;
        // Errors of names that both exist: the kernel looks both up first.
        let both = [libc::EEXIST, libc::ENOTEMPTY, libc::EISDIR, libc::EINVAL];
        let both = both.iter().any(|error| is(event, *error));
        let from = self.place(event.file, both, draft);
        let to = self.place(event.to_file, both || is(event, libc::EPERM), draft);
        for place in [from, to].into_iter().flatten() {
            self.tree.look(place, draft.me, &mut draft.needs);
        }
        let Some(from) = from else { return };
        if is(event, libc::EPERM) && is_link {
            self.existing(from, event.file, Kind::Directory);
        }
        if let Some(to) = to.filter(|_| both && !is(event, libc::EINVAL)) {
            let directory = is(event, libc::EISDIR) || is(event, libc::ENOTEMPTY);
            let kind = if directory { Kind::Directory } else { Kind::Unknown };
            let id = self.existing(to, event.to_file, kind);
            if is(event, libc::ENOTEMPTY) {
                self.tree.not_empty(id);
                self.tree.contents(id, draft.me, Use::Listing, &mut draft.needs);
            }
            let kind = match event.result.map(|error| -error) {
                Some(error) if error == i64::from(libc::EISDIR) => Kind::File,
                Some(error) if error == i64::from(libc::ENOTEMPTY) && !self.is_above(event) => {
                    Kind::Directory
                }
                _ => Kind::Unknown,
            };
            self.existing(from, event.file, kind);
        }
        if is(event, libc::EINVAL) {
            self.existing(from, event.file, Kind::Directory);
        }
        let to_is_known = to.is_some_and(|to| matches!(self.tree.state(to), Named::File(_)));
        if is(event, libc::ENOENT)
            && (to_is_known || to.is_some_and(|to| to.directory == from.directory))
        {
            self.absent(from);
        }
        if is(event, libc::ENOTDIR)
            && let Some(to) = to
        {
            // A directory was to replace a file.
            self.existing(from, event.file, Kind::Directory);
            self.existing(to, event.to_file, Kind::File);
        }
    }

    /// True when the second path of a call is above the first: that error tells nothing of the first.
    fn is_above(&self, event: &Event) -> bool {
        let paths = (self.files.path(event.file), self.files.path(event.to_file));
        matches!(paths, (Ok((_, from)), Ok((_, to))) if from.starts_with(to))
    }
}
