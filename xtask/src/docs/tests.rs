use super::*;

const TEXT: &str = "one\ntwo\nthree\n";
const BOOK: &[Document] = &[("docs/part/book.md", || TEXT.to_owned())];

#[test]
fn a_missing_document_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert_eq!(
        stale(root, BOOK).unwrap(),
        [
            "docs/part/book.md:1: missing, the code's definitions say otherwise, run `cargo xtask docs`"
        ]
    );
    let write = || write_changed(root, Path::new("docs/part/book.md"), TEXT).unwrap();
    assert!(write());
    assert_eq!(fs::read_to_string(root.join("docs/part/book.md")).unwrap(), TEXT);
    assert_eq!(stale(root, BOOK).unwrap(), [""; 0]);
    assert!(!write());
}

#[test]
fn a_document_out_of_date_is_named_with_its_first_wrong_line_and_not_touched_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (text, line) in
        [("one\nto\nthree\n", 2), ("one\ntwo\n", 3), ("one\ntwo\nthree", 4), ("", 1)]
    {
        fs::create_dir_all(root.join("docs/part")).unwrap();
        fs::write(root.join("docs/part/book.md"), text).unwrap();
        assert_eq!(
            stale(root, BOOK).unwrap(),
            [format!(
                "docs/part/book.md:{line}: out of date, the code's definitions say otherwise, \
                 run `cargo xtask docs`"
            )]
        );
        assert_eq!(fs::read_to_string(root.join("docs/part/book.md")).unwrap(), text);
    }
}

#[test]
fn a_document_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("docs/part/book.md")).unwrap();
    assert!(stale(folder.path(), BOOK).is_err());
}
