//! Places of accesses in the busiest files, over time.

use super::picture::Seeks;
use crate::event::FileId;

/// Pictures that are kept while the trace is read, and that remain.
const KEPT: usize = 32;
const SHOWN: usize = 4;
/// Accesses of a file before its picture begins: most files have few.
const FIRST: u64 = 32;
/// Accesses after which a file may take the picture of another.
const AGAIN: u64 = 1024;

/// Pictures of files. A file knows its own by number, which is 0 without one.
#[derive(Default)]
pub(super) struct FilePictures {
    pictures: Vec<(FileId, u64, Seeks)>,
}

impl FilePictures {
    /// Adds an access to a place in a file with so many accesses before; `own` is its number.
    #[inline]
    pub(super) fn add(
        &mut self,
        own: &mut u8,
        file: FileId,
        before: u64,
        start_ns: u64,
        place: u64,
    ) {
        if before < FIRST {
            return;
        }
        let known = usize::from(*own).wrapping_sub(1);
        match self.pictures.get_mut(known).filter(|(of, ..)| *of == file) {
            Some((_, count, seeks)) => {
                *count += 1;
                seeks.add(start_ns, place);
            }
            None => *own = self.begin(file, before, start_ns, place),
        }
    }

    /// Begins a picture, in place of a less busy one when there are too many.
    fn begin(&mut self, file: FileId, before: u64, start_ns: u64, place: u64) -> u8 {
        let mut seeks = Seeks::default();
        let at = if self.pictures.len() < KEPT {
            self.pictures.push((file, 0, Seeks::default()));
            Some(self.pictures.len() - 1)
        } else if before.is_multiple_of(AGAIN) {
            let counts = self.pictures.iter().enumerate().map(|(at, (_, count, _))| (*count, at));
            counts.min().filter(|(least, _)| *least < before / 2).map(|(_, at)| at)
        } else {
            None
        };
        let Some(at) = at else { return 0 };
        seeks.add(start_ns, place);
        self.pictures[at] = (file, 1, seeks);
        u8::try_from(at + 1).unwrap_or(0)
    }

    /// Those of the busiest files, the busiest first.
    pub(super) fn finish(mut self) -> Vec<(FileId, Seeks)> {
        self.pictures.sort_by_key(|(file, count, _)| (std::cmp::Reverse(*count), *file));
        self.pictures.truncate(SHOWN);
        self.pictures.into_iter().map(|(file, _, seeks)| (file, seeks)).collect()
    }
}

#[cfg(test)]
mod tests;
