//! Filesystems with their options.

use super::{Axis, Named, name_or, unique};
use crate::source::{Problem, shorten};
use crate::walk::Checked;
use seekwell_model::filesystems::filesystem;
use seekwell_model::stack::{Filesystem, Overlay, WriteBack};

/// The filesystem axis.
pub(super) fn filesystems(tables: &[Checked]) -> Result<Axis<Filesystem>, Problem> {
    if tables.is_empty() {
        return Ok(vec![Named { value: plain("ext4"), span: None }]);
    }
    let mut axis = Vec::new();
    for table in tables {
        let kind = table.values.text("type").unwrap_or_default();
        let mut value = plain(kind);
        value.mkfs = table.values.list("mkfs");
        value.mount = table.values.list("mount");
        value.discard = table.values.bool("discard");
        value.overlay = table.table("overlay").and_then(overlay);
        check_raw(table, kind)?;
        check_arguments(table)?;
        let name = name_or(table, || default_name(&value))?;
        value.name = name.value;
        // A message about a filesystem without a name points at its type.
        let span = if table.has("name") { name.span } else { table.place("type") };
        axis.push(Named { value, span });
    }
    unique("filesystems", axis.iter().map(|named| (named.value.name.as_str(), named.span)))?;
    Ok(axis)
}

fn plain(kind: &str) -> Filesystem {
    Filesystem {
        name: kind.to_owned(),
        kind: kind.to_owned(),
        mkfs: Vec::new(),
        mount: Vec::new(),
        discard: false,
        overlay: None,
    }
}

fn overlay(table: &Checked) -> Option<Overlay> {
    let write_back = match table.values.text("write_back") {
        Some("never") => WriteBack::Never,
        _ => WriteBack::End,
    };
    Some(Overlay { upper: table.values.size("upper")?, write_back })
}

/// The type with its options, for example `ext3[-O ^dir_index,noatime]`.
fn default_name(value: &Filesystem) -> String {
    let mut options = Vec::new();
    if !value.mkfs.is_empty() {
        options.push(value.mkfs.join(" "));
    }
    options.extend(value.mount.iter().cloned());
    if value.discard {
        options.push("discard".to_owned());
    }
    if let Some(overlay) = value.overlay {
        let lost = if overlay.write_back == WriteBack::Never { ",never written" } else { "" };
        options.push(format!("overlay={}{lost}", overlay.upper));
    }
    match options.is_empty() {
        true => value.kind.clone(),
        false => format!("{}[{}]", value.kind, options.join(",")),
    }
}

/// A raw device has nothing to make, to mount or to lay something over.
fn check_raw(table: &Checked, kind: &str) -> Result<(), Problem> {
    if !filesystem(kind).is_some_and(|definition| definition.is_raw()) {
        return Ok(());
    }
    for name in ["mkfs", "mount", "discard", "overlay"] {
        if let Some(place) = table.places.get(name) {
            let message = format!(
                "`{name}` with type = \"{kind}\", which is the device without a filesystem"
            );
            return Err(Problem::new(place.key, message, format!("leave `{name}` out")));
        }
    }
    Ok(())
}

fn check_arguments(table: &Checked) -> Result<(), Problem> {
    for (text, span) in table.texts("mkfs") {
        if let Some((option, rest)) = text.split_once(' ').filter(|_| text.starts_with('-')) {
            let message =
                "mkfs gets each list element as one argument, and this holds two".to_owned();
            let rest = rest.trim();
            let remedy = format!("write \"{}\", \"{}\"", shorten(option, 40), shorten(rest, 40));
            return Err(Problem::new(span, message, remedy));
        }
    }
    if let Some((_, span)) = table.texts("mkfs").find(|(text, _)| text.contains("^has_journal")) {
        let message = "without its journal a filesystem cannot get the one that [[journal]] says";
        return Err(Problem::new(
            span,
            message,
            "write type = \"ext4-nojournal\", or ext2 for ext3",
        ));
    }
    for (text, span) in table.texts("mount") {
        if text.starts_with('-') || text.contains(' ') {
            let message = "mount options are written as in fstab, without -o".to_owned();
            let bare = text.trim_start_matches("-o").trim();
            return Err(Problem::new(
                span,
                message,
                format!("write mount = [\"{}\"]", shorten(bare, 40)),
            ));
        }
    }
    Ok(())
}
