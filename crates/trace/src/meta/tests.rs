use super::*;

#[test]
fn the_folder_of_a_recording_in_parts_names_them() {
    let folder = tempfile::tempdir().unwrap();
    for number in ["000002", "000010", "000003"] {
        let part = folder.path().join(format!("part-{number}"));
        std::fs::create_dir(&part).unwrap();
        Meta::new("capture").write(&part).unwrap();
    }
    std::fs::create_dir(folder.path().join("part-000011")).unwrap();
    let error = Meta::read(folder.path()).unwrap_err().to_string();
    let said = "holds 3 parts of a recording, each a trace: part-000002 to part-000010; name one";
    assert!(error.contains(said), "{error}");
}

#[test]
fn a_description_without_end_is_not_read() {
    let endless = std::io::repeat(b' ');
    let error = Meta::of(endless, Path::new("t")).unwrap_err();
    assert!(matches!(error, TraceError::Long(_)), "{error}");
    assert!(error.to_string().starts_with("t/trace.json is longer than 16 MiB"), "{error}");
}
