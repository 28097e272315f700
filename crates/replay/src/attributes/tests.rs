use super::*;
use crate::engine::{Options, Speed, replay};
use crate::fixture::{DIRECTORY, REGULAR, Script};
use crate::plan::Reason;
use crate::planner::Choice;
use crate::rebuild::{Content, rebuild};
use seekwell_trace::{Event, FileEntry, InitialAttribute};
use std::collections::BTreeMap;

const NO_DATA: i64 = -(libc::ENODATA as i64);

/// A call on an attribute of an open file.
fn on<'a>(
    script: &'a mut Script,
    call: &str,
    name: &str,
    (length, result): (u64, i64),
) -> &'a mut Event {
    let to = script.file(&FileEntry::path_of_attribute(name));
    let event = script.on(1, call, (3, "/w/a"), result);
    (event.to_file, event.length, event.flags) = (Some(to), Some(length), Some(0));
    event
}

/// A program that labels a file and gives it an access list, as `cp -a` does.
fn labelled() -> Script {
    let mut script = Script::default();
    script.known("/w/a", REGULAR, 10);
    script.open(1, "/w/a", libc::O_RDWR, 3);
    on(&mut script, "fgetxattr", "security.capability", (100, NO_DATA));
    on(&mut script, "fgetxattr", "user.label", (0, NO_DATA));
    on(&mut script, "fsetxattr", "user.label", (33, 0));
    on(&mut script, "fgetxattr", "user.label", (100, 33));
    on(&mut script, "fsetxattr", "user.gone", (5, 0));
    on(&mut script, "fremovexattr", "user.gone", (0, 0));
    on(&mut script, "fsetxattr", "system.posix_acl_access", (28, 0));
    // The file has no other access list, and to remove it succeeds.
    on(&mut script, "fremovexattr", "system.posix_acl_default", (0, 0));
    let to = script.file(&FileEntry::path_of_attribute("user.path"));
    let event = script.at(1, "setxattr", "/w/a", 0);
    (event.to_file, event.length, event.flags) = (Some(to), Some(7), Some(1));
    script
}

#[test]
fn attributes_that_a_program_sets_are_set_again() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("attributes", "needs root to change the root directory");
    }
    let plan = labelled().plan(&Choice::default()).unwrap();
    assert_eq!(plan.recorded().skipped, BTreeMap::new());
    let target = tempfile::tempdir_in(".").unwrap();
    rebuild(&plan, target.path(), Content::Zeros, None).unwrap();
    let options = Options { speed: Speed::AsFastAsPossible, ..Options::default() };
    let replayed = replay(&plan, target.path(), &options).unwrap();
    assert_eq!((replayed.differences, replayed.issued), (BTreeMap::new(), 10));
    let file = target.path().join("w/a");
    let length = |name: &str| fs::getxattr(&file, name, &mut [0_u8; 200][..]);
    assert_eq!(length("user.label"), Ok(33));
    assert_eq!(length("user.path"), Ok(7));
    assert_eq!(length("user.gone"), Err(Errno::NODATA));
}

#[test]
fn attributes_that_the_walk_saw_are_there_again() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("walked", "needs root to change the root directory");
    }
    let mut script = Script::default();
    script.walked("/w", DIRECTORY, 4096);
    let named = |name: &str, bytes| InitialAttribute { name: name.to_owned(), bytes };
    script.walked("/w/a", REGULAR, 10).attributes = vec![
        named("user.before", 20),
        named("user.gone", 3),
        named("system.posix_acl_access", 44),
        // As the walk of another version may tell them: never set.
        named("security.selinux", 9),
    ];
    script.open(1, "/w/a", libc::O_RDWR, 3);
    on(&mut script, "fgetxattr", "user.before", (100, 20));
    on(&mut script, "fgetxattr", "system.posix_acl_access", (132, 44));
    let replace = on(&mut script, "fsetxattr", "user.before", (6, 0));
    replace.flags = Some(2);
    on(&mut script, "fremovexattr", "user.gone", (0, 0));
    on(&mut script, "fgetxattr", "user.gone", (100, NO_DATA));
    on(&mut script, "fgetxattr", "user.before", (100, 6));
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(plan.recorded().skipped, BTreeMap::new());
    let target = tempfile::tempdir_in(".").unwrap();
    rebuild(&plan, target.path(), Content::Random, None).unwrap();
    let options = Options { speed: Speed::AsFastAsPossible, ..Options::default() };
    let replayed = replay(&plan, target.path(), &options).unwrap();
    assert_eq!((replayed.differences, replayed.issued), (BTreeMap::new(), 7));
    let file = target.path().join("w/a");
    let label = fs::getxattr(&file, "security.selinux", &mut [0_u8; 200][..]);
    assert_eq!(label, Err(Errno::NODATA));
}

#[test]
fn attributes_of_the_system_and_those_of_before_are_counted() {
    let mut script = labelled();
    on(&mut script, "fsetxattr", "security.selinux", (20, 0));
    on(&mut script, "fsetxattr", "trusted.overlay", (20, -1));
    on(&mut script, "fgetxattr", "security.selinux", (100, 20));
    on(&mut script, "fgetxattr", "user.before", (100, 20));
    on(&mut script, "fremovexattr", "user.before", (0, 0));
    let plan = script.plan(&Choice::default()).unwrap();
    let expected = [(Reason::NotRecorded, 2), (Reason::System, 3)];
    assert_eq!(plan.recorded().skipped, BTreeMap::from(expected));
    assert!(expected.iter().all(|(reason, _)| reason.is_loss()));
}

#[test]
fn attributes_follow_their_file_and_names_outside_are_no_loss() {
    let mut script = labelled();
    let to = script.file("/w/b");
    script.at(1, "rename", "/w/a", 0).to_file = Some(to);
    let label = script.file(&FileEntry::path_of_attribute("user.label"));
    let read = script.at(1, "getxattr", "/w/b", 33);
    (read.to_file, read.length) = (Some(label), Some(100));
    let selinux = script.file(&FileEntry::path_of_attribute("security.selinux"));
    script.at(1, "getxattr", "/usr/bin/ls", 37).to_file = Some(selinux);
    let long = script.file(&FileEntry::path_of_attribute(&format!("user.{}", "x".repeat(300))));
    script.at(1, "getxattr", "/w/b", NO_DATA).to_file = Some(long);
    let choice = Choice { only: Some("/w".to_owned()), ..Choice::default() };
    let plan = script.plan(&choice).unwrap();
    let expected = [(Reason::Outside, 1), (Reason::LongName, 1)];
    assert_eq!(plan.recorded().skipped, BTreeMap::from(expected));
}

/// The kernel takes the lists: it refuses those that are not in order or have no mask.
#[test]
fn access_lists_of_every_length_are_lists() {
    let file = tempfile::NamedTempFile::new_in(".").unwrap();
    for entries in [3, 5, 6, 9] {
        let list = access_list(4 + 8 * entries, 0o640);
        assert_eq!(list.len(), 4 + 8 * entries);
        let set = || fs::setxattr(file.path(), ACCESS, &list, XattrFlags::empty());
        match set() {
            Err(Errno::OPNOTSUPP) => {
                return seekwell_testing::skip("access_lists", "the filesystem here has none");
            }
            done => done.unwrap(),
        }
        let mut read = [0_u8; 200];
        let found = fs::getxattr(file.path(), ACCESS, &mut read[..]);
        // Three entries are the permissions themselves.
        let kept = if entries == 3 { Err(Errno::NODATA) } else { Ok(list.len()) };
        assert_eq!(found, kept);
    }
}

const ACCESS: &CStr = c"system.posix_acl_access";
