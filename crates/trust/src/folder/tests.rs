use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

fn made(path: &Path, mode: u32) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_held_folder_stays_the_same_when_its_name_goes_to_another() {
    let all = tempfile::tempdir().unwrap();
    let [path, aside] = ["x", "aside"].map(|name| all.path().join(name));
    made(&path, 0o700);
    let folder = Folder::open_own(&path).unwrap();
    assert!(folder.is_at(&path));
    assert_eq!(folder.mode().unwrap(), 0o700);
    assert_eq!(shown(&folder.at("a/b")), path.join("a/b"));
    fs::rename(&path, &aside).unwrap();
    made(&path, 0o700);
    assert!(!folder.is_at(&path));
    fs::write(folder.at("file"), "text").unwrap();
    assert_eq!(fs::read_to_string(aside.join("file")).unwrap(), "text");
    assert!(!path.join("file").exists());
    assert_eq!(shown(&folder.at("file")), aside.join("file"));
    assert_eq!(shown(Path::new("/a/b")), Path::new("/a/b"));
}

#[test]
fn links_and_folders_that_others_write_are_refused() {
    let all = tempfile::tempdir().unwrap();
    let [open, link, real] = ["open", "link", "real"].map(|name| all.path().join(name));
    made(&open, 0o772);
    made(&real, 0o700);
    symlink(&real, &link).unwrap();
    assert_eq!(Folder::open_own(&open).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert!(Folder::open_own(&link).is_err());
    assert!(Folder::open_own(&real).is_ok());
    if !seekwell_testing::root() {
        return seekwell_testing::skip("folders_of_others", "needs root to give a folder away");
    }
    chown(&real, Some(12_345), None).unwrap();
    assert_eq!(Folder::open_own(&real).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn parents_in_which_others_rename_are_found() {
    let all = tempfile::tempdir().unwrap();
    let parent = all.path().join("parent");
    made(&parent, 0o755);
    let (child, real) = (parent.join("run"), all.path().canonicalize().unwrap());
    let found = || exchangeable(&child).unwrap();
    assert_eq!(found(), None, "the folder of tests is sticky and root's");
    let set = |mode| fs::set_permissions(&parent, Permissions::from_mode(mode)).unwrap();
    for (mode, is_safe) in [(0o777, false), (0o757, false), (0o1777, true), (0o700, true)] {
        set(mode);
        assert_eq!(found().is_none(), is_safe, "{mode:o}");
    }
    // A link in a safe folder that leads through an open one.
    set(0o777);
    made(&parent.join("below"), 0o700);
    let link = all.path().join("link");
    symlink(parent.join("below"), &link).unwrap();
    assert_eq!(exchangeable(&link.join("run")).unwrap(), Some(real.join("parent")));
    if !seekwell_testing::root() {
        return seekwell_testing::skip("parents_of_others", "needs root to give a folder away");
    }
    set(0o1777);
    chown(&parent, Some(12_345), None).unwrap();
    assert_eq!(found(), Some(parent.clone()), "its owner renames despite the sticky bit");
    set(0o775);
    chown(&parent, Some(0), Some(12_345)).unwrap();
    assert_eq!(found(), Some(parent.clone()), "the group renames");
}

/// A user who can rename in a folder above leads root elsewhere with a link alone: what has no right of others itself.
#[test]
fn links_of_other_users_on_the_way_are_refused_and_those_of_this_user_followed() {
    let all = tempfile::tempdir().unwrap();
    let [real, link] = ["real", "link"].map(|name| all.path().join(name));
    made(&real, 0o700);
    symlink("real", &link).unwrap();
    fs::write(Entry::of(&link.join("file")).unwrap().path(), "text").unwrap();
    assert_eq!(fs::read_to_string(real.join("file")).unwrap(), "text");
    assert!(Folder::make_own(&link.join("a/b")).unwrap().is_at(&real.join("a/b")));
    if !seekwell_testing::root() {
        return seekwell_testing::skip("links_of_others", "needs root to give a link away");
    }
    std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
    let refused = |error: io::Error| {
        let text = error.to_string();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{text}");
        assert!(
            text.starts_with("the link ") && text.contains("link belongs to another"),
            "{text}"
        );
    };
    refused(Entry::of(&link.join("file")).unwrap_err());
    refused(Folder::make_own(&link.join("a/c")).unwrap_err());
    refused(Folder::open_own(&link.join("a/b")).unwrap_err());
    assert!(!real.join("a/c").exists());
    // The folder of another user without a link leads nowhere else.
    std::os::unix::fs::lchown(&real, Some(12_345), None).unwrap();
    assert!(Entry::of(&real.join("file")).is_ok());
}

#[test]
fn a_place_stays_the_same_when_the_names_above_it_go_to_others() {
    let all = tempfile::tempdir().unwrap();
    let [path, aside] = ["x", "aside"].map(|name| all.path().join(name));
    let folder = Folder::make_own(&path.join("a")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    // A path through a descriptor, and one past a folder that only the kernel knows, lead there too.
    let entry = Entry::of(&folder.at("b/../file"));
    assert_eq!(entry.unwrap_err().kind(), io::ErrorKind::NotFound);
    made(&folder.at("b"), 0o700);
    let entry = Entry::of(&folder.at("b/../file")).unwrap();
    fs::rename(&path, &aside).unwrap();
    made(&path, 0o700);
    made(&path.join("a"), 0o700);
    fs::write(entry.path(), "text").unwrap();
    assert_eq!(fs::read_to_string(aside.join("a/file")).unwrap(), "text");
    assert_eq!(shown(&entry.path()), aside.join("a/file"));
    for name in ["file", "b"] {
        let gone = aside.join("a").join(name);
        if gone.is_dir() { fs::remove_dir(gone).unwrap() } else { fs::remove_file(gone).unwrap() }
    }
    folder.remove().unwrap();
    assert!(!aside.join("a").exists() && path.join("a").exists());
    let folder = Folder::open_own(&path).unwrap();
    fs::rename(&path, all.path().join("elsewhere")).unwrap();
    made(&path, 0o700);
    assert_eq!(folder.remove().unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(path.exists(), "not this one");
}
