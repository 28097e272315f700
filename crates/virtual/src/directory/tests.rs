use super::*;
use std::os::unix::fs::symlink;

#[test]
fn what_a_killed_owner_left_goes_and_what_lives_or_is_young_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let living = GuestDirectory::make_in(scratch.path()).unwrap();
    let killed = scratch.path().join("seekwell-guest-killed");
    fs::create_dir(&killed).unwrap();
    symlink("/etc", killed.join("memory")).unwrap();
    let other = scratch.path().join("somebody-else");
    fs::create_dir(&other).unwrap();
    let link = scratch.path().join("seekwell-guest-link");
    symlink(&other, &link).unwrap();

    // Too young: its maker may not have locked it yet.
    remove_abandoned(scratch.path(), SETTLED);
    assert!(killed.is_dir());

    remove_abandoned(scratch.path(), Duration::ZERO);
    assert!(!killed.exists());
    assert!(living.path().is_dir() && other.is_dir() && link.is_symlink());

    let path = living.path().to_owned();
    drop(living);
    assert!(!path.exists());
}
