//! Messages about keys that their table does not have.

use super::{Item, nearest};
use crate::definition::{Entry, Form, TableDefinition};
use crate::source::{Problem, Span, shorten};
use crate::tables::ROOT;
use seekwell_model::layers::LAYER_KINDS;
use seekwell_model::workloads::WORKLOAD_KINDS;
use toml::Spanned;
use toml::de::{DeString, DeValue};

/// Keys that people write for another one of the table.
const MEANT: [(&str, &str, &str); 3] = [
    ("[[device]]", "path", "disk"),
    ("[[device]]", "file", "loop"),
    ("[[filesystem]]", "options", "mount"),
];

/// The table of a lab that has a key, in words; `None` if none has it.
#[must_use]
pub fn owner_of_key(name: &str) -> Option<String> {
    owner(name, &ROOT)
}

/// The message: what was probably meant, else where the key belongs, else what there is.
pub(super) fn problem(
    key: &Spanned<DeString<'_>>,
    item: &Item<'_>,
    definition: &TableDefinition,
    entries: &[Entry],
) -> Problem {
    let name = key.get_ref().as_ref();
    let shown = shorten(name, 60);
    let is_root = definition.header.is_empty();
    let is_table = match item.get_ref() {
        DeValue::Table(_) => true,
        DeValue::Array(array) => {
            array.iter().any(|element| matches!(element.get_ref(), DeValue::Table(_)))
        }
        _ => false,
    };
    let message = match (is_root, is_table) {
        (true, true) => format!("unknown table `{shown}`"),
        (true, false) => format!("`{shown}` is not in a table"),
        _ => format!("unknown key `{shown}` in {}", definition.header),
    };
    let meant = MEANT.iter().find(|(header, key, _)| *header == definition.header && *key == name);
    let known = || entries.iter().map(|entry| entry.field.name);
    let near = meant.map(|(.., key)| *key).or_else(|| nearest(name, known()));
    let near = near.filter(|_| !is_root || is_table);
    let remedy = match near {
        Some(near) if is_root => format!("did you mean {}?", root_header(near)),
        Some(near) => format!("did you mean `{near}`?"),
        None => owner(name, definition).unwrap_or_else(|| {
            let known = if is_root { "a lab has the tables" } else { "it takes" };
            let names: Vec<&str> = entries.iter().map(|entry| entry.field.name).collect();
            format!("{known} {}", names.join(", "))
        }),
    };
    Problem::new(Span::from(key.span()), message, remedy)
}

fn root_header(name: &str) -> String {
    let form = ROOT.entries.iter().find(|entry| entry.field.name == name).map(|entry| entry.form);
    match form {
        Some(Form::Tables(definition) | Form::Table(definition)) => definition.header.to_owned(),
        _ => format!("[{name}]"),
    }
}

/// The table to which a misplaced key belongs.
fn owner(name: &str, definition: &TableDefinition) -> Option<String> {
    let has = |table: &TableDefinition| table.entries.iter().any(|entry| entry.field.name == name);
    let tables = ROOT.entries.iter().filter_map(|entry| match entry.form {
        Form::Table(table) | Form::Tables(table) => Some(table),
        Form::TableOrTables(_, many) => Some(many),
        _ => None,
    });
    let below = |table: &'static TableDefinition| {
        let inner = table.entries.iter().filter_map(|entry| match entry.form {
            Form::Table(inner) => Some(inner),
            _ => None,
        });
        std::iter::once(table).chain(inner)
    };
    let kinds: Vec<String> = WORKLOAD_KINDS
        .iter()
        .filter(|kind| kind.fields.iter().any(|field| field.name == name))
        .map(|kind| format!("\"{}\"", kind.name))
        .collect();
    let is_layer = |table: &TableDefinition| table.header.starts_with("[[layer");
    if !kinds.is_empty() && !is_layer(definition) {
        let owner = if definition.by_kind.is_some() { "a workload" } else { "a [[workload]]" };
        return Some(format!("`{name}` belongs to {owner} with kind = {}", kinds.join(" or ")));
    }
    let of_layers = LAYER_KINDS.iter().map(|kind| kind.definition());
    let of_layers = of_layers.filter(|one| one.fields.iter().any(|field| field.name == name));
    let layers: Vec<String> = of_layers.map(|one| format!("\"{}\"", one.name)).collect();
    if !layers.is_empty() {
        let owner = if is_layer(definition) { "a layer" } else { "a [[layer]]" };
        return Some(format!("`{name}` belongs to {owner} with kind = {}", layers.join(" or ")));
    }
    let owner = tables.flat_map(below).find(|table| has(table))?;
    Some(format!("`{name}` belongs to {}", owner.header))
}
