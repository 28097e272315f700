use std::fs;
use std::process::Command;

use super::*;

fn paths(tree: &Tree) -> Vec<&str> {
    tree.iter().map(|(path, _)| path).collect()
}

fn plant(root: &Path, files: &[(&str, &[u8])]) {
    for (path, bytes) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn git(root: &Path, arguments: &[&str]) {
    assert!(Command::new("git").args(arguments).current_dir(root).status().unwrap().success());
}

#[test]
fn without_git_everything_but_build_output_is_read() {
    let folder = tempfile::tempdir().unwrap();
    plant(
        folder.path(),
        &[
            ("README.md", b"text"),
            ("crates/a/src/lib.rs", b"code"),
            ("target/debug/out.rs", b"output"),
            ("web/node_modules/x.js", b"output"),
            ("picture.png", b"\xff\xfe\x00"),
        ],
    );
    let tree = Tree::read(folder.path()).unwrap();
    assert_eq!(paths(&tree), ["README.md", "crates/a/src/lib.rs"]);
    assert_eq!(tree.text("README.md"), Some("text"));
    assert_eq!(tree.text("picture.png"), None);
}

#[test]
fn in_a_checkout_new_files_count_and_ignored_and_deleted_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    plant(
        root,
        &[
            (".gitignore", b"*.html\n"),
            ("tracked.rs", b"a"),
            ("gone.rs", b"b"),
            ("page.html", b"c"),
        ],
    );
    git(root, &["init", "-q"]);
    git(root, &["add", "."]);
    fs::remove_file(root.join("gone.rs")).unwrap();
    plant(root, &[("new \u{e4}.rs", b"d")]);
    std::os::unix::fs::symlink("tracked.rs", root.join("link.rs")).unwrap();
    assert_eq!(paths(&Tree::read(root).unwrap()), [".gitignore", "new \u{e4}.rs", "tracked.rs"]);
}

#[test]
fn a_checkout_that_git_cannot_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), &[(".git", b"not a repository")]);
    let error = Tree::read(folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("git ls-files: "), "{error}");
}
