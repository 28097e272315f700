use super::*;

fn found(path: &str, kind: TreeKind, inode: Option<u64>) -> Found {
    let made = inode.map(|inode| Made { birth_ms: None, device: 8, inode });
    (made, TreeEntry::new(path.to_owned(), kind, None, 0))
}

#[test]
fn files_that_alternate_between_directories_are_made_in_turn() {
    let born = |path: &str, kind: TreeKind, inode: u64, birth_ms: u64| -> Found {
        let (_, entry) = found(path, kind, None);
        (Some(Made { birth_ms: Some(birth_ms), device: 8, inode }), entry)
    };
    let made = in_order(vec![
        born("/a", TreeKind::Directory, 10, 1),
        born("/a/2", TreeKind::File, 12, 6),
        born("/a/1", TreeKind::File, 11, 4),
        born("/b", TreeKind::Directory, 90, 2),
        born("/b/1", TreeKind::File, 92, 5),
        born("/b/2", TreeKind::File, 91, 7),
        born("/b/in the same tick", TreeKind::File, 93, 7),
    ]);
    let paths: Vec<&str> = made.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/b", "/a/1", "/b/1", "/a/2", "/b/2", "/b/in the same tick"]);
}

#[test]
fn files_are_made_by_inode_and_their_directories_before_them() {
    let made = in_order(vec![
        found("/d", TreeKind::Directory, Some(90)),
        found("/d/a", TreeKind::File, Some(7)),
        found("/d/e", TreeKind::Directory, Some(5)),
        found("/d/e/b", TreeKind::File, Some(80)),
        found("/d/c", TreeKind::Name, None),
        found("/late", TreeKind::File, None),
        found("/early", TreeKind::File, Some(1)),
        found("/late2", TreeKind::File, None),
    ]);
    let paths: Vec<&str> = made.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["/early", "/d", "/d/e", "/d/a", "/d/e/b", "/late", "/late2", "/d/c"]);
}

#[test]
fn without_inodes_the_order_stays() {
    let made = in_order(vec![
        found("/b", TreeKind::Directory, None),
        found("/b/z", TreeKind::File, None),
        found("/a", TreeKind::Link, None),
    ]);
    let paths: Vec<&str> = made.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["/b", "/b/z", "/a"]);
}
