use super::*;

fn one(path: &str, mode: Option<u32>, only: Option<&str>) -> Result<String, Reason> {
    let id = FileId(0);
    let path = Some(path.to_owned());
    let entry = FileEntry { id, path, device: None, inode: None, mode, bytes: None };
    Files::new(vec![entry], only).path(Some(id)).map(|(_, path)| path.to_owned())
}

#[test]
fn every_path_is_below_the_target() {
    assert_eq!(one("/a/../../../b/./c//", None, None).unwrap(), "/b/c");
    assert_eq!(one("relative", None, None).unwrap(), "/relative");
    assert_eq!(one("…/cut", None, None).unwrap(), "/…/cut");
    assert_eq!(one("", None, None).unwrap(), "/");
}

#[test]
fn other_things_than_files_have_a_reason() {
    for path in ["pipe:[1]", "socket:[2]", "anon_inode:[eventpoll]", "/proc/self/maps", "/dev"] {
        assert_eq!(one(path, None, None), Err(Reason::NotAFile), "{path}");
    }
    for mode in [libc::S_IFBLK, libc::S_IFCHR, libc::S_IFIFO, libc::S_IFSOCK] {
        assert_eq!(one("/a", Some(mode | 0o600), None), Err(Reason::NotAFile));
    }
    assert_eq!(one("/device", Some(libc::S_IFREG), None).unwrap(), "/device");
    assert_eq!(one("/a\0b", None, None), Err(Reason::UnknownFile));
    assert_eq!(one(&"/a".repeat(3000), None, None), Err(Reason::LongName));
    assert_eq!(one(&"a".repeat(256), None, None), Err(Reason::LongName));
}

#[test]
fn a_folder_limits_the_replay() {
    assert_eq!(one("/var/lib/x", None, Some("/var/lib/")).unwrap(), "/x", "it is the root");
    assert_eq!(one("/var/lib", None, Some("/var/lib")).unwrap(), "/");
    assert_eq!(one("/var/library", None, Some("/var/lib")), Err(Reason::Outside));
    assert_eq!(one("/var/lib/../x", None, Some("/var/lib")), Err(Reason::Outside));
    assert_eq!(one("/a", None, Some("/")).unwrap(), "/a");
}

#[test]
fn added_paths_follow_those_of_the_trace() {
    let mut files = Files::new(Vec::new(), None);
    assert_eq!((files.add("/t"), files.add("/u"), files.add("/t")), (1, 2, 1));
    assert_eq!(files.into_paths(), [c"/t".to_owned(), c"/u".to_owned()]);
}
