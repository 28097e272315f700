//! Orders to the guest and its messages back: a disk that takes no time.
//!
//! The order is at its start. The guest's messages follow from [`SAYINGS_SECTOR`] on, one frame
//! after the other; a frame's header is written after its payload, so a header that is there is
//! whole.

use std::io;

use serde::{Deserialize, Serialize};

use crate::content::{Content, Keeping};

#[cfg(test)]
mod tests;

/// Serial number of the mailbox's disk.
pub const SERIAL: &str = "seekwell-mailbox";

/// First sector of the guest's frames.
pub const SAYINGS_SECTOR: u64 = 1 << 22;

/// Size of the mailbox. Nothing is kept of what is not written.
const SECTORS: u64 = 1 << 27;

/// Bytes of a header's meaning; it fills a sector.
pub const HEADER_BYTES: usize = 24;

const SECTOR_BYTES: u64 = 512;

/// Longest payload of a frame; longer messages take several.
pub const LONGEST_SAYING: u64 = 1 << 24;

/// First sector of the order's text.
const ORDER_SECTOR: u64 = 8;

const ORDER_MAGIC: u64 = u64::from_le_bytes(*b"SKWORDR1");
const SAYING_MAGIC: u64 = u64::from_le_bytes(*b"SKWSAID1");

/// The program to run in a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// An agent with one trial as input. It runs as the first process, and so may write to any disk.
    Agent,
    /// A program of the root image, and its arguments.
    Program(Vec<String>),
}

/// The controller's order to a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The program to run.
    pub task: Task,
    /// The disks, in the order of their names in the guest.
    pub disks: Vec<OrderedDisk>,
}

/// A disk as the guest is to present it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedDisk {
    /// Role of the disk.
    pub role: String,
    /// `queue/rotational`.
    pub rotational: bool,
}

/// Kind of a frame from the guest, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The guest's first program runs; the first frame, empty.
    Started = 4,
    /// Part of the command's standard output.
    Output = 1,
    /// Part of its standard error.
    Log = 2,
    /// Its exit status, as decimal digits; the last frame.
    Exit = 3,
}

impl Kind {
    fn from_number(number: u64) -> Option<Self> {
        [Self::Started, Self::Output, Self::Log, Self::Exit]
            .into_iter()
            .find(|kind| *kind as u64 == number)
    }
}

/// A header as three numbers: magic, kind or length, length.
#[must_use]
pub fn encode_header(numbers: [u64; 3]) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    for (slot, number) in numbers.iter().enumerate() {
        bytes[slot * 8..slot * 8 + 8].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn decode_header(bytes: &[u8]) -> Option<[u64; 3]> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let [magic, second, third, ..] = numbers else { return None };
    Some([*magic, *second, *third].map(u64::from_le_bytes))
}

/// Header of a frame.
#[must_use]
pub fn saying_header(kind: Kind, bytes: u64) -> [u8; HEADER_BYTES] {
    encode_header([SAYING_MAGIC, kind as u64, bytes])
}

/// Byte ranges of order and input in the mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderPlace {
    /// Begin of the order's text.
    pub order_at: u64,
    /// Its length.
    pub order_bytes: u64,
    /// Begin of the input.
    pub input_at: u64,
    /// Its length.
    pub input_bytes: u64,
}

/// Reads the first sector of a mailbox; `None` when it is none.
#[must_use]
pub fn order_place(first_sector: &[u8]) -> Option<OrderPlace> {
    let [magic, order_bytes, input_bytes] = decode_header(first_sector)?;
    let order_at = ORDER_SECTOR * SECTOR_BYTES;
    let input_at = order_at.checked_add(order_bytes)?.checked_next_multiple_of(4096)?;
    let place = OrderPlace { order_at, order_bytes, input_at, input_bytes };
    (magic == ORDER_MAGIC).then_some(place)
}

/// A mailbox with an order and the input of its command.
///
/// # Errors
///
/// When order and input are longer than 2 GiB, or the content cannot be kept.
pub fn post(order: &Order, input: &[u8], keeping: Keeping) -> io::Result<Content> {
    let text = serde_json::to_vec(order)?;
    let header = encode_header([ORDER_MAGIC, text.len() as u64, input.len() as u64]);
    let mut content = Content::new(SECTORS, keeping);
    put(&mut content, 0, &header)?;
    let place = order_place(&header).ok_or(io::ErrorKind::InvalidInput)?;
    if place.input_at + place.input_bytes > SAYINGS_SECTOR * SECTOR_BYTES {
        let message = "the input of the guest's command is too long for the mailbox";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    put(&mut content, place.order_at, &text)?;
    put(&mut content, place.input_at, input)?;
    Ok(content)
}

fn put(content: &mut Content, at: u64, bytes: &[u8]) -> io::Result<()> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(SECTOR_BYTES as usize), 0);
    content.write(at / SECTOR_BYTES, &padded)
}

/// A message of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// Kind of the frame.
    pub kind: Kind,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Reads the guest's messages in order.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    sector: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Self { sector: SAYINGS_SECTOR }
    }
}

impl Reader {
    /// The next frame, if it is there.
    ///
    /// # Errors
    ///
    /// As [`Content::read`]; [`io::ErrorKind::InvalidData`] for a header that makes no sense.
    pub fn next(&mut self, mailbox: &Content) -> io::Result<Option<Saying>> {
        let mut header = [0; SECTOR_BYTES as usize];
        mailbox.read(self.sector, &mut header)?;
        let Some([SAYING_MAGIC, kind, length]) = decode_header(&header) else { return Ok(None) };
        let kind = Kind::from_number(kind).filter(|_| length <= LONGEST_SAYING);
        let kind = kind.ok_or(io::ErrorKind::InvalidData)?;
        let sectors = length.div_ceil(SECTOR_BYTES);
        let mut bytes = vec![0; (sectors * SECTOR_BYTES) as usize];
        mailbox.read(self.sector + 1, &mut bytes)?;
        bytes.truncate(length as usize);
        self.sector += 1 + sectors;
        Ok(Some(Saying { kind, bytes }))
    }
}
