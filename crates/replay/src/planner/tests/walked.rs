//! The tree that capture walked, in the plan.

use super::*;
use seekwell_trace::Content;
use std::collections::BTreeSet;

/// A program that cuts one file of a walked tree, removes another and makes a third.
fn removing() -> Script {
    let mut script = Script::default();
    script.walked("/w", DIRECTORY, 4096);
    script.walked("/w/cut", REGULAR, 4096).content = Some(Content::Compressible(40));
    script.walked("/w/gone", REGULAR, 1 << 20).content = Some(Content::Zero);
    script.walked("/w/same", REGULAR, 1 << 20).inode = Some(2);
    script.walked("/w/other", REGULAR, 3000);
    script.walked("/w/sub", DIRECTORY, 4096);
    script.walked("/w/sub/deep", REGULAR, 9000);
    script.known("/w/cut", REGULAR, 0);
    script.known("/w/new", REGULAR, 5000);
    script.open(1, "/w/cut", libc::O_WRONLY | libc::O_TRUNC, 3);
    script.at(1, "unlink", "/w/gone", 0);
    // Its size after the opening is not zero, but the walk did not see it.
    script.open(1, "/w/new", libc::O_WRONLY | libc::O_CREAT, 4);
    script
}

fn walked(path: &str, bytes: u64, data_bytes: u64, content: Content) -> TreeEntry {
    let (owner, content) = (Some((7, 8)), Some(content));
    let entry = entry(path, TreeKind::File, Some(0o640), bytes);
    TreeEntry { owner, data_bytes, content, ..entry }
}

#[test]
fn files_are_rebuilt_as_the_walk_saw_them_and_neighbours_of_a_large_tree_without_data() {
    let mut script = removing();
    let large = script.walked("/w/sub/large", REGULAR, 257 << 20);
    large.allocated_bytes = 257 << 20;
    let plan = script.plan(&Choice::default()).unwrap();
    let directory = |path: &str| {
        let (owner, content) = (Some((7, 8)), Some(Content::Random));
        TreeEntry { owner, content, ..entry(path, TreeKind::Directory, Some(0o755), 0) }
    };
    let same_as = Some("/w/gone".to_owned());
    assert_eq!(
        plan.tree,
        [
            directory("/w"),
            walked("/w/cut", 4096, 4096, Content::Compressible(40)),
            walked("/w/gone", 1 << 20, 4096, Content::Zero),
            walked("/w/other", 3000, 0, Content::Random),
            directory("/w/sub"),
            TreeEntry { same_as, ..entry("/w/same", TreeKind::Name, None, 0) },
        ]
    );
    assert_eq!((plan.recorded().unknown_files, plan.tree_bytes()), (0, 8192));
    let plan = removing().plan(&Choice::default()).unwrap();
    let whole: Vec<(&str, u64)> =
        plan.tree.iter().map(|entry| (entry.path.as_str(), entry.data_bytes)).collect();
    let of_all = [
        ("/w", 0),
        ("/w/cut", 4096),
        ("/w/gone", 4096),
        ("/w/other", 3000),
        ("/w/sub", 0),
        ("/w/sub/deep", 4096),
        ("/w/same", 0),
    ];
    assert_eq!(whole, of_all, "a small tree is rebuilt whole");
    let limited = Choice { only: Some("/w/sub".to_owned()), ..Choice::default() };
    let mut script = removing();
    script.at(1, "newfstatat", "/w/sub/deep", 0);
    let plan = script.plan(&limited).unwrap();
    let paths: Vec<&str> = plan.tree.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["/deep"], "the folder is the root");
}

#[test]
fn files_that_no_one_saw_before_they_were_removed_are_counted() {
    let mut script = removing();
    script.initial.clear();
    let plan = script.plan(&Choice::default()).unwrap();
    // The trace holds the size of `cut` after its opening, which is not the one before.
    assert_eq!(plan.recorded().unknown_files, 2);
    let fidelity = |calls: u64| {
        let replayed = crate::Replayed { issued: calls, ..crate::Replayed::default() };
        crate::Fidelity::of(plan.recorded(), &replayed).share()
    };
    assert_eq!((fidelity(3), fidelity(200)), (Some(1.0 / 3.0), Some(0.99)));
}

/// Texts lead to the same files below the root of the replay, and are as long as those recorded.
#[test]
fn links_lead_where_they_led_before_the_recording() {
    let link = libc::S_IFLNK | 0o777;
    let mut script = Script::default();
    script.walked("/w", DIRECTORY, 4096);
    script.walked("/w/releases", DIRECTORY, 4096);
    script.walked("/w/releases/5", DIRECTORY, 4096);
    script.walked("/w/releases/5/page", REGULAR, 3000);
    script.walked("/w/now", link, 10).target = Some("releases/5".to_owned());
    script.walked("/w/whole", link, 13).target = Some("/w/releases/5".to_owned());
    script.walked("/w/out", link, 6).target = Some("../etc".to_owned());
    script.walked("/w/old", link, 3);
    script.at(1, "stat", "/w/now/page", 0);
    script.at(1, "stat", "/w/whole/page", 0);
    script.at(1, "readlink", "/w/now", 10);
    let page = script.file("/w/releases/5/page");
    let made = script.at(1, "symlink", "/w/releases/l", 0);
    (made.length, made.to_file) = (Some(11), Some(page));
    let plan = script.plan(&Choice { only: Some("/w".into()), ..Choice::default() }).unwrap();
    assert_eq!(plan.recorded().contradictions, 0);
    let links = plan.tree.iter().filter(|entry| entry.kind == TreeKind::Link);
    let texts: Vec<_> = links.map(|link| (link.path.as_str(), link.target.as_deref())).collect();
    let expected = BTreeSet::from([
        ("/now", Some("releases/5")),
        ("/whole", Some("./releases//5")),
        ("/out", None),
        ("/old", None),
    ]);
    assert_eq!(texts.into_iter().collect::<BTreeSet<_>>(), expected);
    let made = plan.operations(0).last().unwrap().to_path;
    assert_eq!(plan.path(made), Some("././5//page"));
}
