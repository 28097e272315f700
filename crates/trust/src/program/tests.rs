use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::symlink;

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A folder with a program of this name.
fn with_program(all: &Path, folder: &str, mode: u32) -> PathBuf {
    let folder = all.join(folder);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tool"), "#!/bin/sh\n").unwrap();
    set(&folder.join("tool"), mode);
    set(&folder, 0o755);
    folder
}

#[test]
fn the_first_program_that_no_other_user_can_change_is_found() {
    let all = tempfile::tempdir().unwrap();
    let open = with_program(all.path(), "open", 0o755);
    set(&open, 0o777);
    let writable = with_program(all.path(), "writable", 0o757);
    let plain = with_program(all.path(), "plain", 0o644);
    let safe = with_program(all.path(), "safe", 0o755);
    let linked = all.path().join("linked");
    fs::create_dir(&linked).unwrap();
    symlink(open.join("tool"), linked.join("tool")).unwrap();
    let unsafe_ones = [open, writable, plain, linked, all.path().join("none"), ".".into()];
    assert_eq!(program(&unsafe_ones, "tool"), None);
    let all = [&unsafe_ones[..], std::slice::from_ref(&safe)].concat();
    assert_eq!(program(&all, "tool"), Some(safe.join("tool")));
    assert_eq!(program(&["/bin".into()], "sh"), Some("/bin/sh".into()));
}
