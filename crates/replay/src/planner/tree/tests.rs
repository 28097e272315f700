use super::*;

const ME: Stamp = Stamp { lane: 0, number: 1, end_ns: 0 };

fn walk(tree: &mut Tree, path: &str, sure: bool) -> Option<Place> {
    let parts = tree.parts(path);
    tree.walk(&parts, sure, ME, &mut Vec::new())
}

fn paths(tree: &Tree) -> Vec<String> {
    tree.initial().into_iter().map(|entry| entry.path).collect()
}

#[test]
fn names_below_a_directory_that_moved_were_at_its_first_place() {
    let mut tree = Tree::new(Walked::empty());
    let from = walk(&mut tree, "/a/old", true).unwrap();
    let id = tree.found(from, Kind::Directory, None, 0);
    let to = walk(&mut tree, "/b/new", true).unwrap();
    tree.set(from, Named::Nothing);
    tree.set(to, Named::File(id));
    let file = walk(&mut tree, "/b/new/file", true).unwrap();
    tree.found(file, Kind::File, Some(0o600), 7);
    assert_eq!(paths(&tree), ["/a", "/a/old", "/b", "/a/old/file"]);
}

#[test]
fn a_directory_that_a_call_made_is_empty() {
    let mut tree = Tree::new(Walked::empty());
    let place = walk(&mut tree, "/made", true).unwrap();
    tree.made(place, Kind::Directory, None);
    let inside = walk(&mut tree, "/made/x", true).unwrap();
    assert_eq!(tree.state(inside), Named::Nothing);
    assert_eq!(paths(&tree), [""; 0]);
}

#[test]
fn a_way_that_is_not_sure_is_not_made() {
    let mut tree = Tree::new(Walked::empty());
    assert!(walk(&mut tree, "/a/b/c", false).is_some());
    assert!(walk(&mut tree, "/a", false).is_some());
    assert_eq!(paths(&tree), [""; 0]);
    assert_eq!(walk(&mut tree, "/", true), None);
}

#[test]
fn links_are_followed_and_loops_end() {
    let mut tree = Tree::new(Walked::empty());
    let target = tree.parts("/real/folder");
    let link = walk(&mut tree, "/link", true).unwrap();
    tree.made(link, Kind::Link(Some(target)), None);
    let file = walk(&mut tree, "/link/file", true).unwrap();
    tree.found(file, Kind::File, None, 0);
    assert_eq!(paths(&tree), ["/real", "/real/folder", "/real/folder/file"]);
    let own = tree.parts("/loop");
    let place = walk(&mut tree, "/loop", true).unwrap();
    tree.made(place, Kind::Link(Some(own)), None);
    assert_eq!(walk(&mut tree, "/loop/file", true), None);
    assert_eq!(tree.contradictions, 1);
}

#[test]
fn a_directory_that_could_not_be_removed_holds_something() {
    let mut tree = Tree::new(Walked::empty());
    let place = walk(&mut tree, "/full", true).unwrap();
    let id = tree.found(place, Kind::Directory, None, 0);
    tree.not_empty(id);
    assert_eq!(paths(&tree), ["/full", "/full/not recorded"]);
}
