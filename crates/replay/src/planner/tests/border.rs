//! Names that come into the folder of a replay and leave it, and open files that get a name.

use super::*;

/// Renames or links `from` to `to`.
fn two(script: &mut Script, call: &str, from: &str, to: &str) {
    let to = script.file(to);
    script.at(1, call, from, 0).to_file = Some(to);
}

fn in_folder() -> Choice {
    Choice { only: Some("/w".to_owned()), ..Choice::default() }
}

#[test]
fn a_file_that_leaves_the_folder_is_removed_and_its_name_is_free() {
    let mut script = Script::default();
    script.known("/w/a", REGULAR, 100);
    script.at(1, "newfstatat", "/w/a", 0);
    two(&mut script, "rename", "/w/a", "/elsewhere/a");
    script.at(2, "newfstatat", "/w/a", -i64::from(libc::ENOENT));
    let plan = script.plan(&in_folder()).unwrap();
    let call = |action, after| (action, "/a".to_owned(), after);
    assert_eq!(short(&plan, 0), [call(Action::StatusOf, vec![]), call(Action::Unlink, vec![])]);
    // The lookup that finds nothing comes after it.
    assert_eq!(short(&plan, 1), [call(Action::StatusOf, vec![(0, 2)])]);
    assert_eq!((plan.recorded().skipped.len(), plan.recorded().contradictions), (0, 0));
}

#[test]
fn a_file_that_comes_into_the_folder_has_the_size_it_was_written_with() {
    let mut script = Script::default();
    script.known("/tmp/new", REGULAR, 0);
    script.known("/w/a", REGULAR, 100);
    script.at(1, "newfstatat", "/w/a", 0);
    script.open(1, "/tmp/new", libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 3);
    let write = script.on(1, "write", (3, "/tmp/new"), 700);
    (write.offset, write.length) = (Some(0), Some(700));
    two(&mut script, "rename", "/tmp/new", "/w/a");
    // No one saw the size of this one.
    two(&mut script, "link", "/tmp/unknown", "/w/b");
    script.at(2, "newfstatat", "/w/a", 0);
    let plan = script.plan(&in_folder()).unwrap();
    let own = plan.operations(0);
    let made: Vec<_> = own.iter().filter(|one| one.action == Action::Arrive).collect();
    let facts = |at: usize| (plan.path(made[at].path).unwrap(), made[at].length, made[at].mode);
    assert_eq!(made.len(), 2);
    assert_eq!((facts(0), facts(1)), (("/a", 700, 0o640), ("/b", 0, 0o644)));
    assert_eq!(plan.recorded().unknown_files, 1);
    assert_eq!(plan.recorded().contradictions, 0);
    assert_eq!(plan.operations(1)[0].after, [(0, 2)]);
    // Only the file from before is rebuilt.
    let paths: Vec<_> = plan.tree.iter().map(|one| (one.path.as_str(), one.bytes)).collect();
    assert_eq!(paths, [("/a", 100)]);
}

#[test]
fn a_directory_that_crosses_the_border_is_a_loss() {
    let mut script = Script::default();
    script.known("/w/d", DIRECTORY, 0);
    script.known("/tmp/e", DIRECTORY, 0);
    two(&mut script, "rename", "/w/d", "/tmp/d");
    two(&mut script, "rename", "/tmp/e", "/w/e");
    script.at(1, "newfstatat", "/w/d", -i64::from(libc::ENOENT));
    let plan = script.plan(&in_folder()).unwrap();
    assert_eq!(plan.recorded().skipped, [(Reason::Border, 2)].into());
    assert!(Reason::Border.is_loss());
    assert_eq!(plan.recorded().contradictions, 0);
    // Calls that failed change nothing.
    let mut script = scripted();
    let to = script.file("/elsewhere");
    script.at(1, "rename", "/w/in", -i64::from(libc::EXDEV)).to_file = Some(to);
    let plan = script.plan(&in_folder()).unwrap();
    assert_eq!(plan.recorded().skipped, [(Reason::Outside, 1)].into());
}

#[test]
fn an_open_file_gets_its_name() {
    for (from, flags) in [
        ("/proc/self/fd/5", libc::AT_SYMLINK_FOLLOW),
        ("/proc/1/fd/5", libc::AT_SYMLINK_FOLLOW),
        ("/w/#17", libc::AT_EMPTY_PATH),
    ] {
        let plan = Script::nameless(from, flags).plan(&Choice::default()).unwrap();
        let all = plan.operations(0);
        let actions: Vec<_> = all.iter().map(|one| one.action).collect();
        let [_, _, link, ..] = &all[..] else { panic!("{actions:?}") };
        assert_eq!(link.action, Action::LinkOpen, "{from}");
        assert_eq!((link.slot, plan.path(link.to_path)), (all[0].slot, Some("/w/final")));
        let recorded = plan.recorded();
        assert_eq!((recorded.skipped.len(), recorded.contradictions), (0, 0), "{from}");
    }
    // A descriptor that no call opened.
    let plan = Script::nameless("/proc/self/fd/9", 0).plan(&Choice::default()).unwrap();
    assert_eq!(plan.operations(0)[2].action, Action::Arrive);
    assert_eq!((plan.recorded().unknown_files, plan.recorded().contradictions), (1, 0));
}

/// `cp` asks to share a file of up to 9 EB with another filesystem, and then copies it.
#[test]
fn a_copy_over_the_border_moves_what_the_recorded_call_moved() {
    let mut script = Script::default();
    script.known("/tmp/in", REGULAR, 700);
    script.open(1, "/tmp/in", libc::O_RDONLY, 3);
    script.open(1, "/w/out", libc::O_WRONLY | libc::O_CREAT, 4);
    let copies = [("copy_file_range", -i64::from(libc::EXDEV)), ("sendfile", 700), ("sendfile", 0)];
    for (call, result) in copies {
        let to = script.file("/w/out");
        let copy = script.on(1, call, (3, "/tmp/in"), result);
        (copy.to_file, copy.length) = (Some(to), Some(9_223_372_035_781_033_984));
    }
    let plan = script.plan(&in_folder()).unwrap();
    let own = plan.operations(0);
    let copies = own.iter().filter(|one| one.action == Action::Write);
    let copies: Vec<_> = copies.map(|one| (one.length, one.expected)).collect();
    assert_eq!(copies, [(700, 700), (0, 0)]);
}
