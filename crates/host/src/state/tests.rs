use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The umask is the process's: a child has its own.
fn under_umask(mask: &str, test: &str) {
    let program = std::env::current_exe().unwrap();
    let script = format!("umask {mask}; exec \"$0\" --exact {test} --nocapture --include-ignored");
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", &script]).arg(program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn folders_and_files_are_private_whatever_the_umask() {
    for mask in ["000", "022", "077", "777"] {
        under_umask(mask, "state::tests::what_is_made_is_private");
    }
}

#[test]
fn what_is_made_is_private() {
    let root = tempfile::tempdir().unwrap();
    set(root.path(), 0o700);
    let state = root.path().join("state");
    folder(&state).unwrap();
    assert_eq!(mode(&state), 0o700);
    create(&state.join("new")).unwrap();
    replace(&state.join("replaced"), b"text").unwrap();
    for name in ["new", "replaced"] {
        assert_eq!(mode(&state.join(name)), 0o600, "{name}");
    }
    let names: Vec<_> = fs::read_dir(&state).unwrap().collect();
    assert_eq!(names.len(), 2, "no draft stays: {names:?}");
}

#[test]
fn a_folder_that_an_earlier_version_left_open_is_closed() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("outer/state");
    fs::create_dir_all(&state).unwrap();
    set(&state, 0o777);
    set(state.parent().unwrap(), 0o777);
    folder(&state).unwrap();
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(state.parent().unwrap()), 0o755);
}

#[test]
fn a_link_in_place_of_a_folder_is_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = root.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    set(&elsewhere, 0o755);
    symlink(&elsewhere, root.path().join("state")).unwrap();
    let error = folder(&root.path().join("state")).unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error}");
    assert_eq!(mode(&elsewhere), 0o755);
}

#[test]
fn only_files_that_nobody_else_could_write_are_read() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("list");
    fs::write(&path, "text").unwrap();
    for (bits, believed) in [(0o600, true), (0o644, true), (0o664, false), (0o666, false)] {
        set(&path, bits);
        assert_eq!(open_own(&path).is_ok(), believed, "{bits:o}");
    }
    set(&path, 0o600);
    fs::hard_link(&path, root.path().join("second")).unwrap();
    let error = open_own(&path).unwrap_err().to_string();
    assert!(error.contains("has a second name"), "{error}");
    symlink(&path, root.path().join("link")).unwrap();
    assert!(open_own(&root.path().join("link")).is_err());
    assert!(open_own(root.path()).is_err());
    if rustix::process::geteuid().is_root() {
        let theirs = root.path().join("theirs");
        fs::write(&theirs, "text").unwrap();
        std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
        let error = open_own(&theirs).unwrap_err().to_string();
        assert!(error.contains("belongs to user 65534"), "{error}");
    }
}

#[test]
fn a_write_that_fails_leaves_the_earlier_file_and_no_draft() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("claim");
    fs::create_dir(&path).unwrap();
    assert!(replace(&path, b"text").is_err(), "a folder has the name");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}
