use super::*;

fn names(tree: &Tree, directory: &str) -> Vec<String> {
    tree.children(directory).map(|(name, ..)| name.to_owned()).collect()
}

#[test]
fn directories_above_come_by_themselves() {
    let mut tree = Tree::default();
    tree.add("/a/b/c", Node::Directory);
    let paths: Vec<&str> = tree.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/", "/a", "/a/b", "/a/b/c"]);
    assert_eq!(Tree::parent("/a/b"), "/a");
    assert_eq!(Tree::parent("/a"), "/");
    assert_eq!(Tree::parent("/"), "/");
}

#[test]
fn children_are_those_right_below() {
    let mut tree = Tree::default();
    for path in ["/a/x", "/a-b", "/a/x/deep", "/b"] {
        tree.add(path, Node::Directory);
    }
    assert_eq!(names(&tree, "/"), ["a", "a-b", "b"]);
    assert_eq!(names(&tree, "/a"), ["x"]);
    assert!(names(&tree, "/b").is_empty());
}

#[test]
fn what_was_there_stays() {
    let mut tree = Tree::default();
    tree.add("/a", Node::Link { target: "b".to_owned() });
    tree.add("/a", Node::Directory);
    assert_eq!(tree.iter().nth(1).unwrap().1, &Node::Link { target: "b".to_owned() });
}
