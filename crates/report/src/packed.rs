//! A run file for the inside of a page: as small as it gets without losing a bit, and so that the
//! page's program gets at every trial without the rest.
//!
//! Packed are, each in its own way: the records (text, gzip), latency histograms and timelines (a
//! model each, in chunks of trials that are read alone), what else there is of a trial as it is,
//! and last what remains of the file without all these, with the places where they belong. Whoever
//! puts it together again gets the file byte by byte; a checksum says so. Histograms and timelines
//! are deflated in the run file: where deflating them anew does not give the same bytes, they stay
//! as they are.
//!
//! ```text
//! "SkP1", then as u32, little endian: lengths of five blocks, length of the file, its CRC-32;
//! index (gzip of JSON), records (gzip, one per line), chunks, values as they are, the rest
//! ```

mod coder;
mod histogram;
pub(crate) mod letters;
mod remains;
mod series;
mod sqlite;

use coder::{Chance, Coder, Number, Reader, Writer};
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder, ZlibDecoder, ZlibEncoder};
use histogram::Hdr;
use serde::{Deserialize, Serialize};
use sqlite::{Cell, Database};
use std::collections::BTreeMap;
use std::io::Read;

const MAGIC: &[u8; 4] = b"SkP1";
const BLOCKS: usize = 5;
const HEAD: usize = 4 + 4 * (BLOCKS + 2);
/// Trials whose histograms and timelines are read together.
const CHUNK: usize = 64;
/// A damaged page must not take all memory.
const LARGEST: u64 = 4 << 30;

/// What the chunks hold.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Index {
    attempts: Vec<Attempt>,
    /// Sets of histograms that attempts have: position of the step and operation.
    histograms: Vec<Vec<(u64, String)>>,
    /// Sets of series that attempts have.
    series: Vec<Vec<String>>,
    /// By chunk: its bytes, and those of the values that stand as they are.
    chunks: Vec<(usize, usize)>,
}

/// Trial, 1 when it ended well, index of its set of histograms, of its set of series.
type Attempt = (u64, u8, usize, usize);

/// A value of the run file that is packed: its bytes there.
type Blob = Vec<u8>;

/// What one attempt has beside its record.
#[derive(Default)]
struct Details {
    histograms: Vec<Blob>,
    series: Vec<Blob>,
}

/// The bytes in the form of the run file's own deflated values.
fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // Memory does not fail to be read.
    let _ = ZlibEncoder::new(bytes, Compression::default()).read_to_end(&mut out);
    out
}

fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    ZlibDecoder::new(bytes).take(LARGEST).read_to_end(&mut out).ok()?;
    Some(out)
}

pub(crate) fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let _ = GzEncoder::new(bytes, Compression::default()).read_to_end(&mut out);
    out
}

/// What [`zip`] made, or why it is damaged.
pub(crate) fn unzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let read = GzDecoder::new(bytes).take(LARGEST).read_to_end(&mut out);
    read.map_err(|error| error.to_string())?;
    Ok(out)
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Everything of a run file that is packed, and where in the file it is.
struct Taken {
    index: Index,
    records: Vec<String>,
    details: Vec<Details>,
    /// Places of the records, the histograms and the series, each in the order of the attempts.
    places: Vec<Cell>,
    metrics: Vec<Cell>,
}

/// Packs a run file; `None` when it is none. Without `whole` there is no way back to the file, and
/// what the way back takes is left out.
pub(crate) fn pack(file: &[u8], whole: bool) -> Option<Vec<u8>> {
    let length = u32::try_from(file.len()).ok()?;
    let mut taken = take(&Database::open(file)?)?;
    let parts: Vec<&[Details]> = taken.details.chunks(CHUNK).collect();
    let index = &taken.index;
    let (chunks, records, rest) = std::thread::scope(|scope| {
        let (front, back) = parts.split_at(parts.len() / 2);
        let back = scope.spawn(|| back.iter().map(|part| write_chunk(part)).collect::<Vec<_>>());
        let mut chunks: Vec<_> = front.iter().map(|part| write_chunk(part)).collect();
        let records = zip(taken.records.join("\n").as_bytes());
        let rest =
            whole.then(|| remains::write(file, &taken.records, &taken.places, &taken.metrics));
        chunks.extend(back.join().ok()?);
        Some((chunks, records, rest.unwrap_or_default()))
    })?;
    debug_assert!(index.chunks.is_empty());
    taken.index.chunks = chunks.iter().map(|(packed, raw)| (packed.len(), raw.len())).collect();
    let (packed, raw): (Vec<_>, Vec<_>) = chunks.into_iter().unzip();
    let index = zip(&serde_json::to_vec(&taken.index).ok()?);
    let blocks = [index, records, packed.concat(), raw.concat(), rest];
    let mut out = MAGIC.to_vec();
    for block in &blocks {
        out.extend(u32::try_from(block.len()).ok()?.to_le_bytes());
    }
    out.extend(length.to_le_bytes());
    out.extend(checksum(file).to_le_bytes());
    out.extend(blocks.concat());
    Some(out)
}

fn take(database: &Database) -> Option<Taken> {
    let attempts = database.table("attempt")?;
    let mut histograms: BTreeMap<u64, Vec<(u64, String, Cell)>> = BTreeMap::new();
    for row in database.table("histogram")? {
        let [attempt, position, operation, data] = row.cells.as_slice() else { return None };
        let named = (database.number(position)?, database.text(operation), data.clone());
        histograms.entry(database.number(attempt)?).or_default().push(named);
    }
    let mut series: BTreeMap<u64, Vec<(String, Cell)>> = BTreeMap::new();
    for row in database.table("series")? {
        let [attempt, kind, data] = row.cells.as_slice() else { return None };
        let named = (database.text(kind), data.clone());
        series.entry(database.number(attempt)?).or_default().push(named);
    }
    let metrics = database.table("metric")?.into_iter().map(|mut row| row.cells.pop());
    let metrics = metrics.collect::<Option<Vec<Cell>>>()?;
    let mut taken = Taken {
        index: Index::default(),
        records: vec![],
        details: vec![],
        places: vec![],
        metrics,
    };
    for attempt in attempts {
        let [_, trial, _, _, _, status, _, _, _, _, record, ..] = attempt.cells.as_slice() else {
            return None;
        };
        let text =
            String::from_utf8(database.bytes(record)).ok().filter(|text| !text.contains('\n'))?;
        taken.records.push(text);
        taken.places.push(record.clone());
        let mut details = Details::default();
        let own = histograms.remove(&attempt.id).unwrap_or_default();
        let names =
            own.iter().map(|(position, operation, _)| (*position, operation.clone())).collect();
        for (_, _, data) in own {
            details.histograms.push(database.bytes(&data));
            taken.places.push(data);
        }
        let own = series.remove(&attempt.id).unwrap_or_default();
        let kinds = own.iter().map(|(kind, _)| kind.clone()).collect();
        for (_, data) in own {
            details.series.push(database.bytes(&data));
            taken.places.push(data);
        }
        let named = place_of(&mut taken.index.histograms, names);
        let kinds = place_of(&mut taken.index.series, kinds);
        let well = u8::from(database.text(status) == "ok");
        taken.index.attempts.push((database.number(trial)?, well, named, kinds));
        taken.details.push(details);
    }
    (histograms.is_empty() && series.is_empty()).then_some(taken)
}

/// Where a set stands, put there when it is new.
fn place_of<T: PartialEq>(sets: &mut Vec<T>, set: T) -> usize {
    sets.iter().position(|known| *known == set).unwrap_or_else(|| {
        sets.push(set);
        sets.len() - 1
    })
}

/// What was learnt within a chunk.
struct Models {
    modelled: [Chance; 2],
    lengths: Number,
    histogram: histogram::Model,
    timeline: series::Model,
}

impl Models {
    fn new() -> Self {
        Self {
            modelled: [Chance::default(); 2],
            lengths: Number::default(),
            histogram: histogram::Model::new(),
            timeline: series::Model::new(),
        }
    }
}

/// Packs the details of some attempts: by the models, and what does not fit them as it is.
fn write_chunk(part: &[Details]) -> (Vec<u8>, Vec<u8>) {
    let (mut models, mut coder, mut raw) = (Models::new(), Writer::new(), Vec::new());
    for details in part {
        for blob in &details.histograms {
            let plain = inflate(blob).filter(|plain| deflate(plain) == *blob);
            let known = plain.and_then(|plain| Hdr::of(&plain));
            coder.bit(&mut models.modelled[0], known.is_some());
            match known {
                Some(known) => models.histogram.write(&mut coder, &known),
                None => as_it_is(&mut models, &mut coder, &mut raw, blob),
            }
        }
        for blob in &details.series {
            let known = series::unpack(blob)
                .filter(|rows| series::fits(rows) && series::pack(rows) == *blob);
            coder.bit(&mut models.modelled[1], known.is_some());
            match known {
                // What comes back is for who reads.
                Some(rows) => drop(models.timeline.code(&mut coder, &rows, u64::MAX)),
                None => as_it_is(&mut models, &mut coder, &mut raw, blob),
            }
        }
    }
    (coder.finish(), raw)
}

fn as_it_is(models: &mut Models, coder: &mut Writer, raw: &mut Vec<u8>, blob: &[u8]) {
    models.lengths.code(coder, blob.len() as u64);
    raw.extend(blob);
}

/// The file that was packed, byte by byte; else the words that end "the run file is damaged".
pub(crate) fn unpack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let ends = || "it ends early".to_owned();
    let head = bytes.get(..HEAD).filter(|head| head.starts_with(MAGIC)).ok_or_else(ends)?;
    let words: Vec<usize> = head[4..]
        .chunks(4)
        .map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
        .collect();
    let mut rest = &bytes[HEAD..];
    let mut block = |length: usize| rest.split_off(..length).ok_or_else(ends);
    let (index, records) = (unzip(block(words[0])?)?, unzip(block(words[1])?)?);
    let (chunks, raw, remains) = (block(words[2])?, block(words[3])?, block(words[4])?);
    let wrong = || "its parts do not fit together".to_owned();
    let index: Index = serde_json::from_slice(&index).map_err(|_| wrong())?;
    let records = String::from_utf8(records).map_err(|_| wrong())?;
    let records: Vec<&str> =
        if index.attempts.is_empty() { vec![] } else { records.split('\n').collect() };
    let file = (|| {
        let details = read_chunks(&index, chunks, raw)?;
        let mut values: Vec<&[u8]> = Vec::new();
        for (record, one) in records.iter().zip(&details) {
            values.push(record.as_bytes());
            values.extend(one.histograms.iter().chain(&one.series).map(Vec::as_slice));
        }
        (records.len() == details.len()).then_some(())?;
        remains::read(remains, &records, &values, words[5])
    })();
    let file = file.ok_or_else(wrong)?;
    match checksum(&file) as usize == words[6] {
        true => Ok(file),
        false => Err("its checksum does not fit".to_owned()),
    }
}

fn read_chunks(index: &Index, mut chunks: &[u8], mut raw: &[u8]) -> Option<Vec<Details>> {
    let mut found = Vec::new();
    for (part, (packed, plain)) in index.attempts.chunks(CHUNK).zip(&index.chunks) {
        let mut coder = Reader::new(chunks.split_off(..*packed)?);
        let mut plain = raw.split_off(..*plain)?;
        let mut models = Models::new();
        for (_, _, histograms, series) in part {
            let mut details = Details::default();
            for _ in index.histograms.get(*histograms)? {
                details.histograms.push(read_histogram(&mut models, &mut coder, &mut plain)?);
            }
            for _ in index.series.get(*series)? {
                details.series.push(read_series(&mut models, &mut coder, &mut plain)?);
            }
            found.push(details);
        }
    }
    Some(found)
}

fn plain_value(models: &mut Models, coder: &mut Reader<'_>, plain: &mut &[u8]) -> Option<Blob> {
    let length = models.lengths.code(coder, 0);
    Some(plain.split_off(..usize::try_from(length).ok()?)?.to_vec())
}

fn read_histogram(models: &mut Models, coder: &mut Reader<'_>, plain: &mut &[u8]) -> Option<Blob> {
    if !coder.bit(&mut models.modelled[0], false) {
        return plain_value(models, coder, plain);
    }
    Some(deflate(&models.histogram.read(coder)?.bytes()))
}

fn read_series(models: &mut Models, coder: &mut Reader<'_>, plain: &mut &[u8]) -> Option<Blob> {
    if !coder.bit(&mut models.modelled[1], false) {
        return plain_value(models, coder, plain);
    }
    Some(series::pack(&models.timeline.code(coder, &[], series::MOST)?))
}

#[cfg(test)]
mod tests;
