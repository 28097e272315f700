//! One definition per option: its name, kind, range, default and meaning.
//!
//! The reader of labs, its error messages, the flags of `bench` and the generated reference are
//! all driven by these definitions.

use crate::units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds, both included.
    Integer {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A number within bounds, both included.
    Number {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// Text; empty is refused.
    Text,
    /// A size such as `"8GiB"`, or a whole number of bytes, within bounds, both included.
    Size {
        /// Smallest value.
        min: Bytes,
        /// Largest value.
        max: Bytes,
    },
    /// A duration such as `"30min"`.
    Duration,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    TextList,
    /// A whole number or a list of them, each within bounds, both included.
    IntegerList {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A size or a list of them, each within bounds, both included.
    SizeList {
        /// Smallest value.
        min: Bytes,
        /// Largest value.
        max: Bytes,
    },
    /// A table of text by name.
    TextTable,
}

/// Definition of one field of a table of the lab.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Key in TOML; with `-` for `_` also the flag of `bench`.
    pub name: &'static str,
    /// What it takes.
    pub kind: FieldKind,
    /// Default as written in TOML; `None` where the field is required or absence has a meaning of
    /// its own, which `doc` states.
    pub default: Option<&'static str>,
    /// Whether a lab without it is refused.
    pub required: bool,
    /// What it means: one or two sentences.
    pub doc: &'static str,
}

/// Value of a field, checked against its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`FieldKind::Bool`].
    Bool(bool),
    /// Of [`FieldKind::Integer`].
    Integer(u64),
    /// Of [`FieldKind::Number`].
    Number(f64),
    /// Of [`FieldKind::Text`] and [`FieldKind::Choice`].
    Text(String),
    /// Of [`FieldKind::Size`].
    Size(Bytes),
    /// Of [`FieldKind::Duration`].
    Duration(Nanos),
    /// Of [`FieldKind::TextList`].
    List(Vec<String>),
    /// Of [`FieldKind::IntegerList`]; not empty.
    Integers(Vec<u64>),
    /// Of [`FieldKind::SizeList`]; not empty.
    Sizes(Vec<Bytes>),
    /// Of [`FieldKind::TextTable`].
    Table(BTreeMap<String, String>),
}

/// Checked values by field name, defaults filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// Sets a value that was checked against the field's kind.
    pub fn set(&mut self, field: &'static str, value: Value) {
        self.0.insert(field, value);
    }

    /// The value, if there is one.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }

    /// A truth value; absent is `false`.
    #[must_use]
    pub fn bool(&self, field: &str) -> bool {
        matches!(self.get(field), Some(Value::Bool(true)))
    }

    /// A whole number.
    #[must_use]
    pub fn integer(&self, field: &str) -> Option<u64> {
        match self.get(field) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// A number.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<f64> {
        match self.get(field) {
            Some(Value::Number(number)) => Some(*number),
            Some(Value::Integer(number)) => Some(*number as f64),
            _ => None,
        }
    }

    /// A text or a chosen word.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        match self.get(field) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A size.
    #[must_use]
    pub fn size(&self, field: &str) -> Option<Bytes> {
        match self.get(field) {
            Some(Value::Size(bytes)) => Some(*bytes),
            _ => None,
        }
    }

    /// A duration.
    #[must_use]
    pub fn duration(&self, field: &str) -> Option<Nanos> {
        match self.get(field) {
            Some(Value::Duration(nanos)) => Some(*nanos),
            _ => None,
        }
    }

    /// A list of texts; absent is empty.
    #[must_use]
    pub fn list(&self, field: &str) -> Vec<String> {
        match self.get(field) {
            Some(Value::List(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    /// A list of whole numbers; a single number is a list of one, absent is empty.
    #[must_use]
    pub fn integers(&self, field: &str) -> Vec<u64> {
        match self.get(field) {
            Some(Value::Integers(numbers)) => numbers.clone(),
            Some(Value::Integer(number)) => vec![*number],
            _ => Vec::new(),
        }
    }

    /// A list of sizes; a single size is a list of one, absent is empty.
    #[must_use]
    pub fn sizes(&self, field: &str) -> Vec<Bytes> {
        match self.get(field) {
            Some(Value::Sizes(sizes)) => sizes.clone(),
            Some(Value::Size(size)) => vec![*size],
            _ => Vec::new(),
        }
    }

    /// A table of texts; absent is empty.
    #[must_use]
    pub fn table(&self, field: &str) -> BTreeMap<String, String> {
        match self.get(field) {
            Some(Value::Table(table)) => table.clone(),
            _ => BTreeMap::new(),
        }
    }
}
