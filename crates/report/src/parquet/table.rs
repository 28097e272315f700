//! A table by columns, written as a Parquet file some rows at a time.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::mem::{size_of, take};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory of the rows that are written together.
const GROUP_BYTES: usize = 32 << 20;

/// The values of a column; `None` is unknown.
pub(super) enum Values {
    Whole(Vec<Option<u64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
    Flag(Vec<Option<bool>>),
}

/// One cell.
pub(super) enum Cell {
    Whole(Option<u64>),
    Number(Option<f64>),
    Text(Option<String>),
    Flag(Option<bool>),
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Whole(Some(value))
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Whole(Some(value.into()))
    }
}

impl From<Option<u64>> for Cell {
    fn from(value: Option<u64>) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(Some(value))
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<String>> for Cell {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Flag(Some(value))
    }
}

impl Cell {
    fn bytes(&self) -> usize {
        let text = match self {
            Self::Text(Some(text)) => text.len(),
            _ => 0,
        };
        size_of::<Option<String>>() + text
    }
}

/// Type of a column's cells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Whole,
    Number,
    Text,
    Flag,
}

/// Bytes of the file that wait for their way out: the writer of Parquet wants one of its own.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<Vec<u8>>>);

impl Waiting {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        // Bytes have no state that a panic could leave half made.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Waiting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Columns with their names, all equally long, of the rows that are not written yet.
pub(super) struct Table<'o> {
    columns: Vec<(&'static str, Values)>,
    /// Memory of the columns.
    bytes: usize,
    file: SerializedFileWriter<Waiting>,
    waiting: Waiting,
    out: &'o mut dyn Write,
}

impl<'o> Table<'o> {
    pub(super) fn new(
        columns: &[(&'static str, Kind)],
        out: &'o mut dyn Write,
    ) -> io::Result<Self> {
        let empty = |kind: Kind| match kind {
            Kind::Whole => Values::Whole(vec![]),
            Kind::Number => Values::Number(vec![]),
            Kind::Text => Values::Text(vec![]),
            Kind::Flag => Values::Flag(vec![]),
        };
        let columns: Vec<_> = columns.iter().map(|(name, kind)| (*name, empty(*kind))).collect();
        let waiting = Waiting::default();
        let file = open(&columns, waiting.clone()).map_err(io::Error::other)?;
        Ok(Self { columns, bytes: 0, file, waiting, out })
    }

    /// Adds a row; a cell of another kind than its column is unknown.
    pub(super) fn row<const COLUMNS: usize>(&mut self, cells: [Cell; COLUMNS]) {
        debug_assert_eq!(COLUMNS, self.columns.len());
        for ((_, values), cell) in self.columns.iter_mut().zip(cells) {
            self.bytes += cell.bytes();
            match (values, cell) {
                (Values::Whole(all), Cell::Whole(value)) => all.push(value),
                (Values::Number(all), Cell::Number(value)) => all.push(value),
                (Values::Text(all), Cell::Text(value)) => all.push(value),
                (Values::Flag(all), Cell::Flag(value)) => all.push(value),
                (Values::Whole(all), _) => all.push(None),
                (Values::Number(all), _) => all.push(None),
                (Values::Text(all), _) => all.push(None),
                (Values::Flag(all), _) => all.push(None),
            }
        }
    }

    /// Writes the rows so far if they are many.
    pub(super) fn write_some(&mut self) -> io::Result<()> {
        if self.bytes < GROUP_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        self.group().map_err(io::Error::other)?;
        self.bytes = 0;
        self.out.write_all(&take(&mut *self.waiting.bytes()))
    }

    /// Takes the rows into a group of the file.
    fn group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for (_, values) in &mut self.columns {
            match values {
                Values::Whole(all) => {
                    column::<Int64Type, _>(&mut group, take(all), |value| value.cast_signed())?;
                }
                Values::Number(all) => {
                    column::<DoubleType, _>(&mut group, take(all), |value| value)?;
                }
                Values::Text(all) => column::<ByteArrayType, _>(&mut group, take(all), |value| {
                    ByteArray::from(value.into_bytes())
                })?,
                Values::Flag(all) => column::<BoolType, _>(&mut group, take(all), |value| value)?,
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes the rest of the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        // A table without rows has a group all the same.
        if self.bytes > 0 || self.file.flushed_row_groups().is_empty() {
            self.write()?;
        }
        self.file.close().map_err(io::Error::other)?;
        self.out.write_all(&take(&mut *self.waiting.bytes()))
    }
}

fn open(
    columns: &[(&'static str, Values)],
    waiting: Waiting,
) -> Result<SerializedFileWriter<Waiting>> {
    let fields: Result<Vec<_>> = columns.iter().map(field).collect();
    let schema = Type::group_type_builder("table").with_fields(fields?).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(waiting, Arc::new(schema), Arc::new(properties))
}

fn field((name, values): &(&'static str, Values)) -> Result<Arc<Type>> {
    let (physical, logical) = match values {
        Values::Whole(_) => {
            (Physical::INT64, Some(LogicalType::Integer { bit_width: 64, is_signed: false }))
        }
        Values::Number(_) => (Physical::DOUBLE, None),
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Flag(_) => (Physical::BOOLEAN, None),
    };
    let built = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(built))
}

/// Writes one column: which values are there, and those that are.
fn column<T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, Waiting>,
    values: Vec<Option<V>>,
    convert: impl Fn(V) -> T::T,
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let present: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<T::T> = values.into_iter().flatten().map(convert).collect();
    writer.typed::<T>().write_batch(&there, Some(&present), None)?;
    writer.close()
}
