//! Calls on extended attributes.

use super::Planner;
use super::calls::Planned;
use super::draft::Draft;
use crate::action::Action;
use crate::attributes::Kind;
use crate::order::{Resource, Use};
use crate::plan::Reason;
use seekwell_trace::{Event, FileId};
use std::collections::HashMap;

const XATTR_REPLACE: u64 = 2;

/// Attributes of a file that calls have used so far.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    order: Resource,
    /// Numbers of the names that calls have set.
    set: Vec<u64>,
}

pub(super) type OfFiles = HashMap<FileId, Attributes>;

impl Planner {
    /// Plans a call on one attribute.
    pub(super) fn attribute(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        if let Err(reason) = self.attribute_named(event, draft) {
            return Ok(Err(reason));
        }
        let planned = match event.call.call().fd {
            Some(_) => self.descriptor(event, draft)?,
            None => self.path(event, draft),
        };
        if let (Ok(()), Some(file)) = (planned, event.file) {
            let changes =
                !matches!(draft.operation.action, Action::GetAttribute | Action::GetAttributeOpen);
            let kind = if changes { Use::Alone } else { Use::Shared };
            draft.uses(&mut self.attributes.entry(file).or_default().order, kind);
        }
        Ok(planned)
    }

    /// The attribute's name, or the reason for which the call is not repeated: a trace does not hold
    /// which attributes files had before.
    fn attribute_named(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Reason> {
        let file = event.file.ok_or(Reason::UnknownFile)?;
        let is_missing = event.result == Some(-i64::from(libc::ENODATA));
        let asks =
            matches!(draft.operation.action, Action::GetAttribute | Action::GetAttributeOpen);
        let Some(name) = event.to_file.and_then(|named| self.files.attribute(named)) else {
            return if asks && is_missing { Ok(()) } else { Err(Reason::NotRecorded) };
        };
        let kind = Kind::of(name);
        let is_repeated = kind != Kind::System || (asks && event.failed());
        if !is_repeated {
            return Err(Reason::System);
        }
        let name = name.to_owned();
        let number = self.files.add(&name);
        draft.operation.to_path = number;
        let known = self.attributes.entry(file).or_default();
        let was_set = known.set.contains(&number);
        match draft.operation.action {
            Action::SetAttribute | Action::SetAttributeOpen if !event.failed() => {
                if event.flags == Some(XATTR_REPLACE) && !was_set {
                    return Err(Reason::NotRecorded);
                }
                if !was_set {
                    known.set.push(number);
                }
            }
            Action::RemoveAttribute | Action::RemoveAttributeOpen if was_set => {
                known.set.retain(|one| event.failed() || *one != number);
            }
            // It was there before, or the program asked with too little room.
            _ if !was_set && !is_lasting(event) => return Err(Reason::NotRecorded),
            _ => {}
        }
        draft.operation.mode = 0o755;
        Ok(())
    }
}

/// True for errors that do not depend on the attributes of a file.
fn is_lasting(event: &Event) -> bool {
    let lasting = [libc::ENODATA, libc::EOPNOTSUPP, libc::ENOENT, libc::ENOTDIR, libc::EPERM];
    lasting.iter().any(|error| event.result == Some(-i64::from(*error)))
}
