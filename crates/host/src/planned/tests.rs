use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_plan_is_noted_by_all_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("planned");
    let lines = ["writes /dev/a whole".to_owned(), "runs mkfs".to_owned()];
    assert!(!is_noted(&notes, &lines).unwrap());
    note(&notes, &lines).unwrap();
    assert!(is_noted(&notes, &lines).unwrap());
    assert!(!is_noted(&notes, &lines[..1]).unwrap());
    let joined = ["writes /dev/a whole\nruns mkfs".to_owned()];
    assert!(!is_noted(&notes, &joined).unwrap(), "a line break is no new line");
}

#[test]
fn a_note_that_another_user_could_have_written_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("planned");
    let lines = ["writes /dev/a whole".to_owned()];
    note(&notes, &lines).unwrap();
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(path(&notes, &lines), open).unwrap();
    assert!(is_noted(&notes, &lines).is_err());
}

#[test]
fn a_note_counts_for_thirty_days_and_goes_with_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("planned");
    let lines = ["writes /dev/a whole".to_owned()];
    let written = |ago: Duration| {
        note(&notes, &lines).unwrap();
        let file = fs::File::options().write(true).open(path(&notes, &lines)).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
    };
    let minute = Duration::from_secs(60);
    written(VALID - minute);
    assert!(is_noted(&notes, &lines).unwrap());
    written(VALID + minute);
    assert!(!is_noted(&notes, &lines).unwrap(), "a month later the plan is shown again");
    let other = ["writes /dev/b whole".to_owned()];
    note(&notes, &other).unwrap();
    assert!(!path(&notes, &lines).exists(), "a note that no longer counts is removed");
    assert!(is_noted(&notes, &other).unwrap());
    note(&notes, &lines).unwrap();
    let file = fs::File::options().write(true).open(path(&notes, &lines)).unwrap();
    file.set_modified(SystemTime::now() + 60 * minute).unwrap();
    assert!(!is_noted(&notes, &lines).unwrap(), "written by a clock that was ahead");
}
