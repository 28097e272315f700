//! Timelines and block events as compact blobs: columns of optional 64-bit values.
//!
//! A blob is one version byte, the number of columns (1 byte), the number of rows (u32, little
//! endian) and a zlib stream. The stream holds, per column, one byte (0: every row has a value,
//! 1: none has, 2: a bitmap follows, lowest bit first) and then the values of the rows that have
//! one, each XORed with the one before and the eight bytes of all values apart: first all lowest
//! bytes, then all second ones. Slowly changing columns become runs of zeros that deflate well.
//! Nothing is rounded.

use crate::inflater::{Inflater, LARGEST_UNPACKED};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use seekwell_model::record::{BlockEvent, BlockEvents, SAMPLE_COLUMNS, Sample, SampleField};
use std::io::{Read, Write};

const VERSION: u8 = 1;
const HEADER: usize = 6;

/// Reason why a blob could not be read: the words after "the timeline …".
pub(crate) type Problem = String;

/// Deflates bytes.
pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    // Writing to memory does not fail.
    written.unwrap_or_default()
}

/// Inflates what [`deflate`] made.
pub(crate) fn inflate(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    whole(ZlibDecoder::new(bytes))
}

/// All that a decoder gives.
pub(crate) fn whole(decoder: impl Read) -> Result<Vec<u8>, Problem> {
    let mut inflated = Vec::new();
    let read = decoder.take(LARGEST_UNPACKED).read_to_end(&mut inflated);
    let length = read.map_err(|error| format!("cannot be unpacked ({error})"))?;
    if length as u64 == LARGEST_UNPACKED {
        return Err("is larger than any trial makes".to_owned());
    }
    Ok(inflated)
}

fn pack<const COLUMNS: usize>(rows: &[[Option<u64>; COLUMNS]]) -> Vec<u8> {
    let mut plain = Vec::new();
    for column in 0..COLUMNS {
        let values: Vec<u64> = rows.iter().filter_map(|row| row[column]).collect();
        if values.len() == rows.len() {
            plain.push(0);
        } else if values.is_empty() {
            plain.push(1);
        } else {
            plain.push(2);
            let bit = |row: &[Option<u64>; COLUMNS]| u8::from(row[column].is_some());
            plain.extend(
                rows.chunks(8)
                    .map(|chunk| chunk.iter().rev().fold(0, |bits, row| bits << 1 | bit(row))),
            );
        }
        let mut before = 0;
        let changes: Vec<[u8; 8]> = values
            .iter()
            .map(|value| (value ^ std::mem::replace(&mut before, *value)).to_le_bytes())
            .collect();
        for byte in 0..8 {
            plain.extend(changes.iter().map(|change| change[byte]));
        }
    }
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let mut blob = vec![VERSION, COLUMNS as u8];
    blob.extend(count.to_le_bytes());
    blob.extend(deflate(&plain));
    blob
}

/// Takes bytes off the front.
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    /// A number of at most eight bytes, little endian.
    pub(crate) fn number(&mut self, bytes: usize) -> Result<usize, Problem> {
        let bytes = self.take(bytes)?;
        let number = bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        usize::try_from(number).map_err(|_| "is too long".to_owned())
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let split = self.0.split_at_checked(length);
        let (front, rest) = split.ok_or_else(|| "ends early".to_owned())?;
        self.0 = rest;
        Ok(front)
    }

    /// One column of `rows` values.
    fn column(&mut self, rows: usize) -> Result<Vec<Option<u64>>, Problem> {
        let present = self.present(rows)?;
        let count = present.count(rows);
        let bytes = self.take(count.checked_mul(8).ok_or("is too long")?)?;
        let mut values = vec![0_u64; count];
        for (byte, part) in bytes.chunks_exact(count.max(1)).enumerate() {
            for (value, part) in values.iter_mut().zip(part) {
                *value |= u64::from(*part) << (8 * byte);
            }
        }
        let mut before = 0;
        for value in &mut values {
            *value ^= before;
            before = *value;
        }
        let mut values = values.into_iter();
        Ok(match present {
            Present::All => values.map(Some).collect(),
            Present::No => vec![None; rows],
            Present::Some(bitmap) => (0..rows)
                .map(|row| if is_set(bitmap, row) { values.next() } else { None })
                .collect(),
        })
    }

    /// Leaves out one column of `rows` values.
    fn skip_column(&mut self, rows: usize) -> Result<(), Problem> {
        let count = self.present(rows)?.count(rows);
        self.take(count.checked_mul(8).ok_or("is too long")?).map(drop)
    }

    /// Rows of a column that have a value.
    fn present(&mut self, rows: usize) -> Result<Present<'a>, Problem> {
        Ok(match self.take(1)? {
            [0] => Present::All,
            [1] => Present::No,
            [2] => Present::Some(self.take(rows.div_ceil(8))?),
            _ => return Err("has an unknown kind of column".to_owned()),
        })
    }
}

/// Rows that have a value.
enum Present<'a> {
    All,
    No,
    /// Those whose bit is set.
    Some(&'a [u8]),
}

impl Present<'_> {
    fn count(&self, rows: usize) -> usize {
        match self {
            Self::All => rows,
            Self::No => 0,
            Self::Some(bitmap) => (0..rows).filter(|row| is_set(bitmap, *row)).count(),
        }
    }
}

fn is_set(bitmap: &[u8], row: usize) -> bool {
    bitmap[row / 8] >> (row % 8) & 1 == 1
}

/// Reads rows; columns that a newer minor version added behind ours are ignored.
fn unpack<const COLUMNS: usize>(
    blob: &[u8],
    inflater: &mut Inflater,
) -> Result<Vec<[Option<u64>; COLUMNS]>, Problem> {
    let (rows, plain) = plain::<COLUMNS>(blob, inflater)?;
    let mut table = vec![[None; COLUMNS]; rows];
    let mut cursor = Cursor(&plain);
    for column in 0..COLUMNS {
        for (row, value) in table.iter_mut().zip(cursor.column(rows)?) {
            row[column] = value;
        }
    }
    Ok(table)
}

/// Number of rows of a blob of so many columns or more, and the bytes of its columns.
fn plain<const COLUMNS: usize>(
    blob: &[u8],
    inflater: &mut Inflater,
) -> Result<(usize, Vec<u8>), Problem> {
    let header = blob.get(..HEADER).ok_or("ends early")?;
    if header[0] != VERSION {
        return Err(format!("has the unknown version {}", header[0]));
    }
    if usize::from(header[1]) < COLUMNS {
        return Err(format!("has {} columns, expected {COLUMNS}", header[1]));
    }
    let rows = u32::from_le_bytes([header[2], header[3], header[4], header[5]]) as usize;
    let packed = &blob[HEADER..];
    let plain = inflater.zlib(packed).map_or_else(|| inflate(packed), Ok)?;
    // The first column of both kinds of blob is the time, which every row has.
    if plain.len() / 8 < rows {
        return Err("ends early".to_owned());
    }
    Ok((rows, plain))
}

/// Samples as a blob.
pub(crate) fn pack_samples(samples: &[Sample]) -> Vec<u8> {
    let bits = |sample: &mut Sample, field| match field {
        SampleField::Whole(of) => Some(*of(sample)),
        SampleField::MaybeWhole(of) => *of(sample),
        SampleField::Number(of) => Some(of(sample).to_bits()),
        SampleField::MaybeNumber(of) => of(sample).map(f64::to_bits),
    };
    let row = |sample: &Sample| {
        let mut sample = *sample;
        SAMPLE_COLUMNS.map(|(_, field)| bits(&mut sample, field))
    };
    pack(&samples.iter().map(row).collect::<Vec<_>>())
}

/// Columns of a sample that texts and verdicts need: its time, the requests in flight, the pressure on the CPUs.
const TOLD: [usize; 3] = [0, 9, 17];

/// Reads what [`pack_samples`] made.
pub(crate) fn unpack_samples(blob: &[u8], inflater: &mut Inflater) -> Result<Vec<Sample>, Problem> {
    samples(blob, inflater, |_| true)
}

/// As [`unpack_samples`], of the columns that texts and verdicts need: the others of a sample are empty.
pub(crate) fn unpack_told(blob: &[u8], inflater: &mut Inflater) -> Result<Vec<Sample>, Problem> {
    samples(blob, inflater, |column| TOLD.contains(&column))
}

/// Samples in which only these columns are filled. They are filled column by column: a table of all rows, made
/// for each of 100,000 trials, left holes in memory that nothing else filled.
fn samples(
    blob: &[u8],
    inflater: &mut Inflater,
    is_wanted: impl Fn(usize) -> bool,
) -> Result<Vec<Sample>, Problem> {
    let (rows, plain) = plain::<{ SAMPLE_COLUMNS.len() }>(blob, inflater)?;
    let mut cursor = Cursor(&plain);
    let mut samples = vec![Sample::default(); rows];
    for (column, (_, field)) in SAMPLE_COLUMNS.iter().enumerate() {
        if !is_wanted(column) {
            cursor.skip_column(rows)?;
            continue;
        }
        for (sample, value) in samples.iter_mut().zip(cursor.column(rows)?) {
            let whole = || value.ok_or_else(|| format!("lacks column {column}"));
            match field {
                SampleField::Whole(of) => *of(sample) = whole()?,
                SampleField::MaybeWhole(of) => *of(sample) = value,
                SampleField::Number(of) => *of(sample) = f64::from_bits(whole()?),
                SampleField::MaybeNumber(of) => *of(sample) = value.map(f64::from_bits),
            }
        }
    }
    Ok(samples)
}

/// Block events as a blob: the number of lost ones (u64, little endian), then the columns.
pub(crate) fn pack_events(stream: &BlockEvents) -> Vec<u8> {
    let rows: Vec<[Option<u64>; 6]> = stream
        .events
        .iter()
        .map(|event| {
            [
                Some(event.at_ns),
                Some(u64::from(event.complete)),
                Some(event.sector),
                Some(u64::from(event.sectors)),
                Some(u64::from(u32::from(event.operation))),
                Some(u64::from(event.pid)),
            ]
        })
        .collect();
    let mut blob = stream.lost.to_le_bytes().to_vec();
    blob.extend(pack(&rows));
    blob
}

/// Reads what [`pack_events`] made.
pub(crate) fn unpack_events(blob: &[u8], inflater: &mut Inflater) -> Result<BlockEvents, Problem> {
    let (lost, rows) = blob.split_first_chunk::<8>().ok_or("ends early")?;
    let events = unpack::<6>(rows, inflater)?.into_iter().map(event_of).collect::<Option<_>>();
    let events = events.ok_or("holds an impossible event")?;
    Ok(BlockEvents { events, lost: u64::from_le_bytes(*lost) })
}

fn event_of(row: [Option<u64>; 6]) -> Option<BlockEvent> {
    let narrow = |column: usize| u32::try_from(row[column]?).ok();
    Some(BlockEvent {
        at_ns: row[0]?,
        complete: match row[1]? {
            0 => false,
            1 => true,
            _ => return None,
        },
        sector: row[2]?,
        sectors: narrow(3)?,
        operation: char::from_u32(narrow(4)?)?,
        pid: narrow(5)?,
    })
}

#[cfg(test)]
mod tests;
