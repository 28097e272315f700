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

/// One cell.
pub(super) enum Cell {
    Unknown,
    Whole(u64),
    Number(f64),
    Text(String),
    Flag(bool),
}

macro_rules! cells {
    ($($from:ty => $kind:ident),+) => {
        $(impl From<$from> for Cell {
            fn from(value: $from) -> Self {
                Self::$kind(value.into())
            }
        })+
    };
}

cells!(u64 => Whole, u32 => Whole, f64 => Number, &str => Text, String => Text, bool => Flag);

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}

impl Cell {
    fn bytes(&self) -> usize {
        let text = match self {
            Self::Text(text) => text.len(),
            _ => 0,
        };
        size_of::<Self>() + text
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

/// Columns with their names and types, all equally long, of the rows that are not written yet.
pub(super) struct Table<'o> {
    columns: Vec<(&'static str, Kind, Vec<Cell>)>,
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
        let waiting = Waiting::default();
        let file = open(columns, waiting.clone()).map_err(io::Error::other)?;
        let columns = columns.iter().map(|(name, kind)| (*name, *kind, Vec::new())).collect();
        Ok(Self { columns, bytes: 0, file, waiting, out })
    }

    /// Adds a row; a cell of another kind than its column is unknown.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        for ((.., cells), cell) in self.columns.iter_mut().zip(cells) {
            self.bytes += cell.bytes();
            cells.push(cell);
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
        macro_rules! column {
            ($physical:ty, $cells:expr, $kind:ident($value:ident) => $converted:expr) => {
                column::<$physical>(&mut group, $cells, |cell| match cell {
                    Cell::$kind($value) => Some($converted),
                    _ => None,
                })?
            };
        }
        for (_, kind, cells) in &mut self.columns {
            let cells = take(cells);
            match kind {
                Kind::Whole => column!(Int64Type, cells, Whole(value) => value.cast_signed()),
                Kind::Number => column!(DoubleType, cells, Number(value) => value),
                Kind::Text => {
                    column!(ByteArrayType, cells, Text(value) => ByteArray::from(value.into_bytes()));
                }
                Kind::Flag => column!(BoolType, cells, Flag(value) => value),
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
    columns: &[(&'static str, Kind)],
    waiting: Waiting,
) -> Result<SerializedFileWriter<Waiting>> {
    let fields: Result<Vec<_>> = columns.iter().map(field).collect();
    let schema = Type::group_type_builder("table").with_fields(fields?).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(waiting, Arc::new(schema), Arc::new(properties))
}

fn field((name, kind): &(&'static str, Kind)) -> Result<Arc<Type>> {
    let (physical, logical) = match kind {
        Kind::Whole => {
            (Physical::INT64, Some(LogicalType::Integer { bit_width: 64, is_signed: false }))
        }
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    let built = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(built))
}

/// Writes one column: which values are there, and those that are.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Waiting>,
    cells: Vec<Cell>,
    value: impl Fn(Cell) -> Option<T::T>,
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let (mut present, mut there) = (Vec::with_capacity(cells.len()), Vec::new());
    for value in cells.into_iter().map(value) {
        present.push(i16::from(value.is_some()));
        there.extend(value);
    }
    writer.typed::<T>().write_batch(&there, Some(&present), None)?;
    writer.close()
}
