//! The kernel that tests of the virtual backend run: one that was built before, or the reduced one, built
//! now. Without either, those tests are skipped and counted.

use std::path::Path;

use anyhow::Result;

use super::cargo_command;

#[cfg(test)]
mod tests;

/// The program with the profile of the tests, so that nothing is compiled twice.
const PROGRAM: [&str; 8] =
    ["run", "--quiet", "--locked", "--profile", "test", "--package", "seekwell", "--"];

/// Marks kernels that another version of the program made.
const OLD: &str = "made by another version";

/// Says which kernel the tests will run, and builds the reduced one when there is none.
///
/// # Errors
///
/// When cargo cannot be started.
pub fn provide(root: &Path) -> Result<bool> {
    let list = cargo_command(root).args(PROGRAM).args(["kernel", "list"]).output()?;
    if let Some(kernel) = current(&String::from_utf8_lossy(&list.stdout)) {
        eprintln!("built before: {kernel}");
        return Ok(true);
    }
    let build = ["kernel", "build", "--set", "reduced"];
    let built = cargo_command(root).args(PROGRAM).args(build).status()?;
    if !built.success() {
        eprintln!("there is no lab kernel, so tests of the virtual backend will be skipped");
    }
    Ok(built.success())
}

/// The first line of a list of kernels that names one of this version.
fn current(list: &str) -> Option<&str> {
    list.lines().skip(1).find(|line| !line.contains(OLD))
}
