use super::*;

/// A directory after a few rounds, and what was said.
fn written() -> (tempfile::TempDir, Vec<String>) {
    let top = tempfile::tempdir().unwrap();
    let mut said = Vec::new();
    write(top.path(), 12, &mut |text| said.push(text.to_owned())).unwrap();
    (top, said)
}

fn promises(said: &[String]) -> Promises {
    let mut promises = Promises::default();
    assert!(said.iter().all(|text| promises.take(text)), "{said:?}");
    promises
}

#[test]
fn files_that_nothing_happened_to_keep_every_promise() {
    let (top, said) = written();
    assert_eq!(said.first().map(String::as_str), Some(READY));
    let promises = promises(&said);
    // 12 files, 3 of them going and gone, the blocks and 12 of them, 12 appends and 12 swaps.
    assert_eq!(promises.count(), 12 + 3 * 2 + 1 + 12 + 12 + 12);
    assert_eq!(promises.broken(top.path()), None);
}

/// A change of the files in a directory.
type Harm = fn(&Path);

#[test]
fn each_kind_of_loss_is_noticed() {
    let harms: [(Harm, &str); 8] = [
        (|top| fs::remove_file(top.join("files/11")).unwrap(), "file 11: "),
        (|top| fs::write(top.join("files/11"), "short").unwrap(), "file 11: 5 of "),
        (|top| fs::write(top.join("files/0"), "").unwrap(), "file 0 was removed, and is there"),
        (|top| fs::write(top.join("blocks"), "").unwrap(), "blocks: 0 bytes"),
        (zero_a_sector, "block 3 lost version"),
        (shorten_the_log, "log: "),
        (|top| fs::write(top.join("swaps/current"), swap_bytes(11)).unwrap(), "swap 12 is torn"),
        (|top| fs::remove_file(top.join("swaps/current")).unwrap(), "swap 12: "),
    ];
    let (whole, said) = written();
    for (harm, expected) in harms {
        let top = tempfile::tempdir().unwrap();
        copy(whole.path(), top.path());
        harm(top.path());
        let found = promises(&said).broken(top.path()).unwrap_or_default();
        assert!(found.starts_with(expected), "'{found}' instead of '{expected}'");
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn zero_a_sector(top: &Path) {
    let file = OpenOptions::new().write(true).open(top.join("blocks")).unwrap();
    file.write_all_at(&[0; SECTOR], 3 * BLOCK as u64 + SECTOR as u64).unwrap();
}

fn shorten_the_log(top: &Path) {
    let file = OpenOptions::new().write(true).open(top.join("log")).unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
}

#[test]
fn a_write_under_way_is_no_loss() {
    let (top, said) = written();
    let mut promises = promises(&said);
    // The cut came before the last promises were said.
    promises.swap -= 1;
    promises.log -= 1;
    promises.files.remove(&11);
    assert_eq!(promises.broken(top.path()), None);
}

#[test]
fn other_texts_are_no_promises() {
    let mut promises = Promises::default();
    for text in ["", "file", "file x", "block 1 2", "blocks", "block 1", "unmounted"] {
        assert_eq!(promises.take(text), text == "blocks", "{text}");
    }
    assert_eq!(promises.count(), 1);
}
