use super::claim::{ExportCard, release_in};
use super::*;
use std::os::unix::fs::symlink;

const FROM: &str = "nas:/srv/bench";

fn reached(folder: &Path) -> Reached {
    Reached::of_folder(folder, FROM)
}

fn claimed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    ExportCard::seen(reached(folder.path())).unwrap().confirm("bench").unwrap();
    folder
}

fn refusal(folder: &Path) -> Refusal {
    match reached(folder).check() {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_and_a_path_are_told_from_files() {
    let parts = Export::server_and_path;
    assert_eq!(parts(FROM), Some(("nas", "/srv/bench")));
    assert_eq!(parts("[fd00::1]:/srv"), Some(("fd00::1", "/srv")));
    for bad in ["nas", "nas:srv", ":/srv", "nas:/a/../b", "nas:/a b", "/dev/a:/b", "[fd00::1:/srv"]
    {
        assert!(!is_export(bad), "{bad}");
    }
    assert!(!is_export("/dev/disk/by-path/pci-0000:/x"));
}

#[test]
fn only_an_empty_directory_is_claimed_and_only_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lost+found")).unwrap();
    fs::write(folder.path().join("thesis.tex"), "").unwrap();
    let card = ExportCard::seen(reached(folder.path())).unwrap();
    assert_eq!(card.content(), "thesis.tex");
    assert_eq!(
        card.confirm("bench").unwrap_err().to_string(),
        "nas:/srv/bench is not written: it is not empty (thesis.tex); make an empty directory and claim that"
    );
    fs::remove_file(folder.path().join("thesis.tex")).unwrap();
    let card = ExportCard::seen(reached(folder.path())).unwrap();
    let wrong = card.confirm("srv").unwrap_err().to_string();
    assert_eq!(wrong, "'srv' is not 'bench': nothing was claimed");
    assert_eq!(refusal(folder.path()).kind, RefusalKind::NotClaimed);
    let claim = card.confirm(" bench\n").unwrap();
    assert_eq!(reached(folder.path()).check().unwrap(), claim);
    let again = ExportCard::seen(reached(folder.path())).unwrap().refusal().unwrap();
    assert!(again.reason.ends_with("as nas:/srv/bench"), "{again}");
    assert_eq!(release_in(&reached(folder.path())).unwrap(), Some(claim));
    assert_eq!(release_in(&reached(folder.path())).unwrap(), None);
}

#[test]
fn the_word_of_a_whole_export_is_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let word =
        |from| ExportCard::seen(Reached::of_folder(folder.path(), from)).unwrap().word().to_owned();
    assert_eq!(word("nas:/"), "nas");
    assert_eq!(word("nas:/srv/bench/"), "bench");
}

#[test]
fn without_a_claim_of_this_very_directory_a_lab_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        refusal(folder.path()).to_string(),
        "nas:/srv/bench is not written: it has no claim, so labs do not use it; claim it with: seekwell claim nas:/srv/bench"
    );
    // A copy of a claimed directory, as by a backup.
    let original = claimed();
    fs::copy(original.path().join(CLAIM), folder.path().join(CLAIM)).unwrap();
    assert_eq!(
        refusal(folder.path()).to_string(),
        "nas:/srv/bench is not written: its claim was made for another directory (nas:/srv/bench); remove .seekwell-claim from it, then claim it: seekwell claim nas:/srv/bench"
    );
    // Somebody's files came later.
    for name in ["a", "b", "c", "d"] {
        fs::write(original.path().join(name), "").unwrap();
    }
    assert_eq!(
        refusal(original.path()).to_string(),
        "nas:/srv/bench is not written: it has files that are not Seekwell's (a, b, c and 1 more); move them away, or claim an empty directory"
    );
}

#[test]
fn a_claim_by_a_symbolic_link_or_in_other_words_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let original = claimed();
    symlink(original.path().join(CLAIM), folder.path().join(CLAIM)).unwrap();
    assert!(reached(folder.path()).check().is_err());
    fs::remove_file(folder.path().join(CLAIM)).unwrap();
    for text in ["", "{}", "not a claim"] {
        fs::write(folder.path().join(CLAIM), text).unwrap();
        let error = reached(folder.path()).check().unwrap_err().to_string();
        assert!(error.contains("expected a claim"), "{error}");
        assert!(release_in(&reached(folder.path())).is_err());
    }
    fs::remove_file(folder.path().join(CLAIM)).unwrap();
    fs::create_dir(folder.path().join(CLAIM)).unwrap();
    assert!(reached(folder.path()).check().is_err());
}

#[test]
fn a_trial_removes_its_own_directory_alone() {
    let folder = claimed();
    let make = || {
        let place = Place::new(&reached(folder.path())).unwrap();
        place.make(&reached(folder.path())).unwrap();
        place
    };
    let (one, other) = (make(), make());
    assert!(one.is_allowed() && one.make(&reached(folder.path())).is_err(), "it is there");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "").unwrap();
    let inside = folder.path().join(&one.name);
    fs::create_dir_all(inside.join("a/b")).unwrap();
    fs::write(inside.join("a/b/file"), "").unwrap();
    symlink(outside.path(), inside.join("link")).unwrap();
    assert!(reached(folder.path()).remove(&one.claim, &one.name).unwrap());
    assert!(!reached(folder.path()).remove(&one.claim, &one.name).unwrap(), "twice is once");
    assert!(!inside.exists() && outside.path().join("kept").exists());
    assert!(folder.path().join(&other.name).exists());
    assert!(folder.path().join(CLAIM).exists());
}

#[test]
fn nothing_is_removed_after_the_claim_has_gone_or_by_way_of_a_link() {
    let folder = claimed();
    let made = Place::new(&reached(folder.path())).unwrap();
    made.make(&reached(folder.path())).unwrap();
    let path = folder.path().join(&made.name);
    let removed = |claim: &str| reached(folder.path()).remove(claim, &made.name);
    let another = "0123456789abcdef0123456789abcdef";
    assert!(removed(another).unwrap_err().to_string().contains("another claim"));
    fs::rename(folder.path().join(CLAIM), folder.path().join("was")).unwrap();
    assert!(removed(&made.claim).is_err() && path.exists());
    fs::rename(folder.path().join("was"), folder.path().join(CLAIM)).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "").unwrap();
    fs::remove_dir(&path).unwrap();
    symlink(outside.path(), &path).unwrap();
    assert!(removed(&made.claim).unwrap_err().to_string().contains("not a directory"));
    assert!(outside.path().join("kept").exists());
}

#[test]
fn entries_of_undo_lists_reach_directories_of_trials_alone() {
    let digits = "0123456789abcdef0123456789abcdef";
    let target = |from: &str, claim: &str, name: &str| Place {
        from: from.to_owned(),
        address: IpAddr::from([127, 0, 0, 1]),
        version: "4.2".to_owned(),
        claim: claim.to_owned(),
        name: name.to_owned(),
    };
    let name = format!("{PREFIX}{digits}");
    assert!(target(FROM, digits, &name).is_allowed());
    for bad in [
        target("/srv", digits, &name),
        target(FROM, "", &name),
        target(FROM, digits, "home"),
        target(FROM, digits, PREFIX),
        target(FROM, digits, &format!("{PREFIX}../../home")),
        target(FROM, digits, &format!("{name}/..")),
    ] {
        assert!(!bad.is_allowed(), "{bad:?}");
    }
}

#[test]
fn sources_and_protocols_are_those_of_the_address() {
    let sixth = "fd00::1".parse().unwrap();
    assert_eq!(source("[fd00::1]:/srv", sixth).unwrap(), Path::new("[fd00::1]:/srv"));
    assert!(client_options(sixth, "4.2").contains(&"proto=tcp6".to_owned()));
}
