//! Mappings of files in a process, by address.

use seekwell_trace::FileId;
use std::collections::BTreeMap;

/// A mapping of a file. Its start is its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) end: u64,
    pub(crate) file: FileId,
    /// Offset in the file of the first byte.
    pub(crate) offset: u64,
    /// Writes go to the file.
    pub(crate) is_shared: bool,
}

/// Mappings that do not overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings(BTreeMap<u64, Mapping>);

impl Mappings {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Starts and ends, in order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(start, mapping)| (*start, mapping.end))
    }

    /// The mapping at an address, with its start.
    pub(crate) fn at(&self, address: u64) -> Option<(u64, Mapping)> {
        let (start, mapping) = self.0.range(..=address).next_back()?;
        (address < mapping.end).then_some((*start, *mapping))
    }

    /// Adds a mapping where there is none.
    pub(crate) fn add(&mut self, start: u64, mapping: Mapping) {
        if start < mapping.end {
            self.0.insert(start, mapping);
        }
    }

    /// Takes away what is mapped from `start` to `end`.
    pub(crate) fn cut(&mut self, start: u64, end: u64) {
        if let Some((first, mapping)) = self.at(start).filter(|(first, _)| *first < start) {
            self.0.insert(first, Mapping { end: start, ..mapping });
            self.add(start, Mapping { offset: mapping.offset + (start - first), ..mapping });
        }
        let inside: Vec<u64> = self.0.range(start..end.max(start)).map(|(at, _)| *at).collect();
        for at in inside {
            let Some(mapping) = self.0.remove(&at) else { continue };
            if mapping.end > end {
                self.add(end, Mapping { offset: mapping.offset + (end - at), ..mapping });
            }
        }
    }

    /// Moves a mapping to another address, with another length. One of length 0 stays, and gets a copy.
    pub(crate) fn resize(&mut self, from: u64, length: u64, to: u64, to_length: u64) {
        let source = self.at(from);
        self.cut(from, from.saturating_add(length));
        self.cut(to, to.saturating_add(to_length));
        // Memory without a file also replaces what was at its new address.
        let Some((start, mapping)) = source else { return };
        let offset = mapping.offset + (from - start);
        self.add(to, Mapping { end: to.saturating_add(to_length), offset, ..mapping });
    }
}

#[cfg(test)]
mod tests;
