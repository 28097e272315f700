//! Descriptors that calls of a made load need.

use super::model::{Access, Object, State};
use super::world::{Descriptors, Node, Open};
use crate::calls::{CallId, Class};

/// Uses of a descriptor that may be left when it is closed, when none is used up.
const SPARE: u64 = 8;

/// Descriptor that the calls of a state need.
pub(super) struct Needs {
    is_directory: bool,
    reads: bool,
    writes: bool,
    access: Access,
    closes: bool,
}

impl Needs {
    /// `None` for calls that need none.
    pub(super) fn of(state: &State) -> Option<Self> {
        let call = CallId::named(&state.call)?.call();
        let has_descriptor = call.fd.is_some() && !call.opens;
        if !has_descriptor || matches!(state.object, Object::None | Object::Elsewhere) {
            return None;
        }
        let reads = call.class == Class::Read || call.name == "copy_file_range";
        let changes = ["ftruncate", "fallocate"].contains(&call.name);
        Some(Self {
            is_directory: state.object == Object::Directory,
            reads,
            writes: (call.class == Class::Write && !reads) || changes,
            access: state.access,
            closes: call.name == "close",
        })
    }

    fn fits(&self, open: &Open, nodes: &[Node]) -> bool {
        nodes[open.node].is_directory() == self.is_directory
            && (open.reads || !self.reads)
            && (open.writes || !self.writes)
            && (self.access == Access::Unknown || self.access == open.access())
    }

    /// True for a descriptor on which such a call comes now: one that is used up is closed, others are
    /// used.
    fn is_due(&self, open: &Open) -> bool {
        if self.closes { open.left.is_none_or(|left| left == 0) } else { open.is_in_use() }
    }

    /// True when there is a descriptor for such a call.
    pub(super) fn has(&self, descriptors: &Descriptors, nodes: &[Node]) -> bool {
        descriptors.open.values().any(|open| self.fits(open, nodes) && self.is_due(open))
    }

    /// The descriptor that was used before `rank` - 1 others that are due, or the nearest to it. When
    /// none is due, one that is used up is used, and one with few uses left is closed.
    pub(super) fn find(&self, descriptors: &Descriptors, nodes: &[Node], rank: u64) -> Option<i32> {
        let fits = |open: &Open| self.fits(open, nodes);
        let due = descriptors.find(rank, |open| fits(open) && self.is_due(open));
        if due.is_some() {
            return due;
        }
        if !self.closes {
            return descriptors.find(rank, fits);
        }
        let known = descriptors.open.iter().filter(|(_, open)| fits(open));
        let (fd, open) = known.min_by_key(|(_, open)| open.left)?;
        open.left.is_none_or(|left| left <= SPARE).then_some(*fd)
    }
}
