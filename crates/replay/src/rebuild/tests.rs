use super::*;
use crate::fixture::{DIRECTORY, REGULAR, Script};
use crate::planner::Choice;
use std::os::unix::fs::PermissionsExt;

fn two_files() -> Script {
    let mut script = Script::default();
    script.known("/d", DIRECTORY, 0);
    script.known("/d/large", REGULAR, (1 << 20) + 5);
    script.known("/d/other", REGULAR, 4096);
    script.open(1, "/d", libc::O_DIRECTORY, 3);
    script.open(1, "/d/large", libc::O_RDONLY, 4);
    script.open(1, "/d/other", libc::O_RDONLY, 5);
    script.at(1, "readlink", "/d/link", 7).length = Some(100);
    script
}

#[test]
fn files_have_their_sizes_and_permissions_and_no_two_are_equal() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("rebuilds", "needs root to change the root directory");
    }
    let plan = two_files().plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    let made = rebuild(&plan, target.path(), Content::Random, None).unwrap();
    assert_eq!(made, Rebuilt { files: 4, bytes: (1 << 20) + 5 + 4096 });
    let large = std::fs::read(target.path().join("d/large")).unwrap();
    let other = std::fs::read(target.path().join("d/other")).unwrap();
    assert_eq!((large.len(), other.len()), ((1 << 20) + 5, 4096));
    assert_ne!(large[..4096], other[..]);
    assert!(large.chunks(64).all(|part| part.iter().any(|byte| *byte != 0)));
    let mode = std::fs::metadata(target.path().join("d/large")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    let link = std::fs::read_link(target.path().join("d/link")).unwrap();
    assert_eq!(link.to_str().unwrap(), "./././.");
}

#[test]
fn a_tree_larger_than_the_device_is_refused_before_anything_is_made() {
    let mut script = two_files();
    script.known("/d/huge", REGULAR, 1 << 62);
    script.open(1, "/d/huge", libc::O_RDONLY, 6);
    let plan = script.plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    let refused = rebuild(&plan, target.path(), Content::Zeros, None).unwrap_err().to_string();
    assert!(refused.starts_with("the files of the trace need 4611686018428"), "{refused}");
    assert!(refused.ends_with("free; use a larger device"), "{refused}");
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
}

#[test]
fn calls_that_need_more_than_the_device_has_are_refused_before_anything_is_made() {
    let mut script = two_files();
    script.open(1, "/d/new", libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 6);
    for part in 0..3 {
        let write = script.on(1, "pwrite64", (6, "/d/new"), 1 << 60);
        (write.offset, write.length) = (Some(part << 60), Some(1 << 60));
    }
    let plan = script.plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    let refused = rebuild(&plan, target.path(), Content::Zeros, None).unwrap_err().to_string();
    assert!(refused.starts_with("the files of the trace need 3458764513821"), "{refused}");
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
    // What other programs need is not for a replay either.
    let small = two_files().plan(&Choice::default()).unwrap();
    check_room(&small, target.path(), 0).unwrap();
    let refused = check_room(&small, target.path(), 1 << 62).unwrap_err().to_string();
    assert!(refused.contains(" free, of which 4611686018427387904 are kept"), "{refused}");
}

#[test]
fn a_file_takes_whole_blocks_unless_it_was_inside_of_its_inode() {
    let mut script = Script::default();
    script.walked("/w", DIRECTORY, 4096);
    // One byte in a block, one in its inode, nothing, a hole, and more than a block.
    for (path, bytes, allocated_bytes) in [
        ("/w/block", 1, 4096),
        ("/w/inode", 1, 0),
        ("/w/empty", 0, 0),
        ("/w/hole", 1 << 20, 4096),
        ("/w/two", 4097, 8192),
    ] {
        script.walked(path, REGULAR, bytes).allocated_bytes = allocated_bytes;
        script.at(1, "newfstatat", path, 0);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(plan.tree_bytes(), 1 + 1 + 4096 + 4097);
    assert_eq!(plan.tree_room(4096), 4096 + 1 + 4096 + 8192);
    assert_eq!(plan.tree_room(65_536), 3 * 65_536 + 1);
}

#[test]
fn walked_files_get_their_owner_holes_and_kind_of_content() {
    use std::os::unix::fs::MetadataExt;
    if !seekwell_testing::root() {
        return seekwell_testing::skip("walked files", "needs root to change owners");
    }
    let mut script = Script::default();
    script.walked("/w", DIRECTORY, 4096);
    script.walked("/w/hole", REGULAR, 1 << 20);
    script.walked("/w/zero", REGULAR, 4096).content = Some(Recorded::Zero);
    script.walked("/w/half", REGULAR, 4096).content = Some(Recorded::Compressible(50));
    script.walked("/w/again", REGULAR, 4096).inode = Some(3);
    for path in ["/w/hole", "/w/zero", "/w/half", "/w/again"] {
        script.at(1, "newfstatat", path, 0);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    let made = rebuild(&plan, target.path(), Content::Random, None).unwrap();
    assert_eq!(made, Rebuilt { files: 5, bytes: 3 * 4096 });
    let facts = |name: &str| std::fs::metadata(target.path().join("w").join(name)).unwrap();
    let hole = facts("hole");
    assert_eq!((hole.len(), hole.uid(), hole.gid()), (1 << 20, 7, 8));
    assert!(hole.blocks() * 512 < 1 << 20, "{}", hole.blocks());
    let content =
        |name: &str| Recorded::of(&std::fs::read(target.path().join("w").join(name)).unwrap());
    assert_eq!(content("zero"), Some(Recorded::Zero));
    assert!(
        matches!(content("half"), Some(Recorded::Compressible(45..60))),
        "{:?}",
        content("half")
    );
    assert_eq!((facts("half").nlink(), facts("half").ino()), (2, facts("again").ino()));
}

#[test]
fn holes_are_where_the_walk_saw_them() {
    use rustix::fs::SeekFrom::{Data, Hole};
    if !seekwell_testing::root() {
        return seekwell_testing::skip("holes", "needs root to change the root directory");
    }
    const ISLAND: u64 = 64 << 10;
    let (first, second) = (DataRange { start: 1 << 20, bytes: ISLAND }, 4 << 20);
    // Behind the end of the file there is nothing.
    let second = DataRange { start: second, bytes: 2 * ISLAND };
    let mut script = Script::default();
    script.walked("/w", DIRECTORY, 4096);
    let islands = script.walked("/w/islands", REGULAR, (4 << 20) + ISLAND);
    (islands.allocated_bytes, islands.data) = (2 * ISLAND, vec![first, second]);
    script.open(1, "/w/islands", libc::O_RDONLY, 3);
    let plan = script.plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir_in(".").unwrap();
    rebuild(&plan, target.path(), Content::Random, None).unwrap();
    let file = std::fs::File::open(target.path().join("w/islands")).unwrap();
    let seek = |to| rustix::fs::seek(&file, to).unwrap();
    assert_eq!(file.metadata().unwrap().len(), (4 << 20) + ISLAND);
    let ends = [seek(Data(0)), seek(Hole(1 << 20)), seek(Data((1 << 20) + ISLAND))];
    assert_eq!(ends, [1 << 20, (1 << 20) + ISLAND, 4 << 20]);
}
