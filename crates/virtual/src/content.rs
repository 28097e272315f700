//! Content of a modelled disk. Only blocks that are neither zero nor computable take memory.
//!
//! A block is 4 KiB. Zero blocks are not kept; blocks that can be computed are kept as a
//! key; of blocks made of pieces of earlier ones, as workloads make them, only the difference is
//! kept. The rest is in slots, the first of them in memory, the others in an unlinked file. A
//! content can be [frozen](Content::freeze) and any number of others started from it, each holding
//! only what it changed.

mod blocks;
mod known;
mod packed;
mod slots;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use blocks::{Blocks, Place};
use known::Key;
use packed::Packed;

#[cfg(test)]
mod tests;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 4096;

/// Sectors of a block.
const BLOCK_SECTORS: u64 = (BLOCK_BYTES / SECTOR_BYTES) as u64;

/// Bytes of a sector.
const SECTOR_BYTES: usize = 512;

/// Storage for the blocks that cannot be computed.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// Bytes held in memory before blocks go to a file.
    pub memory_bytes: u64,
    /// Directory for the unlinked file.
    pub directory: PathBuf,
}

/// Content of a disk.
#[derive(Debug)]
pub struct Content {
    sectors: u64,
    blocks: Blocks,
    packed: Packed,
    base: Option<Arc<Frozen>>,
}

/// A content that no longer changes.
#[derive(Debug)]
pub struct Frozen(Content);

impl Frozen {
    /// Bytes of blocks in memory; runs of computed blocks and the base are not counted.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.0.packed.memory_bytes()
    }

    /// Moves blocks from memory to the unlinked file.
    ///
    /// # Errors
    /// When the file cannot be made or written; everything is then as it was.
    pub fn move_to_file(&mut self) -> io::Result<()> {
        self.0.packed.slots.move_to_file()
    }
}

impl Content {
    /// A disk of so many sectors of 512 bytes, all zero.
    #[must_use]
    pub fn new(sectors: u64, keeping: Keeping) -> Self {
        let packed = Packed::new(keeping);
        Self { sectors, blocks: Blocks::default(), packed, base: None }
    }

    /// The same content as `frozen`; changes are kept here.
    #[must_use]
    pub fn thaw(frozen: Arc<Frozen>, keeping: Keeping) -> Self {
        Self { base: Some(frozen.clone()), ..Self::new(frozen.0.sectors, keeping) }
    }

    /// Ends all change.
    #[must_use]
    pub fn freeze(mut self) -> Arc<Frozen> {
        self.packed.settle();
        Arc::new(Frozen(self))
    }

    /// Capacity in sectors of 512 bytes.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Bytes of blocks kept here, in memory and file; the content of a base is not counted.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.packed.bytes()
    }

    /// Runs of blocks that need an entry.
    #[cfg(test)]
    fn runs(&self) -> usize {
        self.blocks.runs()
    }

    /// Copies whole sectors from `sector` on into `into`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] beyond the end or for a length that is no multiple of 512;
    /// an error of the file that holds blocks.
    pub fn read(&self, sector: u64, into: &mut [u8]) -> io::Result<()> {
        self.check(sector, into.len())?;
        let mut at = sector;
        let mut rest = into;
        while !rest.is_empty() {
            let within = (at % BLOCK_SECTORS) as usize * SECTOR_BYTES;
            let length = (BLOCK_BYTES - within).min(rest.len());
            let (now, later) = rest.split_at_mut(length);
            self.read_within(at / BLOCK_SECTORS, within, now)?;
            at += (length / SECTOR_BYTES) as u64;
            rest = later;
        }
        Ok(())
    }

    /// Copies whole sectors of `from` to `sector` and on.
    ///
    /// # Errors
    ///
    /// As [`read`](Content::read).
    pub fn write(&mut self, sector: u64, from: &[u8]) -> io::Result<()> {
        self.check(sector, from.len())?;
        let mut at = sector;
        let mut rest = from;
        let mut run = Run::default();
        while !rest.is_empty() {
            let within = (at % BLOCK_SECTORS) as usize * SECTOR_BYTES;
            let (now, later) = rest.split_at((BLOCK_BYTES - within).min(rest.len()));
            let block = at / BLOCK_SECTORS;
            let place = (now.len() == BLOCK_BYTES).then(|| self.computed(now)).flatten();
            if !place.is_some_and(|place| run.extend(block, place)) {
                self.keep(std::mem::take(&mut run));
                match place {
                    Some(place) => run = Run { from: block, to: block + 1, first: place },
                    None => self.write_within(block, within, now)?,
                }
            }
            at += (now.len() / SECTOR_BYTES) as u64;
            rest = later;
        }
        self.keep(run);
        Ok(())
    }

    /// The location of a block that need not be stored.
    fn computed(&self, data: &[u8]) -> Option<Place> {
        if is_zero(data) {
            return Some(Place::Zero);
        }
        Key::recognise(data).map(Place::Key)
    }

    fn keep(&mut self, Run { from, to, first }: Run) {
        self.blocks.remove(from, to, &mut self.packed);
        if first != Place::Zero || self.base.is_some() {
            self.blocks.insert(from, to, first);
        }
    }

    /// Makes sectors zero.
    ///
    /// # Errors
    ///
    /// As [`read`](Content::read).
    pub fn zero(&mut self, sector: u64, count: u64) -> io::Result<()> {
        let end = sector.checked_add(count).filter(|end| *end <= self.sectors);
        let end = end.ok_or_else(|| self.beyond(sector))?;
        // The last block may be partial: nothing follows it.
        let at_end = end == self.sectors;
        let last = if at_end { end.div_ceil(BLOCK_SECTORS) } else { end / BLOCK_SECTORS };
        let first = sector.div_ceil(BLOCK_SECTORS);
        let zeroes = [0; 2 * BLOCK_BYTES];
        let bytes = |sectors: u64| sectors as usize * SECTOR_BYTES;
        if first >= last {
            return self.write(sector, &zeroes[..bytes(count)]);
        }
        self.write(sector, &zeroes[..bytes(first * BLOCK_SECTORS - sector)])?;
        self.keep(Run { from: first, to: last, first: Place::Zero });
        let tail = (last * BLOCK_SECTORS).min(end);
        self.write(tail, &zeroes[..bytes(end - tail)])
    }

    fn check(&self, sector: u64, length: usize) -> io::Result<()> {
        if !length.is_multiple_of(SECTOR_BYTES) {
            let message = format!("{length} bytes are not a multiple of a sector");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let end = sector.checked_add((length / SECTOR_BYTES) as u64);
        if end.is_none_or(|end| end > self.sectors) { Err(self.beyond(sector)) } else { Ok(()) }
    }

    fn beyond(&self, sector: u64) -> io::Error {
        let message = format!("a range from sector {sector} leaves the disk of {}", self.sectors);
        io::Error::new(io::ErrorKind::InvalidInput, message)
    }

    fn read_within(&self, block: u64, within: usize, into: &mut [u8]) -> io::Result<()> {
        let range = within..within + into.len();
        match (self.blocks.find(block), &self.base) {
            (Some(Place::Packed(number)), _) => {
                let mut whole = [0; BLOCK_BYTES];
                self.packed.read(number, &mut whole)?;
                into.copy_from_slice(&whole[range]);
            }
            (Some(Place::Key(key)), _) => into.copy_from_slice(&key.block()[range]),
            (None, Some(base)) => base.0.read_within(block, within, into)?,
            (Some(Place::Zero), _) | (None, None) => into.fill(0),
        }
        Ok(())
    }

    fn write_within(&mut self, block: u64, within: usize, from: &[u8]) -> io::Result<()> {
        let found = self.blocks.find(block);
        if from.len() == BLOCK_BYTES {
            return self.write_block(block, found, from);
        }
        let mut whole = [0; BLOCK_BYTES];
        self.read_within(block, 0, &mut whole)?;
        whole[within..within + from.len()].copy_from_slice(from);
        self.write_block(block, found, &whole)
    }

    fn write_block(&mut self, block: u64, found: Option<Place>, data: &[u8]) -> io::Result<()> {
        let place = self.computed(data);
        match (place, found) {
            (None, Some(Place::Packed(number))) => return self.packed.replace(number, data),
            (Some(Place::Zero), None) if self.base.is_none() => return Ok(()),
            (place, found) if place.is_some() && place == found => return Ok(()),
            _ => {}
        }
        let place = match place {
            Some(place) => place,
            None => Place::Packed(self.packed.add(data)?),
        };
        self.keep(Run { from: block, to: block + 1, first: place });
        Ok(())
    }
}

/// Blocks that follow one another, with the place of the first.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    from: u64,
    to: u64,
    first: Place,
}

impl Run {
    /// Takes the next block, if it continues the run.
    fn extend(&mut self, block: u64, place: Place) -> bool {
        let goes_on = self.from < self.to
            && block == self.to
            && self.first.after(self.to - self.from) == place;
        if goes_on {
            self.to += 1;
        }
        goes_on
    }
}

/// Returns true if a block is all zeroes.
fn is_zero(data: &[u8]) -> bool {
    let (words, rest) = data.as_chunks::<32>();
    words.iter().all(|word| *word == [0; 32]) && rest.iter().all(|byte| *byte == 0)
}
