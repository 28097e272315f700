//! A table by columns, and its bytes as a Parquet file.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

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

/// Type of a column's cells.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Whole,
    Number,
    Text,
    Flag,
}

/// Columns with their names, all equally long.
pub(super) struct Table {
    columns: Vec<(&'static str, Values)>,
}

impl Table {
    pub(super) fn new(columns: &[(&'static str, Kind)]) -> Self {
        let empty = |kind: Kind| match kind {
            Kind::Whole => Values::Whole(vec![]),
            Kind::Number => Values::Number(vec![]),
            Kind::Text => Values::Text(vec![]),
            Kind::Flag => Values::Flag(vec![]),
        };
        Self { columns: columns.iter().map(|(name, kind)| (*name, empty(*kind))).collect() }
    }

    /// Adds a row; a cell of another kind than its column is unknown.
    pub(super) fn row<const COLUMNS: usize>(&mut self, cells: [Cell; COLUMNS]) {
        debug_assert_eq!(COLUMNS, self.columns.len());
        for ((_, values), cell) in self.columns.iter_mut().zip(cells) {
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

    /// The file.
    pub(super) fn write(self) -> Result<Vec<u8>> {
        let fields: Result<Vec<_>> = self.columns.iter().map(field).collect();
        let schema = Type::group_type_builder("table").with_fields(fields?).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut bytes = Vec::new();
        let mut file =
            SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
        let mut group = file.next_row_group()?;
        for (_, values) in &self.columns {
            match values {
                Values::Whole(all) => {
                    column::<Int64Type, _>(&mut group, all, |value| value.cast_signed())?;
                }
                Values::Number(all) => column::<DoubleType, _>(&mut group, all, |value| *value)?,
                Values::Text(all) => column::<ByteArrayType, _>(&mut group, all, |value| {
                    ByteArray::from(value.as_str())
                })?,
                Values::Flag(all) => column::<BoolType, _>(&mut group, all, |value| *value)?,
            }
        }
        group.close()?;
        file.close()?;
        Ok(bytes)
    }
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
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let present: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<T::T> = values.iter().flatten().map(convert).collect();
    writer.typed::<T>().write_batch(&there, Some(&present), None)?;
    writer.close()
}
