//! Reads the form `SkP1`, in which earlier reports held their run file. It is no longer written:
//! gzip of today's run files is 1.1 times as large on the kept runs (`benches/runs/report`).
//!
//! ```text
//! "SkP1", then as u32, little endian: lengths of five blocks, length of the file, its CRC-32;
//! index (gzip of JSON), records (gzip, one per line), chunks, values as they are, the rest
//! ```
//!
//! A chunk has the histograms and timelines of 64 attempts, coded by an adaptive model each.
//! Deflating them again gives the bytes of the file; a checksum proves it.

mod coder;
mod histogram;
pub(crate) mod letters;
mod remains;
mod series;

use coder::{Chance, Number, Reader};
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibEncoder};
use serde::Deserialize;
use std::io::Read;

const MAGIC: &[u8; 4] = b"SkP1";
const BLOCKS: usize = 5;
const HEAD: usize = 4 + 4 * (BLOCKS + 2);
/// Attempts whose histograms and timelines are read together.
const CHUNK: usize = 64;
/// A damaged page must not take all memory.
const LARGEST: u64 = 4 << 30;

/// Contents of the chunks.
#[derive(Debug, Deserialize)]
struct Index {
    attempts: Vec<Attempt>,
    /// Sets of histograms that attempts have: position of the step and operation.
    histograms: Vec<Vec<(u64, String)>>,
    /// Sets of series that attempts have.
    series: Vec<Vec<String>>,
    /// By chunk: its bytes, and those of the values that are there as they are.
    chunks: Vec<(usize, usize)>,
}

/// Trial, 1 when it ended well, index of its set of histograms, of its set of series.
type Attempt = (u64, u8, usize, usize);

/// A value of the run file: its bytes there.
type Blob = Vec<u8>;

/// Histograms and series of an attempt.
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

/// Decompresses gzip; the error says what is damaged.
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

/// Adaptive models of one chunk.
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
    let length = models.lengths.read(coder);
    Some(plain.split_off(..usize::try_from(length).ok()?)?.to_vec())
}

fn read_histogram(models: &mut Models, coder: &mut Reader<'_>, plain: &mut &[u8]) -> Option<Blob> {
    if !coder.bit(&mut models.modelled[0]) {
        return plain_value(models, coder, plain);
    }
    Some(deflate(&models.histogram.read(coder)?))
}

fn read_series(models: &mut Models, coder: &mut Reader<'_>, plain: &mut &[u8]) -> Option<Blob> {
    if !coder.bit(&mut models.modelled[1]) {
        return plain_value(models, coder, plain);
    }
    Some(series::pack(&models.timeline.read(coder)?))
}

#[cfg(test)]
mod tests;
