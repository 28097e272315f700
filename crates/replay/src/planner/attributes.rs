//! Calls on extended attributes.

use super::Planner;
use super::calls::Planned;
use super::draft::Draft;
use super::files::LONGEST_NAME;
use super::tree::{Named, NodeId};
use crate::action::Action;
use crate::attributes::Kind;
use crate::order::{Resource, Use};
use crate::plan::Reason;
use seekwell_trace::Event;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

const XATTR_REPLACE: u64 = 2;

/// Attributes of a file that calls have used so far.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    order: Resource,
    /// Numbers of the names that the walk saw or calls have set.
    set: HashSet<u64>,
}

pub(super) type OfNodes = HashMap<NodeId, Attributes>;

impl Planner {
    /// Plans a call on one attribute.
    pub(super) fn attribute(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        let number = self.attribute_named(event, draft);
        let number = number.map_err(|reason| self.attribute_lost(event, reason))?;
        draft.operation.to_path = number.unwrap_or(0);
        match event.call.call().fd {
            Some(_) => self.descriptor(event, draft)?,
            None => self.path(event, draft)?,
        }
        let Some(node) = self.attribute_node(event, draft) else { return Ok(()) };
        draft.operation.mode = self.tree.node(node).list_mode();
        let (asks, named) = (is_question(draft.operation.action), number.is_some());
        let name = event.to_file.and_then(|named| self.files.attribute(named));
        let is_list = name.is_some_and(|name| Kind::of(name) == Kind::AccessList);
        let known = match self.attributes.entry(node) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let names = self.tree.attributes(node);
                let set = names.iter().map(|name| self.files.add(name)).collect();
                vacant.insert(Attributes { set, ..Attributes::default() })
            }
        };
        draft.uses(&mut known.order, if asks { Use::Shared } else { Use::Alone });
        if named {
            known.follow(event, draft, is_list)?;
        }
        Ok(())
    }

    /// Number of the attribute's name, `None` where the trace does not name it; or the reason for which
    /// the call is not repeated.
    fn attribute_named(&mut self, event: &Event, draft: &Draft) -> Result<Option<u64>, Reason> {
        let asks = is_question(draft.operation.action);
        let Some(name) = event.to_file.and_then(|named| self.files.attribute(named)) else {
            let is_missing = event.result == Some(-i64::from(libc::ENODATA));
            return if asks && is_missing { Ok(None) } else { Err(Reason::NotRecorded) };
        };
        if name.len() > LONGEST_NAME || name.contains('\0') {
            return Err(Reason::LongName);
        }
        let is_repeated = Kind::of(name) != Kind::System || (asks && event.failed());
        if !is_repeated {
            return Err(Reason::System);
        }
        let name = name.to_owned();
        Ok(Some(self.files.add(&name)))
    }

    /// A call on what no replay has is no loss.
    fn attribute_lost(&self, event: &Event, reason: Reason) -> Reason {
        event.file.and_then(|file| self.files.path(Some(file)).err()).unwrap_or(reason)
    }

    fn attribute_node(&mut self, event: &Event, draft: &mut Draft) -> Option<NodeId> {
        if let Some(fd) = event.call.call().fd.and(event.fd) {
            let id = self.handles.find(event.process, fd)?.0.handle()?;
            return Some(self.handles.open_file(id).node);
        }
        let place = self.place(event.file, false, draft)?;
        match self.tree.state(place) {
            Named::File(id) => Some(id),
            _ => None,
        }
    }
}

impl Attributes {
    /// Keeps what the call changes. Which attributes files outside of the walk had before is not known, so that
    /// calls that found one are not repeated. An access list can be removed where there is none.
    fn follow(&mut self, event: &Event, draft: &mut Draft, is_list: bool) -> Result<(), Reason> {
        let number = draft.operation.to_path;
        let was_set = self.set.contains(&number);
        match draft.operation.action {
            Action::SetAttribute | Action::SetAttributeOpen if !event.failed() => {
                if event.flags == Some(XATTR_REPLACE) && !was_set {
                    return Err(Reason::NotRecorded);
                }
                self.set.insert(number);
            }
            Action::RemoveAttribute | Action::RemoveAttributeOpen if was_set && !event.failed() => {
                self.set.remove(&number);
            }
            Action::RemoveAttribute | Action::RemoveAttributeOpen if is_list && !event.failed() => {
            }
            _ if !was_set && !is_lasting(event) => return Err(Reason::NotRecorded),
            _ => {}
        }
        Ok(())
    }
}

fn is_question(action: Action) -> bool {
    matches!(action, Action::GetAttribute | Action::GetAttributeOpen)
}

/// True for errors that do not depend on the attributes of a file.
fn is_lasting(event: &Event) -> bool {
    let lasting = [libc::ENODATA, libc::EOPNOTSUPP, libc::ENOENT, libc::ENOTDIR, libc::EPERM];
    lasting.iter().any(|error| event.result == Some(-i64::from(*error)))
}
