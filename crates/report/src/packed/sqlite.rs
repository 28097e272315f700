//! Where the values of a run file lie: an SQLite file walked without a look at what it means, as
//! far as a run file needs it (no index, no write-ahead log), by the format that sqlite.org
//! documents.

use std::ops::Range;

/// Where a value lies: pieces of the file, more than one where overflow pages hold the rest.
pub(super) type Place = Vec<Range<usize>>;

/// One value of a row.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// SQLite's serial type: what the bytes are, and how many.
    pub(super) kind: u64,
    pub(super) place: Place,
}

/// One row of a table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) cells: Vec<Cell>,
}

/// Deeper trees and longer chains are no run file.
const DEEPEST: usize = 20;

pub(super) struct Database<'a> {
    file: &'a [u8],
    page_bytes: usize,
    usable: usize,
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A number of one to nine bytes, and the offset behind it.
fn varint(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for _ in 0..8 {
        let byte = *bytes.get(at)?;
        at += 1;
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at));
        }
    }
    Some((value << 8 | u64::from(*bytes.get(at)?), at + 1))
}

fn size_of(kind: u64) -> usize {
    match kind {
        0 | 8 | 9 => 0,
        1..=4 => kind as usize,
        5 => 6,
        6 | 7 => 8,
        _ => usize::try_from(kind.saturating_sub(12) / 2).unwrap_or(usize::MAX),
    }
}

impl<'a> Database<'a> {
    pub(super) fn open(file: &'a [u8]) -> Option<Self> {
        file.starts_with(b"SQLite format 3\0").then_some(())?;
        let page_bytes = match big_endian(file.get(16..18)?) {
            1 => 65_536,
            size => size as usize,
        };
        let usable = page_bytes.checked_sub(usize::from(*file.get(20)?))?;
        (usable >= 480).then_some(Self { file, page_bytes, usable })
    }

    /// The bytes of a value.
    pub(super) fn bytes(&self, cell: &Cell) -> Vec<u8> {
        cell.place.iter().flat_map(|piece| &self.file[piece.clone()]).copied().collect()
    }

    pub(super) fn text(&self, cell: &Cell) -> String {
        String::from_utf8_lossy(&self.bytes(cell)).into_owned()
    }

    /// A whole number; `None` where the value is none.
    pub(super) fn number(&self, cell: &Cell) -> Option<u64> {
        match cell.kind {
            8 => Some(0),
            9 => Some(1),
            1..=6 => Some(big_endian(&self.bytes(cell))),
            _ => None,
        }
    }

    /// All rows of a table in the order of its key; `None` where it has none, or is damaged.
    pub(super) fn table(&self, name: &str) -> Option<Vec<Row>> {
        let mut schema = Vec::new();
        self.walk(1, 0, &mut schema)?;
        let named = schema.iter().find(|row| {
            let [kind, own, ..] = row.cells.as_slice() else { return false };
            self.text(kind) == "table" && self.text(own) == name
        })?;
        let root = self.number(named.cells.get(3)?)?;
        let mut rows = Vec::new();
        self.walk(usize::try_from(root).ok()?, 0, &mut rows)?;
        Some(rows)
    }

    fn page(&self, number: usize) -> Option<usize> {
        let begin = number.checked_sub(1)?.checked_mul(self.page_bytes)?;
        (begin + self.page_bytes <= self.file.len()).then_some(begin)
    }

    fn walk(&self, number: usize, depth: usize, rows: &mut Vec<Row>) -> Option<()> {
        let begin = self.page(number)?;
        let header = begin + if number == 1 { 100 } else { 0 };
        let kind = self.file[header];
        let inner = matches!(kind, 2 | 5);
        if depth > DEEPEST || !matches!(kind, 2 | 5 | 10 | 13) {
            return None;
        }
        let count = big_endian(&self.file[header + 3..header + 5]) as usize;
        let pointers = header + if inner { 12 } else { 8 };
        for index in 0..count {
            let pointer = self.file.get(pointers + 2 * index..pointers + 2 * index + 2)?;
            let mut at = begin + big_endian(pointer) as usize;
            if inner {
                let child = big_endian(self.file.get(at..at + 4)?) as usize;
                self.walk(child, depth + 1, rows)?;
                at += 4;
            }
            if kind != 5 {
                rows.push(self.row(at, kind == 13)?);
            }
        }
        if inner {
            let right = big_endian(self.file.get(header + 8..header + 12)?) as usize;
            self.walk(right, depth + 1, rows)?;
        }
        Some(())
    }

    /// The row of a cell; in a table with row ids its number stands before the payload.
    fn row(&self, at: usize, numbered: bool) -> Option<Row> {
        let (size, at) = varint(self.file, at)?;
        let (id, at) = if numbered { varint(self.file, at)? } else { (0, at) };
        let most = if numbered { self.usable - 35 } else { (self.usable - 12) * 64 / 255 - 23 };
        let payload = self.payload(at, usize::try_from(size).ok()?, most)?;
        // The head of a row is short: it lies in the first piece.
        let (head, mut next) = varint(self.file, at)?;
        let end = at + usize::try_from(head).ok()?;
        let mut offset = head as usize;
        let mut cells = Vec::new();
        while next < end {
            let (kind, behind) = varint(self.file, next)?;
            next = behind;
            let length = size_of(kind);
            cells.push(Cell { kind, place: part(&payload, offset, length)? });
            offset = offset.checked_add(length)?;
        }
        Some(Row { id, cells })
    }

    /// Where the payload of a cell lies, of which `most` bytes fit into the page.
    fn payload(&self, at: usize, size: usize, most: usize) -> Option<Place> {
        let least = (self.usable - 12) * 32 / 255 - 23;
        let local = if size <= most {
            size
        } else {
            let fitting = least + (size.checked_sub(least)?) % (self.usable - 4);
            if fitting <= most { fitting } else { least }
        };
        let first = at..at.checked_add(local)?;
        let mut place = Place::from([first]);
        let mut filled = local;
        let mut link = at + local;
        while filled < size {
            let next = big_endian(self.file.get(link..link + 4)?) as usize;
            link = self.page(next)?;
            let length = (size - filled).min(self.usable - 4);
            place.push(link + 4..link + 4 + length);
            filled += length;
        }
        place.last().is_some_and(|piece| piece.end <= self.file.len()).then_some(place)
    }
}

/// Some of the bytes of a place.
fn part(place: &Place, mut skip: usize, mut length: usize) -> Option<Place> {
    let mut found = Vec::new();
    for piece in place {
        let passed = skip.min(piece.len());
        skip -= passed;
        let taken = length.min(piece.len() - passed);
        if taken > 0 {
            found.push(piece.start + passed..piece.start + passed + taken);
        }
        length -= taken;
    }
    (length == 0).then_some(found)
}
