//! Definition of a table of a lab.

use seekwell_model::field::{Field, FieldKind};

/// Definition of a table of a lab.
#[derive(Debug)]
pub struct TableDefinition {
    /// As written in a lab, for example `[[device]]`; empty for the lab as a whole.
    pub header: &'static str,
    /// Its purpose.
    pub doc: &'static str,
    /// Its entries.
    pub entries: &'static [Entry],
    /// Further fields, by the value of the entry `kind`.
    pub by_kind: Option<FieldsByKind>,
}

/// Finds the fields that a kind adds; `None` for a kind that does not exist.
pub type FieldsByKind = fn(&str) -> Option<&'static [Field]>;

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, kind, default and meaning.
    pub field: Field,
    /// Accepted forms of the value.
    pub form: Form,
    /// Reason for the limits, for the message that refuses a value; may be empty.
    pub why: &'static str,
}

/// Accepted forms of the value of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// One value.
    One,
    /// One value, or a percentage as text: `"2%"` is 0.02.
    Percent,
    /// One value or a list; each value of a list makes one variant.
    Variants,
    /// A list of such values.
    Each,
    /// A table.
    Table(&'static TableDefinition),
    /// A table, or a single value that stands for the table's field of this name.
    TableOr(&'static TableDefinition, &'static str),
    /// A list of tables.
    Tables(&'static TableDefinition),
    /// A table of the first definition, or a list of tables of the second.
    TableOrTables(&'static TableDefinition, &'static TableDefinition),
}

impl Entry {
    /// An optional entry with one value and no default.
    pub(crate) const fn new(name: &'static str, kind: FieldKind, doc: &'static str) -> Self {
        let field = Field { name, kind, default: None, required: false, doc };
        Self { field, form: Form::One, why: "" }
    }

    /// An entry that holds a table or tables.
    pub(crate) const fn table(name: &'static str, form: Form, doc: &'static str) -> Self {
        Self::new(name, FieldKind::TextTable, doc).form(form)
    }

    pub(crate) const fn default(mut self, toml: &'static str) -> Self {
        self.field.default = Some(toml);
        self
    }

    pub(crate) const fn required(mut self) -> Self {
        self.field.required = true;
        self
    }

    pub(crate) const fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    pub(crate) const fn why(mut self, why: &'static str) -> Self {
        self.why = why;
        self
    }

    /// Returns true if the entry holds only tables.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.form, Form::Table(_) | Form::Tables(_) | Form::TableOrTables(..))
    }
}

impl TableDefinition {
    /// The entries of a table whose `kind` has this value.
    pub(crate) fn entries_for(&self, kind: Option<&str>) -> Vec<Entry> {
        let further = self.by_kind.zip(kind).and_then(|(by_kind, kind)| by_kind(kind));
        let further = further.unwrap_or_default().iter();
        let plain = |field: &Field| Entry { field: *field, form: Form::One, why: "" };
        self.entries.iter().copied().chain(further.map(plain)).collect()
    }
}
