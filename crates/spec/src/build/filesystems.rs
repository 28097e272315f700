//! Filesystems with their options.

use super::{Axis, Named, name_or, unique};
use crate::source::{Problem, Span, shorten};
use crate::walk::Checked;
use seekwell_model::filesystems::{DEFAULT_FILESYSTEM, filesystem, names_of};
use seekwell_model::stack::{Export, Filesystem, Nfs, Overlay, WriteBack};
use seekwell_model::units::Nanos;

/// The filesystem axis.
pub(super) fn filesystems(tables: &[Checked]) -> Result<Axis<Filesystem>, Problem> {
    if tables.is_empty() {
        return Ok(vec![Named { value: plain(DEFAULT_FILESYSTEM), span: None }]);
    }
    let mut axis = Vec::new();
    for table in tables {
        let kind = table.values.text("type").unwrap_or_default();
        let mut value = plain(kind);
        value.mkfs = table.values.list("mkfs");
        value.mount = table.values.list("mount");
        value.discard = table.values.bool("discard");
        value.overlay = table.table("overlay").map(overlay).transpose()?;
        value.nfs = table.table("nfs").map(nfs);
        value.export = table.table("export").map(export);
        check_without(table, kind)?;
        check_one_above(table)?;
        check_arguments(table)?;
        check_host_files(table, kind)?;
        check_export(table, kind)?;
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
        nfs: None,
        export: None,
    }
}

fn overlay(table: &Checked) -> Result<Overlay, Problem> {
    let on_filesystem = table.values.text("upper_on") == Some("filesystem");
    let memory_only = |name: &str| table.places.get(name).map(|place| place.key);
    if let Some(key) = memory_only("upper").or(memory_only("write_back")).filter(|_| on_filesystem)
    {
        let message = "an upper layer on the filesystem has no size and nothing to write back";
        let remedy = "leave `upper` and `write_back` out, or `upper_on`";
        return Err(Problem::new(key, message, remedy));
    }
    if !on_filesystem && !table.has("upper") {
        let message = "`overlay` needs `upper`, the size of its layer in memory";
        let remedy = "write upper = \"256MiB\", or upper_on = \"filesystem\"";
        return Err(Problem::new(table.span.unwrap_or_default(), message, remedy));
    }
    let write_back = table.values.choice("write_back").unwrap_or(WriteBack::End);
    Ok(Overlay { upper: table.values.size("upper"), write_back })
}

fn nfs(table: &Checked) -> Nfs {
    let values = &table.values;
    Nfs {
        version: values.text("version").unwrap_or_default().to_owned(),
        is_async: values.text("export") == Some("async"),
        rsize: values.size("rsize"),
        wsize: values.size("wsize"),
        delay: values.duration("delay").unwrap_or(Nanos(0)),
        rate_mbit: values.integer("rate_mbit").unwrap_or_default(),
    }
}

fn export(table: &Checked) -> Export {
    let values = &table.values;
    let text = |name: &str| values.text(name).unwrap_or_default().to_owned();
    Export {
        from: text("from"),
        version: text("version"),
        rsize: values.size("rsize"),
        wsize: values.size("wsize"),
    }
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
        let upper = overlay.upper.map_or("filesystem".to_owned(), |size| size.to_string());
        options.push(format!("overlay={upper}{lost}"));
    }
    if let Some(nfs) = &value.nfs {
        let commit = if nfs.is_async { ",async" } else { "" };
        options.push(format!("nfs={}{commit}", nfs.version));
    }
    if let Some(export) = &value.export {
        let sizes = [("rsize", export.rsize), ("wsize", export.wsize)];
        options.extend([export.from.clone(), export.version.clone()]);
        options
            .extend(sizes.iter().filter_map(|(name, size)| Some(format!("{name}={}", (*size)?))));
    }
    match options.is_empty() {
        true => value.kind.clone(),
        false => format!("{}[{}]", value.kind, options.join(",")),
    }
}

/// A raw device has nothing to make, to mount or to lay something over; memory has no device.
fn check_without(table: &Checked, kind: &str) -> Result<(), Problem> {
    let Some(definition) = filesystem(kind) else { return Ok(()) };
    let (names, is): (&[&str], _) = if definition.is_raw() {
        (&["mkfs", "mount", "discard", "overlay", "nfs"], "the device without a filesystem")
    } else if definition.is_in_memory {
        (&["mkfs", "discard", "overlay", "nfs"], "in memory and made by mounting it")
    } else if definition.is_remote {
        (&["mkfs", "discard", "overlay", "nfs"], "a directory of another machine")
    } else {
        return Ok(());
    };
    for name in names {
        if let Some(place) = table.places.get(name) {
            let message = format!("`{name}` with type = \"{kind}\", which is {is}");
            return Err(Problem::new(place.key, message, format!("leave `{name}` out")));
        }
    }
    Ok(())
}

/// An overlay cannot be exported, and has no use for one as its lower layer.
fn check_one_above(table: &Checked) -> Result<(), Problem> {
    match table.places.get("nfs") {
        Some(place) if table.has("overlay") => {
            let message = "`nfs` and `overlay` above one filesystem";
            Err(Problem::new(place.key, message, "write two [[filesystem]] tables, one with each"))
        }
        _ => Ok(()),
    }
}

/// A directory of a server has to be named, and anything else is not one.
fn check_export(table: &Checked, kind: &str) -> Result<(), Problem> {
    let is_remote = filesystem(kind).is_some_and(|one| one.is_remote);
    let Some(place) = table.places.get("export") else {
        if !is_remote {
            return Ok(());
        }
        let message = format!("type = \"{kind}\" needs `export`, the directory of the server");
        let remedy = "write export = \"SERVER:/PATH\"; for a server that the trial starts, write the type of its filesystem and nfs = \"4.2\"";
        return Err(Problem::new(table.place("type").unwrap_or_default(), message, remedy));
    };
    if !is_remote {
        let remote = names_of(|one| one.is_remote);
        let message = format!("`export` with type = \"{kind}\", which is on the stack's device");
        let remedy = format!(
            "write type = \"{remote}\"; for a server that the trial starts, write nfs = {{ export = \"sync\" }}"
        );
        return Err(Problem::new(place.key, message, remedy));
    }
    let from = table.table("export").and_then(|export| export.values.text("from"));
    let from = from.unwrap_or_default();
    if Export::server_and_path(from).is_none() {
        let message = format!("\"{}\" is not a server and a path", shorten(from, 40));
        return Err(Problem::new(place.value, message, "write export = \"SERVER:/PATH\""));
    }
    Ok(())
}

/// mkfs and mount run as root: a lab gives them no file and no other device of the host.
fn check_host_files(table: &Checked, kind: &str) -> Result<(), Problem> {
    let Some(definition) = filesystem(kind) else { return Ok(()) };
    let arguments: Vec<(&str, Span)> = table.texts("mkfs").collect();
    let texts = arguments.iter().map(|(text, _)| *text);
    if let Some((index, refused)) = definition.options.find_refused(texts) {
        let program = definition.mkfs.first().copied().unwrap_or(kind);
        let message = format!("`{}` of {program} is refused: it {}", refused.option, refused.why);
        return Err(Problem::new(arguments[index].1, message, refused.remedy));
    }
    for (text, span) in table.texts("mount") {
        let key = |option: &&str| option.split('=').next().unwrap_or_default().trim().to_owned();
        let found = text.split(',').find(|one| definition.refused_mount.contains(&&*key(one)));
        if let Some(option) = found {
            let (why, remedy) = if definition.is_remote {
                (
                    "the trial sets it, or keeps a cache of its own",
                    "leave it out; `export` has the server, the version and the sizes",
                )
            } else {
                (
                    "it names another device",
                    "leave it out; [[journal]] puts a journal on another device",
                )
            };
            let message = format!("mount option `{}` is refused: {why}", key(&option));
            return Err(Problem::new(span, message, remedy));
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
        let without = names_of(|one| one.mkfs.contains(&"^has_journal"));
        let remedy = format!("write type = \"{without}\" instead");
        return Err(Problem::new(span, message, remedy));
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
