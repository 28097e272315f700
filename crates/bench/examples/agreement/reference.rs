//! Reference programs: made by `cc` from this folder when a row begins.

use crate::place::Place;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `NAME.c`; gives the program.
pub fn compile(place: &Place, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/agreement/reference");
    let program = place.folder.join(name);
    let output = Command::new(seekwell_testing::tool("cc").unwrap())
        .args(["-O2", "-Wall", "-o"])
        .args([&program, &folder.join(format!("{name}.c"))])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs it; gives the numbers it prints.
pub fn numbers(program: &Path, arguments: &[String]) -> Vec<u64> {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{} {arguments:?}: {output:?}", program.display());
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}
