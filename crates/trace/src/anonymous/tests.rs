use super::*;
use crate::event::{FileId, InitialAttribute};

#[test]
fn the_same_name_is_the_same_word_and_another_key_another_one() {
    let one = Anonymizer { key: [1; 32] };
    let (first, second) = (one.path("/srv/mail/a"), one.path("/srv/news/a"));
    let (first, second): (Vec<&str>, Vec<&str>) =
        (first.split('/').collect(), second.split('/').collect());
    assert_eq!(first.len(), 4);
    assert_eq!((first[0], first[1], first[3]), (second[0], second[1], second[3]));
    assert_ne!(first[2], second[2]);
    assert!(first[1..].iter().all(|word| word.len() == DIGITS));
    assert_ne!(one.path("/srv"), Anonymizer { key: [2; 32] }.path("/srv"));
    assert_ne!(Anonymizer::new().unwrap().path("/a"), Anonymizer::new().unwrap().path("/a"));
}

#[test]
fn what_the_kernel_named_stays() {
    let words = Anonymizer { key: [1; 32] };
    assert_eq!(words.path("pipe:[123]"), "pipe:[123]");
    assert_eq!(words.path("/"), "/");
    assert!(words.path("/dev/sda").starts_with("/dev/"));
    assert!(!words.path("/dev/sda").contains("sda"));
    assert!(words.path("…/lost").starts_with("…/"));
    assert!(!words.path("/home/dev/x").contains("dev"));
}

#[test]
fn attributes_keep_their_kind_alone() {
    let words = Anonymizer { key: [1; 32] };
    let entry = |name: &str| FileEntry {
        id: FileId(1),
        path: Some(FileEntry::path_of_attribute(name)),
        device: None,
        inode: None,
        mode: None,
        bytes: None,
    };
    let name = |name: &str| words.file(entry(name)).attribute().unwrap().to_owned();
    assert_eq!(name("system.posix_acl_access"), "system.posix_acl_access");
    let made = name("user.secret.project");
    assert_eq!((made.split_at(5).0, made.len()), ("user.", 5 + DIGITS));
    for refused in ["secret", "secret.merger", "security.secret", "system.secret"] {
        assert!(!name(refused).contains("secret"), "{refused}");
    }
}

#[test]
fn entries_and_description_have_no_names_left() {
    let words = Anonymizer { key: [1; 32] };
    let file = FileEntry {
        id: FileId(1),
        path: Some("/home/ann/secret".to_owned()),
        device: Some(1),
        inode: Some(77),
        mode: Some(0o100_600),
        bytes: Some(5),
    };
    let process =
        ProcessEntry { process: 5, parent: None, start_ns: 0, name: Some("secretd".to_owned()) };
    let meta = Meta {
        paths: vec!["/home/ann".to_owned()],
        kernel: Some("6.1-ann".to_owned()),
        ..Meta::new("capture")
    };
    let initial = InitialEntry {
        path: "/home/ann/link".to_owned(),
        device: Some(1),
        inode: Some(77),
        mode: 0o120_777,
        owner: Some(1000),
        group: None,
        bytes: 9,
        allocated_bytes: 0,
        content: None,
        birth_ms: Some(77),
        target: Some("../ann/secret".to_owned()),
        attributes: vec![InitialAttribute { name: "user.secret".to_owned(), bytes: 5 }],
        data: Vec::new(),
    };
    let initial = words.initial(initial);
    assert!(initial.target.as_ref().is_some_and(|target| target.starts_with("../")));
    let text = format!(
        "{:?}{:?}{:?}{initial:?}",
        words.file(file),
        words.process(process),
        words.meta(&meta)
    );
    for name in ["ann", "secret", "home", "77"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
}
