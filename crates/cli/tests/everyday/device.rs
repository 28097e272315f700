//! `seekwell device` from outside.

use super::{data, seekwell, talk};
use std::path::Path;

/// A specification of DiskSim with the files it names, in a directory of its own.
fn specification() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/diskspecs");
    for name in ["made-up.diskspecs", "small.model", "small.seek"] {
        std::fs::copy(from.join(name), directory.path().join(name)).unwrap();
    }
    directory
}

#[test]
fn an_imported_specification_is_a_device_that_can_be_shown() {
    let directory = specification();
    let import = || {
        let mut command = seekwell(directory.path());
        command.args(["device", "import", "made-up.diskspecs"]);
        command
    };
    let printed = import().output().unwrap();
    assert_eq!(printed.status.code(), Some(0), "{}", talk(&printed));
    let written = import().args(["-o", "made-up.toml"]).output().unwrap();
    assert_eq!(talk(&written), "wrote made-up.toml\n");
    let file = std::fs::read_to_string(directory.path().join("made-up.toml")).unwrap();
    assert_eq!(data(&printed), file);
    let shown =
        seekwell(directory.path()).args(["device", "show", "made-up.toml"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", talk(&shown));
    assert!(data(&shown).starts_with("made-up"), "{}", data(&shown));
    let again = import().args(["-o", "made-up.toml"]).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(
        talk(&again),
        "seekwell: error: made-up.toml exists; name another file, or remove it\n"
    );
}

#[test]
fn a_specification_that_cannot_be_imported_is_refused_with_the_reason() {
    let directory = specification();
    let refused = |name: &str| {
        let mut import = seekwell(directory.path());
        let output = import.args(["device", "import", name]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        talk(&output)
    };
    let text = std::fs::read_to_string(directory.path().join("made-up.diskspecs")).unwrap();
    let elsewhere = text.replace("source small.model", "source ../small.model");
    std::fs::write(directory.path().join("elsewhere.diskspecs"), elsewhere).unwrap();
    std::fs::write(directory.path().join("cut.diskspecs"), text.get(..200).unwrap()).unwrap();
    std::fs::remove_file(directory.path().join("small.seek")).unwrap();
    assert_eq!(
        refused("none.diskspecs"),
        "seekwell: error: cannot read none.diskspecs: No such file or directory (os error 2)\n"
    );
    assert_eq!(
        refused("cut.diskspecs"),
        "seekwell: error: cut.diskspecs line 7: the file ends where '}' is expected\n"
    );
    assert_eq!(
        refused("elsewhere.diskspecs"),
        "seekwell: error: cannot read ../small.model, which the specification names: only plain names of files in the same directory are read; put it into the folder of the specification\n"
    );
    assert_eq!(
        refused("made-up.diskspecs"),
        "seekwell: error: cannot read small.seek, which the specification names: No such file or directory (os error 2); put it into the folder of the specification\n"
    );
}
