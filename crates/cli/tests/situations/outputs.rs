//! Outputs of commands on paths where something of others is.

use super::{CANARY, Place, bring, difference, snapshot, try_family};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

/// A command that writes to `OUT`.
struct Writer {
    name: &'static str,
    arguments: &'static [&'static str],
    /// It writes several files into a directory, which may be there.
    directory: bool,
    /// It takes `--force`.
    forced: bool,
}

const fn writer(name: &'static str, arguments: &'static [&'static str]) -> Writer {
    Writer { name, arguments, directory: false, forced: false }
}

const fn forced(name: &'static str, arguments: &'static [&'static str]) -> Writer {
    Writer { forced: true, ..writer(name, arguments) }
}

const fn directory(name: &'static str, arguments: &'static [&'static str]) -> Writer {
    Writer { directory: true, ..writer(name, arguments) }
}

const WRITERS: &[Writer] = &[
    writer("html", &["report", "run.seekwell", "--html", "OUT"]),
    writer("markdown", &["report", "run.seekwell", "--markdown", "OUT"]),
    writer("csv", &["report", "run.seekwell", "--csv", "OUT"]),
    forced("html --force", &["report", "run.seekwell", "--html", "OUT", "--force"]),
    forced("markdown --force", &["report", "run.seekwell", "--markdown", "OUT", "--force"]),
    forced("csv --force", &["report", "run.seekwell", "--csv", "OUT", "--force"]),
    directory("parquet", &["report", "run.seekwell", "--parquet", "OUT"]),
    directory("documents", &["documents", "OUT"]),
    writer("repair", &["repair", "run.seekwell", "-o", "OUT"]),
    writer("extract", &["extract", "report.html", "-o", "OUT"]),
    writer("init", &["init", "OUT", "--defaults", "--estimate"]),
    writer("merge", &["merge", "run.seekwell", "run.seekwell", "-o", "OUT"]),
];

/// An object at the path of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Object {
    Text,
    Program,
    ReadOnly,
    Unreadable,
    Link,
    DanglingLink,
    LinkToItself,
    LinkToFolder,
    HardLink,
    Folder,
    Socket,
    MemoryNode,
    BelowAFile,
    BelowNothing,
    LongName,
    BlockNode,
    Home,
    Parent,
    WithSlash,
    Nameless,
    Source,
}

const OBJECTS: [Object; 21] = [
    Object::Text,
    Object::Program,
    Object::ReadOnly,
    Object::Unreadable,
    Object::Link,
    Object::DanglingLink,
    Object::LinkToItself,
    Object::LinkToFolder,
    Object::HardLink,
    Object::Folder,
    Object::Socket,
    Object::MemoryNode,
    Object::BelowAFile,
    Object::BelowNothing,
    Object::LongName,
    Object::BlockNode,
    Object::Home,
    Object::Parent,
    Object::WithSlash,
    Object::Nameless,
    Object::Source,
];

impl Object {
    /// Makes it; the path for the command, relative to the place.
    fn make(self, place: &Place) -> String {
        let path = place.home().join("out");
        let file = |bytes: &[u8], mode: u32| {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        match self {
            Self::Text => file(CANARY.as_bytes(), 0o644),
            Self::Program => file(b"#!/bin/sh\nexit 0\n", 0o755),
            Self::ReadOnly => file(CANARY.as_bytes(), 0o444),
            Self::Unreadable => file(CANARY.as_bytes(), 0),
            Self::Link => symlink("../others/canary", &path).unwrap(),
            Self::DanglingLink => symlink("../others/new", &path).unwrap(),
            Self::LinkToItself => symlink("out", &path).unwrap(),
            Self::LinkToFolder => symlink("../others/folder", &path).unwrap(),
            Self::HardLink => fs::hard_link(place.canary(), &path).unwrap(),
            Self::Folder => {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("mine"), CANARY).unwrap();
            }
            Self::Socket => drop(UnixListener::bind(&path).unwrap()),
            Self::MemoryNode | Self::BlockNode => {
                // `/dev/full`, whose writes all fail, and a number that no block device has.
                let number = match self {
                    Self::MemoryNode => ["c", "1", "7"],
                    _ => ["b", "240", "77"],
                };
                let made = Command::new("mknod").arg(&path).args(number).status();
                if !made.is_ok_and(|status| status.success()) {
                    file(CANARY.as_bytes(), 0o644);
                }
            }
            Self::BelowAFile => return "../others/canary/out".to_owned(),
            Self::BelowNothing => return "nothing/here/out".to_owned(),
            Self::LongName => return "x".repeat(300),
            Self::Home => return ".".to_owned(),
            Self::Parent => return "..".to_owned(),
            Self::WithSlash => return "new/".to_owned(),
            Self::Nameless => return String::new(),
            Self::Source => return "run.seekwell".to_owned(),
        }
        "out".to_owned()
    }

    /// True if a writer may put files there: new ones in a directory, and any with `--force` on a plain file.
    fn may_be_written(self, writer: &Writer) -> bool {
        let file = [Self::Text, Self::Program, Self::ReadOnly, Self::Unreadable, Self::HardLink];
        let named = [Self::Home, Self::Parent, Self::WithSlash];
        let folder = [[Self::Folder, Self::LinkToFolder, Self::BelowNothing], named].concat();
        (writer.forced && file.contains(&self)) || (writer.directory && folder.contains(&self))
    }
}

#[test]
fn outputs_leave_what_they_did_not_write() {
    let all = WRITERS.iter().flat_map(|writer| OBJECTS.map(|object| (writer, object))).collect();
    try_family("outputs", all, |(writer, object)| {
        attempt(writer, *object).map_err(|why| format!("{} onto {object:?}: {why}", writer.name))
    });
}

fn attempt(writer: &Writer, object: Object) -> Result<(), String> {
    let place = Place::new();
    bring(&place, &["run.seekwell", "report.html", "data"]);
    let out = object.make(&place);
    let (others, home) = (snapshot(&place.others()), snapshot(&place.home()));
    let arguments: Vec<&str> =
        writer.arguments.iter().map(|word| if *word == "OUT" { &out } else { *word }).collect();
    let told = place.run(&arguments)?;
    let allowed = object.may_be_written(writer);
    if let Some(what) = difference(&others, &snapshot(&place.others()), !writer.directory) {
        return Err(what);
    }
    let mut after = snapshot(&place.home());
    if allowed && writer.forced {
        let path: &Path = &place.home().join("out");
        let (Some(new), Some(old)) = (after.get_mut(path), home.get(path)) else {
            return Err("the output is gone".to_owned());
        };
        new.clone_from(old);
    }
    if let Some(what) = difference(&home, &after, !allowed) {
        return Err(what);
    }
    if !allowed && told.code == 0 {
        return Err(format!("it ends well: {}", told.text));
    }
    Ok(())
}
