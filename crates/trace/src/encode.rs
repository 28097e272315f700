//! Column chunks of Parquet, encoded without generality: one data page in a row group, differences
//! or a dictionary. The crate `parquet` writes the pages' headers and the footer, and reads them.
//!
//! Encodings are those of the format's `Encodings.md`: `DELTA_BINARY_PACKED`, `RLE_DICTIONARY`, and
//! the RLE and bit-packing hybrid.

use flate2::write::GzEncoder;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::borrow::Cow;
use std::io::Write;

/// Entries of a dictionary; a column with more is stored as differences.
const DICTIONARY: usize = 1 << 15;
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// Whole numbers of a column; `None` is unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Those that are known.
    values: Vec<i64>,
    /// 1 for each row with a value, else 0; empty while every row has one, or none has.
    present: Vec<u8>,
    /// Rows so far while none has a value.
    unknown: usize,
}

impl Numbers {
    /// Adds the values of many rows.
    pub(crate) fn extend(&mut self, rows: impl ExactSizeIterator<Item = Option<i64>> + Clone) {
        let known = rows.clone().filter(Option::is_some).count();
        // A column without values costs its rows nothing, until there is one.
        if known == 0 && self.values.is_empty() {
            self.unknown += rows.len();
            return;
        }
        if known == rows.len() && self.present.is_empty() && self.unknown == 0 {
            self.values.extend(rows.map(Option::unwrap_or_default));
            return;
        }
        if self.present.is_empty() {
            // A capacity is taken once: rows of all groups are about as many.
            self.present.reserve(self.values.capacity());
            self.present.resize(self.values.len(), 1);
            self.present.resize(self.values.len() + std::mem::take(&mut self.unknown), 0);
        }
        // Without a branch: which rows have a value is hard to foresee.
        let mut at = self.values.len();
        // One more: a row without a value is written too, and then written over.
        self.values.resize(at + rows.len() + 1, 0);
        self.present.extend(rows.clone().map(|row| u8::from(row.is_some())));
        for row in rows {
            self.values[at] = row.unwrap_or_default();
            at += usize::from(row.is_some());
        }
        self.values.truncate(at);
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
        self.unknown = 0;
    }

    fn rows(&self) -> usize {
        if self.present.is_empty() { self.values.len() + self.unknown } else { self.present.len() }
    }
}

/// Words of a column by their index in a list; every row has one.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    list: Vec<Cow<'static, str>>,
    /// Place in this group's dictionary of each word of the list, [`u32::MAX`] for none.
    places: Vec<u32>,
    /// Places in the list of the words of this group.
    dictionary: Vec<usize>,
    indices: Vec<u32>,
}

impl Words {
    pub(crate) fn new<T: Into<Cow<'static, str>>>(list: impl IntoIterator<Item = T>) -> Self {
        let list: Vec<_> = list.into_iter().map(Into::into).collect();
        let places = vec![u32::MAX; list.len()];
        Self { list, places, dictionary: Vec::new(), indices: Vec::new() }
    }

    /// Adds the word at this place of the list; the first one when the list is shorter.
    pub(crate) fn push(&mut self, word: usize) {
        let word = if word < self.list.len() { word } else { 0 };
        if self.places[word] == u32::MAX {
            self.places[word] = length(self.dictionary.len());
            self.dictionary.push(word);
        }
        self.indices.push(self.places[word]);
    }

    pub(crate) fn clear(&mut self) {
        self.places.fill(u32::MAX);
        self.dictionary.clear();
        self.indices.clear();
    }
}

/// Texts of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    /// Those that are known, one after the other, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// 1 for each row with a text, else 0.
    present: Vec<u8>,
}

impl Texts {
    pub(crate) fn of<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.present.push(u8::from(text.is_some()));
            if let Some(text) = text {
                all.bytes.extend_from_slice(text.as_bytes());
                all.ends.push(all.bytes.len());
            }
        }
        all
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// An encoded chunk.
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) close: ColumnCloseResult,
}

/// Encoding of a chunk.
enum Encoded {
    /// Plain values of the dictionary, and their number.
    Dictionary(Vec<u8>, usize),
    /// Without one.
    As(Encoding),
}

/// Pages of a chunk before their headers.
struct Pages {
    encoded: Encoded,
    /// Levels of presence.
    levels: Vec<u8>,
    data: Vec<u8>,
    rows: usize,
    nulls: usize,
    statistics: Statistics,
}

/// Encodes whole numbers, with a dictionary if `few` differ.
pub(crate) fn numbers(column: &ColumnDescPtr, values: &Numbers, few: bool) -> Result<Chunk> {
    let rows = values.rows();
    let nulls = rows - values.values.len();
    let levels = presence(&values.present, rows, nulls);
    let dictionary = if few { dictionary(&values.values) } else { None };
    let (encoded, data, bounds) = match dictionary {
        Some((distinct, indices)) => {
            let plain = distinct.iter().flat_map(|value| value.to_le_bytes()).collect();
            let data = indexed(&indices, distinct.len());
            (Encoded::Dictionary(plain, distinct.len()), data, bounds(&distinct))
        }
        None => {
            let data = differences(&values.values);
            (Encoded::As(Encoding::DELTA_BINARY_PACKED), data, bounds(&values.values))
        }
    };
    let (low, high) = bounds.unzip();
    let statistics = Statistics::new(low, high, None, Some(nulls as u64), false);
    pages(column, Pages { encoded, levels, data, rows, nulls, statistics })
}

/// The lowest and the highest value.
fn bounds(values: &[i64]) -> Option<(i64, i64)> {
    let first = *values.first()?;
    let wider = |(low, high): (i64, i64), value: &i64| (low.min(*value), high.max(*value));
    Some(values.iter().fold((first, first), wider))
}

/// Levels of presence: 1 for each row with a value, else 0.
fn presence(present: &[u8], rows: usize, nulls: usize) -> Vec<u8> {
    let mut levels = Vec::new();
    if nulls == 0 || nulls == rows {
        run(&mut levels, rows, u32::from(nulls == 0), 1);
    } else {
        hybrid(&mut levels, present, 1, |level| u32::from(*level));
    }
    levels
}

/// Encodes texts: of each the length of its beginning that it shares with the one before, and the rest.
pub(crate) fn texts(column: &ColumnDescPtr, values: &Texts) -> Result<Chunk> {
    let (rows, known) = (values.present.len(), values.ends.len());
    let nulls = rows - known;
    let levels = presence(&values.present, rows, nulls);
    let (mut shared, mut lengths) = (Vec::with_capacity(known), Vec::with_capacity(known));
    let mut rest = Vec::with_capacity(values.bytes.len() / 2);
    let (mut before, mut low, mut high): (&[u8], &[u8], &[u8]) = (&[], &[], &[]);
    for (nth, text) in values.iter().enumerate() {
        let same = text.iter().zip(before).take_while(|(one, other)| one == other).count();
        shared.push(signed(same));
        lengths.push(signed(text.len() - same));
        rest.extend_from_slice(&text[same..]);
        low = if nth == 0 || text < low { text } else { low };
        high = if nth == 0 || text > high { text } else { high };
        before = text;
    }
    let data = [differences(&shared), differences(&lengths), rest].concat();
    let bound = |text: &[u8]| (known > 0).then(|| ByteArray::from(text.to_vec()));
    let statistics = Statistics::new(bound(low), bound(high), None, Some(nulls as u64), false);
    let encoded = Encoded::As(Encoding::DELTA_BYTE_ARRAY);
    pages(column, Pages { encoded, levels, data, rows, nulls, statistics })
}

/// Encodes words.
pub(crate) fn words(column: &ColumnDescPtr, values: &Words) -> Result<Chunk> {
    let rows = values.indices.len();
    let mut levels = Vec::new();
    run(&mut levels, rows, 1, 1);
    let mut plain = Vec::new();
    let dictionary = || values.dictionary.iter().map(|word| &*values.list[*word]);
    for word in dictionary() {
        plain.extend(length(word.len()).to_le_bytes());
        plain.extend(word.as_bytes());
    }
    let (low, high) = (dictionary().min().map(Into::into), dictionary().max().map(Into::into));
    let statistics = Statistics::new::<ByteArray>(low, high, None, Some(0), false);
    let distinct = values.dictionary.len();
    let data = indexed(&values.indices, distinct);
    let encoded = Encoded::Dictionary(plain, distinct);
    pages(column, Pages { encoded, levels, data, rows, nulls: 0, statistics })
}

/// Compression of pages. Snappy costs a tenth of what deflate does, which is a third smaller where bytes
/// are of few kinds, as in texts.
fn compressed(bytes: &[u8], compression: Compression) -> Result<Vec<u8>> {
    if let Compression::GZIP(_) = compression {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes)?;
        return Ok(encoder.finish()?);
    }
    snap::raw::Encoder::new()
        .compress_vec(bytes)
        .map_err(|error| ParquetError::External(Box::new(error)))
}

fn pages(column: &ColumnDescPtr, pages: Pages) -> Result<Chunk> {
    let compression = match pages.encoded {
        Encoded::As(Encoding::DELTA_BYTE_ARRAY) => Compression::GZIP(GzipLevel::default()),
        _ => Compression::SNAPPY,
    };
    let mut chunk = Vec::with_capacity(pages.data.len() / 2 + 1024);
    let (mut uncompressed, mut dictionary_offset) = (0, None);
    let mut encodings = vec![Encoding::RLE];
    let encoding = match pages.encoded {
        Encoded::Dictionary(plain, count) => {
            let page = Page::DictionaryPage {
                buf: compressed(&plain, compression)?.into(),
                num_values: length(count),
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            uncompressed += append_page(&mut chunk, CompressedPage::new(page, plain.len()))?;
            dictionary_offset = Some(0);
            encodings.extend([Encoding::PLAIN, Encoding::RLE_DICTIONARY]);
            Encoding::RLE_DICTIONARY
        }
        Encoded::As(encoding) => {
            encodings.push(encoding);
            encoding
        }
    };
    // Levels stay as they are in pages of version 2.
    let whole = pages.levels.len() + pages.data.len();
    let small = compressed(&pages.data, compression)?;
    let is_compressed = small.len() < pages.data.len();
    let mut bytes = pages.levels;
    let levels = length(bytes.len());
    bytes.extend(if is_compressed { small } else { pages.data });
    let page = Page::DataPageV2 {
        buf: bytes.into(),
        num_values: length(pages.rows),
        encoding,
        num_nulls: length(pages.nulls),
        num_rows: length(pages.rows),
        def_levels_byte_len: levels,
        rep_levels_byte_len: 0,
        is_compressed,
        statistics: None,
    };
    let data_offset = chunk.len();
    uncompressed += append_page(&mut chunk, CompressedPage::new(page, whole))?;
    let bytes = chunk;
    let metadata = ColumnChunkMetaData::builder(column.clone())
        .set_compression(compression)
        .set_encodings(encodings)
        .set_num_values(signed(pages.rows))
        .set_total_compressed_size(signed(bytes.len()))
        .set_total_uncompressed_size(signed(uncompressed))
        .set_data_page_offset(signed(data_offset))
        .set_dictionary_page_offset(dictionary_offset)
        .set_statistics(pages.statistics)
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: pages.rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok(Chunk { bytes, close })
}

/// Header of a whole number of 32 bits in the field after the one before, in Thrift's compact protocol.
const NEXT_NUMBER: u8 = 0x15;
/// Header of a structure, without the distance from the field before, which is in the upper half of the byte.
const STRUCTURE: u8 = 0x0c;
/// One field further.
const ONE_FIELD: u8 = 0x10;
/// Whole numbers of a page's header before its checksum: kind and sizes.
const BEFORE_CHECKSUM: usize = 3;

/// Appends a page with a checksum in its header, which the crate's writer leaves out. Returns the size of header and page
/// before compression.
fn append_page(chunk: &mut Vec<u8>, page: CompressedPage) -> Result<usize> {
    let (checksum, length) = (crc32fast::hash(page.data()), page.compressed_size());
    let whole = page.uncompressed_size();
    let mut sink = TrackedWrite::new(Vec::with_capacity(length + 64));
    SerializedPageWriter::new(&mut sink).write_page(page)?;
    let bytes = sink.into_inner()?;
    let (header, data) = bytes.split_at(bytes.len() - length);
    let before = chunk.len();
    let place = place_of_checksum(header)
        .ok_or_else(|| ParquetError::General("a page's header has another form".to_owned()))?;
    chunk.extend_from_slice(&header[..place]);
    chunk.push(NEXT_NUMBER);
    let zigzag = (checksum << 1) ^ (checksum.cast_signed() >> 31).cast_unsigned();
    varint(chunk, zigzag.into());
    chunk.push(header[place] - ONE_FIELD);
    chunk.extend_from_slice(&header[place + 1..]);
    let header = chunk.len() - before;
    chunk.extend_from_slice(data);
    Ok(whole + header)
}

/// Place in a page's header behind its first three numbers, where a structure follows that is at least two fields
/// further.
fn place_of_checksum(header: &[u8]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..BEFORE_CHECKSUM {
        if *header.get(at)? != NEXT_NUMBER {
            return None;
        }
        at += 2 + header[at + 1..].iter().position(|byte| byte & 0x80 == 0)?;
    }
    let next = *header.get(at)?;
    (next & 0x0f == STRUCTURE && next >= 2 * ONE_FIELD).then_some(at)
}

/// The format counts in 32 bits; a group has far fewer rows.
fn length(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn signed(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn zigzag(value: i64) -> u64 {
    (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned()
}

/// Packs values of `width` bits, lowest bits first.
#[derive(Default)]
struct Packer {
    bits: u64,
    count: u32,
}

impl Packer {
    #[inline]
    fn push(&mut self, out: &mut Vec<u8>, value: u64, width: u32) {
        self.bits |= value << self.count;
        self.count += width;
        if self.count >= u64::BITS {
            out.extend_from_slice(&self.bits.to_le_bytes());
            self.count -= u64::BITS;
            // The bits of the value that had no room.
            self.bits = if self.count == 0 { 0 } else { value >> (width - self.count) };
        }
    }

    fn finish(self, out: &mut Vec<u8>) {
        let bytes = self.count.div_ceil(8) as usize;
        out.extend_from_slice(&self.bits.to_le_bytes()[..bytes]);
    }
}

/// `DELTA_BINARY_PACKED`: differences, in miniblocks of as few bits as they need.
fn differences(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(values.len() * 2 + 64);
    varint(&mut out, BLOCK as u64);
    varint(&mut out, (BLOCK / MINIBLOCK) as u64);
    varint(&mut out, values.len() as u64);
    varint(&mut out, zigzag(values.first().copied().unwrap_or(0)));
    let mut block = [0_i64; BLOCK];
    let mut at = 1;
    while at < values.len() {
        let count = BLOCK.min(values.len() - at);
        let pairs = values[at - 1..at + count].windows(2);
        for (delta, pair) in block.iter_mut().zip(pairs) {
            *delta = pair[1].wrapping_sub(pair[0]);
        }
        difference_block(&mut out, &block[..count]);
        at += count;
    }
    out
}

fn difference_block(out: &mut Vec<u8>, deltas: &[i64]) {
    let low = deltas.iter().copied().min().unwrap_or(0);
    varint(out, zigzag(low));
    let above = |delta: &i64| delta.wrapping_sub(low).cast_unsigned();
    let mut widths = [0_u8; BLOCK / MINIBLOCK];
    for (width, part) in widths.iter_mut().zip(deltas.chunks(MINIBLOCK)) {
        let all = part.iter().fold(0, |all, delta| all | above(delta));
        *width = (u64::BITS - all.leading_zeros()).to_le_bytes()[0];
    }
    out.extend_from_slice(&widths);
    for (width, part) in widths.iter().zip(deltas.chunks(MINIBLOCK)) {
        let width = u32::from(*width);
        let mut packer = Packer::default();
        part.iter().for_each(|delta| packer.push(out, above(delta), width));
        // The last miniblock is padded to its full length.
        (part.len()..MINIBLOCK).for_each(|_| packer.push(out, 0, width));
        packer.finish(out);
    }
}

/// Distinct values in the order of their first row, and the place of each row's among them; `None`
/// if they are too many.
fn dictionary(values: &[i64]) -> Option<(Vec<i64>, Vec<u32>)> {
    const EMPTY: u32 = u32::MAX;
    let mut slots = vec![EMPTY; 1024];
    let mut distinct: Vec<i64> = Vec::new();
    let mut indices = Vec::with_capacity(values.len());
    let mut last: Option<(i64, u32)> = None;
    for value in values {
        if let Some((known, index)) = last
            && known == *value
        {
            indices.push(index);
            continue;
        }
        let mut slot = place(*value, slots.len());
        let index = loop {
            let index = slots[slot];
            if index == EMPTY {
                break EMPTY;
            }
            if distinct[index as usize] == *value {
                break index;
            }
            slot = (slot + 1) & (slots.len() - 1);
        };
        let index = if index == EMPTY {
            let index = length(distinct.len());
            // Each distinct value costs eight bytes more than its difference does.
            if distinct.len() >= DICTIONARY || distinct.len() > values.len() / 4 + 64 {
                return None;
            }
            distinct.push(*value);
            slots[slot] = index;
            if distinct.len() * 2 > slots.len() {
                slots = grown(&distinct, slots.len() * 4);
            }
            index
        } else {
            index
        };
        indices.push(index);
        last = Some((*value, index));
    }
    Some((distinct, indices))
}

/// Slots of a hash table with room for more.
fn grown(distinct: &[i64], size: usize) -> Vec<u32> {
    let mut slots = vec![u32::MAX; size];
    for (index, value) in (0_u32..).zip(distinct) {
        let mut slot = place(*value, size);
        while slots[slot] != u32::MAX {
            slot = (slot + 1) & (size - 1);
        }
        slots[slot] = index;
    }
    slots
}

/// First slot of a value, in a table whose size is a power of two.
#[allow(clippy::cast_possible_truncation, reason = "reduced to the size of the table")]
fn place(value: i64, size: usize) -> usize {
    let mixed = value.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize & (size - 1)
}

/// `RLE_DICTIONARY`: the width of the indices, then the hybrid of runs and packed bits.
fn indexed(indices: &[u32], distinct: usize) -> Vec<u8> {
    let width = usize::BITS - distinct.saturating_sub(1).leading_zeros();
    let mut out = Vec::with_capacity(indices.len() * width as usize / 8 + 64);
    out.push(width.to_le_bytes()[0]);
    hybrid(&mut out, indices, width, |index| *index);
    out
}

/// A run of equal values.
fn run(out: &mut Vec<u8>, count: usize, value: u32, width: u32) {
    if count > 0 {
        varint(out, (count as u64) << 1);
        out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
    }
}

/// The hybrid: runs of 16 or more equal values, all others packed in groups of eight.
fn hybrid<T>(out: &mut Vec<u8>, values: &[T], width: u32, number: impl Fn(&T) -> u32) {
    const RUN: usize = 16;
    let mut packed_from = 0;
    let mut at = 0;
    while at < values.len() {
        let value = number(&values[at]);
        let same = values[at..].iter().take_while(|next| number(next) == value).count();
        // Packed groups before a run have to be full: they take its first values.
        let missing = (at - packed_from).next_multiple_of(8) - (at - packed_from);
        if same >= RUN + missing {
            packed(out, &values[packed_from..at + missing], width, &number);
            run(out, same - missing, value, width);
            packed_from = at + same;
        }
        at += same;
    }
    packed(out, &values[packed_from..], width, &number);
}

/// Groups of eight, the last one padded.
fn packed<T>(out: &mut Vec<u8>, values: &[T], width: u32, number: impl Fn(&T) -> u32) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    varint(out, (groups as u64) << 1 | 1);
    let mut packer = Packer::default();
    values.iter().for_each(|value| packer.push(out, number(value).into(), width));
    (values.len()..groups * 8).for_each(|_| packer.push(out, 0, width));
    packer.finish(out);
}

#[cfg(test)]
mod tests;
