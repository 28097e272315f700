use super::*;

fn found(path: &str, kind: TreeKind, inode: Option<u64>) -> Found {
    (inode.map(|inode| (8, inode)), TreeEntry::new(path.to_owned(), kind, None, 0))
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
