//! Tables of columns as Parquet segments: written group by group, read group by group.

use crate::encode::{self, Numbers, Texts, Words};
use crate::error::TraceError;
use crate::meta::private_file;
use crate::part::Part;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Words of a group that are found by their memory alone.
const MOST_WORDS: usize = 256;

/// Most rows of a group that are read: the writer makes groups of 128 Ki.
const MOST_ROWS: usize = 1 << 24;

/// Type of a column, and how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whole numbers of which few differ: a dictionary.
    Few,
    /// Whole numbers that grow or scatter: differences.
    Many,
    /// Words of which few differ.
    Word,
    /// Texts that differ.
    Text,
}

/// Name and type of a column.
pub(crate) type Column = (&'static str, Kind);

/// Values of a column to write; `None` is unknown.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    Numbers(Numbers),
    Words(Words),
    /// Texts that differ.
    Texts(Texts),
    /// Words of any list.
    Text(Vec<Option<ByteArray>>),
}

impl Stored {
    pub(crate) fn whole(values: impl ExactSizeIterator<Item = Option<i64>> + Clone) -> Self {
        let mut all = Numbers::default();
        all.extend(values);
        Self::Numbers(all)
    }

    pub(crate) fn text<T: Into<ByteArray>>(values: impl Iterator<Item = Option<T>>) -> Self {
        Self::Text(values.map(|value| value.map(Into::into)).collect())
    }
}

/// Values of a column that was read.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Whole(Whole),
    Words(WordsRead),
    Text(Vec<Option<ByteArray>>),
}

/// Whole numbers of a column that was read.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// One for each row, or none at all; those of unknown values mean nothing.
    values: Vec<i64>,
    present: Present,
}

/// Rows of a column with a value.
#[derive(Clone, Debug)]
enum Present {
    All,
    Nothing,
    /// Those with a level above 0.
    Some(Vec<i16>),
}

impl Whole {
    const UNKNOWN: Self = Self { values: Vec::new(), present: Present::Nothing };

    /// Puts the values that are known into their rows.
    fn spread(mut values: Vec<i64>, levels: Vec<i16>) -> Self {
        if values.is_empty() {
            return Self::UNKNOWN;
        }
        let (rows, mut known) = (levels.len(), values.len());
        if known == rows {
            return Self { values, present: Present::All };
        }
        values.resize(rows, 0);
        // From the end, so that none is written over; below a row that is its own place all are.
        for row in (0..rows).rev() {
            if known > row {
                break;
            }
            if levels[row] > 0 && known > 0 {
                known -= 1;
                values[row] = values[known];
            }
        }
        Self { values, present: Present::Some(levels) }
    }

    /// The value of a row; `None` when it is unknown.
    #[allow(clippy::inline_always, reason = "a call for each value would cost more than the value")]
    #[inline(always)]
    pub(crate) fn at(&self, row: usize) -> Option<i64> {
        match &self.present {
            Present::All => Some(self.values[row]),
            Present::Nothing => None,
            Present::Some(levels) => (levels[row] > 0).then(|| self.values[row]),
        }
    }
}

/// Words of a column that was read, by their place in a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordsRead {
    list: Vec<String>,
    /// Empty for a column without values.
    places: Vec<u32>,
}

impl WordsRead {
    const NONE: u32 = u32::MAX;

    /// Few words differ, and the reader gives those of one page the same memory.
    fn of(values: &[ByteArray], levels: &[i16]) -> Self {
        let mut all = Self { list: Vec::new(), places: Vec::with_capacity(levels.len()) };
        let mut known: Vec<(*const u8, usize)> = Vec::new();
        let mut by_text: HashMap<String, u32> = HashMap::new();
        let mut at_known: Vec<u32> = Vec::new();
        let mut values = values.iter();
        for level in levels {
            let Some(value) = (*level > 0).then(|| values.next()).flatten() else {
                all.places.push(Self::NONE);
                continue;
            };
            let bytes = value.data();
            let key = (bytes.as_ptr(), bytes.len());
            let place = known.iter().position(|one| *one == key).map(|at| at_known[at]);
            all.places.push(place.unwrap_or_else(|| {
                let text = String::from_utf8_lossy(bytes).into_owned();
                let next = u32::try_from(all.list.len()).unwrap_or(Self::NONE);
                let place = *by_text.entry(text).or_insert_with_key(|text| {
                    all.list.push(text.clone());
                    next
                });
                // Texts of a foreign trace may all be in memory of their own.
                if known.len() < MOST_WORDS {
                    known.push(key);
                    at_known.push(place);
                }
                place
            }));
        }
        all
    }

    /// The words that differ.
    pub(crate) fn list(&self) -> &[String] {
        &self.list
    }

    /// Place of a row's word in the list.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        self.places.get(row).filter(|place| **place != Self::NONE).map(|place| *place as usize)
    }

    /// Word of a row.
    pub(crate) fn at(&self, row: usize) -> Option<&str> {
        self.list.get(self.place(row)?).map(String::as_str)
    }
}

/// A segment that is being written. It has its name only once it is complete.
pub(crate) struct Segment {
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    open: PathBuf,
    path: PathBuf,
}

impl Segment {
    pub(crate) fn create(path: &Path, columns: &[Column]) -> std::result::Result<Self, TraceError> {
        let mut open = path.as_os_str().to_owned();
        open.push(".open");
        let open = PathBuf::from(open);
        let file = private_file(&open).map_err(TraceError::io("create", &open))?;
        let writer = schema(columns)
            .and_then(|schema| SerializedFileWriter::new(file, schema, properties(columns)))
            .map_err(TraceError::segment("create", path))?;
        Ok(Self { writer, columns: columns.to_vec(), open, path: path.to_owned() })
    }

    /// Adds a row group.
    pub(crate) fn group(&mut self, values: &[Stored]) -> std::result::Result<(), TraceError> {
        let write = |writer: &mut SerializedFileWriter<File>| -> Result<()> {
            let described = writer.schema_descr().columns().to_vec();
            let mut group = writer.next_row_group()?;
            for ((values, (_, kind)), column) in values.iter().zip(&self.columns).zip(&described) {
                let chunk = match values {
                    Stored::Numbers(all) => encode::numbers(column, all, *kind == Kind::Few)?,
                    Stored::Words(all) => encode::words(column, all)?,
                    Stored::Texts(all) => encode::texts(column, all)?,
                    Stored::Text(all) => {
                        texts(&mut group, all)?;
                        continue;
                    }
                };
                group.append_column(&Bytes::from(chunk.bytes), chunk.close)?;
            }
            group.close().map(drop)
        };
        write(&mut self.writer).map_err(TraceError::segment("write", &self.path))
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Writes the footer, syncs, and gives the segment its name. Returns its bytes.
    pub(crate) fn seal(self) -> std::result::Result<u64, TraceError> {
        let file = self.writer.into_inner().map_err(TraceError::segment("seal", &self.path))?;
        file.sync_all().map_err(TraceError::io("sync", &self.open))?;
        let bytes = file.metadata().map_err(TraceError::io("read", &self.open))?.len();
        std::fs::rename(&self.open, &self.path).map_err(TraceError::io("rename", &self.open))?;
        Ok(bytes)
    }
}

fn schema(columns: &[Column]) -> Result<Arc<Type>> {
    let field = |(name, kind): &Column| {
        let (physical, logical) = match kind {
            Kind::Few | Kind::Many => (Physical::INT64, None),
            Kind::Word | Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let built = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(built))
    };
    let fields: Result<Vec<_>> = columns.iter().map(field).collect();
    Type::group_type_builder("table").with_fields(fields?).build().map(Arc::new)
}

fn properties(columns: &[Column]) -> Arc<WriterProperties> {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_writer_version(WriterVersion::PARQUET_2_0)
        // Chunks of [`encode`] have none, and a file has it for all columns or for none.
        .set_offset_index_disabled(true)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::Chunk);
    for (name, kind) in columns {
        let path = ColumnPath::from(*name);
        builder = match kind {
            Kind::Few | Kind::Word => builder,
            Kind::Many => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Kind::Text => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BYTE_ARRAY),
        };
    }
    Arc::new(builder.build())
}

fn texts(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[Option<ByteArray>],
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let present: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<ByteArray> = values.iter().flatten().cloned().collect();
    writer.typed::<ByteArrayType>().write_batch(&there, Some(&present), None)?;
    writer.close()
}

/// A complete segment.
pub(crate) struct Reading {
    reader: SerializedFileReader<Part>,
    path: PathBuf,
}

/// The columns of a row group, by name.
pub(crate) struct Group {
    columns: Vec<(&'static str, Values)>,
    rows: usize,
    path: PathBuf,
}

impl Reading {
    /// Opens the segment in `part`, which messages call `path`.
    pub(crate) fn open(path: &Path, part: Part) -> std::result::Result<Self, TraceError> {
        let reader = SerializedFileReader::new(part).map_err(TraceError::segment("read", path))?;
        Ok(Self { reader, path: path.to_owned() })
    }

    pub(crate) fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// The wanted columns of a group. Columns that the segment lacks are unknown throughout, so that
    /// columns can be added to the format; so are those `left_out`.
    pub(crate) fn group(
        &self,
        at: usize,
        wanted: &[Column],
        left_out: &[&str],
    ) -> std::result::Result<Group, TraceError> {
        let failed = |error| TraceError::segment("read", &self.path)(error);
        let group = self.reader.get_row_group(at).map_err(failed)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        // The footer of a hostile segment may say anything, and room is made by it.
        if rows > MOST_ROWS {
            let text = format!("a group of {rows} rows; traces have {MOST_ROWS} at most");
            return Err(failed(ParquetError::General(text)));
        }
        let columns = wanted.iter().map(|column| {
            let values = match left_out.contains(&column.0) {
                true => Some(unknown(column.1, rows)),
                false => read_guarded(group.as_ref(), column, rows).map_err(failed)?,
            };
            let missing = TraceError::Column { path: self.path.clone(), column: column.0 };
            Ok((column.0, values.ok_or(missing)?))
        });
        let columns = columns.collect::<std::result::Result<_, TraceError>>()?;
        Ok(Group { columns, rows, path: self.path.clone() })
    }
}

/// Reads a column of a file that may be damaged: of some damage the library makes a panic.
fn read_guarded(
    group: &dyn RowGroupReader,
    column: &Column,
    rows: usize,
) -> Result<Option<Values>> {
    let read = AssertUnwindSafe(|| read_column(group, column, rows));
    catch_unwind(read)
        .unwrap_or_else(|_| Err(ParquetError::General(format!("column {} is damaged", column.0))))
}

fn read_column(group: &dyn RowGroupReader, column: &Column, rows: usize) -> Result<Option<Values>> {
    let named = |at: &usize| group.metadata().column(*at).column_path().string() == column.0;
    let Some(at) = (0..group.num_columns()).find(named) else {
        return Ok(Some(unknown(column.1, rows)));
    };
    let chunk = group.metadata().column(at);
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    if start < 0 || chunk.compressed_size() < 0 {
        return Err(ParquetError::General(format!("column {} has no place", column.0)));
    }
    Ok(match (group.get_column_reader(at)?, column.1) {
        (ColumnReader::Int64ColumnReader(reader), Kind::Few | Kind::Many) => {
            let nothing =
                group.metadata().column(at).statistics().and_then(|known| known.null_count_opt());
            if nothing == u64::try_from(rows).ok() {
                return Ok(Some(Values::Whole(Whole::UNKNOWN)));
            }
            let (values, levels) = read_values(reader, rows)?;
            Some(Values::Whole(Whole::spread(values, levels)))
        }
        (ColumnReader::ByteArrayColumnReader(reader), Kind::Word) => {
            let (values, levels) = read_values(reader, rows)?;
            Some(Values::Words(WordsRead::of(&values, &levels)))
        }
        (ColumnReader::ByteArrayColumnReader(reader), Kind::Text) => {
            let (values, levels) = read_values(reader, rows)?;
            let mut values = values.into_iter();
            let all = levels.iter().map(|level| (*level > 0).then(|| values.next()).flatten());
            Some(Values::Text(all.collect()))
        }
        _ => None,
    })
}

/// A column without a known value.
fn unknown(kind: Kind, rows: usize) -> Values {
    match kind {
        Kind::Few | Kind::Many => Values::Whole(Whole::UNKNOWN),
        Kind::Word => Values::Words(WordsRead::default()),
        Kind::Text => Values::Text(vec![None; rows]),
    }
}

/// Values that are known, and a level above 0 for each row with one.
fn read_values<T: DataType>(
    mut reader: parquet::column::reader::ColumnReaderImpl<T>,
    rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>)> {
    let (mut values, mut present) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    loop {
        let left = rows.saturating_sub(present.len());
        let (read, _, _) = reader.read_records(left, Some(&mut present), None, &mut values)?;
        if read == 0 || left == read {
            break;
        }
    }
    let known = present.iter().filter(|level| **level > 0).count();
    if present.len() == rows && known == values.len() {
        return Ok((values, present));
    }
    Err(ParquetError::General(format!("{} of {rows} rows", present.len())))
}

impl Group {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn whole(&self, name: &'static str) -> std::result::Result<&Whole, TraceError> {
        match self.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Values::Whole(all))) => Ok(all),
            _ => Err(TraceError::Column { path: self.path.clone(), column: name }),
        }
    }

    /// A column without unknown values.
    pub(crate) fn needed(&self, name: &'static str) -> std::result::Result<Vec<u64>, TraceError> {
        self.convert(name, |value| Some(value.cast_unsigned()))
    }

    /// A column without unknown values, of numbers below 2³².
    pub(crate) fn needed_small(
        &self,
        name: &'static str,
    ) -> std::result::Result<Vec<u32>, TraceError> {
        self.convert(name, |value| u32::try_from(value).ok())
    }

    fn convert<T>(
        &self,
        name: &'static str,
        convert: impl Fn(i64) -> Option<T>,
    ) -> std::result::Result<Vec<T>, TraceError> {
        let column = self.whole(name)?;
        let missing = || TraceError::Column { path: self.path.clone(), column: name };
        if matches!(column.present, Present::All) {
            let values = column.values.iter().map(|value| convert(*value));
            return values.collect::<Option<Vec<T>>>().ok_or_else(missing);
        }
        let values = (0..self.rows).map(|row| column.at(row).and_then(&convert));
        values.collect::<Option<Vec<T>>>().ok_or_else(missing)
    }

    pub(crate) fn words(&self, name: &'static str) -> std::result::Result<&WordsRead, TraceError> {
        match self.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Values::Words(all))) => Ok(all),
            _ => Err(TraceError::Column { path: self.path.clone(), column: name }),
        }
    }

    pub(crate) fn text(
        &self,
        name: &'static str,
    ) -> std::result::Result<&[Option<ByteArray>], TraceError> {
        match self.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Values::Text(all))) => Ok(all),
            _ => Err(TraceError::Column { path: self.path.clone(), column: name }),
        }
    }
}

#[cfg(test)]
mod tests;
