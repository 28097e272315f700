//! Checks a TOML table against its definition: unknown keys, types, ranges, defaults.

mod kinds;
mod unknown;

use crate::definition::{Entry, Form, TableDefinition};
use crate::source::{Problem, Source, Span};
use seekwell_model::field::{Value, Values};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use kinds::nearest;
pub(crate) use kinds::{describe, grouped, quote_list};
pub use unknown::owner_of_key;

/// The position of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) key: Span,
    pub(crate) value: Span,
}

/// A table whose every entry is known and in range.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checked {
    /// The header or the inline table; `None` for a table that the lab does not write.
    pub(crate) span: Option<Span>,
    /// Single values and lists of text, defaults filled in.
    pub(crate) values: Values,
    /// The positions of the entries that the lab writes.
    pub(crate) places: BTreeMap<&'static str, Place>,
    /// Elements of lists, each with its place.
    pub(crate) lists: BTreeMap<&'static str, Vec<(Value, Span)>>,
    /// Tables below this one.
    pub(crate) tables: BTreeMap<&'static str, Vec<Checked>>,
    /// True for an entry that was written as one table, not as a list of tables.
    pub(crate) single: BTreeMap<&'static str, bool>,
}

impl Checked {
    /// The position of an entry's value, else of the table.
    pub(crate) fn place(&self, name: &str) -> Option<Span> {
        self.places.get(name).map(|place| place.value).or(self.span)
    }

    /// Returns true if the lab writes this entry.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The tables of an entry; empty when the lab writes none.
    pub(crate) fn tables(&self, name: &str) -> &[Checked] {
        self.tables.get(name).map_or(&[], Vec::as_slice)
    }

    /// The only table of an entry.
    pub(crate) fn table(&self, name: &str) -> Option<&Checked> {
        self.tables(name).first()
    }

    /// The elements of a list; empty when the lab writes none.
    pub(crate) fn list(&self, name: &str) -> &[(Value, Span)] {
        self.lists.get(name).map_or(&[], Vec::as_slice)
    }

    /// The texts of a list with their places.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = (&str, Span)> {
        self.list(name).iter().filter_map(|(value, span)| match value {
            Value::Text(text) => Some((text.as_str(), *span)),
            _ => None,
        })
    }
}

/// A table that the lab does not write: nothing but the defaults.
pub(crate) fn with_defaults(definition: &TableDefinition) -> Checked {
    let mut table = Checked::default();
    for entry in definition.entries {
        if let Some(value) = kinds::default_value(entry) {
            table.values.set(entry.field.name, value);
        }
    }
    table
}

/// Checks tables against their definitions.
pub(crate) struct Walker<'a> {
    pub(crate) source: &'a Source,
}

type Item<'i> = Spanned<DeValue<'i>>;

impl Walker<'_> {
    /// Checks one table. `span` is what messages about the table as a whole point at.
    pub(crate) fn table(
        &self,
        table: &DeTable<'_>,
        definition: &'static TableDefinition,
        span: Option<Span>,
    ) -> Result<Checked, Problem> {
        let mut checked = Checked { span, ..Checked::default() };
        let kind = table.get("kind").and_then(|value| value.get_ref().as_str());
        let entries = definition.entries_for(kind);
        Self::check_kind_is_there(table, definition, span)?;
        let mut items: Vec<_> = table.iter().collect();
        items.sort_by_key(|(key, _)| key.span().start);
        // The kind decides which other keys are allowed here, so its own mistakes come first.
        items.sort_by_key(|(key, _)| definition.by_kind.is_none() || key.get_ref() != "kind");
        for (key, item) in items {
            let place = Place { key: key.span().into(), value: item.span().into() };
            let found = entries.iter().find(|entry| entry.field.name == key.get_ref().as_ref());
            let Some(entry) = found else {
                return Err(unknown::problem(key, item, definition, &entries));
            };
            checked.places.insert(entry.field.name, place);
            self.entry(entry, item, place, &mut checked)?;
        }
        for entry in &entries {
            if checked.has(entry.field.name) {
                continue;
            }
            if entry.field.required {
                return Err(missing(entry, definition, span));
            }
            if let Some(value) = kinds::default_value(entry) {
                checked.values.set(entry.field.name, value);
            }
        }
        Ok(checked)
    }

    /// Without its kind a table's other keys cannot be judged, unless one is the kind misspelt.
    fn check_kind_is_there(
        table: &DeTable<'_>,
        definition: &'static TableDefinition,
        span: Option<Span>,
    ) -> Result<(), Problem> {
        let kind = definition.entries.iter().find(|entry| entry.field.name == "kind");
        let mut keys = table.iter().map(|(key, _)| key.get_ref().as_ref());
        match kind.filter(|_| definition.by_kind.is_some() && !table.contains_key("kind")) {
            Some(kind) if !keys.any(|key| nearest(key, ["kind"]).is_some()) => {
                Err(missing(kind, definition, span))
            }
            _ => Ok(()),
        }
    }

    fn entry(
        &self,
        entry: &Entry,
        item: &Item<'_>,
        place: Place,
        checked: &mut Checked,
    ) -> Result<(), Problem> {
        let name = entry.field.name;
        match entry.form {
            Form::One | Form::Percent => {
                let value = self.value(entry, item)?;
                if let (Value::List(_), DeValue::Array(array)) = (&value, item.get_ref()) {
                    checked.lists.insert(name, kinds::text_items(array));
                }
                checked.values.set(name, value);
            }
            Form::Variants | Form::Each => {
                checked.lists.insert(name, self.list(entry, item)?);
            }
            Form::Table(definition) => {
                let table = self.one_table(item, definition, place, name)?;
                checked.tables.insert(name, vec![table]);
            }
            Form::TableOr(definition, short) => {
                let table = match item.get_ref() {
                    DeValue::Table(table) => self.table(table, definition, Some(place.value))?,
                    _ => self.short(entry, item, definition, short, place)?,
                };
                checked.tables.insert(name, vec![table]);
            }
            Form::Tables(definition) => {
                checked.tables.insert(name, self.many_tables(item, definition, place, name)?);
            }
            Form::TableOrTables(one, many) => {
                let single = matches!(item.get_ref(), DeValue::Table(_));
                checked.single.insert(name, single);
                let tables = if single {
                    vec![self.one_table(item, one, place, name)?]
                } else {
                    self.many_tables(item, many, place, name)?
                };
                checked.tables.insert(name, tables);
            }
        }
        Ok(())
    }

    /// A single value that stands for one field of a table.
    fn short(
        &self,
        entry: &Entry,
        item: &Item<'_>,
        definition: &'static TableDefinition,
        short: &'static str,
        place: Place,
    ) -> Result<Checked, Problem> {
        let mut table = with_defaults(definition);
        table.span = Some(place.value);
        table.values.set(short, self.value(entry, item)?);
        table.places.insert(short, place);
        Ok(table)
    }

    fn one_table(
        &self,
        item: &Item<'_>,
        definition: &'static TableDefinition,
        place: Place,
        name: &str,
    ) -> Result<Checked, Problem> {
        match item.get_ref() {
            DeValue::Table(table) => self.table(table, definition, Some(header(item, place))),
            DeValue::Array(array) if !array.is_empty() => {
                let message = format!("`{name}` is one table, not a list of tables");
                let remedy = format!("write {}", definition.header);
                Err(Problem::new(place.key, message, remedy))
            }
            _ => {
                let message =
                    format!("`{name}` is a table, not {}", self.source.slice(place.value));
                Err(Problem::new(place.value, message, write_table(definition)))
            }
        }
    }

    fn many_tables(
        &self,
        item: &Item<'_>,
        definition: &'static TableDefinition,
        place: Place,
        name: &str,
    ) -> Result<Vec<Checked>, Problem> {
        let array = match item.get_ref() {
            DeValue::Array(array) => array,
            DeValue::Table(_) => {
                let message = format!("`{name}` is a list of tables, not one table");
                let remedy = format!("write {} with double brackets", definition.header);
                return Err(Problem::new(place.key, message, remedy));
            }
            _ => {
                let shown = self.source.slice(place.value);
                let message = format!("`{name}` is a list of tables, not {shown}");
                return Err(Problem::new(place.value, message, write_table(definition)));
            }
        };
        if array.is_empty() {
            let message = format!("the list `{name}` is empty");
            let remedy = match name {
                "workload" => "write at least one [[workload]]".to_owned(),
                _ => format!("leave `{name}` out for its default, or write {}", definition.header),
            };
            return Err(Problem::new(place.value, message, remedy));
        }
        let table = |item: &Item<'_>| match item.get_ref() {
            DeValue::Table(table) => self.table(table, definition, Some(header(item, place))),
            _ => {
                let span = Span::from(item.span());
                let message =
                    format!("`{name}` is a list of tables; {} is none", self.source.slice(span));
                Err(Problem::new(span, message, write_table(definition)))
            }
        };
        array.iter().map(table).collect()
    }
}

/// The header of a table; a table that has none of its own (`a.b = 1` makes `a`) is its key.
fn header(item: &Item<'_>, place: Place) -> Span {
    let span = Span::from(item.span());
    if span.start == span.end { place.key } else { span }
}

fn write_table(definition: &TableDefinition) -> String {
    match definition.header {
        header if header.starts_with('[') => format!("write {header} and its fields below it"),
        header => format!("write {header} = {{ … }}"),
    }
}

fn missing(entry: &Entry, definition: &TableDefinition, span: Option<Span>) -> Problem {
    let name = entry.field.name;
    let example = kinds::example(entry);
    let message = format!("{} lacks `{name}`", definition.header);
    let remedy = match (entry.form, kinds::choices(entry)) {
        (Form::Each, Some(all)) => format!("write {name} = [{all}], or some of them"),
        (Form::Each, None) => format!("write {name} = [{example}]"),
        (_, Some(all)) => format!("write {name} = \"…\" with one of {all}"),
        (_, None) => format!("write {name} = {example}"),
    };
    Problem::new(span, message, remedy)
}

#[cfg(test)]
mod tests;
