//! One definition per option: its name, kind, range, default and meaning.
//!
//! The reader of labs, its error messages, the flags of `bench` and the generated reference are
//! all driven by these definitions.

use crate::units::{Bytes, Nanos};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::collections::{BTreeMap, BTreeSet};

/// The type of a field, with its range.
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
    /// Its type and range.
    pub kind: FieldKind,
    /// Default as written in TOML; `None` where the field is required or absence has a meaning of
    /// its own, which `doc` states.
    pub default: Option<&'static str>,
    /// True if a lab without it is refused.
    pub required: bool,
    /// Its meaning: one or two sentences.
    pub doc: &'static str,
}

/// A [`Field`]: its name, type and range, default as written in TOML or `required`, and meaning.
macro_rules! field {
    ($name:literal: $kind:expr, $(default $default:expr,)? $doc:literal) => {
        field!(@$name, $kind, field!(@default $($default)?), false, $doc)
    };
    ($name:literal: $kind:expr, required, $doc:literal) => {
        field!(@$name, $kind, None, true, $doc)
    };
    (@default) => {
        None
    };
    (@default $default:expr) => {
        Some($default)
    };
    (@$name:literal, $kind:expr, $default:expr, $required:literal, $doc:literal) => {
        $crate::field::Field {
            name: $name,
            kind: {
                #[allow(unused_imports, reason = "a field has one of these kinds")]
                use $crate::field::{FieldKind::*, integer, number, size};
                $kind
            },
            default: $default,
            required: $required,
            doc: $doc,
        }
    };
}

pub(crate) use field;

/// A whole number from `min` to `max`.
#[must_use]
pub const fn integer(min: u64, max: u64) -> FieldKind {
    FieldKind::Integer { min, max }
}

/// A number from `min` to `max`.
#[must_use]
pub const fn number(min: f64, max: f64) -> FieldKind {
    FieldKind::Number { min, max }
}

/// A size from `min` to `max`.
#[must_use]
pub const fn size(min: Bytes, max: Bytes) -> FieldKind {
    FieldKind::Size { min, max }
}

impl Field {
    /// The default as a value; `None` where the field has none.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        let text = self.default?;
        let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let elements = list.unwrap_or(text).split(',').map(|one| unquoted(one.trim()));
        match self.kind {
            FieldKind::Bool => text.parse().ok().map(Value::Bool),
            FieldKind::Integer { .. } => whole(text).map(Value::Integer),
            FieldKind::Number { .. } => text.parse().ok().map(Value::Number),
            FieldKind::Text | FieldKind::Choice(_) => Some(Value::Text(unquoted(text).to_owned())),
            FieldKind::Size { .. } => parsed_size(unquoted(text)).map(Value::Size),
            FieldKind::Duration => unquoted(text).parse().ok().map(Value::Duration),
            FieldKind::TextList => Some(Value::List(elements.map(str::to_owned).collect())),
            FieldKind::IntegerList { .. } => {
                elements.map(whole).collect::<Option<_>>().map(Value::Integers)
            }
            FieldKind::SizeList { .. } => {
                elements.map(parsed_size).collect::<Option<_>>().map(Value::Sizes)
            }
            FieldKind::TextTable => None,
        }
    }
}

fn unquoted(text: &str) -> &str {
    text.trim_matches('"')
}

fn whole(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok()
}

fn parsed_size(text: &str) -> Option<Bytes> {
    whole(text).map(Bytes).or_else(|| text.parse().ok())
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
pub struct Values {
    given: BTreeMap<&'static str, Value>,
    /// Fields that stay absent although their definition has a default.
    absent: BTreeSet<&'static str>,
}

impl Values {
    /// Sets a value that was checked against the field's kind.
    pub fn set(&mut self, field: &'static str, value: Value) {
        self.given.insert(field, value);
    }

    /// Keeps a field absent: it does not get its default.
    pub fn leave_absent(&mut self, field: &'static str) {
        self.absent.insert(field);
    }

    /// Fills in the defaults of the fields that have no value.
    #[must_use]
    pub fn with_defaults(mut self, fields: &[Field]) -> Self {
        for field in fields {
            let open = self.get(field.name).is_none() && !self.absent.contains(field.name);
            if let Some(value) = field.default_value().filter(|_| open) {
                self.set(field.name, value);
            }
        }
        self
    }

    /// The value, if there is one.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.given.get(field)
    }

    /// A truth value; absent is `false`.
    #[must_use]
    pub fn bool(&self, field: &str) -> bool {
        matches!(self.get(field), Some(Value::Bool(true)))
    }

    /// A whole number.
    #[must_use]
    pub fn integer(&self, field: &str) -> Option<u64> {
        let Value::Integer(number) = self.get(field)? else { return None };
        Some(*number)
    }

    /// A whole number of a field that has a default; 0 without one.
    #[must_use]
    pub fn count(&self, field: &str) -> u64 {
        self.integer(field).unwrap_or_default()
    }

    /// As [`Self::count`], for fields whose range fits 32 bits.
    #[must_use]
    pub fn count32(&self, field: &str) -> u32 {
        u32::try_from(self.count(field)).unwrap_or(u32::MAX)
    }

    /// A number of a field that has a default; 0 without one.
    #[must_use]
    pub fn decimal(&self, field: &str) -> f64 {
        self.number(field).unwrap_or_default()
    }

    /// A size of a field that has a default; 0 without one.
    #[must_use]
    pub fn bytes(&self, field: &str) -> Bytes {
        self.size(field).unwrap_or_default()
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
        let Value::Text(text) = self.get(field)? else { return None };
        Some(text)
    }

    /// A chosen word as the variant that serde gives this name; `None` for any other word.
    #[must_use]
    pub fn choice<T: DeserializeOwned>(&self, field: &str) -> Option<T> {
        let word: StrDeserializer<'_, serde::de::value::Error> =
            self.text(field)?.into_deserializer();
        T::deserialize(word).ok()
    }

    /// A size.
    #[must_use]
    pub fn size(&self, field: &str) -> Option<Bytes> {
        let Value::Size(bytes) = self.get(field)? else { return None };
        Some(*bytes)
    }

    /// A duration.
    #[must_use]
    pub fn duration(&self, field: &str) -> Option<Nanos> {
        let Value::Duration(nanos) = self.get(field)? else { return None };
        Some(*nanos)
    }

    /// A list of texts; absent is empty.
    #[must_use]
    pub fn list(&self, field: &str) -> Vec<String> {
        let Some(Value::List(list)) = self.get(field) else { return Vec::new() };
        list.clone()
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
        let Some(Value::Table(table)) = self.get(field) else { return BTreeMap::new() };
        table.clone()
    }
}
