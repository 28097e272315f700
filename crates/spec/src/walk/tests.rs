use super::kinds::default_value;
use crate::definition::{Form, TableDefinition};
use crate::tables;

/// Every table of the lab, tables below tables included.
fn all(definition: &'static TableDefinition, found: &mut Vec<&'static TableDefinition>) {
    found.push(definition);
    for entry in definition.entries {
        match entry.form {
            Form::Table(below) | Form::TableOr(below, _) | Form::Tables(below) => all(below, found),
            Form::TableOrTables(one, many) => {
                all(one, found);
                all(many, found);
            }
            Form::One | Form::Percent | Form::Variants | Form::Each => {}
        }
    }
}

#[test]
fn every_default_is_a_value_that_its_field_takes() {
    let mut definitions = Vec::new();
    all(&tables::ROOT, &mut definitions);
    let mut defaults = 0;
    for definition in definitions {
        let kinds = definition.by_kind.map_or(vec![None], |_| {
            let names = tables::WORKLOAD_NAMES.iter().chain(seekwell_model::layers::LAYER_NAMES);
            names.map(|name| Some(*name)).collect()
        });
        for entry in kinds.into_iter().flat_map(|kind| definition.entries_for(kind)) {
            let name = format!("{}.{}", definition.header, entry.field.name);
            if entry.field.default.is_some() {
                assert!(default_value(&entry).is_some(), "{name}");
                defaults += 1;
            }
            assert!(entry.field.doc.ends_with('.'), "{name} is not documented in sentences");
            assert!(!(entry.field.required && entry.field.default.is_some()), "{name}");
        }
    }
    assert!(defaults > 30, "{defaults} defaults");
}

#[test]
fn the_nearest_name_is_a_few_edits_away_or_there_is_none() {
    use super::nearest;
    assert_eq!(nearest("etx4", ["ext2", "ext4", "xfs"]), Some("ext4"));
    assert_eq!(nearest("Filesystems", ["filesystem", "device"]), Some("filesystem"));
    assert_eq!(nearest("zfs", ["ext4", "btrfs"]), None);
    assert_eq!(nearest("zfs", ["xfs"]), Some("xfs"));
    assert_eq!(nearest("anything", []), None);
    assert_eq!(nearest(&"x".repeat(1000), ["xfs"]), None);
}
